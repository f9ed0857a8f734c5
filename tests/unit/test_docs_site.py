"""The arrangement of the documentation site: its sections, its index, and the order of options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.docs_site import (
    PLUGIN_TYPES,
    SUBJECTS,
    add_sections,
    format_index,
    group_modules,
    move_examples,
    move_shared_options,
    read_options,
    shorten_head,
)

from support.collection import ALL_MODULES, ROOT

GUIDES = ROOT / "docs" / "docsite" / "rst"
ROW = """\
  * - .. raw:: html

        <div class="ansible-option-cell">
        <div class="ansibleOptionAnchor" id="parameter-{}"></div>

      text
"""
PAGE = "Parameters\n----------\n\n  * - Parameter\n\n{}\n\n.. Attributes\n\nAttributes\n"


def write_pages(folder: Path, suffix: str, names: list[str]) -> None:
    """Write the beginning of the page of each plugin."""
    for name in names:
        title = f"virtinfra.manager.{name} {suffix} -- About {name}"
        (folder / f"{name}_{suffix}.rst").write_text(f"{title}\n{'+' * len(title)}\n", encoding="utf-8")


def test_index_says_where_to_start_and_has_a_section_for_each_type_of_pages(tmp_path: Path) -> None:
    write_pages(tmp_path, "module", ALL_MODULES)
    for kind in PLUGIN_TYPES:
        write_pages(tmp_path, kind, [path.stem for path in (ROOT / "plugins" / kind).glob("*.py")])
    write_pages(tmp_path, "role", [path.name for path in (ROOT / "roles").iterdir()])
    index = format_index(tmp_path)
    introduction = index.partition(".. toctree::")[0]
    assert "guide_getting_started" in introduction
    captions = re.findall(":caption: (.+)", index)
    assert captions[-4:] == ["Modules by subject", "Plugins", "Roles", "Changes"]
    listed = [page for path in tmp_path.glob("*_index.rst") for page in re.findall("<(\\w+)>$", path.read_text(), re.M)]
    of_roles = re.findall("<(\\w+_role)>$", index, re.MULTILINE)
    pages = {path.stem for path in tmp_path.glob("*.rst") if not path.stem.endswith("_index")}
    assert sorted([*listed, *of_roles]) == sorted(pages)
    guides = {path.stem for path in GUIDES.glob("*.rst")}
    assert set(re.findall("^   docsite/(\\w+)$", index, re.MULTILINE)) == guides


def test_subjects_contain_each_module_once() -> None:
    grouped = group_modules(ALL_MODULES)
    assert sorted(name for names in grouped.values() for name in names) == ALL_MODULES
    assert [*grouped] == [*SUBJECTS]
    with pytest.raises(ValueError, match="add them to SUBJECTS: new_module"):
        group_modules([*ALL_MODULES, "new_module"])


def test_own_options_come_before_shared_ones() -> None:
    names = ["base_url", "cluster", "keyed", "keyed/key", "wait"]
    page = PAGE.format("\n".join(map(ROW.format, names)))
    moved = move_shared_options(page, ["wait", "base_url"])
    assert re.findall('id="parameter-(.+?)"', moved) == ["cluster", "keyed", "keyed/key", "wait", "base_url"]
    assert sorted(moved.split()) == sorted(page.split())
    assert moved.endswith("\n.. Attributes\n\nAttributes\n")
    with pytest.raises(ValueError, match="no table of options"):
        move_shared_options(PAGE.format(""), ["wait"])


def test_variables_of_a_role_are_in_the_order_of_its_specification() -> None:
    assert read_options("vm_backup")[:3] == ["vm_backup_query", "vm_backup_vms", "vm_backup_repository"]


HEAD = """\
virtinfra.manager.host_info module -- List hosts
++++++++++++++++++++++++++++++++++++++++++++++++

.. Collection note

.. note::
    This module is part of the collection.

    To use it in a playbook, specify: :code:`virtinfra.manager.host_info`.

.. version_added

.. contents::
   :local:
   :depth: 1

.. Entry point title

Entry point ``main`` -- List hosts
----------------------------------

Synopsis
--------

.. note::
    This module has a corresponding :ref:`action plugin <action_plugins>`.

.. Examples
"""


def test_a_page_begins_with_the_short_name_and_what_the_plugin_does() -> None:
    assert shorten_head(HEAD) == (
        "host_info module -- List hosts\n++++++++++++++++++++++++++++++\n\n"
        "To use it in a playbook, specify: :code:`virtinfra.manager.host_info`.\n\n"
        ".. version_added\n\nSynopsis\n--------\n\n.. Examples\n"
    )


def test_no_guide_lists_its_contents() -> None:
    """The theme shows them beside the page, and shows an error for a list in it."""
    assert [path.name for path in GUIDES.glob("*.rst") if ".. contents::" in path.read_text(encoding="utf-8")] == []


def test_examples_come_before_requirements_and_options() -> None:
    parts = ["Synopsis", "\n.. Requirements\n", "options", "\n.. Examples\n", "own", "\n.. Facts\n", "results"]
    moved = move_examples("".join(parts))
    assert moved == "Synopsis\n.. Examples\nown\n.. Requirements\noptions\n.. Facts\nresults"
    assert move_examples("without examples") == "without examples"


def test_the_page_of_a_role_has_check_mode_and_undo() -> None:
    page = "Parameters\n^^^^^^^^^^\n\nAuthors\n^^^^^^^\n\n- One\n"
    readme = """# role

## Idempotence and check mode

Sets `a` once.

## When something fails

| failure | what happens |
| --- | --- |
| `x` fails | the others go on |

## Undo

```yaml
- name: Undo
  debug:
```

The mark is `a`:

```text
virtinfra.manager a
```
"""
    sections = add_sections(page, readme)
    assert "Idempotence and check mode\n^^^^^^^^^^^^^^^^^^^^^^^^^^\n\nSets ``a`` once.\n" in sections
    assert "   * - failure\n     - what happens\n   * - ``x`` fails\n     - the others go on\n" in sections
    assert ".. code-block:: yaml+jinja\n\n    - name: Undo\n      debug:\n" in sections
    assert sections.endswith("\nAuthors\n^^^^^^^\n\n- One\n")
