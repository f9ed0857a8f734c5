"""What is called for a VM around the moment of its point, for example to freeze its guest: operations or commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._site.marks import VM, Mark, Marks
from .._site.site import Site
from .._site.variables import PLACEHOLDER
from .plan import VmCopy, find_reason
from .settings import COMMAND_TIMEOUT, MAX_COMMAND_TIMEOUT, Settings

# The words of the marks: no record shows that a guest is frozen, so a mark says for which VMs `after` is due.
LABEL, NOTE = "hook", "before"

# The uuid with which the operations are checked before a VM has its turn.
ANY_VM = "0" * 32

# After how many seconds a command is killed that ignores the end of its time, and what `timeout` returns at that.
KILLED_AFTER, TIMED_OUT = 10, 124

# How much of what a failed command has written last is shown.
MAX_SHOWN = 300

# How a message names the parameter with the uuid of the VM that an operation lacks.
_LACKS_VM = re.compile(r" needs (?:\w+, )*(uuid|vmInstanceUuid)\b")

REMAINS = "vm_backup_after has failed, so the guest may still be as vm_backup_before has left it:"
LATE = "vm_backup_after has failed when the session had opened, and has succeeded when it ended."


class Hooks:
    """What ``vm_backup_before`` and ``vm_backup_after`` call. ``after`` is called in any case once ``before`` was."""

    def __init__(self, site: Site, settings: Settings) -> None:
        self._site, self._settings = site, settings
        self._hooks = {"vm_backup_before": settings.before, "vm_backup_after": settings.after}
        self._marks = Marks(site, "vm_backup", LABEL, VM, settings.concurrency)
        self._set: dict[str, Mark] = {}
        # Until when a command for a VM may still work, of which no result came back.
        self._working: dict[str, float] = {}

    def describe(self) -> list[str]:
        """Return what is called for each VM, in sentences for check mode."""
        where = self._site.play.host
        return [f"{name} would {_describe(hook, where)}." for name, hook in self._hooks.items() if hook]

    def predict(self, vm: Record) -> str | None:
        """Return why the calls for a VM would be refused, None if they would not. Check mode sends none."""
        # A run finds out first that the second one is refused.
        for name, hook in reversed(self._hooks.items()):
            if hook and not hook.get("command") and (reason := self._call(hook, [vm])[0]):
                return f"{name} is refused: {reason}"
        return None

    def surround(self, copies: Sequence[VmCopy], open_sessions: Callable[[Sequence[VmCopy]], None]) -> None:
        """Open the sessions of VMs, and call the hooks of the user before and after each of them."""
        if not self._settings.before:
            open_sessions(copies)
            return
        self._mark(copies)
        # Hooks are called for one VM after the other, so that a guest is frozen only while its own session opens.
        for copy in [copy for copy in copies if not copy.problem]:
            self._call_before(copy)
            if not copy.problem:
                open_sessions([copy])
            self.call_after([copy])

    def _mark(self, copies: Sequence[VmCopy]) -> None:
        """Mark VMs before anything is called for them. VMs that cannot be marked, or put back, have a problem."""
        after = self._settings.after
        if not after:
            return
        if not after.get("command"):
            self._check_after(after, copies)
        wanted = {copy.uuid: NOTE for copy in copies if not copy.problem}
        try:
            marking = self._marks.set(wanted, self._marks.list_own(self._marks.find()))
            self._set |= marking.marks
            problems = marking.problems
        except VirtinfraError as failure:
            problems = dict.fromkeys(wanted, str(failure))
        for copy in copies:
            if reason := problems.get(copy.uuid):
                copy.problem = f"vm_backup_before was not called, because the VM could not be marked: {reason}"

    def _check_after(self, after: Mapping[str, Any], copies: Sequence[VmCopy]) -> None:
        """Validate the operation ``after`` of each VM. VMs for which it is refused have a problem."""
        objects = [fill_in(after, copy.uuid) for copy in copies]
        for copy, result in zip(copies, self._site.check("api", objects, self._settings.concurrency), strict=True):
            if result["failed"]:
                copy.problem = f"vm_backup_before was not called, because vm_backup_after is refused: {result['msg']}"

    def _call_before(self, copy: VmCopy) -> None:
        """Call ``before`` for a VM, which has a problem if that fails."""
        copy.is_hooked = True
        if reason := self._call(self._settings.before, [copy.vm])[0]:
            copy.problem = f"vm_backup_before has failed, so no session was opened: {reason}"

    def call_after(self, copies: Sequence[VmCopy]) -> None:
        """Call ``after`` for the VMs for which it is due, and take off the marks of the others."""
        if not self._settings.after:
            return
        due = [copy for copy in copies if copy.is_hooked]
        for copy, reason in zip(due, self._call(self._settings.after, [copy.vm for copy in due]), strict=True):
            copy.is_hooked = bool(reason)
            copy.after_problem = f"{REMAINS} {reason}" if reason else LATE if copy.after_problem else None
        over = {copy.uuid: self._set[copy.uuid] for copy in copies if copy.uuid in self._set and not copy.is_hooked}
        for reason in self._marks.take_off(over.values()).values():
            self._site.warn(f"A mark of vm_backup_before remains until the next run: {reason}")
        for uuid in over:
            del self._set[uuid]

    def end_left(self, vms: Sequence[Record]) -> dict[str, str | None]:
        """Call ``after`` for the VMs that earlier runs have left marked, and return of each why it failed, or None.

        A guest may have gone on by itself, so that ``after`` fails for ever: a run that makes a point only warns, since
        it calls both itself.
        """
        if not self._settings.after:
            return {}
        uuids = {vm["uuid"]: vm["name"] for vm in vms}
        try:
            found = self._marks.list_own(self._marks.find_if_possible())
        except VirtinfraError as failure:
            self._site.warn(
                f"It could not be read for which VMs an earlier run has not called vm_backup_after: {failure}"
            )
            return {}
        marks = {mark.object_uuid: mark for mark in found if mark.object_uuid in uuids}
        if not self._site.check_mode and any(hook and hook.get("command") for hook in self._hooks.values()):
            # The controller was killed, and a command that it has started may still freeze the guest.
            end = self._site.get_time() + MAX_COMMAND_TIMEOUT + KILLED_AFTER
            self._working |= dict.fromkeys(marks, end)
        marked = [vm for vm in vms if vm["uuid"] in marks]
        reasons = self._call(self._settings.after, marked)
        problems = {vm["uuid"]: reason for vm, reason in zip(marked, reasons, strict=True)}
        remaining = self._marks.take_off(mark for mark in found if problems.get(mark.object_uuid, "") is None)
        for uuid, reason in problems.items():
            if failed := reason or remaining.get(uuid):
                problems[uuid] = f"vm_backup_after, which an earlier run has not called, has failed: {failed}"
                if self._settings.state == "present":
                    self._site.warn(f"{uuids[uuid]}: {problems[uuid]}")
                    problems[uuid] = None
        return problems

    def _call(self, hook: Mapping[str, Any] | None, vms: Sequence[Record]) -> list[str | None]:
        """Call an operation or a command for VMs, and return for each why it failed, None if it did not."""
        if hook and hook.get("command"):
            limit = hook.get("timeout") or COMMAND_TIMEOUT
            return [self._run(hook["command"], limit, vm) for vm in vms]
        for vm in vms:
            self._wait(vm)
        objects = [fill_in(hook or {}, vm["uuid"]) for vm in vms]
        results = self._site.batch("api", objects, self._settings.concurrency)
        return [str(result["msg"]) if result["failed"] else None for result in results]

    def _run(self, command: Sequence[str], limit: int, vm: Record) -> str | None:
        """Run a command on the data mover for a VM, and return why it failed, None if it did not."""
        uuid = str(vm["uuid"])
        self._wait(vm)
        # No copy hears of the run while the command works.
        self._site.meanwhile()
        self._working[uuid] = self._site.get_time() + limit + KILLED_AFTER
        limited = ["timeout", "-k", str(KILLED_AFTER), str(limit), *command]
        result = self._site.mover.run_command(limited, describe_vm(vm))
        if "rc" in result:
            del self._working[uuid]
        return find_failure(result, limit)

    def _wait(self, vm: Record) -> None:
        """Wait until the time of an earlier command for a VM is over: a guest must not be frozen after it was thawed.

        A lost connection, an interruption or a kill of the controller does not end it.
        """
        now = self._site.get_time()
        if (left := self._working.get(vm["uuid"], now) - now) > 0:
            self._site.show(f"{vm['name']}: an earlier command may still work, so the next call waits {left:.0f} s")
            self._site.pause(left)


def check_hooks(site: Site, settings: Settings) -> None:
    """Warn if nothing is called after what is called before, and raise InvalidOptions for invalid operations.

    What names in their parameters mean is found out for each VM.
    """
    if settings.before and not settings.after:
        site.warn(
            "vm_backup_before is given without vm_backup_after, so what it begins, such as a freeze of the guest, does"
            " not end. If nothing is to end, set vm_backup_after to {command: ['true']}"
        )
    for name, hook in (("vm_backup_before", settings.before), ("vm_backup_after", settings.after)):
        if hook and not hook.get("command"):
            (result,) = site.check("api", [fill_in(hook, ANY_VM)], 1)
            if result["failed"] and result["error"]["code"] == "INVALID":
                # The operation lacks the VM, which only the placeholder can be.
                lacking = _LACKS_VM.search(str(result["msg"]))
                hint = f'. Add params: {{{lacking[1]}: "{PLACEHOLDER}"}}, for the uuid of each VM' if lacking else ""
                raise InvalidOptions(f"{name} is refused: {result['msg']}{hint}")


def describe_vm(vm: Record) -> dict[str, str]:
    """Return the environment variables with which a command gets a VM."""
    addresses = [str(nic["ip"]) for nic in vm.get("vm_nics") or () if nic.get("ip")]
    known = {"UUID": vm["uuid"], "NAME": vm["name"], "ADDRESSES": " ".join(addresses)}
    # No environment variable can contain NUL, or half of a surrogate pair.
    usable = {name: str(value).replace("\0", "").encode(errors="replace").decode() for name, value in known.items()}
    return {f"VIRTINFRA_VM_{name}": value for name, value in usable.items()}


def find_failure(result: Record, limit: int) -> str | None:
    """Return why a command with a limit in seconds has failed, None if it has not."""
    if result.get("rc") == TIMED_OUT:
        return f"The command did not end within {limit} s."
    if not result.get("rc"):
        return find_reason(result)
    written = str(result.get("stderr") or result.get("stdout") or "").strip().splitlines()
    shown = f": {written[-1][:MAX_SHOWN]}" if written else "."
    return f"The command has ended with the status {result['rc']}{shown}"


def _describe(hook: Mapping[str, Any], host: str) -> str:
    if hook.get("command"):
        return f"run on {host}: {shlex.join(hook['command'])}"
    return f"call {hook.get('operation') or hook.get('path')}"


def fill_in(hook: Mapping[str, Any], uuid: str) -> Record:
    """Return the options of the module api, with the uuid of a VM in place of the placeholder."""
    given = {name: value for name, value in hook.items() if value is not None}
    filled: Record = _replace(given, uuid)
    if "path" in given:
        filled["path"] = str(given["path"]).replace(PLACEHOLDER, quote(uuid, safe=""))
    return filled


def _replace(value: Any, uuid: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _replace(member, uuid) for name, member in value.items()}
    if isinstance(value, list):
        return [_replace(member, uuid) for member in value]
    return value.replace(PLACEHOLDER, uuid) if isinstance(value, str) else value
