# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How replies become JSON text: null members, later-added members and members that the document does not name."""

from __future__ import annotations

import json
import typing as t

from .errors import Failure
from .options import Switches
from .params import known
from .store import Record

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
    "endpoint": {"connectionStatus", "atPersonList"},
    "platform": {"snmpAddress", "snmpPort"},
}
ALWAYS_NULL = {"error"}
"""Members whose null is sent wherever they are put into a reply."""
DATES = ("createDate", "lastOpDate", "lastDetachDate", "expiredDate")


class Renderer:
    """Writes replies the way the switches say, and keeps the text of every record."""

    _generations = 0

    def __init__(self, switches: Switches) -> None:
        Renderer._generations += 1
        self._generation = Renderer._generations
        self._nulls = switches.null_members
        self._extras = switches.extra_members
        self._nesting = switches.error_nesting
        self._persons = switches.at_person_list
        self._dates = switches.timestamps
        self._described = switches.interface_types == "described"
        self._hidden = {
            kind: {name for name, since in SINCE.get(kind, {}).items() if not known(since, switches.version)}
            | (set() if self._extras else EXTRA.get(kind, set()))
            | ({"atPersonList"} if self._persons == "absent" else set())
            for kind in (*EXTRA, *SINCE)
        }

    def error(self, failure: Failure) -> dict[str, t.Any]:
        """Return the reply of a failed operation."""
        return {"error": failure.document(self._nesting, self._extras)}

    def text(self, reply: dict[str, t.Any]) -> str:
        """Return the reply as JSON."""
        members = (
            f"{json.dumps(name)}:{self._value(value)}"
            for name, value in reply.items()
            if value is not None or self._nulls or name in ALWAYS_NULL
        )
        return "{" + ",".join(members) + "}"

    def _value(self, value: t.Any) -> str:
        if isinstance(value, Record):
            return self._record(value)
        if isinstance(value, list) and value and isinstance(value[0], Record):
            return "[" + ",".join(map(self._record, value)) + "]"
        return _dumps(self.plain(value))

    def _record(self, record: Record) -> str:
        if record.text is None or record.text[0] != self._generation:
            record.text = (self._generation, _dumps(self.plain(record)))
        return record.text[1]

    def plain(self, value: t.Any) -> t.Any:
        """Return the value as it is sent: without null members, and in records without internal and hidden ones."""
        if isinstance(value, list):
            return [self.plain(element) for element in value]
        if not isinstance(value, dict):
            return value
        hidden = self._hidden.get(value.kind, ()) if isinstance(value, Record) else ()
        plain = {
            name: self.plain(element) if isinstance(element, (list, dict)) else element
            for name, element in value.items()
            if name not in hidden
            and (element is not None or self._nulls)
            and not (name[:1] == "_" and isinstance(value, Record))
        }
        if self._persons == "map" and plain.get("atPersonList"):
            plain["atPersonList"] = {person["userId"]: person.get("remark") for person in plain["atPersonList"]}
        if self._dates != "comma":
            plain |= {name: _date(plain[name], self._dates) for name in DATES if plain.get(name)}
        if self._described and plain.get("interfaceType") == "bondingSlave":
            plain["interfaceType"] = "bondSlave"
        return plain


def _dumps(value: t.Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _date(text: str, form: str) -> str:
    """Return a timestamp in the form that the switch wants; among mixed ones the text itself decides."""
    if form == "mixed":
        form = ("plain", "comma", "narrow")[sum(map(ord, text)) % 3]
    if form == "plain":
        date, year, time = text.split(", ")
        return f"{date}, {year} {time}"
    day, dummy, half = text.rpartition(" ")
    return f"{day}\u202f{half}" if form == "narrow" else text
