"""The requests that official clients of the API family send: the simulator accepts each of them.

Both clients were read in their public sources. The Java library sends every parameter in one member of the body, the
tags too, and parameters of a deletion in the query only. The Go library signs with an access key, with the local time
and the path before it is encoded, and always sends a delete mode. Both poll with the headers of the call.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from unit.simulator.test_simulator_conformance import CALLABLE, Caller, caller, params_of, switches_of

from simulator.description import Operation, operations
from simulator.launch import Simulator

__all__ = ["caller"]

# The operations of the simulator that take a session or a key, without those whose names only the document has, and
# which no client of the servers calls.
DOCUMENT_ONLY = ("Workchat", "Teamchat")
CALLED = [
    name
    for name in CALLABLE
    if operations()[name].security != "token" and not any(word in name for word in DOCUMENT_ONLY)
]
POLLS = 200
CHINA = timezone(timedelta(hours=8), "CST")
USER_IDS = ["ou_张", "a@b", "a b"]


def fill_path(operation: Operation, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path below the prefix, not encoded, and the parameters that are not in it."""
    others = {name: value for name, value in params.items() if operation.parameters[name].where != "path"}
    return f"/v1/{operation.path.format(**params)}", others


def to_query(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return parameters of the query; booleans as both clients write them."""
    return [
        (name, str(item).lower() if isinstance(item, bool) else str(item))
        for name, value in params.items()
        for item in (value if isinstance(value, list) else [value])
    ]


class JavaClient:
    """Sends a call as the Java library does."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim

    def call(self, operation: Operation, params: Mapping[str, Any]) -> requests.Response:
        path, others = fill_path(operation, params)
        headers = {"X-Job-UUID": uuid.uuid4().hex, "X-JSON-Schema": "true"}
        if operation.security:
            headers["Authorization"] = f"OAuth {self.sim.session}"
        url = f"{self.sim.url}/service{path}"
        if operation.method in ("GET", "DELETE"):
            response = requests.request(operation.method, url, params=to_query(others), headers=headers, timeout=10)
        else:
            body = {operation.body_key: {**others, "systemTags": [], "userTags": []}}
            response = requests.request(operation.method, url, json=body, headers=headers, timeout=10)
        headers.pop("X-Job-UUID")
        return poll(self.sim, response, headers)


class GoClient:
    """Sends a call as the Go library does, on a machine in China."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim

    def call(self, operation: Operation, params: Mapping[str, Any]) -> requests.Response:
        path, others = fill_path(operation, params)
        url = f"{self.sim.url}/service{path}"
        headers = self.sign(operation.method, path)
        if operation.method == "DELETE":
            others.setdefault("deleteMode", "Permissive")
        if operation.method in ("GET", "DELETE"):
            response = requests.request(operation.method, url, params=to_query(others), headers=headers, timeout=10)
        else:
            body = {operation.body_key: others}
            response = requests.request(operation.method, url, json=body, headers=headers, timeout=10)
        return poll(self.sim, response, headers)

    def sign(self, method: str, path: str) -> dict[str, str]:
        """Return the headers of a request. Their date has the name of the zone."""
        date = datetime.fromtimestamp(time.time(), CHINA).strftime("%a, %d %b %Y %H:%M:%S CST")
        text = f"{method}\n{date}\n{path}".encode()
        digest = hmac.new(Simulator.access_key_secret.encode(), text, hashlib.sha1).digest()
        signature = base64.b64encode(digest).decode()
        return {"Authorization": f"ZStack {Simulator.access_key_id}:{signature}", "Date": date}


def poll(sim: Simulator, response: requests.Response, headers: Mapping[str, str]) -> requests.Response:
    """Poll a job with the headers of the call, at the path that the service gives."""
    if response.status_code != 202:
        return response
    location = sim.url + urlsplit(response.json()["location"]).path
    for dummy in range(POLLS):
        response = requests.get(location, headers=headers, timeout=10)
        if response.status_code != 202:
            break
    return response


@pytest.mark.parametrize("client", [JavaClient, GoClient])
def test_calls_of_official_clients_succeed(
    sim: Simulator, caller: Caller, client: type[JavaClient | GoClient], subtests: pytest.Subtests
) -> None:
    for name in CALLED:
        with subtests.test(name):
            sim.reset(time_zone="+0800" if client is GoClient else "", **switches_of(name))
            response = client(sim).call(operations()[name], params_of(name, caller))
            assert response.status_code == 200, response.text


def test_both_clients_call_most_operations() -> None:
    assert len(CALLED) > 80


@pytest.mark.parametrize("stop_ha", ["true", "false"])
def test_the_java_client_sends_stop_ha_as_a_text(sim: Simulator, caller: Caller, stop_ha: str) -> None:
    operation = operations()["StopVmInstance"]
    response = JavaClient(sim).call(operation, {**params_of("StopVmInstance", caller), "stopHA": stop_ha})
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("check_time_zone", [False, True])
@pytest.mark.parametrize("accepts_iso_dates", [False, True])
def test_the_local_time_of_the_go_client_is_that_of_the_service(
    sim: Simulator, check_time_zone: bool, accepts_iso_dates: bool
) -> None:
    """The abbreviation is that of another zone for the service, which counts only if it checks zones."""
    sim.configure(time_zone="+0800", check_time_zone=check_time_zone, accepts_iso_dates=accepts_iso_dates)
    response = GoClient(sim).call(operations()["QueryHost"], {})
    assert response.status_code == (403 if check_time_zone else 200), response.text


@pytest.mark.parametrize("user_id", USER_IDS)
def test_the_go_client_signs_the_path_before_it_is_encoded(sim: Simulator, user_id: str) -> None:
    operation = operations()["RemoveSNSFeiShuAtPerson"]
    sim.configure(time_zone="+0800")
    (person, *dummy) = sim.records("person")
    response = GoClient(sim).call(operation, {"endpointUuid": person["endpointUuid"], "userId": user_id})
    assert response.status_code == 200, response.text
