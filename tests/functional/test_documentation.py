"""The pages of ``ansible-doc``: short, with examples on the first screen, in a terminal of 80 columns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest
from ansible.release import __version__ as ansible_version
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_properties import list_properties
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_rows import KINDS

from support.collection import ALL_MODULES, MODULES, module
from support.short_examples import is_example

LONGEST_PAGE = 350
# The options of a host alone need 240 lines, those of a resource of any kind 355, with 65 for the properties of each
# kind, and those of a VM, which is made too, with networks and disks, 305. About 40 of them are the line
# "default: null", which ansible-doc adds to most options.
LONGER_PAGES = {"kvm_host": 393, "resource": 525, "vm": 473}
SCREEN = 24
# Its options are variables of the task.
WITHOUT_SHORT_EXAMPLES = {"workflow"}

IS_OLD_LAYOUT = tuple(map(int, ansible_version.split(".")[:2])) < (2, 19)

Pages = Mapping[str, list[str]]


@pytest.fixture(scope="module")
def pages() -> Pages:
    """The lines of the page of each module."""
    names = [module(name).fqcn for name in ALL_MODULES]
    settings = {"COLUMNS": "80", "ANSIBLE_NOCOLOR": "true"}
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "doc", *names],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = re.split(r"^> (?:MODULE )?VIRTINFRA\.MANAGER\.(\w+)", done.stdout, flags=re.MULTILINE | re.IGNORECASE)[1:]
    return {name.lower(): page.rstrip().splitlines() for name, page in zip(found[::2], found[1::2], strict=True)}


@pytest.mark.skipif(IS_OLD_LAYOUT, reason="core before 2.19 has two lines more for each option")
def test_no_page_is_long(pages: Pages) -> None:
    """Details of options that modules share, of records and of steps are in the guides."""
    assert sorted(pages) == ALL_MODULES
    sizes = {name: len(lines) for name, lines in pages.items()}
    assert {name: size for name, size in sizes.items() if size > LONGER_PAGES.get(name, LONGEST_PAGE)} == {}


def test_short_examples_are_on_the_first_screen(pages: Pages, subtests: pytest.Subtests) -> None:
    for name in MODULES:
        with subtests.test(name):
            lines = pages[name]
            examples = [text for text in module(name).documentation["description"] if is_example(text)]
            assert examples or name in WITHOUT_SHORT_EXAMPLES
            shown = " ".join(" ".join(lines[:SCREEN]).split())
            assert all(text.partition(" - ")[0] in shown for text in examples)


def test_every_page_names_its_neighbours(subtests: pytest.Subtests) -> None:
    for name in MODULES:
        with subtests.test(name):
            neighbours = [entry.get("module") for entry in module(name).documentation["seealso"]]
            assert {module(each).fqcn for each in MODULES} & set(neighbours)


def test_page_of_a_resource_has_the_properties_of_each_kind(pages: Pages) -> None:
    """Without the documentation site, a user reads the types, the choices, and what cannot be changed in a terminal."""
    text = " ".join(" ".join(pages["resource"]).split())
    for kind in KINDS:
        described = text.partition(f"`{kind.name}' - ")[2].partition("`")[0]
        changeable, dummy, fixed = described.partition(";")
        for each in list_properties(kind).values():
            assert re.search(rf"\b{each.name}\b", changeable if each.can_change else fixed), (kind.name, each.name)
    assert "disk_size! (size)" in text
    assert "hypervisor_type! (KVM, Simulator, baremetal, baremetal2, xdragon)" in text
