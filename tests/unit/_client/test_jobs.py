"""Waiting for jobs, with a virtual clock."""

from __future__ import annotations

import math
import random
import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions, WaitTimeout
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client, Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import (
    Job,
    WaitPolicy,
    compute_interval,
    parse_polling_path,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.waiting import wait_for_job, wait_for_jobs
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from conftest import ClientFactory, FakeClock, client_of
from hypothesis import given
from hypothesis import strategies as st

from simulator.launch import Simulator
from support.stub_server import StubRequest, StubResponse, StubServer

HOST = "a0000003000040008000000000000001"
STILL_RUNNING = "ChangeHostState is still running after 25 s. Continue with job_wait, job"


def wait_policy(clock: FakeClock, timeout: float, interval: float = 5, **hooks: Any) -> WaitPolicy:
    """Return a policy with a fake clock; ``hooks`` are further fields of Hooks."""
    return WaitPolicy(Hooks(Masker(), clock, **hooks), timeout, interval)


def polls_until_timeout(wait: WaitPolicy, label: str = "a job") -> Iterator[float]:
    """Yield the elapsed seconds at the polls of a wait that begins now."""
    return wait.poll_intervals(label, wait.compute_deadline())


def polls_of(duration: float, interval: float = 5, chance: float = 0.5) -> list[float]:
    """Return the elapsed seconds at the polls of a job with this duration, up to the poll that shows its end."""
    clock = FakeClock(chance)
    polls = []
    for elapsed in polls_until_timeout(wait_policy(clock, timeout=1e9, interval=interval)):
        polls.append(elapsed)
        if elapsed >= duration:
            return polls
    raise AssertionError("the waiting ended before the job")


@given(st.floats(0.001, 2000), st.floats(0, 1), st.sampled_from([0.05, 0.3, 1.0, 5.0, 60.0]))
def test_end_is_noticed_soon(duration: float, chance: float, interval: float) -> None:
    lag = polls_of(duration, interval, chance)[-1] - duration
    assert lag <= max(0.05, min(0.05 * duration, interval)) * 1.0001 + 0.0001


@given(st.floats(0.001, 20000), st.floats(0, 1))
def test_polls_are_few(duration: float, chance: float) -> None:
    polls = polls_of(duration, chance=chance)
    allowed = 2 + duration / 0.05 if duration < 1 else 22 + math.log(duration) / math.log(1.05)
    if duration <= 90:
        assert len(polls) <= allowed
    else:
        assert len(polls) <= 22 + math.log(90) / math.log(1.05) + (duration - 90) / 4.5 + 1


@given(st.floats(0, 1), st.sampled_from([0.05, 1.0, 5.0]))
def test_pauses_keep_their_bounds(chance: float, interval: float) -> None:
    polls = polls_of(150, interval, chance)
    pauses = [later - earlier for earlier, later in pairwise(polls)]
    assert polls[0] == pytest.approx(0.03)
    assert min(pauses) >= 0.05 - 1e-9
    assert max(pauses) <= interval + 1e-9
    assert all(later >= earlier - 0.1 * interval - 1e-9 for earlier, later in pairwise(pauses))


def test_jitter_only_shortens_pauses() -> None:
    assert compute_interval(1000, 5, 0.0) == 5
    assert compute_interval(1000, 5, 1.0) == pytest.approx(4.5)
    assert compute_interval(10, 5, 1.0) == compute_interval(10, 5, 0.0) == pytest.approx(0.5)
    assert compute_interval(0, 5, 1.0) == 0.05


@pytest.mark.parametrize("timeout", [0.01, 0.5, 7, 100, 1800])
def test_time_out_is_kept(timeout: float) -> None:
    clock = FakeClock()
    polls = list(polls_until_timeout(wait_policy(clock, timeout=timeout)))
    assert clock.now - 1000 == pytest.approx(timeout)
    assert polls[-1] == pytest.approx(timeout)


def test_timeout_of_zero() -> None:
    """The job is polled once."""
    clock = FakeClock()
    assert list(polls_until_timeout(wait_policy(clock, timeout=0))) == [0.0]
    assert clock.now == 1000


def test_one_deadline_for_all_waits_of_a_task() -> None:
    clock = FakeClock()
    wait = wait_policy(clock, timeout=100)
    deadline = wait.compute_deadline()
    for elapsed in wait.poll_intervals("the first job", deadline):
        if elapsed >= 70:
            break
    list(wait.poll_intervals("the second job", deadline))
    assert clock.now - 1000 == pytest.approx(100)


def test_lines_are_told_at_growing_intervals() -> None:
    lines: list[str] = []
    clock = FakeClock()
    list(polls_until_timeout(wait_policy(clock, timeout=600, on_progress=lines.append), "AddKVMHost host-9 (job 1)"))
    found = [re.fullmatch(r"still waiting for .*, (\d+) s, at most (\d+) s more", line) for line in lines]
    seconds = [float(match[1]) for match in found if match]
    assert all(abs(float(match[1]) + float(match[2]) - 600) <= 1 for match in found if match)
    assert {line.partition(",")[0] for line in lines} == {"still waiting for AddKVMHost host-9 (job 1)"}
    assert 10 <= seconds[0] < 11
    assert all(later >= 2 * earlier - 1 for earlier, later in pairwise(seconds))
    assert len(seconds) == 6


def test_short_jobs_show_no_progress() -> None:
    lines: list[str] = []
    list(polls_until_timeout(wait_policy(FakeClock(), timeout=9.9, on_progress=lines.append)))
    assert lines == []


@pytest.mark.parametrize(
    ("timeout", "interval", "message"),
    [
        (-1, 5, "^wait_timeout must not be negative$"),
        (math.nan, 5, "^wait_timeout must not be negative$"),
        (10, 0, r"^wait_interval must be at least 0\.05 seconds$"),
        (10, math.nan, r"^wait_interval must be at least 0\.05 seconds$"),
    ],
)
def test_impossible_times(timeout: float, interval: float, message: str) -> None:
    with pytest.raises(InvalidOptions, match=message):
        wait_policy(FakeClock(), timeout, interval)


# ------------------------------------------------------------------------------------------------------------ job ids


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("http://192.0.2.1:8080/service/v1/api-jobs/abc", "/service/v1/api-jobs/abc"),
        ("https://[2001:db8::1]:8443/service/v1/api-jobs/abc", "/service/v1/api-jobs/abc"),
        ("/service/v1/api-jobs/abc", "/service/v1/api-jobs/abc"),
        ("//elsewhere.example.com/service/v1/api-jobs/abc", "/service/v1/api-jobs/abc"),
        (" http://192.0.2.1/a/b?c=d&e=f \n", "/a/b?c=d&e=f"),
        ("http://192.0.2.1/a/b#frag", "/a/b"),
        ("http://192.0.2.1/poll/", "/poll/"),
        ("http://192.0.2.1/poll/a:b=c,d;e@f+g~h!i$j&k'l(m)n*o", "/poll/a:b=c,d;e@f+g~h!i$j&k'l(m)n*o"),
        ("http://192.0.2.1/poll/%E4%B8%AD", "/poll/%E4%B8%AD"),
        ("http://192.0.2.1/a//b", "/a//b"),
        ("http://192.0.2.1/a/../../b", "/b"),
        ("http://192.0.2.1?job=7", "/?job=7"),
        ("/42", "/42"),
        ("abc", "/service/v1/abc"),
        ("../poll-me/j1", "/service/poll-me/j1"),
        ("?job=7", "/service/v1/hosts?job=7"),
    ],
)
def test_path_and_query_of_a_polling_address_are_kept(location: str, path: str) -> None:
    assert parse_polling_path(location, "/service/v1/hosts?a=b") == path


