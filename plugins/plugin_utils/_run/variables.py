"""The variables of the user, those of the environment and those of Ansible, that nothing reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ansible.utils.display import Display

from ...module_utils._modules.process import OWN_SESSION
from ...module_utils._modules.options import GROUP_OPTIONS

START = "VIRTINFRA_"

# The options with variables of the environment.
OF_VARIABLES = {name: rules for name, rules in GROUP_OPTIONS.items() if "fallback" in rules}

# The variables of Ansible by which users mean the address of the service.
_ADDRESSES = ("base_url", "virtinfra_base_url", "VIRTINFRA_BASE_URL")

KNOWN = frozenset({OWN_SESSION, *(variable for rules in OF_VARIABLES.values() for variable in rules["fallback"][1])})


def warn_of_unknown_variables(names: Iterable[str]) -> None:
    """Warn of environment variables that nothing reads. Ansible shows a warning once."""
    for name in sorted({*names} - KNOWN):
        if name.startswith(START):
            Display().warning(f"The environment variable {name} is not read.{_suggest(name)}")


def _suggest(name: str) -> str:
    option = name.removeprefix(START).lower()
    if option in GROUP_OPTIONS:
        return f" {option} is an option of tasks: set it in the task, or in module_defaults."
    # Only a failure or a warning needs hints, and each start of Ansible would compile them.
    from ...module_utils._modules.hints import find_option

    meant = find_option(option, OF_VARIABLES, "connection").upper().replace(" OR ", f" or {START}")
    return f" Did you mean {START}{meant}?" if meant else ""


def describe_unread_address(names: Collection[str]) -> str:
    """Return sentences, after a period, on a variable of Ansible with the address of the service; empty without."""
    name = next((each for each in _ADDRESSES if each in names), "")
    place = "Set base_url in module_defaults or in a profile, or VIRTINFRA_BASE_URL in the environment"
    return f". The variable {name} of Ansible is not read. {place}" if name else ""
