"""Rules for every role and playbook: documentation, names of variables, and calls of the service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible_collections.virtinfra.manager.plugins.filter.report_table import format_table
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.playbooks import PLAYBOOKS as OF_PLAYBOOKS
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.run import runs_on_hosts
from jinja2 import Environment, TemplateSyntaxError, nodes

from support.collection import ROOT
from support.role_files import SECTIONS, build_files, group_options
from support.written import require_current

ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
CONNECTION = import_module("ansible_collections.virtinfra.manager.plugins.module_utils._modules.options").CONNECTION
WORKFLOW_TESTS = sorted((ROOT / "tests" / "unit").glob("_*/test_*.py"))
PREFIX = "virtinfra.manager."
IMPORT = "ansible.builtin.import_role"

# The roles that run for each inventory host; the others run on localhost.
PER_HOST = {"host_maintenance", "host_onboarding", "host_removal"}

# The modules that run on a data mover.
ON_MOVERS = {f"{PREFIX}{name}" for name in ("backup_point", "backup_point_info", "backup_restore", "backup_run")}

# The subscripts in templates: numbers, and names that the roles themselves choose. With a text of the service as a
# subscript, a VM called copy or items would find a method of the dict, so the roles look such texts up with get.
SUBSCRIPTS = {
    "hostvars[inventory_hostname]",
}


@cache
def load(*parts: str) -> Any:
    """Return the content of a YAML file of the collection, {} if it does not exist, for reading only."""
    path = ROOT.joinpath(*parts)
    return (DataLoader().load_from_file(str(path)) if path.exists() else None) or {}


def find_role(playbook: str) -> str | None:
    """Return the role that a playbook lists or imports, None if there is none."""
    names = [name for play in load("playbooks", f"{playbook}.yml") for name in list_roles(play)]
    return str(names[0]).removeprefix(PREFIX) if names else None


def list_roles(play: dict[str, Any]) -> list[str]:
    """Return the roles that a play lists or imports."""
    names = [role["role"] for role in play.get("roles", ())]
    return names + [task[IMPORT]["name"] for task in play.get("tasks", ()) if IMPORT in task]


# The playbooks of roles. The others are the demo and those that rulebooks run.
PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml") if find_role(path.stem))


def options_of(role: str) -> dict[str, dict[str, Any]]:
    """Return the documented variables of a role."""
    return dict(load("roles", role, "meta", "argument_specs.yml")["argument_specs"]["main"]["options"])


def tasks_in(node: Any, inherited: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all tasks of a file, each with the keywords of the blocks around it."""
    for task in node or ():
        keywords = {**inherited, **task}
        for part in ("block", "rescue", "always"):
            yield from tasks_in(task.get(part), {name: keywords[name] for name in keywords.keys() - {part, "name"}})
        if "block" not in task:
            yield {name: value for name, value in keywords.items() if name not in ("block", "rescue", "always")}


