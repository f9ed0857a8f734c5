"""Find hosts and plan their changes; read and plan the service types on their network interfaces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import product

from .._api.errors import InvalidOptions, Unchangeable, Unsupported
from .._api.operation import ABSENT, TAG_PARAMS
from .._api.records import Record, drop_null_references, is_same_value
from .._api.references import format_option_name
from .._client.client import Client
from .._client.lists import list_by_uuids, list_selected
from .._engine.current import Current, Found, Unreadable
from .._engine.plan import build_call, build_default_plan
from .._engine.spec import Ignored, PlannedCall, ResourceSpec, Settling
from .chains import chain_plans
from .finders import find_by_type

# The name of an interface and the number of a VLAN.
Pair = tuple[str, int]

MANAGEMENT = "ManagementNetwork"

# The value of the option ``state`` for a host to which the service connects again.
RECONNECTED = "reconnected"


# The option with which a maintenance moves the VMs of a host before the host is removed.
EVACUATE = "evacuate"

# The options that select a host, in this order.
HOST_KEYS = ("uuid", "managementIp", "name")

# The options with which a missing host is added, in addition to its name and address.
_ADDING = ("clusterUuid", "username", "password")

# The parameters with which the service logs in to a host, and the operation that changes them.
_LOGIN = ("username", "password", "sshPort")
_UPDATE_LOGIN = "UpdateKVMHost"

# The state and the status in which a host cannot be put into maintenance, or need not be.
MAINTENANCE, DISCONNECTED = "Maintenance", "Disconnected"

# The IPMI fields of a host. Records may lack some of them.
_IPMI_PASSWORD = "ipmiPassword"
_IPMI_PORT = "ipmiPort"
_IPMI = ("ipmiAddress", "ipmiUsername", _IPMI_PORT)

# Whether a host is switched on, as its IPMI controller reported it last. All other values say that this is not known.
_POWER = "ipmiPowerStatus"
_POWER_ON, _POWER_OFF = "POWER_ON", "POWER_OFF"
_SWITCHING = ("POWER_BOOTING", "POWER_SHUTDOWN")
_NO_CREDENTIALS = "UN_CONFIGURED"

# How the service gets to know the IPMI controller of a host.
_FIND_IPMI = (
    "The service reads the address from the host when it connects: configure one in the IPMI controller (BMC) itself,"
    " and set state: reconnected. A host without such a controller cannot be switched by the service."
)

_find_by_key = find_by_type("host", *HOST_KEYS)


def find_host(client: Client, desired: Record) -> Record | None:
    """Read a host by its uuid, else its management address, else its name.

    The name selects a host with another address only if the options cannot add a host. Raise InvalidOptions when two of
    the three select different hosts.
    """
    host = key = None
    for name in HOST_KEYS:
        if not desired.get(name) or (host and is_same_value(desired[name], host.get(name))):
            continue
        if host is None and (key == "uuid" or (key and all(desired.get(option) for option in _ADDING))):
            break
        keys = {option: desired[option] for option in (name, "resourceUuid") if desired.get(option)}
        other = _find_by_key(client, keys if host is None else {name: desired[name]})
        if host and other and other["uuid"] != host["uuid"]:
            raise InvalidOptions(
                f"{format_option_name(str(key))} selects the host {host.get('name')} ({host['uuid']}), but"
                f" {format_option_name(name)} selects {other.get('name')} ({other['uuid']}). Correct one of them."
            )
        host, key = host or other, key if host else name
    return host


def plan_host(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of a host: its IPMI controller, its properties, its login, its state, and its power.

    A host is switched on before the other changes, and off after them. It is reset before them, but not before a
    maintenance, which moves its VMs.
    """
    power = desired.get("power")
    if power == "off" and state == RECONNECTED:
        raise InvalidOptions(f"power {power} cannot be used with state {state}")
    if state == ABSENT:
        return _plan_removal(resource, desired, current)
    properties = {name: value for name, value in desired.items() if name not in _IPMI}
    if current.record is None:
        return _plan_new_host(resource, state, properties, desired, current)
    configure, switch = partial(_plan_ipmi, resource, desired), partial(_plan_power, resource, desired)
    change = partial(_plan_changes, resource, state, properties)
    if power == "off" or (power == "reset" and state == "maintenance"):
        return chain_plans(current, configure, change, switch)
    calls = chain_plans(current, configure, switch, change)
    transition = resource.transitions.get(state)
    if power and transition and transition.settles:
        # A host that leaves maintenance may still be booting. The service tries to connect, and again later.
        calls = [
            call.expect({"status": "Connected"})._replace(settling=Settling(after={"status": (DISCONNECTED,)}))
            if call.operation == transition.operation
            else call
            for call in calls
        ]
    return calls


