"""Files that workflows write on the controller, as the user who runs the playbook."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._run.paths import describe_missing_folder, find_unset_variable

# The permissions on which a symbolic mode such as g+w acts if the file does not exist.
NEW_FILE = 0o644

PRIVATE_FOLDER = 0o700

# The permissions of a class of users: who may write or execute a file may also read it.
_USUAL = (0, 4, 5, 6, 7)


def spell_mode(variable: str, value: Any) -> Any:
    """Return permissions that are a number as octal text, and all others as they are.

    YAML reads 0640 without quotes as the number 416, which older templates make a string. Raise InvalidOptions for a
    number that was meant in another way, such as 640, whose permissions would be 1200.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        mode = value
    elif isinstance(value, str) and re.fullmatch("[1-7][0-7]{2}", value):
        mode = int(value, 8)
    else:
        return value
    if not _is_usual(mode):
        raise InvalidOptions(
            f"{variable}: {value!r} is no mode. Write permissions with a zero and in quotes, such as '0640'."
        )
    return f"{mode:04o}"


def _is_usual(mode: int) -> bool:
    """Return whether the owner may read a file with these permissions, and no class of users more than the one before.

    What YAML makes of the usual permissions in octal has this form, and what was meant in decimal lacks it.
    """
    owner, group, others = mode >> 6, mode >> 3 & 7, mode & 7
    is_known = all(each in _USUAL for each in (owner, group, others))
    return is_known and owner > 0 and group & owner == group and others & group == others


@dataclass(frozen=True)
class WrittenFile:
    """A file to write: its full path, its content, and its permissions, octal or symbolic.

    ``variable`` and ``mode_variable`` are the variables of a role for the path, or its folder, and the permissions.
    A file with the content ``compared`` is unchanged, although it is written: a page has the time of each run, and the
    compared one that of the page that exists. ``has_own_folder`` says that a folder that is missing is created, for the
    user only.
    """

    path: Path
    content: str
    mode: str
    variable: str
    mode_variable: str = ""
    compared: str | None = None
    has_own_folder: bool = False

    def find_change(self) -> Record | None:
        """Return the difference that writing makes, None if it makes none. Raise VirtinfraError if it would fail."""
        try:
            self._check_place()
            before = self.path.read_bytes() if self.path.exists() else None
            now, mode = self._read_mode(), self._choose_mode()
        except OSError as error:
            raise self._describe(error) from None
        after = self.content if self.compared is None else self.compared
        if before == after.encode() and now == mode:
            return None
        return {
            "before": "" if before is None else before.decode(errors="replace"),
            "after": after,
            "before_header": f"{self.path}{'' if now is None else f' ({now:04o})'}",
            "after_header": f"{self.path} ({mode:04o})",
        }

    def _check_place(self) -> None:
        """Raise InvalidOptions if there is no folder for the file, or no file where it shall be."""
        existing = next(each for each in self.path.parents if each.exists())
        if not existing.is_dir():
            raise self._refuse(f"{existing} is a file, where a folder must be. Choose another path.")
        is_created = self.has_own_folder and not find_unset_variable(self.path.parent)
        if not is_created and existing != self.path.parent:
            raise self._refuse(describe_missing_folder(self.path.parent))
        if self.path.exists() and not self.path.is_file():
            raise self._refuse("it is not a file. Name a file in it, or another one.")

    def _refuse(self, reason: str) -> InvalidOptions:
        return InvalidOptions(f"{self.variable}: cannot write {self.path}: {reason}")

    def write(self) -> None:
        """Replace the file at once, so that no reader sees half of it. Raise VirtinfraError."""
        try:
            if self.has_own_folder:
                _create_folder(self.path.parent)
            self._replace()
        except OSError as error:
            raise self._describe(error) from None

    def _replace(self) -> None:
        mode = self._choose_mode()
        with tempfile.NamedTemporaryFile(dir=self.path.parent, prefix=f".{self.path.name}.", delete=False) as file:
            new = Path(file.name)
            try:
                file.write(self.content.encode())
                file.flush()
                if self.path.exists():
                    _keep_attributes(self.path, new)
                new.chmod(mode)
                new.replace(self.path)
            except BaseException:
                new.unlink()
                raise

    def _read_mode(self) -> int | None:
        """Return the permissions of the file that exists."""
        return stat.S_IMODE(self.path.stat().st_mode) if self.path.exists() else None

    def _choose_mode(self) -> int:
        """Return the permissions that the file gets. Raise InvalidOptions."""
        try:
            return int(self.mode, 8)
        except ValueError:
            now = self._read_mode()
        try:
            status = SimpleNamespace(st_mode=stat.S_IFREG | (NEW_FILE if now is None else now))
            return int(AnsibleModule._symbolic_mode_to_octal(status, self.mode))
        except ValueError:
            raise InvalidOptions(
                f"{self.mode_variable}: {self.mode!r} is no mode. Write permissions such as '0640' or u=rw,g=r,o=."
            ) from None

    def _describe(self, error: OSError) -> VirtinfraError:
        return VirtinfraError(
            f"{self.variable}: cannot write {self.path}: {error.strerror}. Check the path and its permissions."
        )


def _keep_attributes(old: Path, new: Path) -> None:
    """Give a new file the owner, the labels and the access list of the one that it replaces, as far as possible."""
    status = old.stat()
    with suppress(PermissionError):
        os.chown(new, status.st_uid, status.st_gid)
    shutil.copystat(old, new)
    os.utime(new)


def _create_folder(folder: Path) -> None:
    for missing in (each for each in (*reversed(folder.parents), folder) if not each.is_dir()):
        missing.mkdir(PRIVATE_FOLDER)
