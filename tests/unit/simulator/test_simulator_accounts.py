# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's sessions: logging in, validating, logging out."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import requests

from simulator.launch import Simulator
from simulator.options import Switches
from simulator.sessions import Sessions
from simulator.talk import Talk

LOGIN = "accounts/login"
NO_CREDENTIALS = {"Authorization": None}


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


def log_in(talk: Talk, account: str = "admin", password: str = "password") -> requests.Response:
    digest = hashlib.sha512(password.encode()).hexdigest()
    body = {"logInByAccount": {"accountName": account, "password": digest}}
    return talk.send("PUT", LOGIN, body, NO_CREDENTIALS)


def new_session(talk: Talk) -> Any:
    answer = log_in(talk)
    assert answer.status_code == 200
    return answer.json()["inventory"]


def is_valid(talk: Talk, session: str) -> Any:
    return talk.send("GET", f"accounts/sessions/{session}/valid", headers=NO_CREDENTIALS).json()["valid"]


def hosts(talk: Talk, session: str) -> requests.Response:
    return talk.send("GET", "hosts", headers={"Authorization": f"OAuth {session}"})


def test_log_in_and_out(talk: Talk) -> None:
    inventory = new_session(talk)
    assert set(inventory) == {"uuid", "accountUuid", "expiredDate", "createDate"}
    session = inventory["uuid"]
    assert session != new_session(talk)["uuid"]
    assert is_valid(talk, session)
    assert len(hosts(talk, session).json()["inventories"]) == 3
    for dummy in range(2):
        answer = talk.send("DELETE", f"accounts/sessions/{session}", headers=NO_CREDENTIALS)
        assert (answer.status_code, answer.json()) == (200, {})
    assert not is_valid(talk, session)
    assert hosts(talk, session).json()["error"]["code"] == "ID.1001"
    assert is_valid(talk, talk.sim.session)


@pytest.mark.parametrize("wrong", [{"account": "root"}, {"password": "wrong"}])
def test_wrong_credentials(talk: Talk, wrong: dict[str, str]) -> None:
    answer = log_in(talk, **wrong)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "ID.1000")


def test_the_password_is_sent_as_a_digest_and_not_logged(talk: Talk) -> None:
    body = {"logInByAccount": {"accountName": "admin", "password": "password"}}
    assert talk.send("PUT", LOGIN, body, NO_CREDENTIALS).json()["error"]["code"] == "ID.1000"
    assert talk.sim.log()[0]["body"]["logInByAccount"]["password"] == "***"


def test_sessions_are_limited_and_expire(talk: Talk) -> None:
    talk.sim.configure(session_limit=2)
    first = new_session(talk)["uuid"]
    assert log_in(talk).json()["error"]["code"] == "ID.1003"
    talk.sim.configure(session_expired=True)
    second = new_session(talk)["uuid"]
    assert not is_valid(talk, talk.sim.session)
    assert [is_valid(talk, session) for session in (first, second)] == [True, True]
    talk.sim.configure(session_lifetime=0.0)
    assert [is_valid(talk, session) for session in (first, second)] == [False, False]
    assert hosts(talk, second).json()["error"]["code"] == "ID.1001"


def test_the_dates_of_a_session_have_the_form_of_all_timestamps(talk: Talk) -> None:
    talk.sim.configure(timestamps="plain")
    session = new_session(talk)
    assert [session[name].count(",") for name in ("createDate", "expiredDate")] == [1, 1]


def test_a_session_lives_on_with_each_use() -> None:
    now = [1000.0]
    sessions = Sessions(Switches(session_lifetime=10.0), lambda: f"session-{now[0]}", lambda: now[0])
    password = hashlib.sha512(b"password").hexdigest()
    used, unused = sessions.log_in("admin", password), "simulator-session"
    for dummy in range(3):
        now[0] += 9.0
        assert sessions.use(used)
    assert not sessions.is_valid(unused)
    now[0] += 9.0
    assert sessions.is_valid(used)
    now[0] += 2.0
    assert not sessions.use(used)


def test_sessions_are_counted_and_can_be_ended(talk: Talk) -> None:
    session = new_session(talk)["uuid"]
    new_session(talk)
    log_in(talk, password="wrong")
    for dummy in range(2):
        talk.send("DELETE", f"accounts/sessions/{session}", headers=NO_CREDENTIALS)
    assert talk.sim.sessions() == {"live": 1, "logins": 2, "failed_logins": 1, "logouts": 1}
    session = new_session(talk)["uuid"]
    talk.sim.end_sessions()
    assert talk.sim.sessions()["live"] == 0
    assert hosts(talk, session).json()["error"]["code"] == "ID.1001"
    assert is_valid(talk, talk.sim.session)
    talk.sim.reset()
    assert talk.sim.sessions() == {"live": 0, "logins": 0, "failed_logins": 0, "logouts": 0}


def test_the_session_expiry_fault_ends_sessions_created_by_logging_in(talk: Talk) -> None:
    session = new_session(talk)["uuid"]
    talk.sim.fault("session_expiry", "QueryHost")
    assert hosts(talk, session).json()["error"]["code"] == "ID.1001"
    assert new_session(talk)["uuid"] != session


def test_logins_fail_on_demand(talk: Talk) -> None:
    talk.sim.fault("fail", "LogInByAccount", error={"code": "SYS.1000", "details": "on demand"})
    assert log_in(talk).json()["error"]["code"] == "SYS.1000"
    assert talk.sim.sessions()["logins"] == 0


def test_a_service_without_them(talk: Talk) -> None:
    talk.sim.configure(further_operations=False)
    assert log_in(talk).status_code == 404
