"""The environment variables of the user that begin like those of the collection, and that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable

from ansible.utils.display import Display

from ...module_utils._modules.process import OWN_SESSION
from ...module_utils._modules.options import GROUP_OPTIONS

START = "VIRTINFRA_"

# The options with variables of the environment.
OF_VARIABLES = {name: rules for name, rules in GROUP_OPTIONS.items() if "fallback" in rules}

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
