"""The role vm_backup_restore with a data mover that writes at once, and what must be true afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_restores.overwriting import MARK

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.restores import STAMP, RestoreMover, RestoreRunner, write_all
from support.scenarios import State
from support.workflow_runner import WorkflowRun, WorkflowRunner

# The member of a volume that stands for its content: that of the point, or a part of it.
CONTENT, WHOLE, HALF = "_content", STAMP, f"half of {STAMP}"

# What an entry may say about a volume with a content.
STATES: Mapping[str | None, tuple[str, ...]] = {
    WHOLE: ("restored", "unchanged"),
    HALF: ("incomplete", "unknown"),
    None: ("untouched", "unknown"),
}


class Restorer:
    """Restore a VM of a simulator from a point in a repository.

    While the simulator has faults, the data mover ``breaks`` so: it writes half of a volume and fails (``incomplete``),
    or it cannot be reached any more (``unknown``).
    """

    def __init__(self, sim: Simulator, vm: str, folder: Path, breaks: str = "") -> None:
        self._sim, self._breaks = sim, breaks
        record = next(record for record in sim.records("vm") if record["name"] == vm)
        self._uuid, volumes = str(record["uuid"]), find_vm(sim.state(), record["uuid"])["allVolumes"]
        self._mover = RestoreMover(folder)
        copies = [{"volume_uuid": each["uuid"], "size": each["size"]} for each in volumes]
        point = {"vm_uuid": self._uuid, "vm_name": vm, "point": STAMP, "whole": True, "problems": [], "volumes": copies}
        self._mover.listed["points"] = [point]
        self._mover.write = self._write
        self.problems: list[str] = []
        self._must_end_exports = False

    def __call__(self, work: WorkflowRunner, options: Mapping[str, Any], **variables: Any) -> WorkflowRun:
        """Run the role, with options of the module and its variables."""
        ran = RestoreRunner(work, self._mover, options)(**variables).combine()
        self._must_end_exports = "cbt_volume_export and state: absent" in json.dumps(ran.result.get("report"))
        return ran

    def repair(self) -> None:
        """End the exports if the last run has asked for it."""
        vm = find_vm(self._sim.state(), self._uuid)
        if self._must_end_exports:
            volumes = [volume["uuid"] for volume in vm["allVolumes"]]
            ended = ModuleRunner(self._sim)(
                "cbt_volume_export", {"vm": self._uuid, "volumes": volumes, "state": "absent"}
            )
            assert not ended.failed, ended.result

    def _write(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what backup_restore returns. It writes only what is exported, in place of a connection."""
        breaks = self._breaks if self._sim.faults() else ""
        infos = [info["volume"]["volume_uuid"] for info in given["volumes"]]
        state = self._sim.state()
        vm = find_vm(state, self._uuid)
        contents = {each["uuid"]: each.get(CONTENT) for each in vm["allVolumes"]}
        rows = [{**row, "state": "untouched"} for row in write_all(given)["volumes"]]
        if not set(infos) <= set(state["exported"].get(self._uuid, ())):
            return {"failed": True, "changed": False, "msg": "Nothing is exported.", "volumes": rows}
        if vm["state"] != "Stopped":
            self.problems.append(f"it writes volumes of a VM that is {vm['state']}")
        for row in rows:
            has_content = contents[row["target"]] == WHOLE
            self._sim.change("volume", row["target"], **{CONTENT: HALF if breaks else WHOLE})
            row["state"] = "incomplete" if breaks else "unchanged" if has_content else "restored"
            if breaks:
                break
        if breaks == "unknown":
            return {"unreachable": True, "changed": False, "msg": "No route to host."}
        changed = any(row["state"] in ("restored", "incomplete") for row in rows)
        failure = {"failed": True, "msg": "The disk is broken."} if breaks else {"failed": False}
        return {**failure, "changed": changed, "volumes": rows}

    def find_problems(self, ran: WorkflowRun, before: State, after: State) -> Iterator[str]:
        """Yield what must not be so after a run, whatever has failed."""
        yield from self.problems
        self.problems.clear()
        report = ran.result.get("report") or []
        said = json.dumps([[entry["snapshot_group"], entry["error"]] for entry in report[:1]] + [ran.message])
        vm = find_vm(after, self._uuid)
        contents = {each["uuid"]: each.get(CONTENT) for each in vm["allVolumes"]}
        if HALF in contents.values() and vm["state"] != "Stopped":
            yield f"a volume is half written, and the VM is {vm['state']}"
        # A service that has refused to export them may have exported them for this run before.
        if after["exported"].get(self._uuid) and not re.search("exports could not be ended|exported already", said):
            yield f"volumes are exported, and it does not say so: {said}"
        for name in sorted(list_groups(after) - list_groups(before)):
            if name not in said:
                yield f"the snapshot group {name} is not named: {said}"
        if vm["state"] != "Running" and find_vm(before, self._uuid)["state"] == "Running":
            if not re.search(r"could not be st(art|opp)ed|was not started", said):
                yield f"the VM is {vm['state']}, and it does not say so: {said}"
        elif vm["state"] == "Running" and "was not started" in said and "outcome" not in said:
            yield f"the VM is {vm['state']}, but it was not started: {said}"
        earlier = {each["uuid"]: each.get(CONTENT) for each in find_vm(before, self._uuid)["allVolumes"]}
        for entry in report:
            content = contents[entry["target"]]
            yield from _find_untrue(entry, content, content != earlier[entry["target"]], list_groups(after))


def _find_untrue(entry: Mapping[str, Any], content: str | None, was_written: bool, groups: set[str]) -> Iterator[str]:
    """Yield what is not true in an entry about a volume with this content."""
    if entry["state"] not in STATES[content] and (was_written or entry["state"] != "untouched"):
        yield f"the content of {entry['target']} is {content}, and the report says {entry['state']}"
    if (entry["outcome"] == "failed") != (entry["error"] is not None):
        yield f"the outcome is {entry['outcome']}, and the error {entry['error']}"
    if content == HALF and was_written and entry["outcome"] != "failed":
        yield f"{entry['target']} is half written, and its outcome {entry['outcome']}"
    if entry["snapshot_group"] is not None and entry["snapshot_group"] not in groups:
        yield f"there is no snapshot group {entry['snapshot_group']}"
    if entry["state"] != "untouched" and entry["snapshot_group"] is None:
        yield f"{entry['target']} is {entry['state']}, and no snapshot group is named"


def find_vm(state: State, uuid: str) -> dict[str, Any]:
    """Return a VM of the state of a service."""
    return next(dict(record) for record in state["vm"] if record["uuid"] == uuid)


def list_groups(state: State) -> set[str]:
    """Return the names of the snapshot groups that restores have taken."""
    return {record["name"] for record in state["snapshotgroup"] if record["description"] == MARK}


def drop_groups(state: State) -> State:
    """Return a state without the snapshot groups of restores, since each run takes another one."""
    groups = [record for record in state["snapshotgroup"] if record["description"] != MARK]
    return {**state, "snapshotgroup": groups}
