"""A run of Ansible logs in once and leaves no session, regardless of how its tasks run and how it ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from jinja2 import Template

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner
from support.playbook_runner import Run as Played
from support.socket_servers import Proxy
from support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
AAP = ROOT / "docs" / "examples" / "aap"
HOSTS = 4
ITEMS = 3
PASSWORD = "c0rrect horse/battery+staple"
VM = "a0000004000040008000000000000005"

READ: dict[str, Any] = {"virtinfra.manager.host_info": {"name": "host-1"}}
END_SESSIONS: dict[str, Any] = {
    "ansible.builtin.uri": {"url": "{{ base_url }}/_simulator/sessions", "method": "DELETE"},
    "run_once": True,
}
LOOKUP = "{{ lookup('virtinfra.manager.session') }}"


class Run:
    """A folder in which ansible-playbook runs, with a static inventory and one that logs in with an account."""

    def __init__(self, folder: Path, sim: Simulator) -> None:
        self.folder, self.sim = folder, sim
        sim.reset(account_password=PASSWORD, latency=0.0)
        names: dict[str, Any] = {f"local-{number}": {} for number in range(HOSTS)}
        variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "base_url": sim.url}
        self._write("static.yml", {"local": {"hosts": names, "vars": variables}})
        self._write("infrastructure.virtinfra_hosts.yml", {"plugin": "virtinfra.manager.hosts"})
        self._write("more.virtinfra_vms.yml", {"plugin": "virtinfra.manager.vms"})
        (folder / "tmp").mkdir()

    def _write(self, name: str, content: Any) -> None:
        (self.folder / name).write_text(json.dumps(content), encoding="utf-8")

    def start(
        self,
        tasks: list[dict[str, Any]],
        hosts: str = "local",
        sources: tuple[str, ...] = ("infrastructure.virtinfra_hosts.yml",),
    ) -> subprocess.Popen[str]:
        """Start a playbook with tasks and inventory sources that use an account of the environment."""
        self._write("book.yml", [{"hosts": hosts, "gather_facts": False, "tasks": tasks}])
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        inventories = [f"-i{self.folder / name}" for name in ("static.yml", *sources)]
        return subprocess.Popen(
            [program, *inventories, f"-f{HOSTS}", str(self.folder / "book.yml")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment(),
            start_new_session=True,
        )

    def play(self, tasks: list[dict[str, Any]]) -> Played:
        """Run tasks on one of the hosts, in a fork, which starts earlier and does not log out at its end."""
        runner = PlaybookRunner(self.folder, self.sim.url, {})
        inventory = ["-i", str(self.folder / "static.yml")]
        return runner.play(*tasks, hosts="local-0", arguments=inventory, environment=self._environment())

    def _environment(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "ANSIBLE_HOME": str(self.folder),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache"),
            "ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "tests" / "support" / "plugins" / "connection"),
            "ANSIBLE_ASYNC_DIR": str(self.folder / "async"),
            "ANSIBLE_INJECT_INVOCATION": "true",
            "ANSIBLE_LOCAL_TEMP": str(self.folder / "tmp"),
            "VIRTINFRA_BASE_URL": self.sim.url,
            "VIRTINFRA_ACCOUNT": "admin",
            "VIRTINFRA_ACCOUNT_PASSWORD": PASSWORD,
        }

    def command(self, line: str, variables: Mapping[str, str]) -> str:
        """Run a command of Ansible with other variables than those above and return its output."""
        program, *arguments = shlex.split(line)
        inherited = {name: value for name, value in self._environment().items() if not name.startswith("VIRTINFRA_")}
        return subprocess.run(
            [str(Path(sys.executable).with_name(program)), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**inherited, **variables},
            check=True,
        ).stdout

    def leftovers(self) -> list[Path]:
        """Return the files with content that the run left in its temporary folder, which core keeps after a signal."""
        return [path for path in (self.folder / "tmp").rglob("virtinfra-*") if path.stat().st_size]


@pytest.fixture
def run(tmp_path: Path, sim: Simulator) -> Run:
    return Run(tmp_path, sim)


def queries(sim: Simulator) -> int:
    """Return how often hosts were listed."""
    return sum(entry["operation"] == "QueryHost" for entry in sim.log())


def test_all_tasks_of_a_run_share_a_session(run: Run, sim: Simulator) -> None:
    """Loops, module processes and inventory sources share it too. One login replaces it when it has expired."""
    tasks = [
        {**READ, "loop": list(range(ITEMS))},
        {**READ, "run_once": True, "async": 60, "poll": 1},
        {**READ, "run_once": True, "delegate_to": "far", "vars": {"ansible_connection": "elsewhere"}},
        END_SESSIONS,
        READ,
        {"ansible.builtin.set_fact": {"kept": LOOKUP}, "run_once": True, "no_log": True},
        {"virtinfra.manager.host_info": {"session_id": "{{ kept }}"}, "run_once": True},
    ]
    process = run.start(tasks)
    output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output
    assert sim.sessions() == {"live": 0, "logins": 2, "failed_logins": 0, "logouts": 1}
    assert queries(sim) > ITEMS * HOSTS
    assert run.leftovers() == []


FAR: dict[str, Any] = {"delegate_to": "far", "vars": {"ansible_connection": "elsewhere"}}


@pytest.mark.parametrize("first", [READ, {**READ, **FAR}], ids=["controller", "module process"])
def test_module_processes_use_the_time_zone_that_the_run_has_found(
    run: Run, sim: Simulator, first: dict[str, Any]
) -> None:
    """An access key works only with the zone of the service, which one task of the run finds."""
    sim.configure(time_zone="+14:00")
    key = {"access_key_id": sim.access_key_id, "access_key_secret": sim.access_key_secret}
    tasks = [first, {**READ, **FAR}, {**READ, "async": 60, "poll": 1}, READ]
    played = run.play([{**task, "virtinfra.manager.host_info": {"name": "host-1", **key}} for task in tasks])
    assert [task.status for task in played] == ["ok"] * len(tasks), played.output
    dates = [entry["headers"].get("date") for task in played for entry in task.requests]
    zones = [date.partition("GMT")[2] for date in dates if date]
    found = zones.index("+14:00")
    assert found > 0
    assert zones[found:] == ["+14:00"] * len(tasks)


@pytest.mark.parametrize("inventory", [True, False])
def test_a_run_does_not_repeat_a_login_that_was_refused(run: Run, sim: Simulator, inventory: bool) -> None:
    """Inventory sources, workers, module processes, lookups and retries of tasks do not repeat the login."""
    sim.configure(login_refusal="LOGIN_CONTROL.1002")
    tasks = [
        {"ansible.builtin.set_fact": {"kept": LOOKUP}},
        {**READ, "until": False, "retries": 2, "delay": 0},
        {**READ, "run_once": True, "async": 60, "poll": 1},
        {**READ, "run_once": True, "delegate_to": "far", "vars": {"ansible_connection": "elsewhere"}},
        {"virtinfra.manager.session": {}, "run_once": True},
    ]
    sources = ("infrastructure.virtinfra_hosts.yml", "more.virtinfra_vms.yml") if inventory else ()
    output = run.start([{**task, "ignore_errors": True} for task in tasks], sources=sources).communicate()[0]
    assert "Wait until the lock has ended before you run the task again." in output
    assert f"ok={len(tasks)}" in output, output
    assert sim.sessions() == {"live": 0, "logins": 0, "failed_logins": 1, "logouts": 0}, output
    assert run.leftovers() == []


@pytest.mark.parametrize("first", [READ, {"virtinfra.manager.session": {}}], ids=["host_info", "session"])
def test_a_run_does_not_repeat_a_login_that_a_module_process_has_sent(
    run: Run, sim: Simulator, first: dict[str, Any]
) -> None:
    sim.configure(login_refusal="ID.1007")
    if first == READ:
        # The controller's own login does not reach the service, so the module process logs in.
        sim.fault("drop_before", "LogInByAccount")
    tasks = [{**task, **FAR} for task in (first, READ)] + [READ, {"virtinfra.manager.session": {}, **FAR}]
    output = run.play(tasks).output
    refusal = "account admin: LogInByAccount failed (ID.1007): The account is disabled: account[admin] is disabled."
    assert output.count(f"{refusal} Enable the account.") >= len(tasks), output
    assert sim.sessions()["failed_logins"] == 1


def test_an_asynchronous_task_outlives_the_run(run: Run, sim: Simulator) -> None:
    """The process of the task ends the session of the task. The run warns that the task is still running."""
    sim.configure(latency=2)
    task = {"virtinfra.manager.cbt_task": {"name": "late", "task_type": "full", "vms": [VM], "state": "enabled"}}
    process = run.start([{**task, "run_once": True, "async": 120, "poll": 0, "register": "started", "name": "Open"}])
    output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    assert PASSWORD not in output
    assert "Open (async job j" in output
    assert "still runs" in " ".join(output.split())
    assert "Nothing registers" not in output
    wait_until(lambda: not sim.sessions()["live"])
    assert [task["status"] for task in sim.records("cbttask") if task["name"] == "late"] == ["Running"]
    (file,) = (run.folder / "async").iterdir()
    wait_until(lambda: "invocation" in file.read_text(encoding="utf-8"))
    used = json.loads(file.read_text(encoding="utf-8"))["invocation"]["module_args"]
    assert (used["account"], used["account_password"]) == (None, None)
    # The first session is that of the inventory.
    assert sim.sessions() == {"live": 0, "logins": 2, "failed_logins": 0, "logouts": 2}
    assert run.leftovers() == []


def test_a_run_logs_out_through_its_proxy(run: Run, sim: Simulator) -> None:
    """The password of the proxy is in no file of the run."""
    begun, password = run.folder / "begun", "pr0xy-s3cret"
    pause = {"ansible.builtin.shell": f"touch {begun}; while test -e {begun}; do sleep 0.2; done"}
    with Proxy(sim.port) as proxy:
        through = {"base_url": "http://manager.example.com", "proxy_url": f"http://user:{password}@{proxy.address}"}
        read = {"virtinfra.manager.host_info": {"name": "host-1", **through}}
        late = {**read, "async": 60, "poll": 0, "register": "started"}
        process = run.start([{**task, "run_once": True} for task in (read, late, pause)], sources=())
        wait_until(begun.exists)
        files = {path: path.read_text(encoding="utf-8") for path in (run.folder / "tmp").rglob("virtinfra-*")}
        begun.unlink()
        output = process.communicate(timeout=120)[0]
    assert "failed=0" in output, output
    assert any("session_id" in text for text in files.values())
    assert [path for path, text in files.items() if password in text] == []
    # The other session is that of the asynchronous task.
    assert sim.sessions() == {"live": 0, "logins": 2, "failed_logins": 0, "logouts": 2}
    assert run.leftovers() == []


def test_an_asynchronous_task_that_is_waited_for_needs_no_warning(run: Run, sim: Simulator) -> None:
    wait = {"jid": "{{ started.ansible_job_id }}"}
    tasks = [
        {**READ, "async": 60, "poll": 0, "register": "started"},
        {
            "ansible.builtin.async_status": wait,
            "register": "ended",
            "until": "ended.finished",
            "retries": 300,
            "delay": 0.2,
        },
    ]
    output = run.start([{**task, "run_once": True} for task in tasks]).communicate(timeout=120)[0]
    assert "failed=0" in output
    assert "still runs" not in " ".join(output.split())
    assert sim.sessions() == {"live": 0, "logins": 2, "failed_logins": 0, "logouts": 2}


def test_a_task_that_nobody_can_wait_for_has_a_warning(run: Run) -> None:
    output = run.play([{**READ, "async": 60, "poll": 0}]).output
    assert "Nothing registers the result of this task" in " ".join(output.split())


def test_an_asynchronous_task_that_does_not_start_leaves_no_session(run: Run, sim: Simulator) -> None:
    """Its interpreter does not exist, or it has no such option."""
    faults: tuple[dict[str, Any], ...] = (
        {"vars": {"ansible_python_interpreter": "/nowhere/python"}},
        {"virtinfra.manager.host_info": {"colour": "red"}},
    )
    task = {**READ, "async": 60, "poll": 0, "register": "started", "run_once": True, "ignore_errors": True}
    output = run.start([{**task, **fault} for fault in faults]).communicate(timeout=120)[0]
    assert "ok=2" in output, output
    wait_until(lambda: not sim.sessions()["live"])


def test_a_lookup_alone_leaves_no_session(run: Run, sim: Simulator) -> None:
    header = {"Authorization": f"OAuth {LOOKUP}"}
    url = "{{ base_url }}/service/v1/hosts"
    output = run.start([{"ansible.builtin.uri": {"url": url, "headers": header}, "run_once": True}]).communicate()[0]
    assert "failed=0" in output, output
    assert sim.sessions()["live"] == 0


@pytest.fixture
def signals_of_a_terminal() -> Iterator[None]:
    """Let the runs get SIGHUP, which they would inherit as ignored if these tests ran under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("signals_of_a_terminal")
