"""Serialize replies as JSON: null members, members of newer versions, members that the document lacks, timestamps."""

from __future__ import annotations

import json
from typing import Any

from ..errors import OperationError
from ..params import is_known
from ..state.store import Record
from ..switches.options import Switches

MONITORED = ("cpu", "memory", "disk", "nic", "gpu", "powerSupply", "fan", "raid", "temperature")
SINCE = {
    "vm": {"guestOsType": "3.11.2"},
    "volume": {"encrypted": "5.1.0"},
    "host": {
        "nqn": "4.10.6",
        "hostname": "4.10.20",
        **{f"{part}Status": "4.10.0" for part in MONITORED},
    },
}
EXTRA = {
    "cbttask": {"resourceRefs"},
    "host": {"username", "sshPort"},
    "endpoint": {"connectionStatus", "atPersonList"},
    "platform": {"snmpAddress", "snmpPort"},
}
ALWAYS_NULL = {"error"}
"""Members that are sent even if they are null."""
TIMESTAMP_MEMBERS = ("createDate", "lastOpDate", "lastDetachDate", "expiredDate")


class ReplySerializer:
    """Serializes replies according to the switches, and caches the JSON of every record."""

    _generations = 0

    def __init__(self, switches: Switches) -> None:
        ReplySerializer._generations += 1
        self._generation = ReplySerializer._generations
        self._nulls = switches.null_members
        self._extras = switches.extra_members
        self._nesting = switches.error_nesting
        self._person_form = switches.at_person_list
        self._timestamp_form = switches.timestamps
        self._uses_described_types = switches.interface_types == "described"
        self._hidden = {
            kind: {name for name, since in SINCE.get(kind, {}).items() if not is_known(since, switches.version)}
            | (set() if self._extras else EXTRA.get(kind, set()))
            | ({"atPersonList"} if self._person_form == "absent" else set())
            for kind in (*EXTRA, *SINCE)
        }

    def error_reply(self, failure: OperationError) -> dict[str, Any]:
        """Return the reply of a failed operation."""
        return {"error": failure.to_error_code(self._nesting, self._extras)}

    def to_json(self, reply: dict[str, Any]) -> str:
        """Return the reply as JSON."""
        members = (
            f"{json.dumps(name)}:{self._serialize(value)}"
            for name, value in reply.items()
            if value is not None or self._nulls or name in ALWAYS_NULL
        )
        return "{" + ",".join(members) + "}"

    def _serialize(self, value: Any) -> str:
        if isinstance(value, Record):
            return self._serialize_record(value)
        if isinstance(value, list) and value and isinstance(value[0], Record):
            return "[" + ",".join(map(self._serialize_record, value)) + "]"
        return _dumps(self.to_plain(value))

    def _serialize_record(self, record: Record) -> str:
        if record.cached_json is None or record.cached_json[0] != self._generation:
            record.cached_json = (self._generation, _dumps(self.to_plain(record)))
        return record.cached_json[1]

    def to_plain(self, value: Any) -> Any:
        """Return the value as it is sent: without null members, and without internal and hidden members of records."""
        if isinstance(value, list):
            return [self.to_plain(element) for element in value]
        if not isinstance(value, dict):
            return value
        hidden = self._hidden.get(value.kind, ()) if isinstance(value, Record) else ()
        sent = {
            name: self.to_plain(element) if isinstance(element, (list, dict)) else element
            for name, element in value.items()
            if name not in hidden
            and (element is not None or self._nulls)
            and not (name[:1] == "_" and isinstance(value, Record))
        }
        if self._person_form == "map" and sent.get("atPersonList"):
            sent["atPersonList"] = {person["userId"]: person.get("remark") for person in sent["atPersonList"]}
        if self._timestamp_form != "comma":
            sent |= {
                name: _format_timestamp(sent[name], self._timestamp_form)
                for name in TIMESTAMP_MEMBERS
                if sent.get(name)
            }
        if self._uses_described_types and sent.get("interfaceType") == "bondingSlave":
            sent["interfaceType"] = "bondSlave"
        return sent


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _format_timestamp(text: str, form: str) -> str:
    """Return a timestamp in the given form; with `mixed`, the form depends on the timestamp."""
    if form == "mixed":
        form = ("plain", "comma", "narrow")[sum(map(ord, text)) % 3]
    if form == "plain":
        date, year, time = text.split(", ")
        return f"{date}, {year} {time}"
    day, dummy, half = text.rpartition(" ")
    return f"{day}\u202f{half}" if form == "narrow" else text
