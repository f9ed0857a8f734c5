"""How far copies are, and when to look at them again. Pure functions."""

from __future__ import annotations

from ...module_utils._api.records import Record

# The seconds between two looks at a copy: at least, and at most.
SOONEST, LATEST = 1.0, 30.0

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def choose_pause(progress: Record | None, silence: float = 0.0) -> float:
    """Return after how many seconds to look at a copy again.

    The time that is left is an estimate, so half of it. While nothing is known, the copy starts, ends, or begins a
    step, and its session must not stay open for longer than it takes. After a ``silence`` of many seconds it may have
    been killed, so a tenth of it.
    """
    left: float | None = (progress or {}).get("seconds_left")
    return min(max(silence / 10 if left is None else left / 2, SOONEST), LATEST)


def describe_progress(vm: Record, progress: Record | None) -> str:
    """Return a line about what is done with the volumes of a VM."""
    if progress is None:
        return f"{vm['name']}: no volume at the moment"
    done, total, left = (progress[name] for name in ("bytes_done", "bytes_total", "seconds_left"))
    share = f"{done * 100 // total}% of {format_bytes(total)}" if total else "nothing to read"
    rate = f"{format_bytes(progress['bytes_per_second'])}/s"
    time = "" if left is None else f", {format_seconds(left)} left"
    return f"{vm['name']}: {progress['step']} of volume {progress['volume_uuid']}: {share}, {rate}{time}"


def format_bytes(number: float) -> str:
    """Return a number of bytes with its unit."""
    for unit in UNITS[:-1]:
        if number < 1024:
            return f"{number:.1f} {unit}" if unit != "bytes" else f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} {UNITS[-1]}"


def format_seconds(seconds: float) -> str:
    """Return a time in hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"
