# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The programs and the library that a data mover needs, and the packages that contain them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from .connection import has_libnbd

LIBNBD = "nbd"
QEMU_IMG = "qemu-img"
QEMU_NBD = "qemu-nbd"
SETPRIV = "setpriv"

TO_COPY = (LIBNBD, QEMU_IMG, QEMU_NBD, SETPRIV)

_PACKAGES = (
    "python3-libnbd, qemu-utils and util-linux on Debian and Ubuntu",
    "python3-libnbd, qemu-img and util-linux on RHEL and Fedora",
    "python3-libnbd, qemu-img, qemu-tools and util-linux on SUSE",
)


def describe_missing(parts: Iterable[str]) -> str | None:
    """Return a message that names the parts which this machine lacks and their packages, None if it lacks none."""
    missing = [part for part in parts if not (has_libnbd() if part == LIBNBD else shutil.which(part))]
    if not missing:
        return None
    names = [f"libnbd 1.12 or newer for {sys.executable}" if part == LIBNBD else part for part in missing]
    return f"this data mover lacks {', '.join(names)}. Install {'; '.join(_PACKAGES)}"
