"""The programs and the library that a data mover needs, and the packages that contain them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from .connection import has_libnbd

LIBNBD = "nbd"
QEMU_IMG = "qemu-img"
QEMU_NBD = "qemu-nbd"
SETPRIV = "setpriv"

TO_COPY = (LIBNBD, QEMU_IMG, QEMU_NBD, SETPRIV)

# The packages of each family of distributions, with the ids of the family in os-release.
_PACKAGES = {
    ("debian", "ubuntu"): ("Debian and Ubuntu", "python3-libnbd, qemu-utils and util-linux"),
    ("rhel", "fedora", "centos"): ("RHEL and Fedora", "python3-libnbd, qemu-img and util-linux"),
    ("suse", "opensuse", "sles"): ("SUSE", "python3-libnbd, qemu-img, qemu-tools and util-linux"),
}
OS_RELEASE = Path("/etc/os-release")


def describe_missing(parts: Iterable[str]) -> str | None:
    """Return a message that names the parts which this machine lacks and their packages, None if it lacks none."""
    missing = [part for part in parts if not (has_libnbd() if part == LIBNBD else shutil.which(part))]
    if not missing:
        return None
    names = [f"libnbd 1.12 or newer for {sys.executable}" if part == LIBNBD else part for part in missing]
    return f"this data mover lacks {', '.join(names)}. Install {name_packages(OS_RELEASE)}"


def name_packages(os_release: Path) -> str:
    """Return the packages that contain all parts, for the distribution of a file, or for all if it is another one."""
    try:
        ids = _read_ids(os_release.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        ids = []
    for each in ids:
        for family, (dummy, packages) in _PACKAGES.items():
            if each in family:
                return packages
    return "; ".join(f"{packages} on {family}" for family, packages in _PACKAGES.values())


def _read_ids(text: str) -> list[str]:
    """Return the id of a distribution, and then those that it is like."""
    values = dict(line.partition("=")[::2] for line in text.splitlines())
    return [word for name in ("ID", "ID_LIKE") for word in values.get(name, "").strip("'\"").split()]
