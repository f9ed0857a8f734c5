"""The variables of a role, read from those of a task, validated and converted by the role's argument specification."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError, AnsibleUndefinedVariable
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.validation import check_type_dict
from ansible.module_utils.common.yaml import yaml_load
from ansible.parsing.dataloader import DataLoader
from jinja2.exceptions import UndefinedError

from ...module_utils._api.conditions import find_split
from ...module_utils._api.errors import InvalidOptions, count_slips, describe_unknown_names
from ...module_utils._api.records import is_localhost
from ...module_utils._masking.masker import Masker, collect_secrets
from ...module_utils._modules.forms import check_forms
from ...module_utils._modules.options import Options, drop_empty
from ...module_utils._modules.sizes import unify_values
from ...module_utils._modules.words import VARIABLES, show_text
from ...module_utils._modules.wrong_forms import is_conditions
from .._run.encrypted import decrypt_values
from .playbooks import PLAYBOOKS
from .written_file import spell_mode

# How the text of a variable is read, by the type of the variable.
_READ: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "dict": (check_type_dict, "a mapping"),
    "list": (json.loads, "a list"),
}

ROLES = Path(__file__).parents[3] / "roles"

# What stands for the uuid of the VM in an operation around the moment of a point, and the variables with operations.
PLACEHOLDER = "{vm_uuid}"
_WITH_PLACEHOLDER = ("vm_backup_before", "vm_backup_after")

# The whole numbers that must be above zero, by their names. All others must not be below it: no time for a guest to
# shut down means to power it off at once.
_POSITIVE = re.compile("_(concurrency|per_host|(ssh|snmp)_port|(?<!grace_)timeout)$")


@cache
def list_roles() -> list[str]:
    """Return the names of all roles."""
    return [path.name for path in ROLES.iterdir()]


@cache
def load_role_options(role: str) -> Options:
    """Return the variables of a role with their rules, as its ``meta/argument_specs.yml`` has them.

    Defaults that are templates are left out: only the ``defaults`` of a role, which Ansible evaluates, have those.
    """
    text = (ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    options: Options = yaml_load(text)["argument_specs"]["main"]["options"]
    for rules in options.values():
        if "{{" in str(rules.get("default")):
            del rules["default"]
    return options


def read_variables(
    role: str, variables: Mapping[str, Any], template: Callable[[Any], Any], masker: Masker
) -> dict[str, Any]:
    """Return the variables of a role by their names without the prefix, with the defaults of those that are not set.

    ``variables`` are all variables of the task, which ``template`` evaluates. A null is not set. Secrets are masked
    from now on. Raise InvalidOptions for a variable that the role does not have, and for an invalid value.
    """
    options = load_role_options(role)
    _refuse_unknown(role, options, variables)
    return _convert(role, options, variables, template, masker)


def _convert(
    role: str, options: Options, variables: Mapping[str, Any], template: Callable[[Any], Any], masker: Masker
) -> dict[str, Any]:
    """Return the variables of some options of a role by their names without the prefix. Raise InvalidOptions."""
    omit = variables.get("omit")
    given = {name: _evaluate(name, variables, template, omit) for name in options if name in variables}
    given = {name: _read_text(name, options[name], value) for name, value in given.items() if value is not None}
    # The names say what is secret. Core before 2.19 refuses encrypted values with no_log, so roles have none.
    masker.add(*collect_secrets({"variables": {"type": "dict"}}, {"variables": given}))
    given = unify_values(options, drop_empty(options, given))
    given = {name: spell_mode(name, value) if name.endswith("_file_mode") else value for name, value in given.items()}
    _refuse_common_states(role, options, given)
    check_forms(options, given, module=role)
    validation = ArgumentSpecValidator(options).validate(given)
    if validation.error_messages:
        raise InvalidOptions("; ".join(validation.error_messages))
    values: dict[str, Any] = validation.validated_parameters
    _check_numbers(options, values)
    return {name.removeprefix(f"{role}_"): value for name, value in values.items()}


def _refuse_common_states(role: str, options: Options, given: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for the state of an entry of a list that only the entries of a run together can have."""
    variable = f"{role}_state"
    common = options.get(variable, {}).get("choices", ())
    for name, rules in options.items():
        known = rules.get("options", {}).get("state", {}).get("choices")
        entries = given.get(name) if known and isinstance(given.get(name), list) else None
        for number, entry in enumerate(entries or ()):
            state = entry.get("state") if isinstance(entry, Mapping) else None
            if state in common and state not in known:
                raise InvalidOptions(
                    f"value of {name}[{number}].state must be one of: {', '.join(known)}, got: {state}. Run the role"
                    f" with {variable}: {state}, with only the entries to which it applies, and without state in them."
                )


