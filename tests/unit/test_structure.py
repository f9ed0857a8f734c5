"""The shape of the collection: who may know what, how long a module may be, and that everything has its place."""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._backup import runs
from ansible_collections.virtinfra.manager.plugins.plugin_utils._action import mover
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups import mover_work

from support.collection import ALL_MODULES, MODULES, MOVER_MODULES, ROOT, load_spec, module
from support.room_lists import DOCUMENT, write_lists
from support.written import require_current

PLUGINS = ROOT / "plugins"
FILES = sorted(PLUGINS.rglob("*.py"))
UTILS = "ansible_collections.virtinfra.manager.plugins.module_utils"
DOCUMENTATION = {"DOCUMENTATION", "EXAMPLES", "RETURN"}


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def named(path: Path) -> str:
    """Return a file's path within the plugins."""
    return str(path.relative_to(PLUGINS))


# ------------------------------------------------------------------------------------------------------ who knows what


def test_paths_of_the_service_are_in_one_file(subtests: pytest.Subtests) -> None:
    """Documentation may show a polling address."""
    for path in FILES:
        with subtests.test(named(path)):
            if named(path) in ("module_utils/_api/operation.py", "module_utils/_api/service.py"):
                continue
            texts = [text for text in strings_of(tree(path)) if "\n" not in text]
            roots = {row.split("/")[0] for row in paths_of_operations()} - {"cluster", "hosts"}
            for text in texts:
                assert "/v1/" not in text, text
                assert "api/v1" not in text
                assert not re.match(rf"({'|'.join(roots)})/", text), text


def paths_of_operations() -> set[str]:
    """Return the relative paths of the operations."""
    rows = import_module(f"{UTILS}._api.operations").OPERATIONS.values()
    return {row.path for row in rows if row.credential != "token"}


