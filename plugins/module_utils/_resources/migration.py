"""To which hosts VMs can migrate."""

from __future__ import annotations

from .._api.errors import ApiError, Unchangeable, Unsupported, join_first
from .._api.records import NullReference, Record
from .._client.client import Client
from .._client.lists import extract_records
from .._engine.guards import MAX_LISTED, Dependents, Guard
from .._engine.refusals import require_known_references
from .local_storages import find_root_storage, read_local_storages
from .readings import explain_unreadable


def require_migration_target(client: Client, vm: Record, host: str | NullReference) -> Dependents:
    """Raise Unchangeable if a VM cannot migrate to a host. Return warnings about what cannot be checked.

    Check mode does not know the host if an earlier task would have added it, nor the targets of a VM whose state is
    about to change.
    """
    if isinstance(host, NullReference):
        return Dependents()
    if vm.get("state") not in ("Running", "Paused"):
        return Dependents(warnings=[f"cannot check to which hosts it can migrate, because it is {vm.get('state')}"])
    refusal = f"the VM cannot migrate to the host {host!r}"
    warnings: list[str] = []
    try:
        if find_root_storage(vm) in read_local_storages(client):
            raise Unchangeable(
                f"{refusal}, because its root volume is on local storage. Omit host.", {host: "hostUuid"}
            )
    except (Unsupported, ApiError) as failure:
        warnings.append(f"cannot check whether its root volume is on local storage: {explain_unreadable(failure)}")
    name = "GetVmMigrationCandidateHosts"
    try:
        targets = extract_records(client.get(name, {"vmInstanceUuid": vm["uuid"]}), name)
    except (Unsupported, ApiError) as failure:
        reason = explain_unreadable(failure)
        return Dependents(warnings=[*warnings, f"cannot check to which hosts it can migrate: {reason}"])
    if host not in [target.get("uuid") for target in targets]:
        require_known_references(client, "MigrateVm", {"hostUuid": host})
        raise Unchangeable(f"{refusal}. {_describe_targets(targets)}", {host: "hostUuid"})
    return Dependents(warnings=warnings)


def _describe_targets(targets: list[Record]) -> str:
    """Return the sentence that names the hosts to which a VM can migrate."""
    names = sorted(f"{target.get('name')} ({target.get('uuid')})" for target in targets)
    return f"It can migrate to {join_first(names, MAX_LISTED)}." if names else "No other host can take it."


# Servers list the targets without regard to where the root volume lies, and refuse the migration only in its job.
MIGRATION_TARGETS = Guard(require_migration_target, option="", depends_on="host", members={}, operations=("MigrateVm",))
