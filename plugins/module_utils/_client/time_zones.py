# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Find the time zone in which the service reads the dates of signatures with an access key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .._http.access_keys import AccessKey, is_skewed, parse_zone
from .._http.hooks import ServerFacts
from .._http.response import Response

# The fact with the offset of the zone from UTC.
TIME_ZONE = "time_zone"


def choose_zone(key: AccessKey, facts: ServerFacts) -> AccessKey:
    """Return a key with the zone that the service has accepted before, if it is known."""
    zone = facts.get(TIME_ZONE)
    return replace(key, zone=parse_zone(zone)) if zone else key


def send_in_any_zone(send: Callable[..., Response], key: AccessKey, facts: ServerFacts) -> Response:
    """Return the response to a request that ``send`` sends with the key as ``auth``.

    If the service refuses the date, it is sent with each other zone, and the one that it accepts is remembered.
    """
    response = send(auth=key)
    if not is_skewed(response):
        return response
    for other in key.list_others():
        accepted = send(auth=other)
        if not is_skewed(accepted):
            facts[TIME_ZONE] = other.describe_zone()
            return accepted
    return response