def strings_of(node: ast.AST) -> Iterator[str]:
    """Yield all texts in a syntax tree."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


FORBIDDEN = {"AnsibleModule", "fail_json", "exit_json", "check_mode", "sleep", "requests", "socket", "http", "time"}


def test_modules_describe_and_do_not_act(subtests: pytest.Subtests) -> None:
    for name in ALL_MODULES:
        with subtests.test(name):
            words = {
                word
                for node in ast.walk(tree(PLUGINS / "modules" / f"{name}.py"))
                for word in (
                    [node.id]
                    if isinstance(node, ast.Name)
                    else [node.attr]
                    if isinstance(node, ast.Attribute)
                    else [alias.name for alias in node.names]
                    if isinstance(node, (ast.Import, ast.ImportFrom))
                    else []
                )
            }
            assert words & FORBIDDEN == set()


def test_one_file_makes_a_module() -> None:
    """The modules of the API have one, and so have those of data movers, which have no access to the API."""
    users = [named(path) for path in FILES if "basic.AnsibleModule" in path.read_text(encoding="utf-8")]
    assert sorted(users) == ["module_utils/_backup/process.py", "module_utils/_modules/process.py"]


def test_one_file_sleeps() -> None:
    found = [
        named(path)
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and node.attr == "sleep"
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
    ]
    assert len(found) == 1, found


def test_backups_read_the_date_in_one_place() -> None:
    """The controller and the data mover have one place each, so that tests can let nights pass."""
    rooms = ("module_utils/_backup", "plugin_utils/_site", "plugin_utils/_vm_backups", "plugin_utils/_workflows")
    found = [
        named(path)
        for path in FILES
        if named(path).startswith(rooms)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today")
        if isinstance(node.value, ast.Name) and node.value.id in ("datetime", "date")
    ]
    # A window is a time of day of the controller.
    assert found == ["module_utils/_backup/clock.py", "plugin_utils/_site/window.py"]


# The rooms of module_utils and plugin_utils. A file imports from its own room and from the rooms above it; the last
# three do not import from each other. The code of data movers imports nothing of other rooms, and is imported by its
# modules only.
MOVER_ROOM = "module_utils/_backup"
ROOMS = (
    "module_utils/_masking",
    "module_utils/_api",
    "module_utils/_http",
    "module_utils/_client",
    "module_utils/_engine",
    "module_utils/_resources",
    "module_utils/_modules",
    MOVER_ROOM,
    "plugin_utils/_run",
    "plugin_utils/_jinja",
    "plugin_utils/_batch",
    "plugin_utils/_site",
    "plugin_utils/_vm_backups",
    "plugin_utils/_vm_restores",
    "plugin_utils/_pages",
    "plugin_utils/_workflows",
    "plugin_utils/_action",
    "plugin_utils/_inventory",
    "plugin_utils/_eda",
)
SIBLINGS = {"plugin_utils/_action", "plugin_utils/_inventory", "plugin_utils/_eda"}
IN_MODULES = {room for room in ROOMS if room.startswith("module_utils")} - {MOVER_ROOM}

# The rooms and folders from which the plugins of a folder may import.
IMPORTED_BY = {
    "action": {"modules", "plugin_utils/_action"},
    "doc_fragments": set[str](),
    "filter": {*IN_MODULES, "plugin_utils/_jinja", "plugin_utils/_site"},
    "inventory": {*IN_MODULES, "plugin_utils/_inventory", "plugin_utils/_jinja"},
    "lookup": {*IN_MODULES, "plugin_utils/_run"},
    "module_utils": set[str](),
    "modules": {*IN_MODULES, MOVER_ROOM, "module_utils"},
    "test": {*IN_MODULES, "plugin_utils/_jinja", "plugin_utils/_run"},
}

CHECK = PLUGINS / "module_utils" / "_python.py"
CHECKS = ("check_python()", "check_python(REQUIRED_ON_MOVERS)")


def room_of(path: Path) -> str:
    """Return the folder of a file of the plugins."""
    return named(path.parent)


@cache
def imports_of(path: Path) -> set[Path]:
    """Return the files of the plugins that a file imports. Within the plugins, imports are relative."""
    imported = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1]
            imported.add(folder.joinpath(*(node.module or "").split(".")).with_suffix(".py"))
    return imported


def rooms_below(room: str) -> set[str]:
    """Return the rooms and folders from which the files of a room or folder may import."""
    if room in IMPORTED_BY:
        return IMPORTED_BY[room]
    if room == MOVER_ROOM:
        return {room}
    below = {*ROOMS[: ROOMS.index(room) + 1]} - {MOVER_ROOM}
    return below - SIBLINGS | {room} if room in SIBLINGS else below


def test_a_file_imports_from_its_room_and_the_rooms_below(subtests: pytest.Subtests) -> None:
    for path in FILES:
        with subtests.test(named(path)):
            imported = imports_of(path)
            assert [found for found in imported if not found.is_file()] == []
            # The check of the Python is in no room.
            assert {room_of(found) for found in imported if found != CHECK} <= rooms_below(room_of(path))


def test_imports_within_the_plugins_are_relative() -> None:
    absolute = "ansible_collections.virtinfra"
    found = [
        named(path)
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(absolute)
    ]
    assert found == []


def test_only_three_modules_ship_the_catalogue() -> None:
    """The catalogue would be a fifth of the payload of each other module process."""
    catalogue = {PLUGINS / "module_utils" / "_api" / f"{name}.py" for name in ("catalogue", "catalogue_rows")}
    shipping = {name for name in ALL_MODULES if catalogue & reach(PLUGINS / "modules" / f"{name}.py")}
    assert shipping == {"api", "resource", "resource_info"}


def test_a_module_ships_what_it_needs() -> None:
    """The payload of a module process: the files for conditions go with lists, those for new VMs with their modules."""
    shipped = {name: {named(path) for path in reach(PLUGINS / "modules" / f"{name}.py")} for name in ALL_MODULES}
    rooms = {name: {each.split("/")[1] for each in files if each.count("/") > 1} for name, files in shipped.items()}
    reading = {name for name, files in shipped.items() if "module_utils/_modules/read.py" in files}
    # The module resource suggests what was meant by a wrong property.
    listing = {name for name, files in shipped.items() if "module_utils/_api/conditions.py" in files}
    assert listing == reading | {"resource"}
    assert {"host_info", "vm_info"} <= {name for name in reading if "_resources" not in rooms[name]}
    creating = {name for name, files in shipped.items() if "module_utils/_resources/vm_creation.py" in files}
    assert creating == {name for name, files in shipped.items() if "module_utils/_modules/vm_options.py" in files}
    assert creating == {"vm"}
    planning = {name for name, files in shipped.items() if "module_utils/_resources/vms.py" in files}
    assert "volume" not in planning
    kinds = {name for name, files in shipped.items() if "module_utils/_resources/kind_rows.py" in files}
    assert kinds == {"resource"}


def reach(path: Path) -> set[Path]:
    """Return the files that a file imports, directly and indirectly, at its beginning or later."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        new = imports_of(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def test_imports_go_one_way() -> None:
    """No files import each other, also not for types alone."""
    order = TopologicalSorter({path: imports_of(path) for path in FILES}).static_order()
    assert set(order) == set(FILES)


