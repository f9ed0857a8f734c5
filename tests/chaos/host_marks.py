"""Kill evacuations and maintenances at random while their calls take time; another controller puts everything back."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.marks import kill_after
from chaos.report import Report
from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner, kill_for_host, run_for_host, run_maintenance

# The largest number of requests after which a run is killed; later ones have mostly ended.
MAX_REQUESTS = 60

HOSTS = 3

# The services of the two kinds, which add user tags or attach tag patterns.
KINDS: tuple[list[str], ...] = ([], ["CreateUserTag"])


class Roles:
    """The roles host_evacuation and host_maintenance for a host of a service, each run by another controller."""

    def __init__(self, sim: Simulator, tasks: Path, host: str) -> None:
        self._work, self._tasks, self._host = WorkflowRunner(sim), tasks, host

    def evacuate(self, **variables: Any) -> dict[str, Any]:
        """Return the variables of an evacuation."""
        given = {"hosts": [self._host], "unmovable": "keep", **variables}
        return {f"host_evacuation_{name}": value for name, value in given.items()}

    def kill_evacuation(self, after: int, **variables: Any) -> bool:
        """Kill an evacuation after so many requests; return whether it was killed."""
        return self._work.kill(after, "host_evacuation", self.evacuate(**variables))

    def kill_maintenance(self, after: int, step: str) -> bool:
        """Kill a step of a maintenance, after the earlier steps; return whether it was killed."""
        given: dict[str, Any] = {"tasks": str(self._tasks), "running_vms": "stop"}
        known = run_for_host(self._work, "host_maintenance", self._host, given, step="check").result["next"]
        if step == "leave":
            entered = run_for_host(self._work, "host_maintenance", self._host, given, step="enter", given=known)
            known = {**known, "entered": entered.result["next"], "failure": None}
        return kill_for_host(self._work, after, self._host, given, step=step, given=known)

    def run_evacuation(self) -> None:
        """Evacuate the host."""
        self._work("host_evacuation", self.evacuate())

    def run_maintenance(self) -> None:
        """Put the host into maintenance, and back."""
        run_maintenance(self._work, self._host, self._tasks)

    def put_back(self) -> list[WorkflowRun]:
        """Put back what a run has marked, and return what the runs have done that did it."""
        left = run_maintenance(self._work, self._host, self._tasks, state="absent")
        return [left, self._work("host_evacuation", self.evacuate(state="restored", hosts=[]))]


def kill_hosts(sim: Simulator, report: Report, count: int, seconds: float, seed: int) -> None:
    """Kill so many runs, whose calls take so many seconds, and report what the next run does not put back.

    Half of them are processes of their own, which are killed at a random moment; the others end with a request.
    """
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder, "tasks.yml")
        tasks.write_text("[]\n", encoding="utf-8")
        for number in range(count):
            _kill(sim, report, rng, tasks, seconds, number)


def _kill(sim: Simulator, report: Report, rng: random.Random, tasks: Path, seconds: float, number: int) -> None:
    slow = dict.fromkeys(("ChangeHostState", "MigrateVm", "StartVmInstance"), seconds)
    local = rng.choice((0, 2))
    options = {"clusters": 1, "hosts": HOSTS, "vms": 7, "local_storages": local, "user_tags": 0, "latency": 0.0}
    sim.reset(**options, missing_operations=KINDS[number // 4 % 2], latencies=slow)
    before, after = read_places(sim), rng.randint(1, MAX_REQUESTS)
    roles = Roles(sim, tasks, f"host-{rng.randint(1, HOSTS)}")
    moment = rng.uniform(0.1, 3 * seconds + 1)
    ways: list[Callable[[], object]] = [
        lambda: roles.kill_evacuation(after),
        lambda: kill_after(moment, roles.run_evacuation),
        lambda: roles.kill_maintenance(after, rng.choice(["enter", "leave"])),
        lambda: kill_after(moment, roles.run_maintenance),
    ]
    way = number % len(ways)
    is_evacuation = way < 2
    ways[way]()
    entries = [entry for ran in roles.put_back() for entry in ran.report]
    for entry in entries:
        report.task({"failed": entry["outcome"] == "failed", "msg": str(entry["error"])}, {}, len(sim.log()))
    label = f"run {number}, way {way}, killed after {after} requests or {moment:.2f} s"
    if failed := [entry["error"] for entry in entries if entry["outcome"] == "failed"]:
        report.wrong(f"{label}: {failed}")
    # What a maintenance migrates stays where it is.
    changed = {
        uuid: place
        for uuid, place in read_places(sim).items()
        if (place if is_evacuation else place[0]) != (before[uuid] if is_evacuation else before[uuid][0])
    }
    if changed:
        report.wrong(f"{label}: these are not as they were: {changed}")
    if tags := sim.records("usertag"):
        report.wrong(f"{label}: marks are left: {[tag['tag'] for tag in tags]}")


def read_places(sim: Simulator) -> dict[str, tuple[str, str | None]]:
    """Return the states of all hosts and VMs, and the hosts of the VMs."""
    records = [each for kind in ("host", "vm") for each in sim.records(kind)]
    return {each["uuid"]: (each["state"], each.get("hostUuid")) for each in records}
