"""Values that playbooks encrypt with Ansible Vault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.release import __version__

# Before core 2.19 a value with the tag C(!vault) is an object that str() decrypts. Neither Ansible's own validation of
# options nor JSON accepts it.
HAS_ENCRYPTED_OBJECTS = tuple(map(int, __version__.split(".")[:2])) < (2, 19)


def decrypt_values(value: Any) -> Any:
    """Return options, or a value of one, in which all values that were encrypted are strings."""
    if not HAS_ENCRYPTED_OBJECTS:
        return value
    if hasattr(value, "__ENCRYPTED__"):
        return str(value)
    if isinstance(value, Mapping):
        return {name: decrypt_values(member) for name, member in value.items()}
    return [decrypt_values(item) for item in value] if isinstance(value, (list, tuple)) else value
