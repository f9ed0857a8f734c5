"""Files that the processes of a run share, on a disk that is full."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ansible.constants
import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.files import edit_values


@contextmanager
def no_room() -> Iterator[None]:
    """Let this process write nothing to files, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ansible.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    message = f"cannot write to {tmp_path}: File too large. Check local_tmp in ansible.cfg."
    with pytest.raises(VirtinfraError, match=message), no_room(), edit_values(tmp_path / "values") as values:
        values["key"] = "value"
