"""Writes what follows from the ``meta/argument_specs.yml`` of the roles, for the session ``format``.

These are the settings of the workflows, ``defaults`` and ``meta`` of each role, the tables of variables in its README,
its row in the README of the collection, the choices of the module workflow, and what integration targets share. A new
role also gets its first README, tasks and playbook, and the tasks of its target. Comments in the specification say
which variables a user needs, and which are usual.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from support.collection import ROOT

Options = Mapping[str, Mapping[str, Any]]

ROLES = ROOT / "roles"
SETTINGS = ROOT / "plugins" / "plugin_utils" / "_site" / "settings.py"
README = ROOT / "README.md"
MODULE = ROOT / "plugins" / "modules" / "workflow.py"
TARGETS = ROOT / "tests" / "integration" / "targets"

# The comments that begin the groups of variables of a role, in their order.
GROUPS = ("needed", "usual", "rarely needed")

HEADER = '''\
"""The variables of each role as its workflow gets them, by their names without the prefix of the role.

The session ``format`` writes this file from the ``meta/argument_specs.yml`` of the roles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...module_utils._api.records import Record
'''

# The sections of the README of a role.
SECTIONS = ("Variables", "Result", "Idempotence and check mode", "When something fails", "Undo")

META = """\
---
galaxy_info:
  author: Contributors to the virtinfra.manager project
  description: {description}
  license: GPL-3.0-or-later
  min_ansible_version: "{core}"
dependencies: []
"""

# The tasks of a new role. What is more than the work of its workflow, people add.
TASKS = """\
---
# If the role fails early, the fact is not that of an earlier run.
- name: Empty the report
  ansible.builtin.set_fact:
    ROLE_report: []

- name: DESCRIPTION
  virtinfra.manager.workflow:
    role: ROLE
  become: false
  register: __ROLE_done

- name: Report the outcome of each object
  ansible.builtin.set_fact:
    ROLE_report: "{{ __ROLE_done.report }}"

- name: Show a summary
  ansible.builtin.debug:
    msg: "{{ ROLE_report | virtinfra.manager.report_table('objects', report='the fact ROLE_report') }}"

- name: Fail if an object has failed
  ansible.builtin.fail:
    msg: "{{ __ROLE_done.msg }}. The summary above and the fact ROLE_report say why."
  when: __ROLE_done.failed_count > 0
"""

# The playbook of a role that no other one plays.
PLAYBOOK = """\
---
# DESCRIPTION. docs/examples/ROLE.yml has its variables.
#
# The environment variables VIRTINFRA_BASE_URL, VIRTINFRA_ACCOUNT and VIRTINFRA_ACCOUNT_PASSWORD set the connection.
- name: DESCRIPTION
  hosts: localhost
  gather_facts: false
  tasks:
    # The role validates its variables itself, with shorter messages.
    - name: DESCRIPTION
      ansible.builtin.import_role:
        name: virtinfra.manager.ROLE
        rolespec_validate: false
"""

# The tasks of the integration target of a new role.
TARGET_TASKS = """\
---
- name: DESCRIPTION
  block:
    - name: Play the playbook with its example, twice
      ansible.builtin.include_role:
        name: setup_simulator
        tasks_from: run_playbook
      vars:
        setup_simulator_arguments:
          - virtinfra.manager.PLAYBOOK
          - --extra-vars=@{{ virtinfra_collection }}/docs/examples/PLAYBOOK.yml
      loop: [1, 2]

    - name: The second run has changed nothing
      ansible.builtin.assert:
        that:
          - virtinfra_run.code == 0
          - virtinfra_run.written == []
"""

# The files of the integration target of a role that are those of all.
TARGET_FILES = {"aliases": "gather_facts/no\n", "meta/main.yml": "---\ndependencies:\n  - setup_simulator\n"}

DEFAULTS_HEADER = """\
---
# The session format writes this file from meta/argument_specs.yml, which also has the variables without a default.
"""

BEGIN = "<!-- The session format writes these tables from meta/argument_specs.yml. -->\n"
END = "<!-- End of the tables. -->\n"

# What readers of a table need to know about all of its variables.
REFUSALS = """\
A variable that begins with `{role}_` and is not in these tables is refused before it has an effect, and so is a
value of another form. The message says what was probably meant.
"""

# The types of variables. A dict has the options of its specification, or any.
TYPES = {"str": "str", "path": "str", "int": "int", "bool": "bool", "dict": "Record"}

# Markup of Ansible, and what a README shows in its place.
MARKUP = (
    (r"O\(virtinfra\.manager\.(\w+)#module:(\w+)\)", r"`\2` of the module `\1`"),
    (r"O\((\w+)=([^)]*)\)", r"`\1: \2`"),
    (r"M\(virtinfra\.manager\.(\w+)\)", r"`\1`"),
    (r"P\(virtinfra\.manager\.(\w+)#role\)", r"[\1](../\1/README.md)"),
    (r"RV\(ignore:(\w+)\)", r"`\1`"),
    (r"[OVC]\(([^)]*)\)", r"`\1`"),
)


def list_roles() -> list[str]:
    """Return the names of all roles."""
    return sorted(path.name for path in ROLES.iterdir())


def read_options(role: str) -> Options:
    """Return the variables of a role."""
    options: Options = _load_spec(role)["options"]
    return options


def _load_spec(role: str) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = yaml.safe_load(_read_spec(role))["argument_specs"]["main"]
    return spec


def _read_spec(role: str) -> str:
    return (ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")


def group_options(role: str) -> dict[str, list[str]]:
    """Return the names of the variables of each group, as the comments in the specification say.

    Raise ValueError for a variable before the first comment, and for groups in another order than that of ``GROUPS``.
    """
    groups: dict[str, list[str]] = {}
    for comment, name in re.findall(rf"^      (?:# ({'|'.join(GROUPS)})|(\w+):)$", _read_spec(role), re.MULTILINE):
        if comment:
            groups[comment] = []
        elif not groups:
            raise ValueError(f"{name} of the role {role} has no comment above it such as '# {GROUPS[0]}'")
        else:
            groups[[*groups][-1]].append(name)
    if list(groups) != [group for group in GROUPS if group in groups]:
        raise ValueError(f"the groups of the role {role} must be in this order: {', '.join(GROUPS)}")
    return groups


def is_template(default: Any) -> bool:
    """Whether only Ansible can evaluate a default."""
    return "{{" in str(default)


# ------------------------------------------------------------------------------------------------------------ settings


def format_settings() -> str:
    """Return the text of the settings of all workflows, which ruff formats afterwards."""
    return "\n\n".join([HEADER, *map(_format_class, list_roles())])


def name_class(role: str) -> str:
    """Return the name of the class with the settings of a role."""
    return "".join(word.capitalize() for word in role.split("_")) + "Settings"


def _format_class(role: str) -> str:
    fields = [
        f"    {name.removeprefix(f'{role}_')}: {_format_field(rules)}" for name, rules in read_options(role).items()
    ]
    lines = ["@dataclass(frozen=True, kw_only=True)", f"class {name_class(role)}:"]
    return "\n".join([*lines, f'    """The variables of the role {role}."""', "", *fields, ""])


def _format_field(rules: Mapping[str, Any]) -> str:
    """Return the type and the default of a variable."""
    kind, default = _format_type(rules), rules.get("default")
    if rules.get("required"):
        return kind
    if default is None or is_template(default):
        return f"{kind} | None = None"
    if isinstance(default, (list, dict)):
        factory = type(default).__name__ if not default else f"lambda: {default!r}"
        return f"{kind} = field(default_factory={factory})"
    return f"{kind} = {default!r}"


def _format_type(rules: Mapping[str, Any]) -> str:
    if rules["type"] == "list":
        return f"list[{TYPES[rules['elements']]}]"
    choices = rules.get("choices")
    return f"Literal[{', '.join(map(repr, choices))}]" if choices else TYPES[rules["type"]]


# ----------------------------------------------------------------------------------------------- defaults and README


def format_defaults(role: str) -> str | None:
    """Return the content of ``defaults/main.yml``, None for a role without defaults."""
    lines = [
        f"{name}: {_format_yaml(rules['default'])}" for name, rules in read_options(role).items() if "default" in rules
    ]
    return "\n".join([DEFAULTS_HEADER.rstrip("\n"), *lines, ""]) if lines else None


def _format_yaml(value: Any) -> str:
    """Return a value in one line: words as they are, and anything else in JSON, which is YAML, too."""
    is_word = isinstance(value, str) and re.fullmatch(r"[a-z_]+", value) and yaml.safe_load(value) == value
    return str(value) if is_word else json.dumps(value, ensure_ascii=False)


def format_readme(role: str) -> str:
    """Return the README of a role with its present tables of variables. The README of a new role has its sections."""
    path = ROLES / role / "README.md"
    text = path.read_text(encoding="utf-8") if path.exists() else _begin_readme(role)
    before, begin, rest = text.partition(BEGIN)
    if not begin:
        raise ValueError(f"the README of the role {role} lacks the line {BEGIN.strip()}")
    options = read_options(role)
    tables = [_format_table(group, names, options) for group, names in group_options(role).items()]
    return "\n".join([f"{before}{begin}", REFUSALS.format(role=role), *tables, f"{END}{rest.partition(END)[2]}"])


def _begin_readme(role: str) -> str:
    parts = [f"# virtinfra.manager.{role}", f"{_load_spec(role)['short_description']}."]
    for section in SECTIONS:
        parts += [f"## {section}", *([f"{BEGIN}{END.rstrip()}"] if section == "Variables" else [])]
    return "\n\n".join([*parts, ""])


def _format_table(group: str, names: Iterable[str], options: Options) -> str:
    rows = [f"| `{name}` | {_format_default(options[name])} | {summarize(options[name])} |" for name in names]
    return "\n".join([f"| {group} | default | meaning |", "| --- | --- | --- |", *rows, ""]).replace("|  |", "| |")


def _format_default(rules: Mapping[str, Any]) -> str:
    """Return the cell of a default. What a template is made of, the description of the variable says."""
    default = rules.get("default")
    if rules.get("required"):
        return "required"
    if default in (None, "") or is_template(default):
        return ""
    return f"`{default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)}`"


def summarize(rules: Mapping[str, Any]) -> str:
    """Return the cell that describes a variable: a paragraph, the choices that it does not name, and the members."""
    description = rules["description"]
    text = str(description if isinstance(description, str) else description[0])
    choices = list(map(str, rules.get("choices", ())))
    if any(f"V({choice})" not in text for choice in choices):
        text += f" One of {', '.join(f'V({choice})' for choice in choices)}."
    if members := [f"C({name})" for name in rules.get("options", ())]:
        text += f" {'Its members' if rules['type'] == 'dict' else 'The members of an entry'}: {', '.join(members)}."
    for markup, shown in MARKUP:
        text = re.sub(markup, shown, text)
    return text


# ---------------------------------------------------------------------------------------------------------------- main


def format_module(text: str) -> str:
    """Return the text of the module workflow with the names of all roles as the choices of its option."""
    documented = "".join(f"      - {role}\n" for role in list_roles())
    text = re.sub(r"(?<=\n    choices:\n)(?:      - \w+\n)+", documented, text, count=1)
    return re.sub(r'(?<="choices": )\[[^]]*\]', repr(list_roles()), text, count=1)


def format_meta(role: str) -> str:
    """Return the content of ``meta/main.yml``."""
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    core = re.findall(r"\d+\.\d+", runtime["requires_ansible"])[0]
    return META.format(description=_load_spec(role)["short_description"], core=core)


def format_collection_readme(text: str) -> str:
    """Return the README of the collection with a row for each role: its playbook, and what it does."""
    playbooks = _map_playbooks()
    rows = [
        f"| `{role}` | `{playbooks.get(role, role)}` | {_load_spec(role)['short_description']} |\n"
        for role in list_roles()
    ]
    return re.sub(r"(?<=\| role \| playbook \| what it does \|\n\|---\|---\|---\|\n)(?:\|.*\n)+", "".join(rows), text)


def _map_playbooks() -> dict[str, str]:
    """Return the name of a playbook that plays each role, as far as one does."""
    return {role: path.stem for path in sorted((ROOT / "playbooks").glob("*.yml")) for role in _find_roles(path)}


def _begin_files(role: str) -> Iterator[tuple[Path, str]]:
    """Yield the files that a new role lacks, which people change afterwards."""
    playbook = _map_playbooks().get(role, role)
    words = {"ROLE": role, "PLAYBOOK": playbook, "DESCRIPTION": _load_spec(role)["short_description"]}
    files = {
        ROLES / role / "tasks" / "main.yml": TASKS,
        ROOT / "playbooks" / f"{playbook}.yml": PLAYBOOK,
        TARGETS / f"role_{role}" / "tasks" / "main.yml": TARGET_TASKS,
    }
    for path, text in files.items():
        if not path.exists():
            yield path, re.sub("|".join(words), lambda match: words[match[0]], text)


def _find_roles(playbook: Path) -> list[str]:
    """Return the roles that a playbook lists or imports."""
    return re.findall(r"(?:role|name): virtinfra\.manager\.(\w+)$", playbook.read_text(encoding="utf-8"), re.MULTILINE)


def build_files() -> Iterator[tuple[Path, str]]:
    """Yield the files with their present contents. Files in Python are formatted by ruff afterwards."""
    yield SETTINGS, format_settings()
    yield MODULE, format_module(MODULE.read_text(encoding="utf-8"))
    yield README, format_collection_readme(README.read_text(encoding="utf-8"))
    for role in list_roles():
        yield from _begin_files(role)
        yield ROLES / role / "README.md", format_readme(role)
        yield ROLES / role / "meta" / "main.yml", format_meta(role)
        for name, content in TARGET_FILES.items():
            yield TARGETS / f"role_{role}" / name, content
        if (defaults := format_defaults(role)) is not None:
            yield ROLES / role / "defaults" / "main.yml", defaults


def main() -> None:
    """Write the files."""
    for path, text in build_files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
