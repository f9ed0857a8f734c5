"""Changes of records between two polls. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.records import (
    Record,
    record_to_result,
    to_camel_case,
)
from ...module_utils._masking.masker import Masker
from .collected import collect

LOW, NORMAL = "low", "normal"

# The values of the watched fields of each object, by its uuid.
Known = Mapping[str, Mapping[str, Any]]

# Returns the names of objects in inventories for their names in the service, both by uuid.
NameObjects = Callable[[Mapping[str, str]], Mapping[str, str]]


@dataclass(frozen=True)
class Threshold:
    """A capacity is low below ``below`` percent of the total, and normal again from ``rearm`` percent."""

    field: str
    below: float
    rearm: float

    @property
    def key(self) -> str:
        """The name under which its state is stored."""
        return f"{self.field} below {self.below:g} %"

    def compute_percent(self, record: Record) -> float | None:
        """Return the capacity in percent of the total, None if the record does not show it."""
        name = to_camel_case(self.field)
        available, total = record.get(name), record.get(name_total_field(name))
        if not all(isinstance(value, (int, float)) for value in (available, total)) or not total:
            return None
        return round(100 * float(available or 0) / float(total), 2)

    def determine_state(self, percent: float, before: str | None) -> str:
        """Return whether a capacity is low; between both limits its state does not change."""
        if percent < self.below:
            return LOW
        return NORMAL if percent >= self.rearm else before or NORMAL


def name_total_field(name: str) -> str:
    """Return the field with the total of a capacity, both by their API names."""
    return name.replace("available", "total", 1)


@dataclass(frozen=True)
class Change:
    """A change of one field of an object, and its event. ``key`` is the name under which the value is stored."""

    uuid: str
    key: str
    after: Any
    event: dict[str, Any]


def build_events(changes: Sequence[Change], collects: bool) -> Iterator[tuple[dict[str, Any], Sequence[Change]]]:
    """Yield an event and its change for each change, or events of all changes."""
    if not collects:
        yield from ((change.event, [change]) for change in changes)
        return
    for collected in collect(((change, change.event) for change in changes), _drop_record):
        yield {"changes": collected.members, "shortened": collected.shortened}, collected.keys


def _drop_record(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"change": event["change"]}


@dataclass
class Poll:
    """The difference between a poll and the known values: changes, new objects with their values, and lost objects."""

    changes: list[Change] = field(default_factory=list)
    new: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Watch:
    """The watched values of the objects of a type: fields, by their names in results, and thresholds."""

    resource_type: str
    record_type: str
    fields: tuple[str, ...]
    thresholds: tuple[Threshold, ...] = ()

    def compare(self, records: Iterable[Record], known: Known, name_objects: NameObjects) -> Poll:
        """Compare all records with the known values. A new object does not count as a change.

        ``name_objects`` returns the names of all objects in inventories, by their uuids.
        """
        poll, names = Poll(), dict[str, str]()
        for record in records:
            uuid = str(record.get("uuid"))
            names[uuid] = str(record.get("name") or "")
            before = known.get(uuid)
            values = self._read_values(record, before or {})
            if before is None:
                poll.new[uuid] = values
                continue
            for key, after in values.items():
                if key not in before:
                    poll.new.setdefault(uuid, dict(before))[key] = after
                elif after != before[key]:
                    poll.changes.append(Change(uuid, key, after, self._build_event(record, key, before[key], after)))
        poll.gone = [uuid for uuid in known if uuid not in names]
        hosts = name_objects(names) if poll.changes else {}
        for change in poll.changes:
            change.event["change"]["inventory_hostname"] = hosts.get(change.uuid)
        return poll

    def _read_values(self, record: Record, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the watched values of a record, without missing ones."""
        values = {name: record.get(to_camel_case(name)) for name in self.fields}
        for threshold in self.thresholds:
            if (percent := threshold.compute_percent(record)) is not None:
                values[threshold.key] = threshold.determine_state(percent, before.get(threshold.key))
        return {name: value for name, value in values.items() if value is not None}

    def _build_event(self, record: Record, key: str, before: Any, after: Any) -> dict[str, Any]:
        change = {
            "resource_type": self.resource_type,
            "uuid": record.get("uuid"),
            "name": record.get("name"),
            "field": key,
            "before": before,
            "after": after,
        }
        for threshold in self.thresholds:
            if threshold.key == key:
                change.update(
                    field=threshold.field,
                    percent=threshold.compute_percent(record),
                    below=threshold.below,
                    rearm=threshold.rearm,
                )
        event: dict[str, Any] = Masker().mask_value(
            {"change": change, "record": record_to_result(record, self.record_type)}
        )
        return event