def _plan_new_host(
    resource: ResourceSpec, state: str, properties: Record, desired: Record, current: Current
) -> list[PlannedCall]:
    """Plan the addition of a host. The service can connect to the host only if it is on."""
    if desired.get("power") not in (None, "on"):
        if isinstance(current, Unreadable):
            raise Unsupported(f"cannot read whether the host is on: {current.reason.reason}", "Omit power.")
        raise InvalidOptions(f"power {desired['power']} cannot be used for a host that does not exist")
    # No record shows a password, so it alone is no reason for a call after that which adds the host.
    return chain_plans(
        current,
        partial(build_default_plan, resource, "present", properties),
        partial(_plan_ipmi, resource, {**desired, "updatePassword": "on_create"}),
        partial(build_default_plan, resource, state, _select_tags(desired)),
    )


def _plan_changes(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the changes of the properties of a host, its login, a reconnection, and its state.

    No record shows a reconnection. A new address or login needs one, except in maintenance, which a host leaves with a
    reconnection, and except of a host that is off, which the service reaches when it is on again.
    """
    record = current.record or {}
    updates = chain_plans(
        current,
        partial(build_default_plan, resource, "present", _omit_login(desired)),
        partial(_plan_login, resource, desired),
    )
    is_reached_anew = any(call.operation == _UPDATE_LOGIN or "managementIp" in call.params for call in updates)
    is_unreachable = _is_in_maintenance(record) or is_switched_off(record)
    reconnections = []
    if state == RECONNECTED or (is_reached_anew and not is_unreachable):
        reconnections.append(partial(_plan_reconnection, resource))
    elif is_reached_anew:
        time = "maintenance ends" if _is_in_maintenance(record) else "the host is on again"
        updates[-1] = updates[-1]._replace(warning=f"the service connects with the change when {time}")
    transition = partial(build_default_plan, resource, state, _select_tags(desired))
    if updates and (warning := _warn_of_rename(desired, record)):
        updates[0] = updates[0]._replace(warning=". ".join(filter(None, [warning, updates[0].warning])))
    return chain_plans(current, lambda dummy: updates, *reconnections, transition)


def _warn_of_rename(desired: Record, host: Record) -> str:
    """Return the warning that a host gets another name which only its address has selected; an empty text if not."""
    address, name = desired.get("managementIp"), desired.get("name")
    if "uuid" in desired or not (address and name and host.get("name")) or name == host["name"]:
        return ""
    if not is_same_value(address, host.get("managementIp")):
        return ""
    return (
        f"{address} is the address of the host {host['name']}, which the task renames to {name}. If another host is"
        " meant, correct management_ip. With uuid, a host is renamed without this warning"
    )


def _plan_reconnection(resource: ResourceSpec, current: Current) -> list[PlannedCall]:
    connected = {**(current.record or {}), "status": "Connected"}
    return [build_call(resource, "ReconnectHost", {}, current.record, connected)._replace(is_visible=False)]


def _select_tags(desired: Record) -> Record:
    """Return the options that are sent with every call."""
    return {name: desired[name] for name in TAG_PARAMS if name in desired}


def _omit_login(desired: Record) -> Record:
    """Return the options that are compared with an existing host: its login is that of its addition."""
    return {name: value for name, value in desired.items() if name not in _LOGIN}


def _plan_login(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of the login of an existing host, at most one call, with ``updatePassword`` always.

    No record shows the password, and some services do not show the user and the port. What is not shown is set each
    time.
    """
    record = current.record or {}
    login = {name: desired[name] for name in _LOGIN if name in desired}
    # The record of a host that cannot be read has the desired values.
    is_shown = isinstance(current, Found)
    changes = {
        name: value for name, value in login.items() if not is_shown or not is_same_value(value, record.get(name))
    }
    if desired.get("updatePassword") != "always" or not changes:
        return []
    shown = {name: value for name, value in changes.items() if is_shown and record.get(name) is not None}
    call = build_call(resource, _UPDATE_LOGIN, login, record, {**record, **shown})
    return [call._replace(is_visible=bool(shown))]


def find_ignored_login(desired: Record, host: Record) -> Iterator[Ignored]:
    """Yield the options of the login of an existing host of which its record shows another value."""
    for name in _LOGIN if desired.get("updatePassword") != "always" else ():
        shown = host.get(name)
        if name in desired and shown is not None and not is_same_value(desired[name], shown):
            yield Ignored(
                f"{format_option_name(name)} acts only when the host is added, or with update_password: always, and the"
                f" host has {shown!r}"
            )


def _plan_ipmi(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the change of the IPMI controller of a host, at most one call.

    The service sets the port to its default if the call has none. It never shows the password, which is sent with
    other changes, or with ``updatePassword`` always. The service then reads whether the host is on.
    """
    record = current.record or {}
    given = {name: desired[name] for name in _IPMI if name in desired}
    # The record of a host that cannot be read has the desired values.
    changes = {
        name: value
        for name, value in given.items()
        if not isinstance(current, Found) or not is_same_value(value, record.get(name))
    }
    if not changes and not (desired.get("updatePassword") == "always" and _IPMI_PASSWORD in desired):
        return []
    others = {name: desired[name] for name in (_IPMI_PASSWORD, *TAG_PARAMS) if name in desired}
    is_known = record.get(_POWER) in (_POWER_ON, _POWER_OFF)
    is_connected = record.get("status") == "Connected"
    power = record.get(_POWER) if is_known else _POWER_ON if is_connected else None
    params = {_IPMI_PORT: record.get(_IPMI_PORT), **given, **others}
    call = build_call(resource, "UpdateHostIpmi", params, record, {**record, **changes, _POWER: power})
    return [call._replace(is_visible=bool(changes))]


def _plan_power(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan to switch a host on or off, or to reset it, at most one call.

    A host to which the service is connected is on, whatever its controller reported last. If it is not known whether
    a host is on, the call is made: the service asks the controller first, and does nothing if the host is as desired.
    A host that is not in maintenance is connected again after it was switched on.
    """
    power, record = desired.get("power"), current.record or {}
    is_off = is_switched_off(record)
    if power is None or (power == "on" and _is_switched_on(record)) or (power == "off" and is_off):
        return []
    if isinstance(current, Found):
        _require_ipmi(record)
    if power == "reset" and is_off:
        raise Unchangeable("the host is switched off, so it cannot be reset. Set power: on.")
    reconnects = power != "off" and not _is_in_maintenance(record)
    # A host in maintenance that is switched on keeps its status.
    status = "Connected" if reconnects else record.get("status") if power == "on" else DISCONNECTED
    expected = {**record, "status": status, _POWER: _POWER_OFF if power == "off" else _POWER_ON}
    params = _select_tags(desired)
    if power == "off" and desired.get("stopType") == "cold":
        params["force"] = True
    operation = {"on": "PowerOnHost", "off": "ShutdownHost", "reset": "PowerResetHost"}[power]
    call = build_call(resource, operation, params, record, expected)
    return [
        call._replace(
            is_visible=power != "reset",
            settling=Settling(
                before={_POWER: _SWITCHING},
                after={_POWER: _SWITCHING, **({"status": (DISCONNECTED,)} if reconnects else {})},
                must_reach=(_POWER,),
            ),
        )
    ]


def _is_switched_on(host: Record) -> bool:
    """Return whether a host is on. A host to which the service is connected is on, unless its controller denies it."""
    power = host.get(_POWER)
    is_connected = host.get("status") == "Connected"
    return power == _POWER_ON or (is_connected and power not in (_POWER_OFF, *_SWITCHING))


def is_switched_off(host: Record) -> bool:
    """Return whether a host is off.

    A host to which the service is connected is on, whatever its controller reported.
    """
    return host.get(_POWER) == _POWER_OFF and host.get("status") != "Connected"


def _require_ipmi(record: Record) -> None:
    """Raise Unchangeable if the service does not know the IPMI controller of a host."""
    power = record.get(_POWER)
    if power in (_POWER_ON, _POWER_OFF, *_SWITCHING):
        return
    reason = "the service cannot switch the host on or off, because it does not know"
    if not record.get("ipmiAddress"):
        raise Unchangeable(f"{reason} an IPMI controller of it (ipmi_address is not set). {_FIND_IPMI}")
    if power == _NO_CREDENTIALS or not record.get("ipmiUsername"):
        raise Unchangeable(
            f"{reason} the login of its IPMI controller {record['ipmiAddress']}. Set ipmi_username and ipmi_password."
        )


def _plan_removal(resource: ResourceSpec, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the deletion of a host, with ``evacuate`` after a maintenance, which a disconnected host cannot have."""
    record = current.record
    desired = _omit_login(desired)
    calls = build_default_plan(resource, ABSENT, desired, current)
    if record is None or not desired.get(EVACUATE) or not needs_maintenance(record):
        return calls
    transition = resource.transitions[ABSENT]
    in_maintenance = {**record, transition.record_field: MAINTENANCE}
    return [build_call(resource, transition.operation, dict(transition.params), record, in_maintenance), *calls]


def needs_maintenance(host: Record) -> bool:
    """Return whether a maintenance has to move the VMs of a host before the host is removed."""
    return host.get("state") != MAINTENANCE and host.get("status") != DISCONNECTED


def _is_in_maintenance(host: Record) -> bool:
    return host.get("state") in (MAINTENANCE, "PreMaintenance")


def read_nic_services(client: Client, desired: Record) -> Record:
    """Read the service types of host interfaces: ``services`` has an entry for each desired interface and VLAN.

    ``hostUuid`` is the desired host, unless the service shows that an interface is one of another host. An empty list
    of interfaces, or of VLANs, has no entries.
    """

    def read_rows(interface: str) -> list[Record]:
        return list_selected(client, "GetHostNicServiceTypeStatistic", "interfaceUuid", interface)

    interfaces = list(dict.fromkeys(desired["interfaceUuids"]))
    rows = [row for rows in client.map_concurrently(read_rows, interfaces) for row in rows]
    current = {(row.get("interfaceUuid"), row.get("vlanId") or 0): row.get("serviceTypes") or [] for row in rows}
    types = {pair: sorted(current.get(pair, [])) for pair in _list_pairs(desired)}
    rows += _read_interfaces(client, desired, {str(row.get("interfaceUuid")) for row in rows if row.get("hostUuid")})
    others = {row["hostUuid"] for row in rows if row.get("hostUuid")} - {desired.get("hostUuid")}
    return {"services": _to_services(types), "hostUuid": min(others, default=desired.get("hostUuid"))}


def _read_interfaces(client: Client, desired: Record, shown: Collection[str]) -> list[Record]:
    """Return the interfaces that the task may set and whose host no service type shows, if the task has a host.

    The host of an interface that it has by name is known.
    """
    if not (desired.get("hostUuid") and desired["serviceTypes"] and _list_pairs(desired)):
        return []
    hidden = set(desired["interfaceUuids"]) - client.names.owned - set(shown)
    with suppress(Unsupported):
        return list_by_uuids(client, "QueryHostNetworkInterface", sorted(hidden))
    return []


def find_nothing_to_set(desired: Record, dummy: Record) -> Iterator[Ignored]:
    """Yield that the list of interfaces, or of VLANs, is empty."""
    for option, parameter in (("interfaces", "interfaceUuids"), ("vlan_ids", "vlanIds")):
        if desired.get(parameter) == []:
            default = ". Omit it to set the interfaces themselves" if option == "vlan_ids" else ""
            yield Ignored(f"{option} is empty, so there is nothing to do{default}")


def plan_service_types(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan one call for all interfaces that need the same types on the same VLANs."""
    services = (current.record or {}).get("services", ())
    types = {(service["interfaceUuid"], service["vlanId"]): service["serviceTypes"] for service in services}
    calls = []
    for (new_types, vlans), interfaces in _group_interfaces(desired, types).items():
        types = {**types, **{pair: list(new_types) for pair in product(interfaces, vlans)}}
        params = {**desired, "interfaceUuids": interfaces, "serviceTypes": list(new_types)}
        if "vlanIds" in desired:
            params["vlanIds"] = list(vlans)
        keeps_management = MANAGEMENT in new_types and MANAGEMENT not in desired["serviceTypes"]
        note = f"{MANAGEMENT} stays on {', '.join(interfaces)}" if keeps_management else ""
        expected = {"services": _to_services(types)}
        calls.append(build_call(resource, resource.update, params, current.record, expected, note))
    return calls


def _list_pairs(desired: Record) -> list[Pair]:
    """Return the desired pairs of an interface and a VLAN. Without ``vlanIds``, the VLAN is 0."""
    return list(dict.fromkeys(product(desired["interfaceUuids"], desired.get("vlanIds", [0]))))


def _to_services(types: Mapping[Pair, list[str]]) -> list[Record]:
    """Return the service types of pairs as records, sorted by interface and VLAN."""
    return [{"interfaceUuid": pair[0], "vlanId": pair[1], "serviceTypes": types[pair]} for pair in sorted(types)]


def _group_interfaces(
    desired: Record, current: Mapping[Pair, list[str]]
) -> dict[tuple[tuple[str, ...], tuple[int, ...]], list[str]]:
    """Return the interfaces whose types differ from the desired ones, by their new types and the VLANs that differ."""
    vlans: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for interface, vlan in _list_pairs(desired):
        types = add_management(desired["serviceTypes"], current.get((interface, vlan)), (interface, vlan))
        if types != current.get((interface, vlan)):
            vlans.setdefault((interface, tuple(types)), []).append(vlan)
    interfaces: dict[tuple[tuple[str, ...], tuple[int, ...]], list[str]] = {}
    for (interface, new_types), differing_vlans in vlans.items():
        interfaces.setdefault((new_types, tuple(differing_vlans)), []).append(interface)
    return interfaces


def add_management(types: list[str], current: list[str] | None, pair: Pair) -> list[str]:
    """Return the types to set, sorted. The API can neither add nor remove the management network."""
    if current is not None and MANAGEMENT in set(types) - set(current):
        raise Unchangeable(f"the API cannot add {MANAGEMENT} to the interface {pair[0]} on VLAN {pair[1]}")
    return sorted({*types, *({MANAGEMENT} & set(current or ()))})


def find_host_refusal(dummy: Client, call: PlannedCall, record: Record | None) -> Unchangeable | None:
    """Return the failure with which the service would refuse a call for a host."""
    # No record shows the state and the IPMI controller of a host before it was added.
    host = record if record and drop_null_references(record).get("uuid") else {}
    state, status = host.get("state"), host.get("status")
    if call.params.get("stateEvent") == "maintain" and status == DISCONNECTED:
        return Unchangeable(
            "only a connected host can go into maintenance, and the host is Disconnected. Set state: reconnected first."
        )
    if call.operation == "ReconnectHost" and state in (MAINTENANCE, "PreMaintenance"):
        return Unchangeable(
            f"the service does not reconnect a host in state {state}. Set state: enabled, which also connects it."
        )
    if call.operation == "ReconnectHost" and is_switched_off(host):
        return Unchangeable("the service cannot connect to the host, because it is switched off. Set power: on.")
    if call.operation == "UpdateHostIpmi" and host and not host.get("ipmiAddress"):
        return Unchangeable(
            "the service cannot change how it reaches the IPMI controller, because it knows none of the host"
            f" (ipmi_address is not set). {_FIND_IPMI}"
        )
    return None