@pytest.mark.parametrize(
    ("number", "send"),
    [
        # Ctrl-C and a terminal that closes reach a process group, ``kill`` one process.
        *((signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill), (signal.SIGHUP, os.killpg)),
        *(
            pytest.param(number, send, marks=pytest.mark.nightly)
            for number, send in ((signal.SIGINT, os.kill), (signal.SIGTERM, os.killpg), (signal.SIGHUP, os.kill))
        ),
    ],
)
def test_a_run_that_is_ended_by_a_signal_leaves_no_session(
    run: Run, sim: Simulator, number: signal.Signals, send: Callable[[int, int], None]
) -> None:
    # Few queries are answered, so that no worker ends. While all workers wait for a response, no worker holds the lock
    # of the queue to ansible-playbook, which would wait for the lock forever.
    answered = ITEMS - 1
    sim.fault("slow", "QueryHost", seconds=60, skip=answered, count=None)
    process = run.start([{**READ, "loop": list(range(ITEMS))}])
    wait_until(lambda: queries(sim) >= answered + HOSTS)
    send(process.pid, number)
    output = process.communicate(timeout=120)[0]
    if number == signal.SIGINT:
        assert "User interrupted execution" in output
    else:
        # Ansible ends in the same way without the collection.
        assert process.returncode == -number
    assert sim.sessions() == {"live": 0, "logins": 1, "failed_logins": 0, "logouts": 1}
    assert run.leftovers() == []