def test_a_room_has_no_code_of_its_own(subtests: pytest.Subtests) -> None:
    for room in ROOMS:
        with subtests.test(room):
            files = sorted((PLUGINS / room).glob("*.py"))
            assert [path for path in files if path.name != "__init__.py"]
            assert all(not path.read_text(encoding="utf-8") for path in files if path.name == "__init__.py")


def test_every_file_is_in_a_room() -> None:
    """The exception is the check that runs before a module imports anything of the rooms."""
    outside = {named(path) for path in FILES if "_utils" in named(path) and room_of(path) not in ROOMS}
    assert outside == {named(CHECK)}


def test_a_module_checks_the_python_before_it_needs_a_newer_one(subtests: pytest.Subtests) -> None:
    """Python 3.6 can compile each module and the check, so it gets to the check."""
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree(CHECK)))
    for path in (CHECK, *(PLUGINS / "modules" / f"{name}.py" for name in ALL_MODULES)):
        with subtests.test(named(path)):
            text = path.read_text(encoding="utf-8")
            ast.parse(text, feature_version=(3, 6))
            # Python 3.6 does not know it, which ast.parse() does not check.
            assert "from __future__ import annotations" not in text
            statements = [node for node in tree(path).body if not isinstance(node, ast.Assign)]
            first = [ast.unparse(node) for node in statements[:2]]
            of_movers = ["from ..module_utils._python import REQUIRED_ON_MOVERS, check_python", CHECKS[1]]
            of_the_api = ["from ..module_utils._python import check_python", CHECKS[0]]
            assert path == CHECK or first == (of_movers if path.stem in MOVER_MODULES else of_the_api)


def test_plugins_of_the_controller_check_the_python_first() -> None:
    """Python 3.9, of ansible-core 2.14, would not know names that they import."""
    paths = [*(PLUGINS / "inventory").glob("*.py"), *(PLUGINS / "lookup").glob("*.py")]
    assert len(paths) > 3
    for path in paths:
        statements = [ast.unparse(node) for node in tree(path).body if not isinstance(node, ast.Assign)]
        first = statements[statements.index("from __future__ import annotations") + 1 :]
        assert first[:2] == ["from ..module_utils._python import check_python", "check_python()"], path


