"""Add the hosts of a play, set the service types of their interfaces, and change them to their final states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record, is_localhost
from .._site.report import Entry, Outcome, Report, name_some
from .._site.settings import HostOnboardingSettings
from .._site.site import Site
from .._site.variables import Play
from .._site.wish import Wish, index

# Each host of the play has its own variables, which its task has collected.
READS_HOSTS = True

ROLE = "host_onboarding"

# The fact with the variables that the task of a host has collected.
COLLECTED = "__host_onboarding_wanted"

# The variables of the role that are options of kvm_host with the same names.
OPTIONS = ("name", "management_ip", "cluster", "username", "password", "ssh_port")

# The service type that the API can neither add nor remove.
MANAGEMENT = "ManagementNetwork"

# The states of the service that the variable names; present leaves a host as it is.
STATES = {"enabled": "Enabled", "disabled": "Disabled", "maintenance": "Maintenance"}

# For more interfaces of existing hosts, all service types are read with one request.
FEW = 10

# The options of kvm_host in a message about those that are missing, each of which a variable of the role sets.
MISSING = re.compile(r" (?=(?:management_ip|cluster|username|password)(?:, | and | to add it))")


class Settings(HostOnboardingSettings):
    """The variables of the role for one host, and what follows from them."""


@dataclass
class Onboarding:
    """A host: its name in the inventory, its variables, and what the steps so far have done and found.

    ``uuid`` is None as long as the host does not exist, ``served`` are its service types, and ``errors`` why it has
    failed.
    """

    host: str
    wanted: Settings
    uuid: str | None = None
    is_new: bool = False
    is_changed: bool = False
    served: list[Record] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def note(self, result: Record) -> None:
        """Note the result of a step, and why it has failed."""
        self.is_changed |= bool(result["changed"])
        if result["failed"]:
            self.errors.append(str(result["msg"]))

    def note_addition(self, result: Record) -> None:
        """Note the result of the first step, which also finds the host."""
        self.uuid = (result.get("host") or {}).get("uuid")
        # If there are service types to set, the step only adds the host and changes nothing else.
        self.is_new = bool(result["changed"])
        self.note(result)

    def note_disabling(self, result: Record) -> None:
        """Note the result of the step without which VMs could start before the service types are set."""
        self.note(result)
        if not result["failed"] and (result.get("host") or {}).get("state") != "Disabled":
            self.errors.append("It is not known to be disabled, so its service types were not set. Run the role again.")

    def build_addition(self) -> Record:
        """Return the options that add the host, with its final state unless service types must be set before."""
        given = {name: getattr(self.wanted, name) for name in OPTIONS}
        options = {name: value for name, value in given.items() if value is not None}
        return {**options, **self._format_state("present" if self.wanted.services else self.wanted.state)}

    def build_change(self, state: str) -> Record:
        """Return the options that change the state of the host."""
        return {"uuid": self.uuid, **self._format_state(state)}

    def build_services(self) -> Iterator[Record]:
        """Yield the options that set the service types of each interface."""
        for service in self.wanted.services:
            vlans = {} if service.get("vlans") is None else {"vlan_ids": service["vlans"]}
            types = {"interfaces": [service["interface"]], "service_types": service["service_types"]}
            yield {"host": self.uuid, **types, **vlans, "wait_timeout": self.wanted.timeout}

    def _format_state(self, state: str) -> Record:
        return {"state": state, "wait_timeout": self.wanted.timeout}

    def build_entry(self) -> Entry:
        """Return the entry of the report."""
        name = str(self.wanted.name)
        error = " ".join(describe_errors(name, self.errors)) or None
        outcome = Outcome(is_changed=self.is_changed, error=error)
        is_known = self.wanted.services and self.uuid is not None and error is None
        members = {
            "name": name,
            "management_ip": self.wanted.management_ip,
            "uuid": self.uuid,
            "outcome": outcome.name,
            "services": self.served if is_known else None,
            "error": None if error is None else f"host {name}: {error}",
        }
        return Entry(outcome, f"host {name}", members, self.host)


# The uuid of a host, the name of its interface, and a VLAN.
Pair = tuple[Any, Any, int]

# The options of a module for a host.
Step = tuple[Onboarding, Record]


def run(site: Site, dummy: Mapping[str, Any]) -> Report:
    """Onboard the hosts, and return what became of each. A host that fails is in no later step."""
    hosts = list(read_hosts(site.play))
    refuse_repeated(hosts)
    site.ask(build_wish(site, hosts))
    concurrency = next((host.wanted.concurrency for host in list_active(hosts)), 1)
    for host, result in _act(site, "kvm_host", plan_additions(hosts), concurrency):
        host.note_addition(result)
    for host, result in _act(site, "kvm_host", plan_disabling(hosts), concurrency):
        host.note_disabling(result)
    unserved = count_unserved(hosts)
    _serve(site, plan_services(hosts), concurrency)
    for host, result in _act(site, "kvm_host", plan_final_states(hosts), concurrency):
        host.note(result)
    entries = [host.build_entry() for host in hosts]
    reports = {host.host: entry.members for host, entry in zip(hosts, entries, strict=True)}
    changed = [host.host for host in hosts if host.is_changed]
    rows = {
        **({"failed or unreachable before the role": lost} if (lost := site.play.count_lost()) else {}),
        # Check mode does not know the interfaces of a host that does not exist.
        **({"interfaces unknown until added": unserved} if unserved else {}),
    }
    return Report("hosts", entries, next={"reports": reports, "changed": changed, "rows": rows})


def build_wish(site: Site, hosts: Sequence[Onboarding]) -> Wish:
    """Return that each host exists in its final state."""
    by_host = {host.host: host for host in hosts}

    def read() -> dict[str, Record]:
        records = index(site.read("host_info")["hosts"])
        return {host.host: records[host.uuid] for host in hosts if host.uuid in records}

    def find_lack(key: str, record: Record | None) -> str | None:
        if record is None:
            return "The service does not list it."
        wanted = STATES.get(by_host[key].wanted.state, record["state"])
        return None if record["state"] == wanted else f"It is {record['state']} in the end, and not {wanted}."

    return Wish({host.host: {"name": host.wanted.name, "uuid": host.uuid} for host in hosts}, read, find_lack)


def _act(site: Site, module: str, steps: Sequence[Step], concurrency: int) -> Iterator[tuple[Onboarding, Record]]:
    """Run a module with the options of all hosts at the same time, and return each result with its host."""
    results = site.batch(module, [options for dummy, options in steps], concurrency)
    return ((host, result) for (host, dummy), result in zip(steps, results, strict=True))


def _serve(site: Site, steps: Sequence[Step], concurrency: int) -> None:
    """Set the service types of interfaces, and note them. The service types of many hosts are read together before."""
    rows = _read_services(site) if sum(not host.is_new for host, dummy in steps) > FEW else {}
    known = [find_settled(options, rows) for dummy, options in steps]
    needed = [options for (dummy, options), services in zip(steps, known, strict=True) if services is None]
    results = iter(site.batch("host_nic_service", needed, concurrency))
    for (host, dummy), services in zip(steps, known, strict=True):
        if services is None:
            result = next(results)
            host.note(result)
            services = result.get("services") or []
            if not (services or result["failed"]):
                host.errors.append("The service types of an interface are not known to be set. Run the role again.")
        host.served += services


def _read_services(site: Site) -> dict[Pair, Record]:
    """Return all service types of the service. Without them the module reads those of each host."""
    try:
        rows = site.read_service_types()
    except VirtinfraError:
        return {}
    return {(row.get("hostUuid"), row.get("interfaceName"), row.get("vlanId") or 0): row for row in rows}


def find_settled(options: Record, rows: Mapping[Pair, Record]) -> list[Record] | None:
    """Return the service types of an interface in the form of the module if they are as wanted, None if not.

    An interface without service types is not among the rows, so None: nothing shows that it exists. The API can neither
    add nor remove the management network.
    """
    (name,), wanted = options["interfaces"], set(options["service_types"])
    services = []
    for vlan in sorted({*options.get("vlan_ids", [0])}):
        row = rows.get((options["host"], name, vlan))
        types = sorted(row.get("serviceTypes") or ()) if row else []
        if row is None or set(types) not in (wanted, {*wanted, MANAGEMENT}):
            return None
        uuid = row.get("interfaceUuid")
        services.append({"interface_name": name, "interface_uuid": uuid, "service_types": types, "vlan_id": vlan})
    return services


def read_hosts(play: Play) -> Iterator[Onboarding]:
    """Yield the hosts of the play whose tasks have collected variables. Hosts with invalid variables have failed."""
    for host in play.batch:
        # Hosts that the role does not concern have none, and those of an earlier call of the role have none left.
        if collected := play.get_fact(host, COLLECTED):
            yield _read_host(play, host, collected)


def _read_host(play: Play, host: str, collected: Mapping[str, Any]) -> Onboarding:
    try:
        values = play.read_collected(ROLE, host, collected)
        wanted = Settings(**{**values, "name": values["name"] or host, "services": values["services"] or []})
        if is_localhost(host) and is_localhost(str(wanted.management_ip)):
            raise InvalidOptions("set host_onboarding_management_ip, or run the role for the hosts of an inventory")
    except InvalidOptions as mistake:
        name, address = (collected.get(f"{ROLE}_{name}") for name in ("name", "management_ip"))
        return Onboarding(host, Settings(name=str(name or host), management_ip=address), errors=[str(mistake)])
    return Onboarding(host, wanted)


def refuse_repeated(hosts: Sequence[Onboarding]) -> None:
    """Fail the hosts that share a name or an address, which are different hosts with the value of one of them."""
    active = list_active(hosts)
    for name in ("name", "management_ip"):
        by_value: dict[str, list[Onboarding]] = {}
        for host in active:
            by_value.setdefault(str(getattr(host.wanted, name)), []).append(host)
        for value, same in by_value.items():
            for host in same if len(same) > 1 else ():
                others = name_some([other.host for other in same if other is not host])
                host.errors.append(f"{ROLE}_{name} is {value}, which is also that of {others}. Set it for each host.")


def list_active(hosts: Sequence[Onboarding]) -> list[Onboarding]:
    """Return the hosts that have not failed."""
    return [host for host in hosts if not host.errors]


def plan_additions(hosts: Sequence[Onboarding]) -> list[Step]:
    """Return how the hosts that do not exist are added. A host without service types to set gets its final state."""
    return [(host, host.build_addition()) for host in list_active(hosts)]


def plan_disabling(hosts: Sequence[Onboarding]) -> list[Step]:
    """Return how new hosts are disabled until their service types are set, so that no VM starts on them before."""
    new = [host for host in list_active(hosts) if host.wanted.services and host.is_new]
    return [(host, host.build_change("disabled")) for host in new]


def plan_services(hosts: Sequence[Onboarding]) -> list[Step]:
    """Return how the service types of interfaces are set, except for hosts that check mode only predicts."""
    known = [host for host in list_active(hosts) if host.uuid is not None]
    return [(host, options) for host in known for options in host.build_services()]


def count_unserved(hosts: Sequence[Onboarding]) -> int:
    """Return the number of hosts whose interfaces are unknown, because check mode has only predicted to add them."""
    return sum(bool(host.wanted.services) and host.uuid is None for host in list_active(hosts))


def plan_final_states(hosts: Sequence[Onboarding]) -> list[Step]:
    """Return how hosts with service types get their final states; the other hosts got their state in the first step."""
    return [(host, host.build_change(host.wanted.state)) for host in list_active(hosts) if host.wanted.services]


def describe_errors(name: str, messages: Sequence[str]) -> list[str]:
    """Return messages about a host without its name, in which options have the names of the variables of the role."""
    return [MISSING.sub(f" {ROLE}_", message.removeprefix(f"host {name}: ")) for message in messages]
