"""The simulator's sessions: logging in, validating, logging out."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import requests

from simulator.errors import LOGIN_REFUSALS
from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.sessions import Sessions
from simulator.switches.options import Switches

LOGIN = "accounts/login"
NO_CREDENTIALS = {"Authorization": None}


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def log_in(api: HttpClient, account: str = "admin", password: str = "simulator-password") -> requests.Response:
    digest = hashlib.sha512(password.encode()).hexdigest()
    body = {"logInByAccount": {"accountName": account, "password": digest}}
    return api.send("PUT", LOGIN, body, NO_CREDENTIALS)


def new_session(api: HttpClient) -> Any:
    response = log_in(api)
    assert response.status_code == 200
    return response.json()["inventory"]


def is_valid(api: HttpClient, session: str) -> Any:
    return api.send("GET", f"accounts/sessions/{session}/valid", headers=NO_CREDENTIALS).json()["valid"]


def hosts(api: HttpClient, session: str) -> requests.Response:
    return api.send("GET", "hosts", headers={"Authorization": f"OAuth {session}"})


def test_login_creates_a_session_and_logout_ends_it(api: HttpClient) -> None:
    inventory = new_session(api)
    assert set(inventory) == {"uuid", "accountUuid", "expiredDate", "createDate"}
    session = inventory["uuid"]
    assert session != new_session(api)["uuid"]
    assert is_valid(api, session)
    assert len(hosts(api, session).json()["inventories"]) == 3
    for dummy in range(2):
        response = api.send("DELETE", f"accounts/sessions/{session}", headers=NO_CREDENTIALS)
        assert (response.status_code, response.json()) == (200, {})
    assert not is_valid(api, session)
    assert hosts(api, session).json()["error"]["code"] == "ID.1001"
    assert is_valid(api, api.sim.session)


@pytest.mark.parametrize("wrong", [{"account": "root"}, {"password": "wrong"}])
def test_login_fails_with_wrong_credentials(api: HttpClient, wrong: dict[str, str]) -> None:
    response = log_in(api, **wrong)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "ID.1000")


def test_login_takes_a_digest_and_the_log_masks_it(api: HttpClient) -> None:
    body = {"logInByAccount": {"accountName": "admin", "password": "simulator-password"}}
    assert api.send("PUT", LOGIN, body, NO_CREDENTIALS).json()["error"]["code"] == "ID.1000"
    assert api.sim.log()[0]["body"]["logInByAccount"]["password"] == "***"


def test_sessions_are_limited_and_expire(api: HttpClient) -> None:
    api.sim.configure(session_limit=2)
    first = new_session(api)["uuid"]
    assert log_in(api).json()["error"]["code"] == "ID.1006"
    api.sim.configure(session_expired=True)
    second = new_session(api)["uuid"]
    assert not is_valid(api, api.sim.session)
    assert [is_valid(api, session) for session in (first, second)] == [True, True]
    api.sim.configure(session_lifetime=0.0)
    assert [is_valid(api, session) for session in (first, second)] == [False, False]
    assert hosts(api, second).json()["error"]["code"] == "ID.1001"


@pytest.mark.parametrize("code", sorted(LOGIN_REFUSALS))
def test_every_login_is_refused_with_the_error_of_the_switch(api: HttpClient, code: str) -> None:
    session = new_session(api)["uuid"]
    api.sim.configure(login_refusal=code)
    response = log_in(api)
    assert (response.status_code, response.json()["error"]["code"]) == (503, code)
    assert api.sim.sessions()["failed_logins"] == 1
    assert is_valid(api, session)
    api.sim.configure(login_refusal="")
    assert log_in(api).status_code == 200


def test_session_dates_have_the_form_of_all_timestamps(api: HttpClient) -> None:
    api.sim.configure(timestamps="plain")
    session = new_session(api)
    assert [session[name].count(",") for name in ("createDate", "expiredDate")] == [1, 1]


def test_session_is_renewed_by_each_use() -> None:
    now = [1000.0]
    sessions = Sessions(Switches(session_lifetime=10.0), lambda: f"session-{now[0]}", lambda: now[0])
    password = hashlib.sha512(b"simulator-password").hexdigest()
    used, unused = sessions.log_in("admin", password), "simulator-session"
    for dummy in range(3):
        now[0] += 9.0
        assert sessions.use(used)
    assert not sessions.is_valid(unused)
    now[0] += 9.0
    assert sessions.is_valid(used)
    now[0] += 2.0
    assert not sessions.use(used)


def test_sessions_are_counted_and_can_be_ended(api: HttpClient) -> None:
    session = new_session(api)["uuid"]
    new_session(api)
    log_in(api, password="wrong")
    for dummy in range(2):
        api.send("DELETE", f"accounts/sessions/{session}", headers=NO_CREDENTIALS)
    assert api.sim.sessions() == {"live": 1, "logins": 2, "failed_logins": 1, "logouts": 1}
    session = new_session(api)["uuid"]
    api.sim.end_sessions()
    assert api.sim.sessions()["live"] == 0
    assert hosts(api, session).json()["error"]["code"] == "ID.1001"
    assert is_valid(api, api.sim.session)
    api.sim.reset()
    assert api.sim.sessions() == {"live": 0, "logins": 0, "failed_logins": 0, "logouts": 0}


def test_session_expiry_fault_ends_all_sessions(api: HttpClient) -> None:
    session = new_session(api)["uuid"]
    api.sim.fault("session_expiry", "QueryHost")
    assert hosts(api, session).json()["error"]["code"] == "ID.1001"
    assert new_session(api)["uuid"] != session


def test_login_fails_with_an_injected_error(api: HttpClient) -> None:
    api.sim.fault("fail", "LogInByAccount", error={"code": "SYS.1000", "details": "on demand"})
    assert log_in(api).json()["error"]["code"] == "SYS.1000"
    assert api.sim.sessions()["logins"] == 0


def test_login_is_absent_without_all_companions(api: HttpClient) -> None:
    api.sim.configure(all_companions=False)
    assert log_in(api).status_code == 404