def test_the_picture_of_the_rooms_is_correct() -> None:
    line = re.search(r"^`_masking.*`$", (ROOT / "docs" / "development.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert line
    pictured = ROOMS[: ROOMS.index(MOVER_ROOM)]
    assert re.findall(r"\w+", line.group()) == [room.rpartition("/")[2] for room in pictured]


def test_the_files_of_each_room_are_named() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    require_current(DOCUMENT, write_lists(text))
    assert {*re.findall(r"^\| `(_\w+)` \|", text, re.MULTILINE)} == {Path(room).name for room in ROOMS}


def test_a_new_file_is_named_in_the_row_of_its_kind(subtests: pytest.Subtests) -> None:
    """The workflow of a role is named beside those of the others, any other file in the last row of its room."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in ("reader", "tasks", "vm_power", "wish"):
        with subtests.test(name):
            assert f" `{name}` " in text
            assert write_lists(text.replace(f" `{name}`", "", 1)) == text


def test_unit_tests_are_in_the_folders_of_the_rooms() -> None:
    rooms = {room.rpartition("/")[2] for room in ROOMS}
    folders = {path.parent.name for path in (ROOT / "tests" / "unit").rglob("test_*.py")}
    assert folders - rooms == {"inventory", "modules", "simulator", "unit"}


STARTS_ANSIBLE = {"playbook_runner", "job_runner", "rulebook_runner"}


def test_no_unit_test_starts_ansible() -> None:
    """Tests that start Ansible are in tests/functional: the unit tests are fast enough to run after each edit."""
    found = set()
    words = re.compile(rf"""{"|".join(STARTS_ANSIBLE)}|["']ansible""")
    # Parsing all files would take seconds.
    paths = [path for path in (ROOT / "tests" / "unit").rglob("*.py") if words.search(path.read_text(encoding="utf-8"))]
    for path in paths:
        for node in ast.walk(tree(path)):
            used = {getattr(node, "arg", None), str(getattr(node, "module", None)).rpartition(".")[2]}
            is_command = isinstance(node, ast.Constant) and re.fullmatch(r"ansible(-\w+)?", str(node.value))
            if path.name != Path(__file__).name and (used & STARTS_ANSIBLE or is_command):
                found.add(path.name)
    assert found == set()


@pytest.mark.parametrize("name", ["current", "differences", "drift", "plan", "settling", "spec", "tags"])
def test_the_planner_is_pure(name: str) -> None:
    path = PLUGINS / "module_utils" / "_engine" / f"{name}.py"
    imported = {
        node.module or "" for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom) and not node.level
    }
    foreign = imported | {
        alias.name for node in ast.walk(tree(path)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert foreign <= {"__future__", "collections.abc", "contextlib", "dataclasses", "functools", "types", "typing"}


# ---------------------------------------------------------------------------------------------------------------- size


def logic_lines(name: str) -> int:
    """Return how many lines of a module are neither documentation, imports, their check, options, blank nor comment."""
    path = PLUGINS / "modules" / f"{name}.py"
    counted: set[int] = set()
    for node in tree(path).body:
        targets = {target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)}
        is_import = isinstance(node, (ast.Import, ast.ImportFrom)) or ast.unparse(node) in CHECKS
        if is_import or targets & DOCUMENTATION:
            continue
        counted |= lines_of(node)
        counted -= {line for child in ast.walk(node) for line in lines_of_description(child)}
    text = path.read_text(encoding="utf-8").splitlines()
    return len([line for line in counted if text[line - 1].strip() and not text[line - 1].strip().startswith("#")])


def lines_of(node: ast.AST) -> set[int]:
    """Return the numbers of the lines of a statement."""
    return set(range(node.lineno, node.end_lineno + 1))  # type: ignore[attr-defined]


def lines_of_description(node: ast.AST) -> set[int]:
    """Return the lines of an option spec, of the states of options, or of a docstring, if that is what the node is."""
    names = ("options", "equality_options", "only_absent", "never_absent", "acts_with")
    is_spec = isinstance(node, ast.keyword) and node.arg in names
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return lines_of(node) if is_spec or is_text else set()


def test_modules_are_short() -> None:
    sizes = {name: logic_lines(name) for name in ALL_MODULES}
    assert statistics.median(sizes.values()) <= 20, sizes
    assert max(sizes.values()) <= 40, sizes


def test_no_class_is_long() -> None:
    """A class with more lines has more than one purpose."""
    sizes = {
        f"{named(path)}: {node.name}": len(lines_of(node))
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and path.parent.name != "doc_fragments"
    }
    assert {name: size for name, size in sizes.items() if size > 200} == {}


def count_decisions(function: ast.AST) -> int:
    """Return the branches of a function, with those in its expressions, which the count of ruff leaves out."""
    branches = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.match_case)
    nodes = [*ast.walk(function)]
    conditions = sum(len(node.ifs) for node in nodes if isinstance(node, ast.comprehension))
    operators = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return sum(isinstance(node, branches) for node in nodes) + conditions + operators


def test_functions_make_few_decisions() -> None:
    many = {
        f"plugins/{named(path)}: {node.name}": count
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (count := count_decisions(node)) > 18
    }
    assert not many, f"functions with more than 18 decisions: {many}. Split them along their subjects"


# -------------------------------------------------------------------------------------------- everything has its place


def test_every_module_is_in_the_action_group() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert runtime["action_groups"] == {"api": MODULES}


def test_every_module_has_its_action(subtests: pytest.Subtests) -> None:
    """An action with the name of its module gets the defaults of that module. All actions are one class."""
    for name in MODULES:
        with subtests.test(name):
            of_api, own = (
                import_module(f"ansible_collections.virtinfra.manager.plugins.action.{each}") for each in ("api", name)
            )
            assert own.ActionModule is of_api.ActionModule
            of_module = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{name}")
            assert name == "api" or own.main is of_module.main


def test_every_action_has_its_module() -> None:
    of_movers = {f"backup_{name}" for name in ("point", "point_info", "restore", "run")}
    assert {path.stem for path in (PLUGINS / "action").glob("*.py")} == {*MODULES, *of_movers}
    for name in of_movers:
        action = import_module(f"ansible_collections.virtinfra.manager.plugins.action.{name}")
        assert action.ActionModule is mover.MoverAction
    assert mover_work.PATIENCE == runs.LONGEST_SILENCE


def test_every_module_has_an_integration_target(subtests: pytest.Subtests) -> None:
    for name in MODULES:
        with subtests.test(name):
            target = ROOT / "tests" / "integration" / "targets" / name
            tasks = (target / "tasks" / "main.yml").read_text(encoding="utf-8")
            assert f"virtinfra.manager.{name}:" in tasks
            assert "ansible.builtin.assert:" in tasks
            assert yaml.safe_load((target / "meta" / "main.yml").read_text(encoding="utf-8")) == {
                "dependencies": ["setup_simulator"]
            }


def test_a_module_of_the_mover_is_no_module_of_the_api() -> None:
    """A module of the data mover does not get the connection of the action group."""
    for name in MOVER_MODULES:
        assert "action_group" not in module(name).documentation["attributes"]
        assert module(name).options.keys().isdisjoint({"base_url", "session_id"})


def options_of(name: str) -> dict[str, Any]:
    """Return the options of a module."""
    if name in MOVER_MODULES:
        return dict(import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{name}").MODULE.options)
    return dict(load_spec(name).argument_spec)


def test_every_option_is_documented_as_it_is(subtests: pytest.Subtests) -> None:
    """Each option has the documented type, elements, default and choices, which ansible-test compares too."""
    for name in ALL_MODULES:
        with subtests.test(name):
            spec, documented = options_of(name), module(name).options
            assert spec.keys() == documented.keys()
            for option, rules in spec.items():
                stated = documented[option]
                for rule in ("type", "elements", "default", "choices"):
                    assert rules.get(rule) == stated.get(rule), (option, rule)
                assert rules.get("required", False) == stated.get("required", False), option


def fragments() -> dict[str, dict[str, Any]]:
    """Return the options of each doc fragment."""
    found = {}
    for path in (PLUGINS / "doc_fragments").glob("_*.py"):
        holder = import_module(f"ansible_collections.virtinfra.manager.plugins.doc_fragments.{path.stem}")
        for variant, text in vars(holder.ModuleDocFragment).items():
            if variant.isupper():
                found[f"{path.stem}.{variant}".lower()] = yaml.safe_load(text).get("options") or {}
    return found


@pytest.mark.parametrize(
    ("fragment", "group"),
    [
        ("_connection.documentation", "CONNECTION"),
        ("_wait.times", "WAIT_LIMITS"),
        ("_tags.documentation", "TAGS"),
        ("_listing.documentation", "LIST_OPTIONS"),
        ("_job_handles.documentation", "JOB_HANDLES"),
    ],
)
def test_shared_options_are_documented_in_a_fragment(fragment: str, group: str) -> None:
    options = getattr(import_module(f"{UTILS}._modules.options"), group)
    assert fragments()[fragment].keys() == options.keys()


def test_waiting_is_documented_in_two_fragments() -> None:
    options = import_module(f"{UTILS}._modules.options").WAIT
    documented = fragments()
    assert documented["_wait.documentation"].keys() | documented["_wait.times"].keys() == options.keys()


def test_every_option_of_the_connection_can_come_from_the_environment() -> None:
    options = import_module(f"{UTILS}._modules.options").CONNECTION
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_options.rst").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^``(\w+)``\n((?:  .*\n|\n)+)", guide, re.MULTILINE))
    for name, rules in options.items():
        variable = f"VIRTINFRA_{name.upper()}"
        assert rules["fallback"][1] == [variable]
        assert f"``{variable}``" in documented[name], name


