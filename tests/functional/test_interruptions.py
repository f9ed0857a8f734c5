"""Tasks that end while their job still runs name the job, whether the time is up or a signal ended them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from simulator.launch import Simulator
from support.collection import ROOT
from support.module_runner import ModuleRunner
from support.playbook_runner import PlaybookRunner
from support.scenarios import NEW_HOST

COLLECTIONS = ROOT / ".cache"


def test_time_of_the_task_is_up(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    sim.configure(latencies={"AddKVMHost": 60.0})
    # Enough time for a busy machine to send the call.
    task = {"virtinfra.manager.kvm_host": NEW_HOST, "timeout": 6}
    (played,) = playbook_runner.play(task)
    result = played.result
    assert played.status == "failed"
    assert result["changed"]
    assert result["timedout"]["period"] == 6
    assert f"Continue with job_wait, job {result['job']['uuid']}." in result["msg"]
    sim.advance()
    (ended,) = playbook_runner.play({"virtinfra.manager.job_wait": {"jobs": [result["job"]]}})
    assert ended.result["jobs"][0]["state"] == "succeeded"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_playbook_names_its_job(
    sim: Simulator, run: ModuleRunner, tmp_path: Path, number: signal.Signals
) -> None:
    sim.configure(latencies={"AddKVMHost": 60.0})
    book = tmp_path / "book.yml"
    connection = {"base_url": sim.url, "session_id": sim.session}
    task = {"name": "Onboard", "virtinfra.manager.kvm_host": {**connection, **NEW_HOST}}
    book.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "ansible-playbook"), str(book)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True, start_new_session=True
    ) as play:
        while not any(entry["operation"] == "poll" for entry in sim.log()):
            assert play.poll() is None
            time.sleep(0.05)
        os.killpg(play.pid, number)
        output = play.communicate(timeout=60)[0]
    handle = re.search(
        r"^\[localhost\] Onboard: host host-91: AddKVMHost may still be running in the service\."
        r" Continue with job_wait, job (\w{32})\.$",
        output,
        re.M,
    )
    assert handle, output
    assert play.returncode != 0
    sim.advance()
    assert run("job_wait", {"jobs": [{"uuid": handle[1]}]})["jobs"][0]["state"] == "succeeded"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_worker_without_its_playbook_sends_nothing(
    sim: Simulator, run: ModuleRunner, tmp_path: Path, number: signal.Signals
) -> None:
    """Only the controller receives the signal. Its worker detects the missing parent and names the job."""
    sim.configure(latencies={"AddKVMHost": 60.0})
    book, log = tmp_path / "book.yml", tmp_path / "log"
    connection = {"base_url": sim.url, "session_id": sim.session, "wait_interval": 0.2}
    task = {"name": "Onboard", "virtinfra.manager.kvm_host": {**connection, **NEW_HOST}}
    book.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "ansible-playbook"), str(book)]
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_LOG_PATH": str(log),
    }
    # If the tests run under nohup, the playbook would inherit that SIGHUP is ignored.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True, start_new_session=True
    ) as play:
        signal.signal(signal.SIGHUP, before)
        while not any(entry["operation"] == "poll" for entry in sim.log()):
            assert play.poll() is None
            time.sleep(0.05)
        os.kill(play.pid, number)
        play.wait(timeout=60)
        sent = len(sim.log())
        # The pipe is closed when the worker, which has inherited it, has ended too.
        output = play.communicate(timeout=60)[0]
    assert len(sim.log()) <= sent + 1  # a request may have been on its way
    line = (
        r"Onboard: host host-91: AddKVMHost may still be running in the service. Continue with job_wait, job (\w{32})\."
    )
    named = re.search(rf"^\[localhost\] {line}$", output, re.M)
    assert named, output
    assert re.search(line, log.read_text(encoding="utf-8")), log.read_text(encoding="utf-8")
    sim.advance()
    assert run("job_wait", {"jobs": [{"uuid": named[1]}]})["jobs"][0]["state"] == "succeeded"
