# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The persons that an endpoint mentions. Section "Notification"."""

from __future__ import annotations

from typing import Any

from .._api.errors import InvalidOptions
from .._api.records import Record, values_equal


def normalize_persons(desired: Record) -> Record:
    """Return the desired persons in both forms, or an empty record if none are desired.

    User IDs and remarks become strings, as services require. Raise InvalidOptions for a remark that is a list or a
    mapping.
    """
    remarks = {str(user): _normalize_remark(user, remark) for user, remark in desired.get("atPersonList", {}).items()}
    ids = list(dict.fromkeys([*desired.get("atPersonUserIds", ()), *remarks]))
    both = {"atPersonUserIds": ids, "atPersonList": {**dict.fromkeys(ids, ""), **remarks}}
    return both if desired.keys() & both.keys() else {}


def compared_persons(desired: Record, current: Record) -> Record:
    """Return the desired persons for the comparison: the user IDs, and the remarks if one differs."""
    persons, current_remarks = normalize_persons(desired), current.get("atPersonList") or {}
    compared = {"atPersonUserIds": persons["atPersonUserIds"]} if persons else {}
    differing = {}
    for user in map(str, desired.get("atPersonList", ())):
        if user in current_remarks and not values_equal(persons["atPersonList"][user], current_remarks[user]):
            differing[user] = persons["atPersonList"][user]
    if differing:
        compared["atPersonList"] = {**current_remarks, **differing}
    return compared


def fields_missing_from_generic_query(desired: Record) -> Record:
    """Return the desired values of the workchat fields that a list of all endpoints may omit."""
    values = {**desired, **normalize_persons(desired)}
    return {name: values[name] for name in ("url", "atAll", "atPersonUserIds") if name in values}


def with_persons_by_user_id(endpoint: Record) -> Record:
    """Return an endpoint whose ``atPersonList``, which services show as a list of records, maps user IDs to remarks."""
    persons = endpoint.get("atPersonList")
    if not isinstance(persons, list):
        return endpoint
    records = [person for person in persons if isinstance(person, dict) and person.get("userId")]
    remarks = {str(person["userId"]): str(person.get("remark") or "") for person in records}
    ids = endpoint.get("atPersonUserIds")
    return {**endpoint, "atPersonList": remarks, "atPersonUserIds": list(remarks) if ids is None else ids}


def _normalize_remark(user: Any, remark: Any) -> str:
    if isinstance(remark, (list, dict)):
        raise InvalidOptions(f"at_person_list: the remark of {user} must be a string, not a {type(remark).__name__}")
    return "" if remark is None else str(remark)