@pytest.mark.parametrize(
    "location",
    [
        None,
        5,
        [],
        "",
        "http://192.0.2.1",
        "http://192.0.2.1/",
        "http://[192.0.2.1:port/x",
        "http://192.0.2.1//x//y",
        "http://192.0.2.1/a%zz",
        "http://192.0.2.1/a b",
        "http://192.0.2.1/a\r\nX-Header: v",
        "http://192.0.2.1/a\\b",
        "mailto:a@example.com",
    ],
)
def test_malformed_addresses(location: object) -> None:
    assert parse_polling_path(location) is None


# ---------------------------------------------------------------------------------------------- against the simulator


def disable(client: Client) -> Job:
    """Start disabling a host."""
    return client.start_job("ChangeHostState", {"uuid": HOST, "stateEvent": "disable"}, "host-1")


def test_hanging_job_times_out_and_can_be_waited_for_again(
    sim: Simulator, new_client: ClientFactory, clock: FakeClock
) -> None:
    sim.fault("hang", "ChangeHostState")
    client = new_client(clock=clock, wait_timeout=60)
    job = disable(client)
    with pytest.raises(WaitTimeout) as caught:
        wait_for_job(client, job)
    message = f"ChangeHostState is still running after 60 s. Continue with job_wait, job {job.uuid}."
    assert caught.value.message == message
    assert caught.value.result["job"] == {
        "uuid": job.uuid,
        "job_uuid": job.uuid,
        "location": f"/service/v1/api-jobs/{job.uuid}",
        "operation": "ChangeHostState",
        "object": "host-1",
        "state": "running",
    }
    assert clock.now - 1000 <= 60 + 5


