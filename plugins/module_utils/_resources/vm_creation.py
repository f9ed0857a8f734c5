"""Create VMs: of an image, from an ISO, or as clones. Section "Virtual machines"."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._api.errors import ApiError, InvalidOptions, NotFound, OtherObject, Unchangeable, Unsupported, VirtinfraError
from .._api.limits import check_value
from .._api.operation import ABSENT
from .._api.records import (
    NullReference,
    PredictedReference,
    Record,
    holds_unknown_reference,
    normalize_address,
)
from .._api.references import format_option_name, is_name, is_null, unify_uuid
from .._api.resource_types import HOST, L3_NETWORK, RESOURCE_TYPES
from .._client.client import Client
from .._client.lists import get_by_uuid
from .._client.names import explain_unknown_name, is_predicted, resolve_name
from .._engine.context import ModuleContext
from .._engine.current import Current, Found
from .._engine.differences import build_not_found
from .._engine.plan import build_call, predict_created
from .._engine.spec import Ignored, PlannedCall, ResourceSpec
from .._masking.masker import collect_secrets
from .readings import explain_unreadable
from .refusals import find_addresses_refusal, find_new_vm_refusal, find_vm_refusal
from .vms import HOT_PLUG, ROOT_SIZE, find_root_volume, find_vm, hide_volumes_to_remove, is_gone, list_growing, plan_vm

# The option with the VM or the template of a clone.
CLONED = "cloneFromUuid"

# Options with any of which a VM is created if it does not exist.
_SOURCES = ("imageUuid", CLONED)

_ROOT_STORAGE = "primaryStorageUuidForRootVolume"

# Options for new VMs that no record shows in their form.
_PARTS = ("networks", "disks")
_ONLY_NEW = (
    *(*_PARTS, ROOT_SIZE, CLONED, "userData", "userDataFile", "sshKeyPairUuids", _ROOT_STORAGE),
    *("resourceUuid", "tagUuids", "vmNics"),
)

_CLONE = "CloneVmInstance"

# Options that a clone takes from its VM, and a VM of a template does not.
_NOT_CLONED = ("networks", "instanceOfferingUuid")

# The members of `vmNicParams`, by those of the option.
_NIC_MEMBERS = {"static_ip": "ip", "custom_mac": "mac", "driver_type": "driverType"}

# The beginning of the system tag with the user data of cloud-init.
_USER_DATA = "userdata::"

# The beginnings of user data that cloud-init and, in Windows, cloudbase-init know, in lower case.
_KNOWN_BEGINNINGS = (
    *("#!", "#cloud-", "#include", "#part-handler", "#upstart-job", "## template:", "content-type:", "mime-version:"),
    *("#ps1", "rem cmd", "<script>", "<powershell>"),
)

# User data that can only be meant as the path of a file.
_PATH = re.compile(r"(?:~?/|\.\.?/)\S+|(?!#)(?!\S*://)\S+\.(?:ya?ml|sh|txt|cfg)")

# The member of the record with what the VM lacks of the parts that the options describe, each with a remedy.
_UNMET = "unmetOptions"


def choose_creation(resource: ResourceSpec, context: ModuleContext) -> ResourceSpec:
    """Return the resource spec with the operation that creates a VM: that for clones, for templates, or for others."""
    source = context.desired.get(CLONED)
    if source is None:
        return replace(resource, create="CreateVmInstance")
    with suppress(Unsupported):
        is_known = not isinstance(source, NullReference)
        if is_known and get_by_uuid(context.client, "QueryTemplatedVmInstance", str(source)):
            return replace(resource, create="CreateVmInstanceFromTemplatedVmInstance")
    return replace(resource, create=_CLONE)


# The warning for a new VM without the option networks.
_NO_NIC = "the VM has no NIC, because networks is not given. Give networks, or [] for none"


def find_created_vm(client: Client, desired: Record) -> Record | None:
    """Read a VM as `find_vm` does, with the reasons why it does not have the parts that the options describe.

    If CPUs or memory of a running one shall grow, the record shows whether they can, too. A destroyed VM of the name
    does not prevent that another one is created.
    """
    try:
        vm = find_vm(client, desired)
    except NotFound:
        if "uuid" in desired or not _has_source(desired):
            raise
        return None
    if vm is None:
        return None
    if vm.get("state") == "Running" and list_growing(desired, vm):
        vm = {**vm, HOT_PLUG: _read_hot_plug(client, vm)}
    if not any(name in desired for name in _PARTS):
        return vm
    unmet = [*_find_unmet_networks(client, desired, vm), *_find_unmet_disks(desired, vm)]
    return {**vm, _UNMET: unmet}


def _read_hot_plug(client: Client, vm: Record) -> bool | str:
    """Return whether CPUs and memory of a running VM can grow, or why this cannot be read."""
    params = {"resourceUuid": vm["uuid"], "category": "vm", "name": "numa"}
    try:
        value = client.get("GetResourceConfig", params).get("value")
    except (Unsupported, ApiError) as failure:
        return explain_unreadable(failure)
    known = {"true": True, "false": False}
    return known.get(str(value).lower(), f"the setting numa of the VM is {value!r}")


def _has_source(desired: Record) -> bool:
    values = [desired.get(name) for name in _SOURCES]
    return any(value is not None and not holds_unknown_reference(value) for value in values)


def complete_vm(client: Client, desired: Record) -> Record:
    """Return the parameters of the creation that follow from the options: networks, volumes and user data.

    Also return the NICs of the VM, which no parameter but its record has. Raise InvalidOptions or Unchangeable for what
    the service would ignore, or notice when it has created the VM.
    """
    _require_host_in_cluster(client, desired)
    networks = _resolve_networks(client, desired)
    _require_one_with_members(desired, networks)
    _require_addresses(client, networks)
    uuids = [network["l3NetworkUuid"] for network in networks]
    params = [network for network in networks if len(network) > 1]
    default = {"defaultL3NetworkUuid": uuids[0]} if len(set(uuids)) > 1 else {}
    source = desired.get(CLONED)
    completed: Record = {
        **(
            {"names": [desired.get("name")], "vmInstanceUuid": source, "templatedVmInstanceUuid": source}
            if source
            else {}
        ),
        **({"l3NetworkUuids": uuids, **default, "vmNics": _predict_nics(networks)} if uuids else {}),
        **({"vmNicParams": json.dumps(params)} if params else {}),
        **({"dataDiskSizes": [disk["size"] for disk in desired["disks"]]} if desired.get("disks") else {}),
    }
    if user_data := _read_user_data(client, desired):
        tag = f"{_USER_DATA}{base64.b64encode(user_data.encode()).decode()}"
        client.hooks.masker.add(
            tag.removeprefix(_USER_DATA), *collect_secrets({"text": {"no_log": True}}, {"text": user_data})
        )
        # The options are completed each time that the VM is found missing.
        completed["systemTags"] = [*(other for other in desired.get("systemTags", ()) if other != tag), tag]
    return completed


def _require_host_in_cluster(client: Client, desired: Record) -> None:
    """Raise InvalidOptions if the host is in another cluster. The service would ignore the cluster."""
    host, cluster = desired.get("hostUuid"), desired.get("clusterUuid")
    if host is None or cluster is None or holds_unknown_reference([host, cluster]):
        return
    with suppress(Unsupported):
        for record in get_by_uuid(client, HOST.query, host):
            if record.get("clusterUuid") not in (None, cluster):
                raise InvalidOptions(
                    f"the host {record.get('name')} is in the cluster {record['clusterUuid']!r}, not in {cluster!r}."
                    " Omit cluster, or correct it"
                ).with_references(dict.fromkeys((record["clusterUuid"], cluster), "clusterUuid"))


def _require_one_with_members(desired: Record, networks: list[Record]) -> None:
    """Raise InvalidOptions for a MAC address that is none, and for two NICs on a network of which one has addresses.

    The parameters of a creation have the addresses by the networks.
    """
    uuids = [network["l3NetworkUuid"] for network in networks]
    for number, (item, network) in enumerate(zip(desired.get("networks", ()), networks, strict=True)):
        if mac := network.get("mac"):
            check_value("customMac", f"networks[{number}].custom_mac", mac)
        uuid = network["l3NetworkUuid"]
        if len(network) > 1 and uuids.count(uuid) > 1 and not isinstance(uuid, NullReference):
            raise InvalidOptions(
                f"networks: {item.get('l3_network')} has two NICs, and a new VM cannot have addresses or drivers for"
                " them. Give the network once, and add the other NIC with the module vm_nic"
            )


def _require_addresses(client: Client, networks: list[Record]) -> None:
    """Raise Unchangeable for an address that a new NIC cannot get. The service would leave a VM without the NIC."""
    for network in networks:
        uuid, address, mac = network["l3NetworkUuid"], network.get("ip"), network.get("mac")
        if (address or mac) and not isinstance(uuid, NullReference):
            with suppress(Unsupported):
                if refusal := find_addresses_refusal(client, uuid, address, mac):
                    raise refusal


def _read_user_data(client: Client, desired: Record) -> str:
    """Return the text of the option, or of the file that an option names. Raise InvalidOptions if it cannot be read."""
    path = desired.get("userDataFile")
    if not path:
        text = str(desired.get("userData", ""))
        if _PATH.fullmatch(text.strip()):
            raise InvalidOptions("user_data is the path of a file, not its text. Did you mean user_data_file?")
        if _decode(text).casefold().startswith(_KNOWN_BEGINNINGS):
            raise InvalidOptions("user_data is encoded in base64. Give the text itself, which the module encodes")
        return text
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InvalidOptions(f"cannot read user_data_file: {error}") from None


def _decode(text: str) -> str:
    """Return what a text encodes in base64, an empty string if it is not encoded."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except ValueError:
        return ""


