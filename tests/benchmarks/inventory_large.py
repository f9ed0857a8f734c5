"""Measure inventories of 100,000 hosts and VMs: their time relative to 10,000, and their peak of memory."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.inventory_filling import alternate, running_service

SMALL, LARGE = 10_000, 100_000


def measure() -> Iterator[Figure]:
    """Yield the figures."""
    with running_service() as service:
        for kind, objects, goal in (("hosts", "hosts", 4.0), ("vms", "VMs", 8.0)):
            # The service builds its pages here, so that no measurement contains the time for it.
            service.fill(kind, LARGE)
            small, large = alternate(
                3,
                lambda kind=kind: service.fill(kind, SMALL),  # type: ignore[misc]
                lambda kind=kind: service.fill(kind, LARGE),  # type: ignore[misc]
            )
            text = f"an inventory of {LARGE:,} {objects}"
            label = f"{text}, processor time"
            yield Figure(f"inventory_large_{kind}_s", f"{label}, s", large, None, "", label, " s")
            ratio = large / small * SMALL / LARGE
            yield Figure(f"inventory_large_{kind}", f"{text} / ten of {SMALL:,}", ratio, 1.2, "G5")
            memory = service.measure_memory(kind, LARGE)
            label = f"{text}, peak of memory for each"
            yield Figure(f"inventory_large_{kind}_memory", f"{label}, KB", memory, goal, "G5", label, " KB")