def _check_numbers(options: Options, values: Mapping[str, Any], place: str = "") -> None:
    """Raise InvalidOptions for a whole number that is too small, also in mappings. ``place`` precedes the names."""
    for name, rules in options.items():
        label, value = f"{place}{name}", values.get(name)
        least = 1 if _POSITIVE.search(label) else 0
        if rules.get("type") == "int" and value is not None and value < least:
            raise InvalidOptions(f"{label} must be at least {least}, not {value}")
        if parts := rules.get("options"):
            numbered = (
                {f"[{number}]": entry for number, entry in enumerate(value)} if isinstance(value, list) else {"": value}
            )
            for number, entry in numbered.items():
                _check_numbers(parts, entry or {}, f"{label}{number}.")


def _refuse_unknown(role: str, options: Options, variables: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for a variable with the prefix of the role that is neither its own nor its report."""
    known, prefix = {*options, f"{role}_report"}, f"{role}_"
    near = {name: f" Did you mean {meant}?" for name, meant in _list_near_misses(role, options, variables)}
    # The variables of the role vm_backup_restore are not those of vm_backup.
    others = tuple(f"{other}_" for other in list_roles() if other.startswith(prefix))
    given = (name for name in variables if name.startswith(prefix) and not name.startswith(others))
    # All names have the prefix, so it says nothing about what was meant.
    ends = {option.removeprefix(prefix): rules for option, rules in options.items()}

    def suggest(name: str) -> str:
        # Only failures need hints, and each start of Ansible would compile them.
        from ...module_utils._modules.hints import find_option, find_remark

        end = name.removeprefix(prefix)
        meant = find_option(end, ends, role).replace(" or ", f" or {prefix}")
        hint = near.get(name) or (f" Did you mean {prefix}{meant}?" if meant else find_remark(end, role))
        return (
            _name_member(options, name)
            or hint
            or _name_playbook(role, end)
            or f" Its variables are {', '.join(options)}."
        )

    if unknown := list(dict.fromkeys((*near, *sorted(name for name in given if name not in known)))):
        raise InvalidOptions(describe_unknown_names(f"the role {role} has no variable", unknown, suggest))


def _name_member(options: Options, name: str) -> str:
    """Return a sentence, and a space before it, if a name is that of a variable with that of a member of it."""
    for option, rules in options.items():
        member = name.removeprefix(f"{option}_")
        if member != name and rules["type"] == "dict" and member in rules.get("options", ()):
            sample = "7" if rules["options"][member]["type"] == "int" else "..."
            return f" {member} is a member of {option}: write {option}: {{{member}: {sample}}}."
    return ""


def _name_playbook(role: str, end: str) -> str:
    """Return a sentence, and a space before it, if a playbook with the role has a variable with this end."""
    for playbook, (of_playbook, own) in PLAYBOOKS.items():
        if of_playbook == role and f"{playbook}_{end}" in own:
            return f" The playbook {playbook} has {playbook}_{end}."
    return ""


def _list_near_misses(role: str, options: Options, variables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield variables whose names begin with a slip in the name of the role, and the variables that they mean.

    A play may keep a value in a variable of its own, so the variable that is meant has its default, or no value.
    """
    for name in variables:
        for meant, rules in options.items():
            beginning = name.removesuffix(meant.removeprefix(role))
            if beginning == name or count_slips(beginning, role) != 1 or beginning in list_roles():
                continue
            if variables.get(meant) in (None, rules.get("default")):
                yield name, meant


def _evaluate(name: str, variables: Mapping[str, Any], template: Callable[[Any], Any], omit: Any) -> Any:
    try:
        # Variables of hosts are evaluated when they are looked up.
        return _remove_omitted(decrypt_values(template(variables[name])), omit)
    except (AnsibleError, UndefinedError) as error:
        raise _describe_undefined(name, error) from error


def _describe_undefined(name: str, error: Exception) -> InvalidOptions:
    """Return the failure for a variable whose template cannot be evaluated."""
    message = f"{name} cannot be evaluated: {error}"
    if name in _WITH_PLACEHOLDER and re.search(r"'\w*(vm|uuid)\w*' is undefined", str(error)):
        message = f"{message.rstrip('.')}. Write {PLACEHOLDER}, in single braces, for the uuid of each VM"
    return InvalidOptions(message)


def _remove_omitted(value: Any, omit: Any) -> Any:
    """Return a value without the members that are omitted, which core before 2.19 leaves to whoever uses the value."""
    if omit is None:
        return value
    if isinstance(value, Mapping):
        return {name: _remove_omitted(member, omit) for name, member in value.items() if member != omit}
    if isinstance(value, (list, tuple)):
        return [_remove_omitted(item, omit) for item in value if item != omit]
    return None if value == omit else value


class Play:
    """The variables of a task beside those of its role: those of other roles, and of the hosts of the inventory.

    ``load`` returns the content of a YAML file. The loader of Ansible has the passwords of encrypted files.
    """

    def __init__(
        self,
        variables: Mapping[str, Any],
        template: Callable[[Any], Any],
        masker: Masker,
        load: Callable[[str], Any] | None = None,
    ) -> None:
        self._variables, self._template, self._masker = variables, template, masker
        self.load = load or DataLoader().load_from_file

    @property
    def host(self) -> str:
        """The inventory host for which the task runs."""
        return str(self._variables["inventory_hostname"])

    @property
    def inventory(self) -> str | None:
        """The file of the inventory with the host for which the task runs, None if there is none."""
        return self._variables.get("inventory_file")

    @property
    def folder(self) -> Path:
        """The folder of the playbook."""
        return Path(self._variables["playbook_dir"])

    @property
    def batch(self) -> list[str]:
        """The inventory hosts of the batch of the play, for which its tasks run at the same time."""
        return list(self._variables["ansible_play_batch"])

    def read_batch(self, *names: str) -> list[str]:
        """Return the values of variables of the hosts of the batch as texts, without those that are not defined."""
        return [value for host in self.batch for value in self.read_host_values(host, *names)]

    def read_host_values(self, host: str, *names: str) -> list[str]:
        """Return the values of variables of a host as texts, without those that are not defined."""
        variables, values = self._variables["hostvars"][host], []
        for name in names:
            with suppress(AnsibleError, UndefinedError, KeyError):
                values.append(str(variables[name]))
        return values

    def count_lost(self) -> int:
        """Return how many hosts of the play have failed or are unreachable."""
        return len(self._variables["ansible_play_hosts_all"]) - len(self._variables["ansible_play_hosts"])

    def list_all(self) -> list[str]:
        """Return all hosts of the play, also those that have failed. Each task of the play has the same ones."""
        return list(self._variables["ansible_play_hosts_all"])

    def is_split(self) -> bool:
        """Return whether the play runs for some of its hosts after the other ones (serial)."""
        return not set(self._variables["ansible_play_hosts"]).issubset(self.batch)

    def list_unreached(self, fact: str) -> list[str]:
        """Return the hosts of later batches of the play that have no such fact, which its role sets, yet."""
        batch = set(self.batch)
        hosts = [host for host in self._variables["ansible_play_hosts_all"] if host not in batch]
        return [host for host in hosts if self.get_fact(host, fact) is None]

    def get_fact(self, host: str, name: str) -> Any:
        """Return a fact of a host, None if it has none.

        The containers of Ansible refer to all variables, which a deep copy of them would copy.
        """
        return _copy(self._variables["hostvars"][host].get(name))

    def read(self, role: str) -> dict[str, Any]:
        """Return the variables of another role, as ``read_variables`` does. Raise InvalidOptions."""
        return read_variables(role, self._variables, self._template, self._masker)

    def list_hosts(self, group: str) -> list[str]:
        """Return the names of the hosts of a group, none if there is no such group."""
        return list(self._variables["groups"].get(group, ()))

    def require_hosts(self, variable: str, names: Iterable[str]) -> None:
        """Raise InvalidOptions for names in a variable that are those of a group or of several hosts."""
        groups = self._variables.get("groups", {})
        for name in names:
            if name in groups.get("all", ()):
                continue
            if name in groups:
                raise InvalidOptions(
                    f"{variable} must be a host, and {name} is a group. Its hosts are: {', '.join(groups[name])}"
                )
            if "," in name:
                raise InvalidOptions(f"{variable} must be one host, not {name}")

    def describe_unknown_host(self, name: str) -> str:
        """Return a sentence, and a space before it, if a host is not one of the inventory; otherwise nothing."""
        known = self._variables.get("groups", {}).get("all", (name,))
        return "" if is_localhost(name) or name in known else f" The inventory has no host {name}."

    def read_collected(self, role: str, host: str, collected: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables of a role as ``read_variables`` does, from those that a task of a host has collected.

        Only the tasks of a host know all its variables, such as those of an include. ``names`` in ``collected`` are the
        names of all that have the prefix of the role. Raise InvalidOptions.
        """
        options, omit = load_role_options(role), self._variables.get("omit")
        _refuse_unknown(role, options, dict.fromkeys(collected["names"]))
        self._refuse_undefined(host, [name for name in collected["names"] if name in options and name not in collected])
        # The values are evaluated. Containers of Ansible refer to all variables, which a deep copy would copy, too.
        return _convert(role, options, {**collected, "omit": omit}, _copy, self._masker)

    def _refuse_undefined(self, host: str, names: Iterable[str]) -> None:
        """Raise InvalidOptions for a variable that a host lacks because one in its template is not defined."""
        for name in names:
            for variables, template in ((self._variables["hostvars"][host], _copy), (self._variables, self._template)):
                if name not in variables:
                    continue
                try:
                    template(variables[name])
                except (AnsibleUndefinedVariable, UndefinedError) as error:
                    raise _describe_undefined(name, error) from error
                except AnsibleError:
                    # The template may be omitted as a whole, which is as if the host did not have it.
                    pass
                break

    def read_host(self, role: str, host: str, names: Iterable[str]) -> dict[str, Any]:
        """Return those of some variables of a role, by their names without the prefix, that a host has.

        Raise InvalidOptions, which names the host, for invalid values and unknown variables with the prefix.
        """
        variables, all_options = self._variables["hostvars"][host], load_role_options(role)
        given = {name: f"{role}_{name}" for name in names if f"{role}_{name}" in variables}
        try:
            _refuse_unknown(role, all_options, variables)
            # The variables of a host are templates of that host, which are evaluated when they are looked up.
            options = {name: all_options[name] for name in given.values()}
            values = _convert(role, options, variables, lambda value: value, self._masker)
        except InvalidOptions as mistake:
            raise InvalidOptions(f"host {host}: {mistake}") from mistake
        return {name: values[name] for name in given}


def _copy(value: Any) -> Any:
    """Return a value in plain containers."""
    if isinstance(value, Mapping):
        return {name: _copy(member) for name, member in value.items()}
    return [_copy(item) for item in value] if isinstance(value, (list, tuple)) else value


def _read_text(name: str, rules: Mapping[str, Any], value: Any) -> Any:
    """Return the items of a string that stands for a list, and any other value as it is.

    Such texts come from ``-e name=a,b``, which may also be JSON, and from the surveys of Automation Controller, which
    have lines. Raise InvalidOptions for invalid JSON, also of a mapping.
    """
    kind = str(rules.get("type"))
    if kind not in _READ or not isinstance(value, str):
        return value
    if value.strip().startswith(("[", "{")):
        read, noun = _READ[kind]
        try:
            return read(value)
        except (TypeError, ValueError):
            raise InvalidOptions(
                f"{name} must be {noun}, and its text is not JSON, which needs quotes: {_show_list(name)}"
            ) from None
    if kind == "dict":
        return value
    separator = r"\n" if "\n" in value else ","
    items = [item.strip() for item in re.split(separator, value) if item.strip()]
    if is_conditions(name) and (split := find_split(items)):
        raise InvalidOptions(
            f"{name}: {split[0]!r} is not a condition. A string is split at commas, so write a list:"
            f" {name}: {split[1]}, or -e '{json.dumps({name: split[1]})}'"
        )
    return items


def _show_list(name: str) -> str:
    """Return how a text gives a variable that is a mapping or a list."""
    if name in VARIABLES:
        return show_text(name)
    if is_conditions(name):
        # A condition may have commas.
        return f"-e '{json.dumps({name: ['name=web-1', 'state=Running']})}'"
    return f"""-e '{{"{name}": ["a", "b"]}}', or without brackets -e {name}=a,b"""