def test_error_of_the_last_poll_is_shown(sim: Simulator, new_client: ClientFactory, clock: FakeClock) -> None:
    sim.fault("hang", "ChangeHostState")
    client = new_client(clock=clock, wait_timeout=20, request_retries=0)
    job = disable(client)
    sim.fault("status", "poll", status=503, count=None)
    with pytest.raises(WaitTimeout) as caught:
        wait_for_job(client, job)
    assert caught.value.message == (
        f"ChangeHostState has no result after 20 s. Continue with job_wait, job {job.uuid}. The last poll failed:"
        f" polling job {job.uuid} returned HTTP status 503: 503 Service Unavailable proxy. The service or a proxy in"
        " front of it is overloaded or restarts: run the task again later."
    )


def test_only_the_oldest_of_many_jobs_is_polled(sim: Simulator, new_client: ClientFactory, clock: FakeClock) -> None:
    sim.fault("hang", "ChangeHostState", count=5)
    client = new_client(clock=clock, wait_timeout=30)
    jobs = [disable(client) for dummy in range(5)]
    with pytest.raises(WaitTimeout):
        wait_for_jobs(client, jobs)
    polls = [entry["job"] for entry in sim.log() if entry["operation"] == "poll"]
    assert set(polls[:-4]) == {jobs[0].uuid}
    assert sorted(polls[-4:]) == sorted(job.uuid for job in jobs[1:])


def test_each_job_is_polled_once_without_time_to_wait(
    sim: Simulator, new_client: ClientFactory, clock: FakeClock
) -> None:
    sim.fault("hang", "ChangeHostState")
    client = new_client(clock=clock, wait_timeout=0)
    jobs = [disable(client) for dummy in range(3)]
    sim.advance()
    with pytest.raises(WaitTimeout):
        wait_for_jobs(client, jobs)
    assert [job.state for job in jobs] == ["running", "succeeded", "succeeded"]
    polls = [entry["job"] for entry in sim.log() if entry["operation"] == "poll"]
    assert sorted(polls) == sorted(job.uuid for job in jobs)


def test_other_jobs_are_polled_when_the_oldest_has_ended(sim: Simulator, no_wait_client: Client) -> None:
    jobs = [disable(no_wait_client) for dummy in range(40)]
    wait_for_jobs(no_wait_client, jobs)
    assert {job.state for job in jobs} == {"succeeded"}
    polls = [entry["job"] for entry in sim.log() if entry["operation"] == "poll"]
    assert sorted(polls) == sorted(job.uuid for job in jobs)


def test_next_jobs_are_polled_after_the_oldest(sim: Simulator, new_client: ClientFactory, clock: FakeClock) -> None:
    """The jobs are polled up to the first one that is still running, and the others at the deadline."""
    sim.fault("hang", "ChangeHostState", skip=2, count=2)
    client = new_client(clock=clock, wait_timeout=30)
    jobs = [disable(client) for dummy in range(5)]
    sim.advance()
    with pytest.raises(WaitTimeout) as caught:
        wait_for_jobs(client, jobs)
    assert [job.state for job in jobs] == ["succeeded", "succeeded", "running", "running", "succeeded"]
    assert caught.value.result["job"]["uuid"] == jobs[2].uuid
    polls = [entry["job"] for entry in sim.log() if entry["operation"] == "poll"]
    assert [polls.count(jobs[number].uuid) for number in (0, 1, 3, 4)] == [1, 1, 1, 1]


def batch_of(count: int, seconds: float, clock: FakeClock) -> StubServer:
    """Return a service with a fake clock and jobs that take this time, 20 % more or less."""
    rng = random.Random(count)
    ends = {f"/service/v1/api-jobs/{number}": clock.now + seconds * rng.uniform(0.8, 1.2) for number in range(count)}

    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(202 if clock.now < ends[request.path] else 200, {})

    return StubServer(answer)


@pytest.mark.parametrize("wait_for", ["all", "any"])
@pytest.mark.parametrize(("count", "seconds"), [(10, 0.2), (10, 2), (30, 1), (100, 2)])
def test_batches_take_four_polls_a_job(count: int, seconds: float, wait_for: str, clock: FakeClock) -> None:
    jobs = [Job(str(number), f"/service/v1/api-jobs/{number}") for number in range(count)]
    with batch_of(count, seconds, clock) as service, client_of(service, clock=clock) as client:
        wait_for_jobs(client, jobs, wait_for=wait_for)
        assert len(service.requests) <= 4 * count
        assert len({request.client_port for request in service.requests}) <= 16 + 1
    ended = [job.state for job in jobs].count("succeeded")
    assert ended >= (count if wait_for == "all" else 1)
    assert clock.now - 1000 <= seconds * 1.2 * 1.2 + 0.1


