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
    """Return the persons in both forms if they are given in one, and an empty record if not.

    User IDs and remarks become strings, as services require. Raise InvalidOptions for a remark that is a list or a
    mapping.
    """
    remarks = {str(user): _remark(user, remark) for user, remark in desired.get("atPersonList", {}).items()}
    ids = list(dict.fromkeys([*desired.get("atPersonUserIds", ()), *remarks]))
    both = {"atPersonUserIds": ids, "atPersonList": {**dict.fromkeys(ids, ""), **remarks}}
    return both if desired.keys() & both.keys() else {}


def compared_persons(desired: Record, current: Record) -> Record:
    """Return the desired persons for the comparison: the user IDs, and the remarks if one differs."""
    persons, shown = normalize_persons(desired), current.get("atPersonList") or {}
    given = [user for user in map(str, desired.get("atPersonList", ())) if user in shown]
    differing = {user: persons["atPersonList"][user] for user in given}
    differing = {user: remark for user, remark in differing.items() if not values_equal(remark, shown[user])}
    ids = {"atPersonUserIds": persons["atPersonUserIds"]} if persons else {}
    return {**ids, **({"atPersonList": {**shown, **differing}} if differing else {})}


def fields_missing_from_generic_query(desired: Record) -> Record:
    """Return the desired values of the workchat fields that a list of all endpoints may omit."""
    all_of_it = {**desired, **normalize_persons(desired)}
    return {name: all_of_it[name] for name in ("url", "atAll", "atPersonUserIds") if name in all_of_it}


def with_persons_by_user_id(endpoint: Record) -> Record:
    """Return an endpoint whose ``atPersonList``, which services show as a list of records, maps user IDs to remarks."""
    persons = endpoint.get("atPersonList")
    if not isinstance(persons, list):
        return endpoint
    records = [person for person in persons if isinstance(person, dict) and person.get("userId")]
    remarks = {str(person["userId"]): str(person.get("remark") or "") for person in records}
    ids = endpoint.get("atPersonUserIds")
    return {**endpoint, "atPersonList": remarks, "atPersonUserIds": list(remarks) if ids is None else ids}


def _remark(user: Any, remark: Any) -> str:
    if isinstance(remark, (list, dict)):
        raise InvalidOptions(f"at_person_list: the remark of {user} must be a string, not a {type(remark).__name__}")
    return "" if remark is None else str(remark)
