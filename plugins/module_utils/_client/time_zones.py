"""Find the time zone in which the service reads the dates of signatures with an access key."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from .._api.errors import SERVER_ERROR, TRANSIENT_STATUSES, InvalidOptions
from .._http.access_keys import AccessKey, is_skewed, parse_zone
from .._http.response import Response
from .stores import ServerFacts

# The fact with the offset of the zone from UTC; NO_ZONE if the service refuses the dates of all zones.
TIME_ZONE, NO_ZONE = "time_zone", "none"


def choose_zone(key: AccessKey, facts: ServerFacts) -> AccessKey:
    """Return a key with the zone that the service has accepted before, if it is known."""
    zone = facts.get(TIME_ZONE)
    return replace(key, zone=parse_zone(zone)) if zone and zone != NO_ZONE else key


def remember_zone(facts: ServerFacts, zone: object) -> None:
    """Store the zone that a module process has found. Any other value than that of a zone is ignored."""
    with suppress(InvalidOptions):
        if parse_zone(str(zone)):
            facts[TIME_ZONE] = str(zone)


def send_in_any_zone(send: Callable[..., Response], key: AccessKey, facts: ServerFacts) -> Response:
    """Return the response to a request that ``send`` sends with the key as ``auth``.

    If the service refuses the date, it is sent with each other zone, and the one that it accepts is remembered. If it
    accepts none, they are not tried again.
    """
    response = send(auth=key)
    if not is_skewed(response) or facts.get(TIME_ZONE) == NO_ZONE:
        return response
    for other in key.list_others():
        accepted = send(auth=other)
        if not is_skewed(accepted):
            # The answer of a proxy, such as 502, says nothing about the zone.
            if accepted.status < SERVER_ERROR and accepted.status not in TRANSIENT_STATUSES:
                facts[TIME_ZONE] = other.describe_zone()
            return accepted
    facts[TIME_ZONE] = NO_ZONE
    return response
