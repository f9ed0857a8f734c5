"""When the jobs of a batch are polled: what their operation has taken so far decides it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import cast

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import LoginFailed
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import FAILED, RUNNING, SUCCEEDED, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._client.joined_waits import (
    MAX_SAMPLES,
    OLDEST_PART,
    RUNNING_RATE,
    Durations,
    JobPoller,
    Wait,
    schedule_samples,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import Clock

from support.clients import make_client
from support.fast_clock import call_in_time, with_fast_clock

DEADLINE = 1000.0


@pytest.fixture(name="client")
def fixture_client() -> Iterator[Client]:
    """A client that sends nothing."""
    with make_client(ConnectionOptions(base_url="http://127.0.0.1:9", session_id="x")) as client:
        yield client


def make_wait(
    client: Client, began: float, last_poll: float, state: str = RUNNING, operation: str = "AddKVMHost"
) -> Wait:
    """Return the wait for a job of this operation, with the times of its start and its last poll."""
    return Wait(client, Job("1" * 32, "/", operation, state=state), DEADLINE, began, last_poll)


def test_job_that_was_not_polled_is_due_after_the_expected_duration(client: Client) -> None:
    wait = make_wait(client, 10, 10)
    assert wait.compute_due_time(4.0, is_oldest=False, others=500) == 14.0
    assert wait.compute_due_time(4.0, is_oldest=True, others=500) == 10 + 4 * OLDEST_PART
    assert wait.compute_due_time(5000.0, is_oldest=False, others=500) == DEADLINE


def test_job_that_takes_longer_is_polled_less_often_if_many_do(client: Client) -> None:
    wait = make_wait(client, 10, 14)
    assert wait.compute_due_time(4.0, is_oldest=False, others=1) == pytest.approx(14.6)
    assert wait.compute_due_time(4.0, is_oldest=False, others=400) == 14 + 400 / RUNNING_RATE
    assert wait.compute_due_time(4.0, is_oldest=True, others=400) == pytest.approx(14.2)


def test_job_that_was_polled_before_the_duration_was_known_is_polled_after_it(client: Client) -> None:
    wait = make_wait(client, 10, 50)
    assert wait.compute_due_time(80.0, is_oldest=False, others=1) == 90.0
    assert wait.compute_due_time(42.0, is_oldest=False, others=1) == pytest.approx(55.0)


def test_until_the_duration_is_known_only_the_oldest_job_and_samples_are_polled(client: Client) -> None:
    new = make_wait(client, 10, 10)
    assert new.compute_due_time(None, is_oldest=True, others=0) == pytest.approx(10.05)
    assert new.compute_due_time(None, is_oldest=False, others=0) == DEADLINE


def test_samples_are_the_jobs_that_were_polled_the_longest_time_ago(client: Client) -> None:
    waits = [make_wait(client, 10, last_poll) for last_poll in (14, 12, 14, 13)]
    assert schedule_samples(waits) == {waits[1]: 16.0}
    new = [make_wait(client, 10, 10) for dummy in range(500)]
    assert schedule_samples(new) == dict.fromkeys(new[:MAX_SAMPLES], 10.05)


class TimedClient:
    """Polls jobs that end some seconds after their start, by the fast clock. ``noticed`` says when a poll has found it.

    ``ends`` are the times by the uuids of the jobs, ``state`` is that of all jobs after their end.
    """

    wait = SimpleNamespace(interval=5.0)
    hooks = SimpleNamespace(clock=Clock)

    def __init__(self, ends: Mapping[str, float], state: str) -> None:
        self._ends, self._state, self._began = ends, state, Clock.monotonic()
        self.polls = 0
        self.noticed: dict[str, float] = {}

    def poll(self, job: Job) -> None:
        """Update the state of the job."""
        self.polls += 1
        elapsed = Clock.monotonic() - self._began
        if elapsed >= self._ends[job.uuid]:
            job.state = self._state
            self.noticed.setdefault(job.uuid, elapsed)


def wait_for_jobs(ends: Mapping[str, float], state: str = SUCCEEDED) -> TimedClient:
    """Wait for jobs with a poller, and return its client."""
    with with_fast_clock():
        client = TimedClient(ends, state)
        jobs = [Job(uuid, "/", "AddKVMHost") for uuid in ends]
        call_in_time(lambda: JobPoller(Clock).wait(cast("Client", client), jobs, Clock.monotonic() + 10000))
    assert client.noticed.keys() == ends.keys()
    return client


def test_jobs_of_minutes_are_polled_a_few_times() -> None:
    ends = {str(number): 108 + 24 * (number * 7 % 200) / 200 for number in range(200)}
    assert wait_for_jobs(ends).polls <= 200 * 5


@pytest.mark.parametrize("state", [SUCCEEDED, FAILED])
def test_oldest_job_that_takes_longer_delays_no_other(state: str) -> None:
    client = wait_for_jobs({str(number): 10.0 if number else 3000.0 for number in range(200)}, state)
    assert max(seconds for uuid, seconds in client.noticed.items() if uuid != "0") < 30


class FailingClient(TimedClient):
    """Cannot poll: the session has expired, and the service refuses the login."""

    def poll(self, job: Job) -> None:
        """Raise the failure of the login."""
        raise LoginFailed("LogInByAccount failed", {"code": "ID.1000"})


def test_poll_that_fails_for_good_ends_its_wait() -> None:
    with with_fast_clock():
        client, job = FailingClient({}, SUCCEEDED), Job("1" * 32, "/", "AddKVMHost")
        with pytest.raises(LoginFailed):
            call_in_time(lambda: JobPoller(Clock).wait(cast("Client", client), [job], Clock.monotonic() + 100))


def test_first_job_that_succeeds_shows_the_duration(client: Client) -> None:
    durations = Durations()
    running, failed, ended = (make_wait(client, 10, 13, state) for state in (RUNNING, FAILED, SUCCEEDED))
    durations.learn([], [running, failed])
    assert durations.get(running.job) is None
    durations.learn([], [running, failed, ended])
    assert durations.get(running.job) == 3.0
    assert durations.get(make_wait(client, 10, 10, operation="DeleteHost").job) is None


def test_duration_grows_if_jobs_are_still_running_and_shrinks_if_none_is(client: Client) -> None:
    durations = Durations()
    running, ended = make_wait(client, 10, 13), make_wait(client, 10, 13, SUCCEEDED)
    durations.learn([], [ended])
    # However many are tested in a round, the duration changes by a tenth at most.
    durations.learn([running] * 500, [running] * 500)
    assert durations.get(running.job) == pytest.approx(3.0 * 1.07)
    durations.learn([ended] * 500, [ended] * 500)
    assert durations.get(running.job) == pytest.approx(3.0 * 1.07 * 0.97)
    for dummy in range(1000):
        durations.learn([ended], [ended])
    assert durations.get(running.job) == 0.05
