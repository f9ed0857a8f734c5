"""Why the service would refuse calls for NICs, as far as records show it."""

from __future__ import annotations

from .._api.errors import Unchangeable
from .._api.records import Record
from .._api.resource_types import VM
from .._client.client import Client
from .._client.lists import get_by_uuid
from .._engine.spec import PlannedCall
from .refusals import find_addresses_refusal, refuse_state


def find_nic_refusal(client: Client, call: PlannedCall, record: Record | None) -> Unchangeable | None:
    """Return the failure with which the service would refuse a call for a NIC."""
    nic, params = record or {}, call.params
    if call.operation in ("AttachL3NetworkToVm", "DetachL3NetworkFromVm"):
        vm = nic.get("vm") or _read_vm(client, params.get("vmInstanceUuid") or nic.get("vmInstanceUuid"))
        if refusal := refuse_state(call.operation, vm):
            return refusal
    uuid = params.get("destL3NetworkUuid") or params.get("l3NetworkUuid")
    return find_addresses_refusal(client, uuid, params.get("staticIp"), params.get("customMac"))


def _read_vm(client: Client, uuid: str | None) -> Record:
    vms = get_by_uuid(client, VM.query, uuid) if uuid else []
    return vms[0] if vms else {}
