"""The notification part of the seed: platforms, endpoints, a topic with its subscribers, one without, persons."""

from __future__ import annotations

from collections.abc import Callable

from ..state.store import Record, seeded_uuid

Dates = Callable[[int], dict[str, str]]
PLATFORMS = ("Snmp", "TeamChat", "WorkChat")
"""Types of the seeded platforms, from number 1."""
ENDPOINTS = ("snmp-endpoint-1", "teamchat-endpoint-1")


def builders(persons: int, dates: Dates) -> dict[str, tuple[int, Callable[[int], Record]]]:
    """Return the number of records of each type, and the function that builds record n."""
    return {
        "platform": (len(PLATFORMS), lambda number: _platform(number, dates)),
        "endpoint": (len(ENDPOINTS), lambda number: _endpoint(number, dates)),
        "topic": (2, lambda number: _topic(number, dates)),
        "subscriber": (len(ENDPOINTS), lambda number: _subscriber(number, dates)),
        "person": (persons, lambda number: _person(number, dates)),
    }


def _platform(number: int, dates: Dates) -> Record:
    kind = PLATFORMS[number - 1]
    snmp = kind == "Snmp"
    return Record(
        "platform",
        {
            "uuid": seeded_uuid("platform", number),
            "name": f"{kind.lower()}-1",
            "description": "traps of the data centre" if snmp else None,
            "type": kind,
            "state": "Enabled",
            "snmpAddress": "192.0.2.161" if snmp else None,
            "snmpPort": 162 if snmp else None,
            **dates(number),
        },
    )


def _endpoint(number: int, dates: Dates) -> Record:
    chat = number == 2
    return Record(
        "endpoint",
        {
            "uuid": seeded_uuid("endpoint", number),
            "name": ENDPOINTS[number - 1],
            "description": "alarms of the operators" if chat else None,
            "type": PLATFORMS[number - 1],
            "state": "Enabled",
            "platformUuid": seeded_uuid("platform", number),
            "connectionStatus": "UP",
            "url": "https://chat.example.com/hook/1" if chat else None,
            "atAll": False if chat else None,
            "atPersonUserIds": None,
            "atPersonList": None,
            **dates(number),
        },
    )


def _topic(number: int, dates: Dates) -> Record:
    members = {"uuid": seeded_uuid("topic", number), "name": f"topic-{number}", "description": None}
    return Record("topic", {**members, "state": "Enabled", "locale": "en_US", **dates(number)})


def _subscriber(number: int, dates: Dates) -> Record:
    return Record(
        "subscriber",
        {
            "topicUuid": seeded_uuid("topic", 1),
            "endpointUuid": seeded_uuid("endpoint", number),
            **dates(number),
        },
    )


def _person(number: int, dates: Dates) -> Record:
    return Record(
        "person",
        {
            "uuid": seeded_uuid("person", number),
            "userId": f"user-{number}",
            "endpointUuid": seeded_uuid("endpoint", 2),
            "remark": f"operator {number}",
            **dates(number),
        },
    )
