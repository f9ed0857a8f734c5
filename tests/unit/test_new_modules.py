"""Each module is in all places that section "A module" of CONTRIBUTING.md lists; the message names what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import REFERS_TO

from support.collection import MODULES, ROOT, load_spec
from support.return_docs import documented_records

# Modules whose options and results depend on another module, on a kind, or on the task.
OF_OTHERS = {"api", "batch", "resource", "resource_info", "session", "workflow"}


@cache
def read(path: str) -> str:
    """Return the text of a file of the repository, an empty one if it does not exist."""
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.exists() else ""


def list_missing_places(name: str) -> Iterator[str]:
    """Yield each place that lacks a module, and what to write there."""
    if f"from ..modules.{name} import main" not in read(f"plugins/action/{name}.py") and name != "api":
        yield f"plugins/action/{name}.py: a file like the others there"
    if name not in yaml.safe_load(read("meta/runtime.yml"))["action_groups"]["api"]:
        yield "meta/runtime.yml: its name in the action group"
    if f"virtinfra.manager.{name}:" not in read(f"tests/integration/targets/{name}/tasks/main.yml"):
        yield f"tests/integration/targets/{name}/: aliases, meta/main.yml and tasks/main.yml"
    yield from _list_states_without_task(name)
    if f"`{name}`" not in read("README.md").partition("\n## Modules\n")[2].partition("\n## ")[0]:
        yield "README.md: its name in the list of modules"
    if name not in read("tests/tools/docs_site.py").replace('"', " ").split():
        yield "tests/tools/docs_site.py: its subject on the site, in SUBJECTS"
    yield from _list_missing_tests(name)


def _list_states_without_task(name: str) -> Iterator[str]:
    """Yield each state that no task of the target has; the default one needs no option."""
    option = load_spec(name).options.get("state", {})
    tasks = read(f"tests/integration/targets/{name}/tasks/main.yml")
    for state in option.get("choices", ()) if tasks else ():
        if state != option.get("default") and not re.search(rf"\bstate: {state}\b", tasks):
            yield f"tests/integration/targets/{name}/tasks/main.yml: a task with state: {state}"


def _list_missing_tests(name: str) -> Iterator[str]:
    options = load_spec(name).parameters
    is_listing = "query" in options and name not in OF_OTHERS
    quoted = f'"{name}"'
    is_tried = name in OF_OTHERS or name in ("job_info", "job_wait", "service_info")
    if not is_tried and quoted not in read("tests/unit/_modules/test_properties.py"):
        yield "tests/unit/_modules/test_properties.py: values to try, in ACTING or READING"
    has_references = any(parameter in REFERS_TO for option, parameter in options.items() if option != "tag_patterns")
    if has_references and name not in OF_OTHERS and quoted not in read("tests/unit/_client/test_name_lookup.py"):
        yield "tests/unit/_client/test_name_lookup.py: options that are names"
    if not is_listing:
        return
    if name not in documented_records():
        yield "tests/support/return_docs.py: the fields of its records"
    if "virtinfra.manager._query_fields." not in read(f"plugins/modules/{name}.py"):
        yield f"plugins/modules/{name}.py: the fragment virtinfra.manager._query_fields.TYPE, which `format` writes"
    for path, what in (
        ("tests/unit/modules/test_modules_reading.py", "the member of its result, and the type, in LISTS"),
        ("tests/unit/_api/test_references.py", "options that select one object, in READING"),
    ):
        if quoted not in read(path):
            yield f"{path}: {what}"


@pytest.mark.parametrize("name", MODULES)
def test_module_is_in_all_places(name: str) -> None:
    if missing := [*list_missing_places(name)]:
        pytest.fail("\n  ".join([f"places without {name}:", *missing]), pytrace=False)


def test_missing_places_of_a_new_module_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is only a file lacks all places that the table lists for a module that lists objects."""
    names = globals()
    monkeypatch.setitem(names, "read", lambda path: "action_groups: {api: []}" if path.endswith("runtime.yml") else "")
    monkeypatch.setitem(names, "documented_records", dict)
    missing = [place.partition(":")[0] for place in list_missing_places("vm_nic_info")]
    section = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### A module\n")[2].partition("\n### ")[0]
    )
    assert missing
    assert [place for place in missing if f"`{place.replace('vm_nic_info', 'NAME')}`" not in section] == []
