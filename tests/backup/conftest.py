"""Tests of the data mover with real parts: QEMU, NBD and libnbd. A missing part fails them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backup.site import Site

from support.kvm_host import MIB, KvmVm, find_missing_parts


def pytest_configure() -> None:
    """End with a failure if this machine cannot run the tests."""
    missing = find_missing_parts()
    try:
        import nbd

        assert nbd.NBD
    except ImportError:
        missing.append("Python's nbd")
    if missing:
        raise pytest.UsageError(
            f"missing: {', '.join(missing)}. On Debian: apt-get install qemu-utils qemu-system-common python3-libnbd"
        )


SiteFactory = Callable[..., Site]


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[SiteFactory]:
    """Create a VM with volumes of these sizes (one of 16 MiB), and a repository."""
    sites: list[Site] = []

    def make(*sizes: int) -> Site:
        folder = tmp_path / f"site-{len(sites)}"
        sites.append(Site(KvmVm(folder / "host", sizes or (16 * MIB,)), folder / "repository"))
        return sites[-1]

    yield make
    for site in sites:
        site.vm.destroy()


@pytest.fixture
def site(new_site: SiteFactory) -> Site:
    return new_site()