@pytest.mark.usefixtures("signals_of_a_terminal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_run_ended_by_a_signal_leaves_no_session_of_its_inventory(
    run: Run, sim: Simulator, number: signal.Signals
) -> None:
    """No task uses the collection."""
    begun = run.folder / "begun"
    command = f"touch {begun}; while test -e {begun}; do sleep 0.2; done"
    process = run.start([{"ansible.builtin.shell": command, "run_once": True}])
    wait_until(begun.exists)
    os.kill(process.pid, number)
    code = process.wait(timeout=120)
    begun.unlink()
    assert code == -number, process.communicate()[0]
    assert sim.sessions() == {"live": 0, "logins": 1, "failed_logins": 0, "logouts": 1}
    assert run.leftovers() == []


def test_a_run_that_ignores_hangups_goes_on_after_one(run: Run, sim: Simulator) -> None:
    """SIGHUP is ignored as under nohup, so the run continues and logs out at its end."""
    tasks = [READ, {"ansible.builtin.shell": "kill -HUP $(cat pid)", "args": {"chdir": str(run.folder)}}, READ]
    begin = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = run.start([{**task, "run_once": True} for task in tasks])
    finally:
        signal.signal(signal.SIGHUP, begin)
    (run.folder / "pid").write_text(str(process.pid), encoding="utf-8")
    output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    assert sim.sessions()["live"] == 0