def _resolve_networks(client: Client, desired: Record) -> list[Record]:
    """Return the networks of the options as the service names their members, with uuids in place of names."""
    networks = []
    for item in desired.get("networks", ()):
        members = {name: item[option] for option, name in _NIC_MEMBERS.items() if item.get(option)}
        networks.append({"l3NetworkUuid": _resolve_network(client, item.get("l3_network")), **members})
    return networks


def _predict_nics(networks: list[Record]) -> list[Record]:
    """Return the NICs that a new VM will have, without uuids, for later tasks that refer to one of them."""
    return [
        {name: None if isinstance(value, NullReference) else value for name, value in network.items()}
        for network in networks
    ]


def _resolve_network(client: Client, value: Any) -> str:
    """Return the uuid of a network; in check mode, a reference to one that an earlier task would have created."""
    if is_null(value):
        if client.options.read_only:
            return PredictedReference("networks")
        raise InvalidOptions("l3_network of networks must not be null or empty")
    text = unify_uuid(str(value))
    if not is_name(text):
        return text
    try:
        return resolve_name(client, L3_NETWORK, text, {})
    except VirtinfraError as failure:
        if isinstance(failure, NotFound) and is_predicted(client, L3_NETWORK.name, text):
            return PredictedReference("networks")
        if isinstance(failure, NotFound):
            failure.add_sentence(explain_unknown_name(client, L3_NETWORK, text))
        raise failure.with_label("networks") from None


