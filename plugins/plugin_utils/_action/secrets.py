"""The secrets in options, for the output of Ansible that is not the collection's own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from ...module_utils._masking.masker import MIN_SECRET_LENGTH, collect_secrets, has_any_members
from ...module_utils._modules.spec import ModuleSpec


def register_secrets(spec: ModuleSpec, arguments: Mapping[str, Any]) -> None:
    """Let core mask the secrets in mappings of options, as core 2.22 masks options with C(no_log) in all of its output.

    Core would mask the letters of a very short one in every word.
    """
    mappings = {name: option for name, option in spec.argument_spec.items() if has_any_members(option)}
    secrets = collect_secrets(mappings, arguments)
    with suppress(ImportError):
        core = import_module("ansible.module_utils.secrets")
        core.register_secrets([secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH])