def test_the_first_command_of_the_guide_works_with_its_credential_type(run: Run, sim: Simulator) -> None:
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_authentication.rst").read_text(encoding="utf-8")
    command, *dummy = re.findall(r"^    \$ (ansible localhost .*)$", guide, re.MULTILINE)
    (kind,) = DataLoader().load_from_file(str(AAP / "controller.yml"))["controller_credential_types"]
    inputs, injectors = kind["inputs"], kind["injectors"]["env"]
    fields = {field["id"]: field for field in inputs["fields"]}
    assert inputs["required"] == ["base_url"]
    public = {name for name, field in fields.items() if not field.get("secret")}
    assert public == {"base_url", "account", "access_key_id"}
    assert injectors == {f"VIRTINFRA_{name.upper()}": f"{{{{ {name} }}}}" for name in fields}
    ways = {
        "access_key": {"access_key_id": sim.access_key_id, "access_key_secret": sim.access_key_secret},
        "account": {"account": "admin", "account_password": PASSWORD},
        "session_id": {"session_id": sim.session},
        "api_token": {"api_token": sim.token},
    }
    assert fields.keys() == {"base_url", "proxy_url"}.union(*ways.values())
    schemes = {"access_key": "ZStack", "account": "OAuth", "session_id": "OAuth", "api_token": "Bearer"}
    for way, values in ways.items():
        # Fields that are not filled in become empty strings.
        variables = {name: Template(text).render(base_url=sim.url, **values) for name, text in injectors.items()}
        if way == "account":
            sim.clear_log()
            assert '"total": 3' in run.command(command, variables)
            requests = sim.log()
            assert sim.sessions() == {"live": 0, "logins": 1, "failed_logins": 0, "logouts": 1}
        else:
            runner = PlaybookRunner(run.folder, sim.url, {})
            (played,) = runner.play({"virtinfra.manager.host_info": {}}, environment=variables)
            assert played.result["total"] == 3
            requests = played.requests
        (read,) = [entry for entry in requests if entry["path"].endswith(("/hosts", "/cursor-query"))]
        assert read["headers"]["authorization"] == schemes[way]
    assert sim.sessions()["logins"] == 1


def test_the_inventory_source_of_the_platform_enables_running_vms(run: Run, sim: Simulator) -> None:
    configuration = DataLoader().load_from_file(str(AAP / "controller.yml"))
    (source,) = configuration["controller_inventory_sources"]
    connection = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
    output = run.command(f"ansible-inventory -i {AAP / source['source_path']} --list --export", connection)
    # The platform compares the value as it stands in the output, in which core marks strings of the service.
    hosts = json.loads(output[output.index("{") :])["_meta"]["hostvars"]
    enabled = {name for name, variables in hosts.items() if is_enabled(source, variables)}
    assert enabled == {vm["uuid"] for vm in sim.records("vm") if vm["state"] == "Running"} != set(hosts)


def is_enabled(source: Mapping[str, str], variables: Mapping[str, Any]) -> bool:
    """Return whether the platform enables a host: by the truth of a variable, or by its equality with a value."""
    value = variables[source["enabled_var"]]
    return str(value) == source["enabled_value"] if source.get("enabled_value") else bool(value)