def _find_unmet_networks(client: Client, desired: Record, vm: Record) -> Iterator[tuple[str, str]]:
    """Yield which NICs of the options a VM lacks, each with a remedy. Each of its NICs is one of them at most."""
    nics = list(vm.get("vmNics") or [])
    wanted = zip(desired.get("networks", ()), _resolve_networks(client, desired), strict=True)
    # A NIC for which no address is given may be any of the others.
    for item, network in sorted(wanted, key=lambda pair: -len(pair[1])):
        if found := next((nic for nic in nics if _has_members(nic, network)), None):
            nics.remove(found)
            continue
        given = ", ".join(str(item[option]) for option in _NIC_MEMBERS if item.get(option))
        details = f" with {given}" if given else ""
        is_known = any(_has_members(nic, network) for nic in vm.get("vmNics") or [])
        yield (
            f"networks: the VM has no{' other' if is_known else ''} NIC on {item.get('l3_network')}{details}",
            "Attach or change it with the module vm_nic",
        )


def _has_members(nic: Record, network: Record) -> bool:
    """Return whether a NIC has the network, and the addresses that are given."""
    shown = {"l3NetworkUuid": nic.get("l3NetworkUuid"), **{name: nic.get(name) for name in ("ip", "mac", "driverType")}}
    return all(normalize_address(str(value)) == normalize_address(str(shown[name])) for name, value in network.items())


