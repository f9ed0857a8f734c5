"""Interruptions at random moments: a point is whole or absent, and nothing that runs remains."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.backup import back_up
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.listing import list_points
from backup.site import QEMU, Site, modes, stamp_of

from support.kvm_host import MIB, run, wait_until

# A fork has imported what it needs, so that it is killed while it works.
FORKS = multiprocessing.get_context("fork")

# How many times each test interrupts a copy.
TIMES = 12

# A mover that is dead before its child becomes the server. Its arguments are a socket and an image.
DEAD_MOVER = """
import os, socket, sys, time
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.images import end_with
mover = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == mover:
    time.sleep(0.001)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
command = end_with(mover, ["qemu-nbd", "--read-only", "-f", "qcow2", sys.argv[2]])
os.execvp(command[0], command)
"""

# A process of a slow machine may take long to end.
PATIENCE = 120.0


def start_mover(site: Site, infos: list[dict[str, Any]], rate_limit: int = 0) -> ForkProcess:
    """Start to copy a session in a process of its own."""
    mover = FORKS.Process(target=copy_session, args=(site, infos, rate_limit))
    with warnings.catch_warnings():
        # The other threads of this process hold no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        mover.start()
    return mover


def copy_session(site: Site, infos: list[dict[str, Any]], rate_limit: int) -> None:
    """Copy a session, and end the process with 1 if that fails. The failure is in a file."""
    try:
        back_up(site.repository, site.make_task(infos, rate_limit=rate_limit, patience=0), QEMU)
    except BackupFailure as failure:
        failure_of(site).write_text(str(failure), encoding="utf-8")
        sys.exit(1)


def failure_of(site: Site) -> Path:
    """Return the file with the failure of a mover."""
    return site.root.with_name("failure")


def end_of(mover: ForkProcess) -> int | None:
    """Wait for the end of a mover, and return its exit code, None if it does not end."""
    mover.join(PATIENCE)
    return mover.exitcode


def measure_backup(site: Site, **options: Any) -> float:
    """Make a point, and return how long that took in seconds: longer than a later copy with the same options."""
    began = time.monotonic()
    site.back_up(**options)
    return time.monotonic() - began


def find_servers(root: Path) -> list[str]:
    """Return the processes that serve images of a repository."""
    return subprocess.run(
        ["pgrep", "-f", f"qemu-nbd.*{root}"], check=False, capture_output=True, text=True
    ).stdout.split()


def test_a_server_whose_mover_is_dead_already(tmp_path: Path) -> None:
    """The server does not wait for a client that never comes."""
    image = tmp_path / "image.qcow2"
    run("qemu-img", "create", "-q", "-f", "qcow2", image, "1M")
    command = [sys.executable, "-c", DEAD_MOVER, str(tmp_path / "socket"), str(image)]
    try:
        # Its output ends when the server has ended.
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    finally:
        for server in find_servers(tmp_path):
            os.kill(int(server), signal.SIGKILL)


def test_a_mover_is_killed_at_random_moments(site: Site) -> None:
    chance = random.Random(51)
    site.vm.write(0, 0, 4 * MIB)
    longest = measure_backup(site)
    partial = 0
    for dummy in range(TIMES):
        site.vm.scatter(0, 8)
        before = site.stamps
        infos = site.vm.enable(site.checkpoint)
        moment = site.freeze(site.moments / "new")
        mover = start_mover(site, infos)
        time.sleep(chance.uniform(0, longest))
        mover.kill()
        mover.join()
        wait_until(lambda: not find_servers(site.root), PATIENCE)
        site.vm.disable()
        partial += len(list(site.folder.path.glob("*.partial")))
        for stamp in set(site.stamps) - set(before):
            moment.rename(site.moments / stamp)
            assert site.is_right(stamp)
        assert all(point["whole"] for point in list_points(site.repository, None)["points"])
    # The next run removes what the interrupted runs left, and makes a correct point.
    outcome = site.back_up()
    assert site.is_right(stamp_of(outcome))
    assert list(site.folder.path.glob("*.partial")) == []
    assert partial


def test_the_second_of_two_movers_is_refused(site: Site) -> None:
    site.vm.write(0, 0, 8 * MIB)
    infos = site.vm.enable()
    first = start_mover(site, infos, rate_limit=4)
    wait_until(lambda: list(site.folder.path.glob("*.partial")))
    second = start_mover(site, infos)
    assert end_of(second) == 1
    assert "another task works on" in failure_of(site).read_text(encoding="utf-8")
    wait_until(lambda: list_points(site.repository, None)["running"])
    running = list_points(site.repository, None)["running"]
    assert running[0]["volume_uuid"] == site.vm.volumes[0].uuid
    assert running[0]["bytes_total"] == 8 * MIB
    first.kill()
    first.join()
    assert list_points(site.repository, None)["running"] == []
    # The lock ended with the process.
    assert end_of(start_mover(site, infos)) == 0
    assert len(site.stamps) == 1


def test_a_session_that_ends_while_it_is_copied(site: Site) -> None:
    site.vm.write(0, 0, 8 * MIB)
    site.back_up()
    site.vm.write(0, 0, 8 * MIB)
    checkpoint = site.checkpoint
    mover = start_mover(site, site.vm.enable(checkpoint), rate_limit=4)
    wait_until(lambda: list(site.folder.path.glob("*.partial")))
    site.vm.disable()
    assert end_of(mover) == 1
    assert len(site.stamps) == 1
    assert list(site.folder.path.glob("*.partial")) == []
    # The host has a newer checkpoint only, from which an increment would lack what was not copied.
    outcome = site.back_up(checkpoint)
    assert modes(outcome) == ["compared"]
    assert site.is_right(stamp_of(outcome))


def test_a_host_dies_at_random_moments(site: Site) -> None:
    chance = random.Random(52)
    site.vm.write(0, 0, 4 * MIB)
    longest = measure_backup(site, rate_limit=16)
    failed = 0
    for dummy in range(TIMES):
        site.vm.scatter(0, 4)
        before = site.stamps
        infos = site.vm.enable(site.checkpoint)
        moment = site.freeze(site.moments / "new")
        mover = start_mover(site, infos, rate_limit=16)
        time.sleep(chance.uniform(0, longest))
        site.vm.stop(crash=True)
        # The mover notices the crash, and ends.
        code = end_of(mover)
        assert code in (0, 1)
        failed += code
        assert list(site.folder.path.glob("*.partial")) == []
        for stamp in set(site.stamps) - set(before):
            moment.rename(site.moments / stamp)
            assert site.is_right(stamp)
        site.vm.start()
    assert failed > 2
    assert site.is_right(stamp_of(site.back_up()))


def test_the_file_system_fills(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit for the size of files stands for it: the server cannot write."""
    import resource

    site.vm.write(0, 0, 8 * MIB)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    infos = site.vm.enable()
    task = site.make_task(infos)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 * MIB, before[1]))
        with pytest.raises(BackupFailure, match="cannot write at"):
            back_up(site.repository, task, QEMU)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert site.stamps == []
    assert list(site.folder.path.glob("*.partial")) == []
