"""Two controllers and a person at random, with all roles that put something back: each report is held against the end.

In each round, two controllers run a role at the same time, of which one may be killed, while a person starts, stops and
renames VMs. What a report says of an object must be so at the end of the round, unless another report, or the person,
has changed it. At the end everything is put back, and each VM must be as people want it, without a mark.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.report import Report
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner, kill_for_host, run_for_host, run_maintenance

HOSTS, VMS = 4, 9
LABELS = ("night", "disks")

# The rounds of one walk, after which everything is put back.
ROUNDS = 5

# How long, in seconds, calls take.
LATENCY = 0.01

# The services of the two kinds, which add user tags or attach tag patterns.
KINDS: tuple[list[str], ...] = ([], ["CreateUserTag"])

RUNS, IS_OFF = ("Running", "Paused"), ("Stopped", "Created")

DRILL = "vm-1-drill"

FAILURE = {"task": "Update the firmware", "msg": "broken"}


@dataclass
class Claims:
    """What reports say of objects: their states or the hosts on which they are not, by their uuids."""

    states: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)
    absences: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, uuids: Iterable[str], states: tuple[str, ...], source: str) -> None:
        """Note that objects have one of these states."""
        self.states += [(uuid, states, source) for uuid in uuids]


@dataclass(frozen=True)
class Action:
    """A run of a role: its name, the run itself, a run that is killed after so many requests, and what it claims."""

    name: str
    run: Callable[[], WorkflowRun]
    kill: Callable[[int], object]
    claim: Callable[[WorkflowRun, Claims], None]

    def play(self, kill: int | None) -> WorkflowRun | None:
        """Run it, and return the run, None if it was to be killed after so many requests."""
        if kill is None:
            return self.run()
        self.kill(kill)
        return None


def list_settled(ran: WorkflowRun, key: str = "vm_uuid") -> list[str]:
    """Return the uuids of the entries that say that an object is as asked."""
    entries = ran.result.get("report", ())
    return [str(entry[key]) for entry in entries if entry["outcome"] in ("changed", "unchanged") and entry[key]]


class Walk:
    """A service, and what people want of its VMs."""

    def __init__(self, sim: Simulator, tasks: Path, seed: int) -> None:
        self.sim, self._tasks, self.rng = sim, tasks, random.Random(seed)
        slow = dict.fromkeys(("StopVmInstance", "StartVmInstance", "MigrateVm", "ChangeHostState"), LATENCY)
        options = {"clusters": 1, "hosts": HOSTS, "vms": VMS, "snapshot_groups": 1, "local_storages": seed // 2 % 2 * 2}
        sim.reset(**options, user_tags=0, boot=0.0, reconnect=0.0, missing_operations=KINDS[seed % 2], latencies=slow)
        self.vms = [vm["uuid"] for vm in sim.records("vm")]
        self.hosts = {host["name"]: host["uuid"] for host in sim.records("host")}
        # What people want at the end, several states if a person and a role have changed a VM at the same time.
        self.wanted = {vm["uuid"]: {"on" if vm["state"] in RUNS else "off"} for vm in sim.records("vm")}
        self.steps: list[str] = []

    # ------------------------------------------------------------------------------------------------------- roles

    def _workflow(self, role: str, claim: Callable[[WorkflowRun, Claims], None], **variables: Any) -> Action:
        given = {f"{role}_{name}": value for name, value in variables.items()}
        return Action(
            f"{role} {variables}",
            lambda: WorkflowRunner(self.sim)(role, given),
            lambda after: WorkflowRunner(self.sim).kill(after, role, given),
            claim,
        )

    def power(self, rng: random.Random) -> Action:
        """Stop, start or put back VMs."""
        state, label = rng.choice(("stopped", "stopped", "running", "restored")), rng.choice(LABELS)
        members = rng.sample(self.vms, rng.randint(1, 5))
        groups = [{"name": "first", "vms": members[:2]}, {"name": "second", "vms": members[2:]}]
        chosen = {"groups": groups, "allow_empty": True} if state in ("stopped", "running") else {}

        def claim(ran: WorkflowRun, claims: Claims) -> None:
            claims.add(list_settled(ran), IS_OFF if state == "stopped" else RUNS, f"vm_power {state}")

        if state == "running":
            for uuid in members:
                self.wanted[uuid].add("on")
        return self._workflow("vm_power", claim, state=state, label=label, timeout=60, grace_timeout=60, **chosen)

    def evacuate(self, rng: random.Random) -> Action:
        """Evacuate a host, or migrate the VMs back."""
        state, host = rng.choice(("evacuated", "restored")), rng.choice([*self.hosts])

        def claim(ran: WorkflowRun, claims: Claims) -> None:
            if state == "evacuated":
                source = f"evacuation of {host}"
                claims.absences += [(uuid, self.hosts[host], source) for uuid in list_settled(ran)]

        chosen = {"hosts": [host]} if state == "evacuated" else {}
        return self._workflow("host_evacuation", claim, state=state, unmovable="keep", timeout=60, **chosen)

    def maintain(self, rng: random.Random) -> Action:
        """Maintain a host, or take it out of maintenance."""
        host, failure = rng.choice([*self.hosts]), rng.choice((None, FAILURE))
        variables = rng.choice(({"already": "use"}, {"state": "absent"}))

        def kill(after: int) -> None:
            given: dict[str, Any] = {"tasks": str(self._tasks), "running_vms": "stop", **variables}
            run = WorkflowRunner(self.sim)
            known = run_for_host(run, "host_maintenance", host, given, step="check").result["next"]
            kill_for_host(run, after, host, given, step="enter", given=known)

        def claim(ran: WorkflowRun, claims: Claims) -> None:
            for entry in ran.result.get("report", ()):
                if entry["outcome"] == "done":
                    claims.add([entry["uuid"]], ("Enabled", "Disabled", "Maintenance"), "maintenance")
                    claims.add([vm["uuid"] for vm in entry["started_vms"]], RUNS, f"maintenance of {host}")

        return Action(
            f"host_maintenance {host} {variables}{' with a failure' if failure else ''}",
            lambda: run_maintenance(WorkflowRunner(self.sim), host, self._tasks, failure, timeout=60, **variables),
            kill,
            claim,
        )

    def shut_down(self, rng: random.Random) -> Action:
        """Shut the site down, or start it."""
        state = rng.choice(("stopped", "running"))
        groups = [{"name": "first", "vms": rng.sample(self.vms, 2)}]
        chosen = {"groups": groups, "grace_timeout": 60, "hosts": rng.random() < 0.5} if state == "stopped" else {}

        def claim(ran: WorkflowRun, claims: Claims) -> None:
            vms = set(self.vms)
            settled = [uuid for uuid in list_settled(ran, "uuid") if uuid in vms]
            claims.add(settled, IS_OFF if state == "stopped" else RUNS, f"site_shutdown {state}")

        return self._workflow("site_shutdown", claim, state=state, start_timeout=60, cold_timeout=60, **chosen)

    def restore(self, rng: random.Random) -> Action:
        """Create a VM from a snapshot group, or destroy it."""
        state = rng.choice(("present", "absent"))
        vms = [{"name": "vm-1", "snapshot_group": seeded_uuid("snapshotgroup", 1)}]

        def claim(ran: WorkflowRun, claims: Claims) -> None:
            if all(entry["outcome"] in ("changed", "unchanged") for entry in ran.result.get("report", ())):
                there = ("there",) if state == "present" else ("gone",)
                claims.add([DRILL], there, f"vm_restore {state}")

        variables = {"vms": vms, "name_suffix": "-drill", "expunge": True, "timeout": 60}
        return self._workflow("vm_restore", claim, state=state, **variables)

    # ------------------------------------------------------------------------------------------------------ rounds

    def choose(self, rng: random.Random) -> Action:
        """Return a run of a role."""
        return rng.choice((self.power, self.power, self.evacuate, self.maintain, self.shut_down, self.restore))(rng)

    def act_as_person(self, rng: random.Random) -> str | None:
        """Start, stop or rename a VM with a module, and return the VM if its state may have changed."""
        uuid = str(rng.choice(self.vms))
        if rng.random() < 0.3:
            self.sim.change("vm", uuid, name=f"renamed-{rng.randrange(10**6)}")
            return None
        state = rng.choice(("running", "stopped"))
        was_on = self.read_states()[uuid] in RUNS
        done = ModuleRunner(self.sim)("vm", {"uuid": uuid, "state": state, "wait_timeout": 60})
        if not done.failed and done.changed and (state == "running" or was_on):
            # Whether a role or the person came first, nobody knows. What is off and marked is put back, whoever stops
            # it once more.
            self.wanted[uuid].add("on" if state == "running" else "off")
        self.steps.append(f"a person: {uuid} {state}, {'failed' if done.failed else 'done'}")
        return uuid

    def read_states(self) -> dict[str, str]:
        """Return the states of VMs and hosts by their uuids, and whether the VM of the drill is there."""
        records = [each for kind in ("host", "vm") for each in self.sim.records(kind)]
        states = {each["uuid"]: str(each["state"]) for each in records}
        drills = [vm for vm in self.sim.records("vm") if vm["name"] == DRILL and vm["state"] != "Destroyed"]
        return {**states, DRILL: ("gone", "there", "several")[min(len(drills), 2)]}

    def play_round(self, report: Report) -> Iterator[str]:
        """Run two roles at the same time, while a person acts, and yield what contradicts their reports."""
        actions = [self.choose(self.rng) for dummy in range(2)]
        kills = [self.rng.randint(1, 60) if self.rng.random() < 0.3 else None for dummy in actions]
        for each, kill in zip(actions, kills, strict=True):
            self.steps.append(f"{each.name}, killed after {kill}" if kill else each.name)
        person, touched, claims = random.Random(self.rng.random()), set[str | None](), Claims()
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(each.play, kill) for each, kill in zip(actions, kills, strict=True)]
            while not all(future.done() for future in futures):
                if person.random() < 0.3:
                    touched.add(self.act_as_person(person))
                time.sleep(0.02)
        runs = [future.result() for future in futures]
        self.sim.settle()
        for action, ran in zip(actions, runs, strict=True):
            if ran is not None:
                action.claim(ran, claims)
                report.task(ran.result, {}, len(ran.log))
                if "bug" in ran.message:
                    yield f"{action.name}: {ran.message}"
        # A run that was killed says nothing of what it has done.
        if None not in runs:
            yield from self.find_contradictions(claims, touched)

    def find_contradictions(self, claims: Claims, touched: set[str | None]) -> Iterator[str]:
        """Yield what reports say that is not so, and that nobody else has changed."""
        states = self.read_states()
        places = {vm["uuid"]: vm.get("hostUuid") for vm in self.sim.records("vm")}
        for uuid in {uuid for uuid, dummy, dummy2 in claims.states} - touched:
            said = [(expected, source) for each, expected, source in claims.states if each == uuid]
            if not any(states.get(uuid) in expected for expected, dummy in said):
                yield f"{uuid} is {states.get(uuid)}, and the reports say {said}"
        moved = {uuid for uuid, dummy, dummy2 in claims.states}
        for uuid, host, source in claims.absences:
            if places.get(uuid) == host and uuid not in touched | moved:
                yield f"{uuid} is on {host}, and the report says {source}"

    # --------------------------------------------------------------------------------------------------------- end

    def put_back(self) -> Iterator[str]:
        """Put everything back, and yield what is not as people want it."""
        ends: list[tuple[str, Mapping[str, Any]]] = [("site_shutdown", {"site_shutdown_state": "running"})]
        ends += [
            ("vm_power", {"vm_power_state": "restored", "vm_power_label": label}) for label in (*LABELS, "default")
        ]
        restored = {"host_evacuation_state": "restored", "host_evacuation_unmovable": "keep"}
        runs = [WorkflowRunner(self.sim)(*ends[0])]
        for host in self.hosts:
            runs.append(run_maintenance(WorkflowRunner(self.sim), host, self._tasks, state="absent"))
        runs += [WorkflowRunner(self.sim)(*each) for each in ends[1:]]
        runs.append(WorkflowRunner(self.sim)("host_evacuation", restored))
        self.sim.settle()
        for ran in runs:
            if ran.result.get("failed") or ran.result["failed_count"]:
                yield f"putting back: {ran.message}"
        states = self.read_states()
        for uuid, wanted in self.wanted.items():
            if ("on" if states[uuid] in RUNS else "off") not in wanted:
                yield f"{uuid} is {states[uuid]}, and people want it {wanted}"
        for name, uuid in self.hosts.items():
            if states[uuid] != "Enabled":
                yield f"{name} is {states[uuid]}"
        for tag in self.sim.records("usertag"):
            yield f"a mark is left: {tag['tag']} on {tag['resourceUuid']}"


def walk_roles(sim: Simulator, report: Report, runs: int, seed: int) -> None:
    """Play walks of so many runs of roles in all."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder, "tasks.yml")
        tasks.write_text("[]\n", encoding="utf-8")
        for number in range(-(-runs // (2 * ROUNDS))):
            walk = Walk(sim, tasks, seed + number)
            problems = [problem for dummy in range(ROUNDS) for problem in walk.play_round(report)]
            problems += walk.put_back()
            for problem in problems:
                report.wrong(f"walk {seed + number}: {problem}, after {walk.steps}")