def _find_unmet_disks(desired: Record, vm: Record) -> Iterator[tuple[str, str]]:
    """Yield which data volumes of the options a VM lacks, each with a remedy.

    A volume that has grown since is not smaller than requested.
    """
    volumes = vm.get("allVolumes") or []
    others = (volume for volume in volumes if volume.get("uuid") != vm.get("rootVolumeUuid"))
    data = sorted(others, key=lambda volume: volume.get("deviceId") or 0)
    disks = desired.get("disks", ())
    if len(data) < len(disks):
        yield (
            f"disks: the VM has {len(data)} data volumes, and {len(disks)} are requested",
            "Create and attach the others with the module volume",
        )
    for number, (disk, volume) in enumerate(zip(disks, data, strict=False), 1):
        label = f"{volume.get('name')} ({volume.get('uuid')})"
        if volume.get("size") is not None and volume["size"] < disk["size"]:
            yield (
                f"disks: number {number}, {label}, has {volume['size']} bytes, and {disk['size']} are requested",
                "Let it grow with the module volume",
            )


def plan_created_vm(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the creation of a VM, and the calls that `plan_vm` plans for one that exists.

    Raise Unchangeable if it exists without the parts that the options describe.
    """
    vm = current.record
    if vm is None and state != ABSENT:
        return _plan_creation(resource, state, desired, current)
    existing = {name: value for name, value in desired.items() if name not in _ONLY_NEW}
    kept = "resourceUuid" if state == ABSENT else ROOT_SIZE
    if kept in desired:
        existing[kept] = desired[kept]
    if "systemTags" in desired:
        existing["systemTags"] = [tag for tag in desired["systemTags"] if not tag.startswith(_USER_DATA)]
    if vm and state == ABSENT:
        _require_same_parts(desired, vm)
    elif vm and vm.get(_UNMET):
        raise Unchangeable(f"{'; '.join(map('. '.join, vm[_UNMET]))}.")
    return plan_vm(resource, state, existing, current)


def _require_same_parts(desired: Record, vm: Record) -> None:
    """Raise OtherObject if a VM to remove lacks parts that the options describe, as far as its record shows them."""
    if is_gone(vm):
        return
    differences = [difference for difference, dummy in vm.get(_UNMET) or ()]
    root, wanted = find_root_volume(vm) or {}, desired.get(ROOT_SIZE)
    if wanted and isinstance(root.get("size"), int) and root["size"] < wanted:
        differences.append(f"root_disk_size (is {root['size']}, should be {wanted} at least)")
    storage, placed = root.get("primaryStorageUuid"), desired.get(_ROOT_STORAGE)
    if storage and placed and storage != placed and not holds_unknown_reference(placed):
        differences.append(f"primary_storage (is {storage!r}, should be {placed!r})")
    if differences:
        message = f"the options differ from the existing vm: {'; '.join(differences)}."
        raise OtherObject(message, dict.fromkeys(filter(None, (storage, placed)), _ROOT_STORAGE))


def _plan_creation(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the creation of a VM, and the calls that lead from a new VM to the state, or to the size of a clone."""
    _require_creatable(resource, desired)
    is_clone = resource.create == _CLONE
    # The service clones the size, too, and changes it while the VM is stopped.
    sizes = {name: desired[name] for name in ("cpuNum", "memorySize") if is_clone and name in desired}
    runs = state != "stopped" and not sizes
    params = {**desired, "strategy": "InstantStart" if runs else "CreateStopped"}
    record = predict_created(resource, {**desired, **dict.fromkeys(sizes)})
    # The service chooses the host of a VM that starts, and the cluster is that of the host.
    place = {"hostUuid": desired.get("hostUuid") if runs else None}
    place |= {"clusterUuid": None} if "hostUuid" in desired else {}
    created = {**record, **place, "state": "Running" if runs else "Stopped"}
    # A clone has the NICs of its source.
    lack = "" if is_clone or "networks" in desired else _NO_NIC
    warning = ". ".join(filter(None, [lack, _warn_of_user_data(desired)]))
    calls = [build_call(resource, resource.create, params, None, created, warning)]
    if state in ("present", "restarted") and runs:
        return calls
    settled = {name: value for name, value in desired.items() if name in ("stopType", "description", *sizes)}
    next_state = "running" if state in ("present", "restarted") else state
    return [*calls, *plan_vm(resource, next_state, settled, Found(created))]


def _warn_of_user_data(desired: Record) -> str:
    """Return the warning that no program in the guest knows the form of the user data; an empty text if one does."""
    tags = [str(tag) for tag in desired.get("systemTags", ()) if str(tag).startswith(_USER_DATA)]
    texts = [base64.b64decode(tag.removeprefix(_USER_DATA)).decode(errors="replace") for tag in tags]
    if all(text.lower().startswith(_KNOWN_BEGINNINGS) for text in texts):
        return ""
    return "cloud-init ignores user data that does not begin with a line such as #cloud-config or #!/bin/sh"


def _require_creatable(resource: ResourceSpec, desired: Record) -> None:
    """Raise InvalidOptions or NotFound if the options do not describe a new VM."""
    if "uuid" in desired:
        raise build_not_found(resource, desired)
    if not _has_source(desired):
        raise build_not_found(resource, desired, ["image or clone_from"])
    foreign = [format_option_name(name) for name in _NOT_CLONED if name in desired]
    if foreign and resource.create == _CLONE:
        added = ". virtinfra.manager.vm_nic adds NICs to the clone afterwards" if "networks" in foreign else ""
        raise InvalidOptions(f"{', '.join(foreign)} cannot be used with clone_from, unless it is a template{added}")
    offering = desired.get("instanceOfferingUuid")
    has_offering = offering is not None and not holds_unknown_reference(offering)
    if not (has_offering or {"cpuNum", "memorySize"} <= desired.keys() or CLONED in desired):
        raise InvalidOptions(f"cpu_num and memory_size, or instance_offering is required for {resource.create}")


def find_created_vm_refusal(client: Client, call: PlannedCall, record: Record | None) -> VirtinfraError | None:
    """Return the failure with which the service would refuse to create or change a VM."""
    if call.operation != "CreateVmInstance":
        return find_vm_refusal(client, call, record)
    return _refuse_image(client, call) or find_new_vm_refusal(client, call, record)


def _refuse_image(client: Client, call: PlannedCall) -> Unchangeable | InvalidOptions | None:
    """Return the failure that no VM can be made of an image, or not with these options."""
    uuid = call.params.get("imageUuid")
    for image in get_by_uuid(client, RESOURCE_TYPES["image"].query, uuid) if uuid else ():
        name, state, status = image.get("name"), image.get("state"), image.get("status")
        if state not in (None, "Enabled") or status not in (None, "Ready"):
            return Unchangeable(
                f"the image {name} is {state} and {status}, and a VM needs one that is Enabled and Ready."
            )
        if image.get("mediaType") == "ISO" and not call.params.get("rootDiskSize"):
            return InvalidOptions(f"the image {name} is an ISO, so the VM needs root_disk_size")
    return None


def find_ignored_options(desired: Record, vm: Record) -> Iterator[Ignored]:
    """Yield the options that act only when a VM is created, and of which its record shows another value."""
    cluster, wanted = vm.get("clusterUuid"), desired.get("clusterUuid")
    if cluster and wanted and cluster != wanted:
        reason = f"cluster acts only when the VM is created or started, and the VM is in the cluster {cluster!r}"
        yield Ignored(reason, {cluster: "clusterUuid"})
    host, wanted = vm.get("hostUuid") or vm.get("lastHostUuid"), desired.get("hostUuid")
    if host and wanted and host != wanted:
        place = "is" if vm.get("hostUuid") else "was last"
        reason = f"host acts only when the VM is created or started, or while it runs, and the VM {place} on {host!r}"
        yield Ignored(reason, {host: "hostUuid"})
    root = find_root_volume(vm) or {}
    storage, wanted = root.get("primaryStorageUuid"), desired.get(_ROOT_STORAGE)
    if storage and wanted and storage != wanted:
        reason = f"primary_storage acts only when the VM is created, and its root volume is on {storage!r}"
        yield Ignored(reason, {storage: _ROOT_STORAGE})
    size, wanted = root.get("size"), desired.get(ROOT_SIZE)
    if isinstance(size, int) and wanted and size > wanted:
        yield Ignored(f"root_disk_size is {wanted}, and the root volume has {size} bytes. A volume cannot shrink")


def find_failed_clone(reply: Record) -> str | None:
    """Return why a clone was not created although the job succeeded; None if it was, or for another reply."""
    result = reply.get("result")
    clones = result.get("inventories") if isinstance(result, Mapping) else None
    for clone in clones if isinstance(clones, list) else ():
        if isinstance(clone, Mapping) and (error := clone.get("error")):
            details = error if isinstance(error, Mapping) else {"details": error}
            texts = (str(details[name]) for name in ("code", "details") if details.get(name))
            return f"the VM was not created: {' '.join(texts)}"
    return None


def hide_parts(vm: Record | None) -> Record:
    """Return the VM as it is shown in the result."""
    return hide_volumes_to_remove(vm and {name: value for name, value in vm.items() if name not in (_UNMET, HOT_PLUG)})
