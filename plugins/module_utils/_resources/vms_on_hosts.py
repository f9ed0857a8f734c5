"""Reading the VMs on hosts, and which of them other hosts can take."""

from __future__ import annotations

from collections.abc import Sequence

from .._api.error_code import NO_SUCH_OBJECT
from .._api.errors import ApiError, Unsupported, is_account_refused
from .._api.records import Record
from .._api.resource_types import VM
from .._client.client import Client
from .._client.lists import extract_records, query
from .._engine.guards import Dependent
from .readings import explain_unreadable, read_records

# The effects of a maintenance on VMs.
MIGRATED, STOPPED = "migrated", "stopped"

# The states of a VM that does not run, or is about to stop.
STOPPED_STATES = ("Stopped", "Stopping")

# How many uuids a condition contains, so that a URL has at most 2000 characters.
UUIDS_PER_QUERY = 40


def read_vms_near_host(client: Client, host: str) -> list[Record]:
    """Return the VMs that are on a host, that were there last, or of which no host is known, each once.

    A VM that started on a host since is near it afterwards, even if the host was removed.
    """
    places = ([f"hostUuid={host}"], [f"lastHostUuid={host}"], ["hostUuid is null", "lastHostUuid is null"])

    def query_vms() -> list[Record]:
        return [vm for conditions in places for vm in query(client, VM.query, conditions)]

    vms = read_records(client, VM, query_vms)
    found = {
        str(vm.get("uuid")): vm for vm in vms if host in (vm.get("hostUuid"), vm.get("lastHostUuid")) or is_on(vm, None)
    }
    return list(filter(VM.is_usable, found.values()))


def is_on(vm: Record, host: str | None) -> bool:
    """Return whether a VM is on a host: it runs there, or it ran there last. Without ``host``, whether it never ran."""
    return (vm.get("hostUuid") or vm.get("lastHostUuid")) == host


def runs_on(vm: Record, host: str) -> bool:
    """Return whether a VM runs on a host, or may run there because its state is not known."""
    return vm.get("hostUuid") == host and vm.get("state") not in STOPPED_STATES


def read_vms_with_uuids(client: Client, uuids: Sequence[str]) -> list[Record]:
    """Return the VMs with these uuids."""
    chunks = [uuids[start : start + UUIDS_PER_QUERY] for start in range(0, len(uuids), UUIDS_PER_QUERY)]

    def query_vms() -> list[Record]:
        lists = client.map_concurrently(lambda chunk: query(client, VM.query, [f"uuid?={','.join(chunk)}"]), chunks)
        return [vm for vms in lists for vm in vms]

    return [vm for vm in read_records(client, VM, query_vms) if vm.get("uuid") in uuids] if uuids else []


def predict_migrations(client: Client, vms: Sequence[Dependent], host: str) -> tuple[list[Dependent], str]:
    """Return the VMs that still exist, as stopped if no host can take them, and why some cannot be predicted."""
    unknowable: list[str] = []

    def examine(vm: Dependent) -> Dependent | None:
        try:
            return _predict_migration(client, vm, host)
        except (Unsupported, ApiError) as failure:
            unknowable.append(explain_unreadable(failure))
            return vm

    examined = [examine(vm) for vm in vms[:1]]
    # If the candidates of one VM cannot be read, those of the others cannot be read either.
    examined += vms[1:] if unknowable else client.map_concurrently(examine, vms[1:])
    return [vm for vm in examined if vm], next(iter(unknowable), "")


def _predict_migration(client: Client, vm: Dependent, host: str) -> Dependent | None:
    """Return a VM as stopped if no host can take it; None if it does not exist any more."""
    name = "GetVmMigrationCandidateHosts"
    try:
        reply = client.get(name, {"vmInstanceUuid": vm.uuid})
    except ApiError as failure:
        if failure.transient or failure.leaves_open or is_account_refused(failure):
            raise
        if failure.code == NO_SUCH_OBJECT:
            return None
        return vm._replace(effect=STOPPED, reason=f"the service does not say which hosts can take it: {failure}")
    if any(target.get("uuid") != host for target in extract_records(reply, name)):
        return vm
    return vm._replace(effect=STOPPED, reason="no other host can take it")