def test_shared_options_are_documented_in_full_in_the_guide() -> None:
    """The pages of the modules describe them in one line each."""
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_options.rst").read_text(encoding="utf-8")
    described = re.findall(r"^``([\w.]+)``$", guide, re.MULTILINE)
    shared = [name for fragment, options in fragments().items() if is_of_modules(fragment) for name in options]
    assert sorted(set(shared)) == sorted({name for name in described if "." not in name})


def is_of_modules(fragment: str) -> bool:
    """Whether a fragment is of the options that several modules for the API have."""
    others = ("_inventory.", "_plugin_connection.", "_job_handles.", "_kinds.", "_mover.", "_vm_creation.")
    return not fragment.startswith(others)


def test_secrets_are_marked() -> None:
    secrets = {"password", "session_id", "account_password", "api_token", "webhook_url", "webhook_key"}
    for name in MODULES:
        for option, rules in load_spec(name).argument_spec.items():
            if option in secrets or (option == "url" and name == "sns_endpoint"):
                assert rules.get("no_log") is True, (name, option)


def test_secrets_in_mappings_are_known_by_their_names() -> None:
    """Options of modules are also members of mappings, in objects of batch, whose names say what is secret."""
    masker = import_module(f"{UTILS}._masking.masker")
    options = [(option, rules) for name in MODULES for option, rules in load_spec(name).argument_spec.items()]
    for option, rules in options:
        assert not (rules.get("no_log") and masker.has_any_members(rules)), option
        member = {"members": {option: "a-secret"}}
        is_known = masker.collect_secrets({"members": {"type": "dict"}}, member) == {"a-secret"}
        assert is_known == bool(rules.get("no_log")), option


class TasksLoader(yaml.CSafeLoader):
    """Reads files of tasks, which may mark texts as unsafe; core's own loader takes a hundred times as long."""


TasksLoader.add_constructor("!unsafe", lambda dummy, node: node.value)


def test_conditions_of_the_targets_are_texts() -> None:
    """An unquoted colon turns a condition into a mapping, which older versions of core evaluate as true."""
    targets = sorted((ROOT / "tests" / "integration" / "targets").glob("*/tasks/*.yml"))
    assert targets
    for path in targets:
        conditions = list(conditions_of(yaml.load(path.read_text(encoding="utf-8"), Loader=TasksLoader)))
        assert [condition for condition in conditions if not isinstance(condition, str)] == [], path


def conditions_of(node: Any) -> Iterator[Any]:
    """Yield all that is asserted in tasks."""
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from conditions_of(child)
    if isinstance(node, dict):
        that = node.get("that", [])
        yield from that if isinstance(that, list) else [that]