def tasks_of(
    role: str, file: str = "main.yml", inherited: Mapping[str, Any] | None = None, outer: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """Yield all tasks of a role. Tasks of an included file inherit from the blocks around the include.

    A file that includes itself, or one of the ``outer`` files, is not read again.
    """
    for task in tasks_in(load("roles", role, "tasks", file), inherited or {}):
        yield task
        included = task.get("ansible.builtin.include_tasks") or task.get("ansible.builtin.import_tasks")
        if isinstance(included, str) and "{" not in included and included not in (*outer, file):
            around = {name: value for name, value in task.items() if name in ("delegate_to", "become")}
            yield from tasks_of(role, included, around, (*outer, file))


def names_of(role: str) -> set[str]:
    """Return all words in a role's files that may be its variables."""
    paths = [
        path
        for part in ("tasks", "defaults", "vars", "templates")
        for path in (ROOT / "roles" / role / part).rglob("*")
    ]
    texts = " ".join(path.read_text(encoding="utf-8") for path in paths if path.is_file())
    return set(re.findall(rf"\b(?:__)?{role}_\w+", texts))


def templates_in(node: Any) -> Iterator[str]:
    """Yield all strings of a YAML file that may be templates, those of conditions as templates too."""
    if isinstance(node, str):
        yield str(node) if "{" in node else "{{ " + node + " }}"
    elif isinstance(node, (list, dict)):
        for each in node.values() if isinstance(node, dict) else node:
            yield from templates_in(each)


def subscripts_in(text: str) -> Iterator[str]:
    """Yield the subscripts of a template, without constants and slices."""

    def expression(node: nodes.Node) -> str:
        if isinstance(node, nodes.Getattr):
            return f"{expression(node.node)}.{node.attr}"
        return str(node.name) if isinstance(node, nodes.Name) else type(node).__name__

    try:
        tree = Environment(autoescape=True).parse(text)
    except TemplateSyntaxError:
        # A text that does not parse as a template is prose.
        return
    for item in tree.find_all(nodes.Getitem):
        if not isinstance(item.arg, (nodes.Const, nodes.Slice)):
            yield f"{expression(item.node)}[{expression(item.arg)}]"


def test_templates_append_to_no_list() -> None:
    """Filters such as map, zip and columns_to_rows say what is in a list; a loop only says how it is built."""
    files = [path for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    assert [str(path) for path in files if ".append(" in path.read_text(encoding="utf-8")] == []


def test_texts_of_the_service_are_no_subscripts() -> None:
    files = [
        path
        for folder in ("roles", "playbooks", "extensions/eda/rulebooks", "docs/examples")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".yml", ".j2")
    ]
    texts = [
        text
        for path in files
        for text in (
            [path.read_text(encoding="utf-8")]
            if path.suffix == ".j2"
            else templates_in(load(*path.relative_to(ROOT).parts))
        )
    ]
    assert {subscript for text in texts for subscript in subscripts_in(text)} == SUBSCRIPTS


@pytest.mark.parametrize("role", ROLES)
def test_connection_variables_of_a_role_are_those_of_its_host(role: str) -> None:
    """In a task that is delegated to localhost, ansible_host without hostvars is the address of localhost."""
    names = "host|port|user|password|connection|(?:ssh|become|winrm|python|remote)_\\w+"
    connection = rf"(?<!hostvars\[inventory_hostname\]\.)\bansible_(?:{names})\b"
    for part in ("tasks", "defaults", "vars", "templates", "handlers"):
        for path in (ROOT / "roles" / role / part).rglob("*"):
            assert not path.is_file() or not re.findall(connection, path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_of_a_role_is_documented(role: str) -> None:
    public = {name for name in names_of(role) if not name.startswith("__")} - {f"{role}_report"}
    assert public <= options_of(role).keys()


@pytest.mark.parametrize("role", ROLES)
def test_a_role_needs_what_it_requires(role: str) -> None:
    """The groups of variables are those of its README: who reads the first one knows what to set."""
    required = {name for name, rules in options_of(role).items() if rules.get("required")}
    assert required <= {*group_options(role).get("needed", ())}


def test_the_files_of_the_roles_are_up_to_date(subtests: pytest.Subtests) -> None:
    for path, text in build_files():
        with subtests.test(str(path.relative_to(ROOT))):
            require_current(path, text)


def test_a_variable_without_a_group_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = tmp_path / "role" / "meta" / "argument_specs.yml"
    spec.parent.mkdir(parents=True)
    monkeypatch.setattr("support.role_files.ROLES", tmp_path)
    spec.write_text("      role_size:\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"role_size of the role role has no comment above it such as '# needed'"):
        group_options("role")
    spec.write_text("      # usual\n      role_size:\n      # needed\n      role_name:\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must be in this order: needed, usual, rarely needed"):
        group_options("role")


@pytest.mark.parametrize("role", ROLES)
def test_a_readme_has_the_sections_of_all_roles(role: str) -> None:
    readme = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (.*)$", readme, flags=re.MULTILINE)
    assert sections[0].startswith(f"# {PREFIX}{role}\n")
    assert sections[1::2] == [*SECTIONS]
    assert f"`{role}_report`" in readme


@pytest.mark.parametrize("role", ROLES)
def test_variables_of_a_role_have_its_prefix(role: str) -> None:
    """A role shares the variables of the play, so a name without the role's prefix could be one of the user's."""
    made = {str(name) for part in ("defaults", "vars") for name in load("roles", role, part, "main.yml")}
    for task in tasks_of(role):
        made |= {str(task[keyword]) for keyword in ("register",) if keyword in task}
        included = task.get("ansible.builtin.include_role", {}).get("name", PREFIX).removeprefix(PREFIX)
        given = {name for name in task.get("vars", {}) if included and name in options_of(included)}
        made |= task.get("vars", {}).keys() - given | task.get("ansible.builtin.set_fact", {}).keys()
        made |= {
            task["loop_control"][name] for name in ("loop_var", "index_var") if name in task.get("loop_control", {})
        }
    allowed = {*options_of(role), f"{role}_report"}
    # The only way to exclude a default of the inventory.
    allowed.add("ansible_become")
    assert {name for name in made if name not in allowed and not name.startswith(f"__{role}_")} == set()


@pytest.mark.parametrize("role", ROLES)
def test_a_role_takes_its_connection_from_the_play(role: str) -> None:
    assert not {name for name in options_of(role) for option in CONNECTION if name == f"{role}_{option}"}
    for task in tasks_of(role):
        for name, arguments in task.items():
            if name.startswith(PREFIX):
                assert not (arguments or {}).keys() & CONNECTION.keys(), task["name"]


@pytest.mark.parametrize("role", ROLES)
def test_failures_of_a_role_are_not_ignored(role: str) -> None:
    """A task that runs once would fail for all hosts; it leaves the failures to the last task of each host.

    The next step of a workflow reports what fails on a data mover.
    """
    for task in tasks_of(role):
        assert "ignore_errors" not in task or (task.get("ignore_unreachable") and "register" in task), task["name"]
        assert task.get("failed_when") is not False or task.get("run_once"), task["name"]


@pytest.mark.parametrize("role", ROLES)
def test_calls_of_a_role_are_made_in_the_controller(role: str) -> None:
    """Each call says become: false, because a play may set become, which would start a module process.

    The workflow of a role that runs on data movers runs modules on them with their become.
    """
    for task in () if runs_on_hosts(role) else tasks_of(role):
        if any(name.startswith(PREFIX) for name in task.keys() - ON_MOVERS):
            assert task.get("become") is False, task["name"]
            assert task.get("delegate_to") == ("localhost" if role in PER_HOST else None), task["name"]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_described_for_galaxy(role: str) -> None:
    spec = load("roles", role, "meta", "argument_specs.yml")["argument_specs"]["main"]
    assert {"version_added", "author", "short_description", "description"} <= spec.keys()


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_in_all_places(role: str) -> None:
    playbook = next((name for name in PLAYBOOKS if find_role(name) == role), role)
    places = (
        f"plugins/plugin_utils/_workflows/{role}.py",
        f"playbooks/{playbook}.yml",
        f"docs/examples/{playbook}.yml",
        f"tests/integration/targets/role_{role}/tasks/main.yml",
    )
    missing = [place for place in places if not (ROOT / place).is_file()]
    if not any(re.search(rf"\b{role}\b", path.read_text(encoding="utf-8")) for path in WORKFLOW_TESTS):
        missing.append(f"tests/unit/_workflows/test_{role}.py")
    missing += [f"roles/{role}/README.md: the section {section}" for section in list_empty_sections(role)]
    assert not missing, f"the role {role} lacks {', '.join(missing)}"


def list_empty_sections(role: str) -> list[str]:
    """Return the sections of the README of a role without text."""
    readme = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", readme, flags=re.MULTILINE)
    return [section for section, text in zip(parts[1::2], parts[2::2], strict=True) if not text.strip()]


def test_the_readme_lists_roles_and_playbooks() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Roles and playbooks\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(role for role, dummy in rows) == ROLES
    assert sorted(playbook for dummy, playbook in rows) == PLAYBOOKS


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_every_playbook_has_an_example_of_its_variables(playbook: str) -> None:
    """The example shows variables of the playbook and its role, each with a comment."""
    role = find_role(playbook)
    assert role
    example = load("docs", "examples", f"{playbook}.yml")
    assert example, f"docs/examples/{playbook}.yml is missing"
    for name in example:
        assert name in options_of(role) or name.startswith(f"{playbook}_"), name
    text = (ROOT / "docs" / "examples" / f"{playbook}.yml").read_text(encoding="utf-8")
    assert f"ansible-playbook {PREFIX}{playbook} " in text


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_each_playbook_knows_its_own_variables(playbook: str) -> None:
    """A misspelt one is refused before anything else is done."""
    text = (ROOT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8")
    role = find_role(playbook)
    own = set(re.findall(rf"\b{playbook}_\w+", text)) - options_of(str(role)).keys()
    assert (role, own) == (OF_PLAYBOOKS[playbook][0], set(OF_PLAYBOOKS[playbook][1]))


@pytest.mark.parametrize("playbook", OF_PLAYBOOKS)
def test_variables_are_checked_first(playbook: str) -> None:
    first = load("playbooks", f"{playbook}.yml")[0]["tasks"][0]
    assert first["ansible.builtin.import_tasks"] == "tasks/refuse_unknown_variables.yml"
    assert first["vars"] == {"checked_playbook": playbook}


def test_playbooks_without_a_role_know_their_own_variables() -> None:
    assert set(OF_PLAYBOOKS["demo"][1]) == {*load("playbooks", "demo.yml")[0]["vars"]}
    text = (ROOT / "playbooks" / "send_to_chat.yml").read_text(encoding="utf-8")
    # Those that the playbook itself sets.
    internal = {"chat_batch", "chat_response", "chat_refusal", "chat_url"}
    assert set(OF_PLAYBOOKS["send_to_chat"][1]) == {*re.findall(r"\bchat_\w+", text)} - internal


@pytest.mark.parametrize("role", ROLES)
def test_each_playbook_of_a_role_ends_with_a_summary(role: str) -> None:
    """The summary comes before the task that fails because of failed objects, which ends the play."""
    tasks = [task for task in tasks_of(role) if "ansible.builtin.debug" in task or "ansible.builtin.fail" in task]
    (playbook,) = (name for name in PLAYBOOKS if find_role(name) == role)
    plays = load("playbooks", f"{playbook}.yml")
    last_plays = plays[[bool(list_roles(play)) for play in plays].index(True) + 1 :]
    summaries = [
        task for task in (*tasks, *(task for play in last_plays for task in play["tasks"])) if is_summary(task)
    ]
    assert len(summaries) == 1
    assert last_plays or tasks.index(summaries[0]) == len(tasks) - 2


def is_summary(task: dict[str, Any]) -> bool:
    return "virtinfra.manager.report_table" in str(task.get("ansible.builtin.debug", {}).get("msg"))


def test_summary_counts_outcomes_and_explains_failures() -> None:
    entries: list[dict[str, Any]] = [
        {"vm": "vm-1", "outcome": "changed", "error": None, "stopped_vms": [{}, {}], "powered_off": True},
        {"vm": "vm-2", "outcome": "changed", "error": None, "stopped_vms": [{}], "powered_off": False},
        {"vm": "vm-3", "outcome": "unchanged", "error": None, "stopped_vms": [], "powered_off": True},
        {"vm": "vm-4", "outcome": "skipped", "error": "is not running", "stopped_vms": None},
        {"kind": "test", "name": "web\x1b[2J\n", "outcome": "failed", "error": "no answer"},
        {"name": "host-1", "outcome": "failed", "error": "host host-1: is full"},
        {"name": "host-2", "outcome": "unneeded", "error": None, "remains": "It stays in maintenance."},
        {"vm": "vm-5", "outcome": "checked", "error": None, "why": "No storage has room."},
        {"vm": "vm-6", "outcome": "full", "error": None, "why": "It has no point."},
    ]
    assert format_table(entries, "VMs", {"later": 4, "not reached": ["host-2"]}, "the fact x_report") == [
        "VMs               9",
        "changed           2",
        "unchanged         1",
        "skipped           1",
        "failed            2",
        "unneeded          1",
        "checked           1",
        "full              1",
        "stopped VMs       3",
        "powered off       2",
        "later             4",
        "not reached       1",
        "changed: vm-1, vm-2, vm-6",
        "not reached: host-2",
        "remains: host-2: It stays in maintenance.",
        "skipped: vm-4: is not running",
        "failed: test web\\x1b[2J\\n: no answer",
        "failed: host host-1: is full",
        "checked: vm-5: No storage has room.",
        "Details are in the fact x_report.",
    ]
    assert format_table([]) == ["objects       0"]


def test_a_summary_names_what_was_changed() -> None:
    """A number of 400 VMs says nothing about which."""
    changed = [{"kind": "VM", "name": f"vm-{number}", "outcome": "full", "error": None} for number in range(22)]
    assert format_table([*changed, {"name": "host-1", "outcome": "unneeded", "error": None}])[-1] == (
        f"changed: {', '.join(f'VM vm-{number}' for number in range(20))}, 2 others"
    )


def test_a_summary_says_a_reason_once() -> None:
    """Of 2,500 stopped VMs that a role skips every night, it names a few, of those that fail all."""
    skipped = [{"vm": f"vm-{number}", "outcome": "skipped", "error": "is not running"} for number in range(8)]
    failed = [{"vm": f"vm-{number}", "outcome": "failed", "error": "no answer"} for number in range(8)]
    assert format_table([*skipped, *failed])[-2:] == [
        "skipped: vm-0, vm-1, vm-2, vm-3, vm-4, 3 others: is not running",
        "failed: vm-0, vm-1, vm-2, vm-3, vm-4, vm-5, vm-6, vm-7: no answer",
    ]
