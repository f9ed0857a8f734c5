"""Measure inventories of 10,000 hosts and VMs relative to the minimum that Ansible itself needs for them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.inventory_filling import (
    EVERYDAY,
    NINE,
    SESSION,
    SIX,
    Service,
    add_names,
    alternate,
    evaluate_with_core,
    running_service,
)

COUNT = 10_000
# Of what is slow. The cost of a host does not depend on their number.
FEW, FEWEST = 1000, 300
MEMORY_COUNT = 20_000
SERVICES = 4
# Requests for network facts are sent over so many connections.
FACTS_CONNECTIONS = 16


def measure() -> Iterator[Figure]:
    """Yield the figures."""
    with running_service() as service:
        yield from measure_plain(service)
        yield from measure_expressions(service)
        yield from measure_latency(service)
        yield from measure_services(service)
        yield from measure_network_facts(service)
        for kind, goal in (("hosts", 4.0), ("vms", 8.0)):
            label = f"inventory: peak of memory of {MEMORY_COUNT:,} {kind}, KB each"
            yield Figure(f"inventory_{kind}_memory", label, service.measure_memory(kind, MEMORY_COUNT), goal, "G5")
        memory, held = (service.measure_memory(kind, MEMORY_COUNT, **SIX) for kind in ("vms", "six"))
        label = f"an inventory of {MEMORY_COUNT:,} VMs with six variables, peak of memory / of what it holds"
        yield Figure("inventory_six_memory", label, memory / held, 1.3, "G5", label, " x")


def measure_plain(service: Service) -> Iterator[Figure]:
    """Yield the figures of inventories with all variables."""
    service.fill("hosts", COUNT)
    service.fill("vms", COUNT)
    least, hosts, least_of_vms, vms = alternate(
        7,
        lambda: add_names(COUNT),
        lambda: service.fill("hosts", COUNT),
        lambda: service.read_and_add("vms", COUNT),
        lambda: service.fill("vms", COUNT),
    )
    yield Figure("inventory_hosts_ms", f"inventory: {COUNT:,} hosts, ms for 1,000", hosts * 1e6 / COUNT)
    label = f"an inventory of {COUNT:,} hosts with all variables / adding their names"
    yield Figure("inventory_hosts", label, hosts / least, 1.5, "G4", label, " x")
    label = f"an inventory of {COUNT:,} VMs with all variables / reading them and adding their names"
    yield Figure("inventory_vms", label, vms / least_of_vms, 2.5, "G4", label, " x")
    every, six = alternate(3, lambda: service.fill("vms", COUNT), lambda: service.fill("vms", COUNT, **SIX))
    label = f"an inventory of {COUNT:,} VMs with six variables / with all"
    yield Figure("inventory_six", label, six / every, 0.8, "G4")


def measure_expressions(service: Service) -> Iterator[Figure]:
    """Yield the figures of inventories with three composed variables, groups and keyed groups."""
    for name, label, options, count in (
        ("nine", "nine simple expressions", NINE, COUNT),
        ("everyday", "nine everyday expressions", EVERYDAY, FEW),
    ):
        plain, all_of_it, peer, core = alternate(
            5,
            lambda count=count: service.fill("hosts", count),  # type: ignore[misc]
            lambda count=count, options=options: service.fill("hosts", count, **options),  # type: ignore[misc]
            lambda options=options: service.fill_by_peer(FEWEST, options),  # type: ignore[misc]
            lambda options=options: evaluate_with_core(FEWEST, options),  # type: ignore[misc]
        )
        ours = all_of_it / count
        label_of_all = f"inventory of hosts with {label}"
        yield Figure(f"inventory_{name}_ms", f"{label_of_all}, ms for 1,000", ours * 1e6)
        text = f"an {label_of_all} / without them"
        yield Figure(f"inventory_{name}", text, all_of_it / plain, 3.0, "G4", text, " x")
        text = f"{label} / core's loop over them"
        goal_of_core = 1 / 30 if name == "everyday" else None
        yield Figure(f"inventory_{name}_core", text, (all_of_it - plain) / count / (core / FEWEST), goal_of_core, "G4")
        text = f"an {label_of_all} / the same by a plain plugin with core's Constructable"
        yield Figure(f"inventory_{name}_peer", text, ours / (peer / FEWEST), None, "", text, " x")


def measure_latency(service: Service) -> Iterator[Figure]:
    """Yield the figure of a service that takes 20 ms for a page."""
    passing = time.perf_counter
    slow, quick = alternate(
        5,
        lambda: service.fill("hosts", COUNT, delay=20, clock=passing),
        lambda: service.fill("hosts", COUNT, clock=passing),
    )
    label = "inventory: pages of 20 ms / waiting for all of them or filling"
    yield Figure("inventory_latency", label, slow / max(COUNT / 1000 * 0.02, quick), 1.1, "", label, " x")


def measure_services(service: Service) -> Iterator[Figure]:
    """Yield the figure of a source with several services, relative to one that has all of their hosts."""
    entries = [
        {"name": f"site-{number}", "path_prefix": f"{COUNT // SERVICES}-0-0", "session_id": SESSION}
        for number in range(SERVICES)
    ]
    # The services have the same hosts.
    several, one = alternate(
        5,
        lambda: service.fill("hosts", COUNT, services=entries, hostnames=["virtinfra_service ~ '-' ~ virtinfra_name"]),
        lambda: service.fill("hosts", COUNT, hostnames=["virtinfra_state ~ '-' ~ virtinfra_name"]),
    )
    label = f"an inventory of {SERVICES} services / one service with as many hosts"
    yield Figure("inventory_services", label, several / one, 1.1, "G4", label, " x")


def measure_network_facts(service: Service) -> Iterator[Figure]:
    """Yield the figure of a source with network facts, which are a request of 20 ms for each host."""
    passing = time.perf_counter
    slow, quick = alternate(
        3,
        lambda: service.fill("hosts", FEW, delay=20, clock=passing, network_facts=True),
        lambda: service.fill("hosts", FEW, clock=passing, network_facts=True),
    )
    label = (
        f"inventory: network facts of 20 ms over {FACTS_CONNECTIONS} connections / waiting for all of them or filling"
    )
    yield Figure("inventory_facts", label, slow / max(FEW / FACTS_CONNECTIONS * 0.02, quick), 1.3, "G4")