def test_jobs_of_a_loop_are_rarely_polled_while_they_run(clock: FakeClock) -> None:
    """A loop has started a job every 10 ms, so most of those that follow a running one are running, too."""
    count, rng = 200, random.Random(1)
    ends = {f"/service/v1/api-jobs/{n}": clock.now + (n - count) * 0.01 + rng.uniform(0.8, 1.2) for n in range(count)}

    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(202 if clock.now < ends[request.path] else 200, {})

    jobs = [Job(str(number), f"/service/v1/api-jobs/{number}") for number in range(count)]
    with StubServer(answer) as service, client_of(service, clock=clock) as client:
        wait_for_jobs(client, jobs)
    assert {job.state for job in jobs} == {"succeeded"}
    assert len(service.requests) <= 1.15 * count
    assert clock.now <= max(ends.values()) + 0.1


@pytest.mark.parametrize("count", [90, 500])
def test_quick_polls_use_two_connections(count: int, clock: FakeClock) -> None:
    def answer(request: StubRequest) -> StubResponse:
        clock.now += 0.001
        return StubResponse(200, {})

    jobs = [Job(str(number), f"/service/v1/api-jobs/{number}") for number in range(count)]
    with StubServer(answer) as service, client_of(service, clock=clock) as client:
        wait_for_jobs(client, jobs)
    assert len(service.requests) == len(jobs)
    assert len({request.client_port for request in service.requests}) <= 2


def test_slow_polls_use_sixteen_connections(clock: FakeClock) -> None:
    """A response to the last 64 polls is only sent when 16 of them have arrived."""
    arrived = threading.Barrier(16)

    def answer(request: StubRequest) -> StubResponse:
        clock.now += 0.02
        if int(request.path.rpartition("/")[2]) >= 63:
            arrived.wait(timeout=30)
        return StubResponse(200, {})

    jobs = [Job(str(number), f"/service/v1/api-jobs/{number}") for number in range(127)]
    with StubServer(answer) as service, client_of(service, clock=clock) as client:
        wait_for_jobs(client, jobs)
    assert {job.state for job in jobs} == {"succeeded"}
    assert len({request.client_port for request in service.requests}) == 16


def test_waiting_for_any_job_polls_all_when_one_has_ended(
    sim: Simulator, new_client: ClientFactory, clock: FakeClock
) -> None:
    """When one job has ended, all others are polled once, so that the result contains all that have ended."""
    sim.fault("hang", "ChangeHostState", count=10)
    client = new_client(clock=clock, wait_timeout=30)
    jobs = [disable(client) for dummy in range(12)]
    sim.advance()
    wait_for_jobs(client, jobs, wait_for="any")
    assert [job.state for job in jobs] == ["running"] * 10 + ["succeeded"] * 2


def test_waiting_for_any_job_has_a_timeout(sim: Simulator, new_client: ClientFactory, clock: FakeClock) -> None:
    sim.fault("hang", "ChangeHostState", count=None)
    client = new_client(clock=clock, wait_timeout=30)
    jobs = [disable(client) for dummy in range(3)]
    with pytest.raises(WaitTimeout) as caught:
        wait_for_jobs(client, jobs, wait_for="any")
    assert caught.value.message == (
        f"ChangeHostState is still running after 30 s (and 2 more jobs). Continue with job_wait, job {jobs[0].uuid}."
    )
    assert clock.now - 1000 == pytest.approx(30)
    polls = [entry["job"] for entry in sim.log() if entry["operation"] == "poll"]
    assert all(polls.count(job.uuid) > 1 for job in jobs)


@pytest.mark.parametrize(("count", "several"), [(1, ""), (3, "3 jobs, the first ")])
def test_lines_say_what_is_waited_for(
    sim: Simulator, new_client: ClientFactory, clock: FakeClock, count: int, several: str
) -> None:
    lines: list[str] = []
    sim.fault("hang", "ChangeHostState", count=None)
    client = new_client(clock=clock, wait_timeout=25, on_progress=lines.append)
    jobs = [disable(client) for dummy in range(count)]
    with pytest.raises(WaitTimeout, match=rf" {jobs[0].uuid}\.$"):
        wait_for_jobs(client, jobs)
    start = f"still waiting for {several}ChangeHostState host-1 (job {jobs[0].uuid}), "
    assert [line.startswith(start) for line in lines] == [True, True]


def test_lines_of_a_job_that_is_known_by_its_id_only(
    sim: Simulator, new_client: ClientFactory, clock: FakeClock
) -> None:
    lines: list[str] = []
    sim.fault("hang", "ChangeHostState")
    client = new_client(clock=clock, wait_timeout=15, on_progress=lines.append)
    known = disable(client)
    with pytest.raises(WaitTimeout, match="The operation is still running"):
        wait_for_jobs(client, [Job(known.uuid, known.location)])
    assert [line.startswith(f"still waiting for job (job {known.uuid}), ") for line in lines] == [True]
