"""Neither the output of Ansible nor the data that others can read of its processes contains a secret."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import hash_password
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import ModuleContext
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import collect_secrets
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import Task, build_masker, execute
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.spec import ModuleSpec
from conftest import client_of

from simulator.launch import Simulator
from support.module_runner import run_module
from support.playbook_runner import PlaybookRunner
from support.scenarios import NEW_HOST, STOPPED_VM, VOLUME
from support.secret_forms import list_all_forms, login_forms
from support.socket_servers import Proxy
from support.stub_server import StubRequest, StubResponse, StubServer

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / ".cache"
GUIDES = ROOT / "docs" / "docsite" / "rst"
PROGRAMS = Path(sys.executable).parent

SESSION = "s3ss10n/6f1c=very+private"
TOKEN = "t0k3n~bearer-0815"
PASSWORD = "pA$$ <w0rd> & 'more' \"100%\"/\u00e9"
KEY = "693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa"
HOOK_KEY = "hook-key-4711"
OTHERS = "0th3rs-pw"
MADE = "m4de-by-the-service-0042"
CHAT = f"https://chat.example.com/cgi-bin/webhook/send?v=1&key={KEY}"
HOOK = f"http://127.0.0.1:9/hooks/{HOOK_KEY}/result"


LOOKUP = """{{ lookup('virtinfra.manager.session', base_url=url, account='admin', account_password=password) }}"""


PROXY_USER, PROXY_PASSWORD = "pr0xy-user", "pr0xy/s3cret@2"
PROXY_LOGIN = login_forms(PROXY_USER, PROXY_PASSWORD)

TELLTALES = [*list_all_forms(SESSION, TOKEN, PASSWORD, KEY, HOOK_KEY, OTHERS, PROXY_PASSWORD), *PROXY_LOGIN]


def find_secrets(text: str) -> list[str]:
    """Return the secrets that a string contains."""
    return [telltale for telltale in TELLTALES if telltale in text]


class ProcessWatcher:
    """Watches what others can read of a process and its descendants: command lines and environments."""

    def __init__(self, process: int) -> None:
        self.seen: set[str] = set()
        self._process = process
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> ProcessWatcher:
        self._thread.start()
        return self

    def __exit__(self, *dummy: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            for process in list_descendants(str(self._process)):
                self.seen |= {read(Path("/proc", process, name)) for name in ("cmdline", "environ")}


def list_descendants(process: str) -> list[str]:
    """Return the ids of a process and of its descendants."""
    family = [process]
    for member in family:
        for children in Path("/proc", member, "task").glob("*/children"):
            family += read(children).split()
    return family


def read(path: Path) -> str:
    """Return the content of a file, empty if it no longer exists."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def repeat_secrets(sim: Simulator) -> None:
    """Configure the service to repeat the secrets that it received, in every form, in errors of two operations."""
    for operation, secret in (("AddKVMHost", PASSWORD), ("CreateSNSWorkchatEndpoint", CHAT)):
        details = " | ".join([*list_all_forms(SESSION, TOKEN, secret, PROXY_PASSWORD), *PROXY_LOGIN])
        cause = {"code": "HOST.1001", "details": f"login failed: {json.dumps({'password': secret})}"}
        sim.fault("fail", operation, count=None, error={"code": "SYS.1006", "details": details, "cause": cause})


def playbook(connection: str) -> list[dict[str, Any]]:
    """Return tasks that fail, succeed and are interrupted, each with secrets; few of them for module processes."""
    host = {**NEW_HOST, "password": "{{ ssh_password }}"}
    endpoint = {"type": "workchat", "url": "{{ chat }}"}
    existing = {**endpoint, "name": "chat"}
    add = {"operation": "AddKVMHost", "params": {"name": "x", "username": "root", "password": "{{ ssh_password }}"}}
    make = {"operation": "CreateSNSWorkchatEndpoint", "params": {"name": "spoilt", "url": "{{ chat }}"}}
    tasks = [
        task("kvm_host", {**host, "webhook_url": "{{ hook }}"}),
        task("sns_endpoint", {**endpoint, "name": "spoilt"}),
        task("sns_endpoint_info", {}, register="known"),
        task("api", add),
        task("batch", {"module": "kvm_host", "common": {"password": "{{ ssh_password }}"}, "objects": [NEW_HOST]}),
        task("host_info", {"session_id": "{{ omit }}"}, environment={"VIRTINFRA_SESSION_ID": "{{ session }}"}),
    ]
    if connection == "local":
        tasks += [
            task("sns_endpoint", {**existing, "url": "{{ chat }}&other=1"}),
            task("api", make),
            # A module process would send requests after the timeout, also during later tests.
            task("cbt_volume_export", {"vm": STOPPED_VM, "volumes": [VOLUME]}, timeout=5),
            task("kvm_host", {**host, "management_ip": "10.0.0.11", "description": "{{ ssh_password }}"}),
            task("kvm_host", {**host, "nonsense": "{{ ssh_password }}"}),
            task("kvm_host", {**host, "ssh_port": "{{ ssh_password }}"}),
            task("kvm_host", {**host, "webhook_url": "{{ hook }}\nX-Other: 1"}),
            task("sns_endpoint", existing),
            task("batch", {"module": "sns_endpoint", "objects": [{**endpoint, "name": "spoilt"}]}),
            task("batch", {"module": "kvm_host", "objects": [host, {**host, "nonsense": "{{ ssh_password }}"}]}),
            task("batch", {"module": "kvm_host", "objects": [host, {**host, "ssh_port": "{{ ssh_password }}"}]}),
            task("sns_endpoint", {**endpoint, "name": "new"}, check_mode=True),
            task("host_info", {"session_id": "{{ session }}\n"}),
        ]
    else:
        tasks.append(task("kvm_host", host, **{"async": 30, "poll": 1}))
    keep = {"ansible.builtin.set_fact": {"endpoints": "{{ known }}", "cacheable": True}}
    defaults = {"base_url": "{{ url }}", "session_id": "{{ session }}", "api_token": "{{ token }}"}
    defaults["proxy_url"] = "{{ proxy | default(omit) }}"
    return [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "ignore_errors": True,
            "vars": {"ansible_connection": connection, "ansible_python_interpreter": sys.executable},
            "module_defaults": {"group/virtinfra.manager.api": defaults},
            "tasks": [*tasks, keep],
        }
    ]


def task(module: str, options: Mapping[str, Any], **keywords: Any) -> dict[str, Any]:
    """Return a task of a playbook."""
    return {f"virtinfra.manager.{module}": dict(options), **keywords}


def build_environment(home: Path) -> dict[str, str]:
    """Return an environment in which Ansible writes all files to a folder."""
    home.mkdir()
    return {
        **os.environ,
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_CONNECTION_PLUGINS": str(Path(__file__).resolve().parents[1] / "support" / "plugins" / "connection"),
        "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
        "ANSIBLE_LOG_PATH": str(home / "ansible.log"),
        "ANSIBLE_CACHE_PLUGIN": "jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(home / "facts"),
        "ANSIBLE_NOCOLOR": "1",
    }


def run_watched(command: list[str], environment: Mapping[str, str]) -> tuple[str, set[str]]:
    """Run a program; return its output and what others could read of its processes."""
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True, encoding="utf-8"
        ) as process,
        ProcessWatcher(process.pid) as watcher,
    ):
        output = process.communicate(timeout=240)[0]
    return output, watcher.seen


@pytest.mark.parametrize("connection", ["local", "elsewhere"])
def test_nothing_is_shown_anywhere(sim: Simulator, tmp_path: Path, connection: str) -> None:
    sim.reset(session=SESSION, token=TOKEN, latency=0.0)
    chat = {"url": CHAT, "at_person_user_ids": ["ann"]}
    run_module("sns_endpoint", {"base_url": sim.url, "session_id": SESSION, "type": "workchat", "name": "chat", **chat})
    repeat_secrets(sim)
    sim.fault("hang", "ExportNbdVolumes", count=None)
    secrets, book, home = tmp_path / "secrets.yml", tmp_path / "book.yml", tmp_path / "home"
    values = {"session": SESSION, "token": TOKEN, "ssh_password": PASSWORD, "chat": CHAT, "hook": HOOK, "url": sim.url}
    book.write_text(yaml.safe_dump(playbook(connection)), encoding="utf-8")
    command = [str(PROGRAMS / "ansible-playbook"), "-vvvv", "--diff", "-e", f"@{secrets}", str(book)]
    with Proxy(sim.port) as proxy:
        values["proxy"] = proxy.url.replace("://", f"://{PROXY_USER}:{quote(PROXY_PASSWORD, safe='')}@")
        secrets.write_text(yaml.safe_dump(values), encoding="utf-8")
        output, seen = run_watched(command, build_environment(home))
    assert any(form.encode() in head for form in PROXY_LOGIN for head in proxy.heads)
    assert "PLAY RECAP" in output, output
    local = connection == "local"
    words = (
        "login failed",
        "SYS.1006",
        "********",
        *(("before", "Task timeout exceeded") if local else ("AnsiballZ",)),
    )
    assert [word for word in words if word not in output] == []
    assert output.count("FAILED!") >= (6 if local else 4)
    assert find_secrets(output) == []
    assert any("ansible-playbook" in text for text in seen)
    assert any("AnsiballZ" in text for text in seen) is not local
    assert [secret for text in seen for secret in find_secrets(text)] == []
    files = {path: read(path) for path in home.rglob("*") if path.is_file()}
    assert any("SYS.1006" in text for path, text in files.items() if path.name == "ansible.log")
    assert any("chat.example.com" in text for path, text in files.items() if path.parent.name == "facts")
    assert {path: find_secrets(text) for path, text in files.items() if find_secrets(text)} == {}


@pytest.mark.parametrize("connection", ["local", "elsewhere"])
def test_nothing_is_shown_of_an_account(tmp_path: Path, connection: str) -> None:
    """Neither the password, nor its hash, nor the session is shown.

    The result of the module session is only available to tasks.
    """
    made = "a5e55104000040008000000000000001"
    secrets = list_all_forms(PASSWORD, hash_password(PASSWORD), made)
    # A module process does not know the password.
    repeated = secrets if connection == "local" else list_all_forms(made)
    refusal = {"error": {"code": "SYS.1006", "details": f"refused: {' | '.join(repeated)}"}}
    variables, book, home = tmp_path / "variables.yml", tmp_path / "book.yml", tmp_path / "home"
    files: set[tuple[int, int]] = set()

    def answer(request: StubRequest) -> StubResponse:
        for file in home.glob("tmp/*/virtinfra-*"):
            files.add((file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777))
            assert not [secret for secret in list_all_forms(PASSWORD, hash_password(PASSWORD)) if secret in read(file)]
        if request.path.endswith("/accounts/login"):
            assert hash_password(PASSWORD) in request.body.decode()
            return StubResponse(200, {"inventory": {"uuid": made}})
        if "/accounts/sessions/" in request.path:
            return StubResponse(200, {"valid": True} if request.method == "GET" else {})
        return StubResponse(503, refusal)

    account = {"account": "admin", "account_password": "{{ password }}"}
    tasks = [
        task("host_info", account),
        task(
            "host_info", {}, environment={"VIRTINFRA_ACCOUNT": "admin", "VIRTINFRA_ACCOUNT_PASSWORD": "{{ password }}"}
        ),
        {"ansible.builtin.set_fact": {"looked_up": LOOKUP}, "no_log": True},
        {"ansible.builtin.debug": {"msg": "looked up {{ looked_up | length }} characters"}},
        task("session", account, register="login"),
        task("session", {"session_id": "{{ login.session_id }}"}, loop=[1]),
        task("session", {"session_id": "{{ login.session_id }}", "state": "absent"}),
        {"ansible.builtin.debug": {"msg": "registered {{ login.session_id | length }} characters"}},
    ]
    with StubServer(answer) as service:
        variables.write_text(yaml.safe_dump({"password": PASSWORD, "url": service.url}), encoding="utf-8")
        (play,) = playbook(connection)
        play |= {"tasks": tasks, "module_defaults": {"group/virtinfra.manager.api": {"base_url": "{{ url }}"}}}
        book.write_text(yaml.safe_dump([play]), encoding="utf-8")
        command = [str(PROGRAMS / "ansible-playbook"), "-vvvvv", "--diff", "-e", f"@{variables}", str(book)]
        output, seen = run_watched(command, build_environment(home))
        logouts = [request.path for request in service.requests if request.method == "DELETE"]
    assert "registered 32 characters" in output
    assert "looked up 32 characters" in output
    assert output.count("refused: ********") >= 2
    assert files == {(0o700, 0o600)}
    # The task logs out once, and the run logs out at its end.
    assert len(logouts) == 2
    texts = [read(path) for path in home.rglob("*") if path.is_file()]
    assert [secret for secret in secrets for text in (output, *seen, *texts) if secret in text] == []


def test_nothing_is_shown_by_an_inventory(sim: Simulator, tmp_path: Path) -> None:
    sim.reset(session=SESSION, token=TOKEN)
    sim.fault(
        "fail", "QueryPrimaryStorage", error={"code": "SYS.1006", "details": " | ".join(list_all_forms(SESSION, TOKEN))}
    )
    sim.change("host", sim.records("host")[0]["uuid"], description=f"ssh root:{OTHERS}@10.0.0.9", bmcPassword=OTHERS)
    home = tmp_path / "home"
    hosts, broken = tmp_path / "a.virtinfra_hosts.yml", tmp_path / "b.virtinfra_primary_storages.yml"
    options = {
        "base_url": sim.url,
        "session_id": SESSION,
        "api_token": TOKEN,
        "cache": True,
        "cache_plugin": "jsonfile",
    }
    options["cache_connection"] = str(home / "inventory")
    hosts.write_text(yaml.safe_dump({"plugin": "virtinfra.manager.hosts", **options}), encoding="utf-8")
    broken.write_text(yaml.safe_dump({"plugin": "virtinfra.manager.primary_storages", **options}), encoding="utf-8")
    command = [str(PROGRAMS / "ansible-inventory"), "-vvvv", "--list", "-i", str(hosts), "-i", str(broken)]
    output, seen = run_watched(command, build_environment(home))
    assert "host-1" in output
    assert "SYS.1006" in output
    assert find_secrets(output) == []
    assert [secret for text in seen for secret in find_secrets(text)] == []
    files = {path: read(path) for path in home.rglob("*") if path.is_file()}
    assert any("host-1" in text for path, text in files.items() if path.parent.name == "inventory")
    assert {path: find_secrets(text) for path, text in files.items() if find_secrets(text)} == {}


@pytest.mark.parametrize("as_module", [False, True], ids=["in process", "as module"])
def test_credentials_repeated_to_other_tasks_are_masked(playbook_runner: PlaybookRunner, as_module: bool) -> None:
    url = f"https://user:{OTHERS}@chat.example.com/bot/v2/{OTHERS}"
    inventory = {"uuid": "1" * 32, "name": "chat", "url": url, "secret": OTHERS, f"root:{OTHERS}@h-1": 1}
    repeated = f"ssh root:{OTHERS}@10.0.0.1: denied; curl -u a:{OTHERS} x; {json.dumps({'password': OTHERS})}"
    cause = {"code": "HOST.1003", "details": f"{'x' * 1990} password={OTHERS}", "opaque": {"sshPassword": OTHERS}}
    failed = {"error": {"code": "SYS.1006", "details": repeated, "causes": [cause], f"password={OTHERS}": 1}}
    responses = {
        "a" * 32: StubResponse(503, failed),
        "b" * 32: StubResponse(200, {"inventory": inventory}),
        "c" * 32: StubResponse(403, f"<h1>no</h1> <i>root:{OTHERS}@h-1</i> {TOKEN}".encode()),
    }

    def answer(request: StubRequest) -> StubResponse:
        job = request.path.rpartition("/")[2]
        return responses.get(job, StubResponse(200, {"inventories": [inventory]}))

    jobs = [{"uuid": job} for job in responses]
    with StubServer(answer) as service:
        where = {"base_url": service.url, "session_id": SESSION, "api_token": TOKEN}
        run = playbook_runner.play(
            task("job_info", {**where, "jobs": jobs[:2]}),
            task("job_info", {**where, "jobs": jobs[2:]}),
            task("job_wait", {**where, "jobs": jobs[:2]}),
            task("api", {**where, "operation": "QuerySNSWorkchatEndpoint"}),
            task("sns_endpoint_info", {**where, "type": "workchat"}),
            as_module=as_module,
            arguments=["-vvvv", "--diff"],
        )
    assert [played.status for played in run] == ["ok", "failed", "failed", "ok", "ok"], run.output
    assert find_secrets(run.output) == []
    for played in run:
        assert find_secrets(json.dumps(played.result)) == [], played.result
    for masked in ("root:********@10.0.0.1: denied", "https://chat.example.com/********"):
        assert masked in run.output


@pytest.mark.parametrize("subset_of_the_guide", [True, False])
def test_facts_with_the_subset_of_the_guide_do_not_contain_the_environment(
    tmp_path: Path, subset_of_the_guide: bool
) -> None:
    """Core stores the environment in the facts of localhost, and in a fact cache, unless the subset excludes it."""
    guide = (GUIDES / "guide_credentials.rst").read_text(encoding="utf-8")
    section = guide.partition("Facts of the controller")[2].partition("code-block:: yaml+jinja")[2]
    (play,) = yaml.safe_load(dedent(section.partition("\nWithout")[0]))
    assert play["gather_facts"] is True
    if not subset_of_the_guide:
        del play["gather_subset"]
    book, cache = tmp_path / "book.yml", tmp_path / "cache"
    book.write_text(json.dumps([{**play, "vars": {"ansible_python_interpreter": sys.executable}}]), encoding="utf-8")
    settings = {
        "ANSIBLE_HOME": str(tmp_path),
        "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(cache),
        "VIRTINFRA_ACCOUNT_PASSWORD": KEY,
    }
    program = [str(PROGRAMS / "ansible-playbook"), str(book)]
    subprocess.run(program, env={**os.environ, **settings}, stdout=subprocess.DEVNULL, check=True)
    stored = "".join(file.read_text(encoding="utf-8") for file in cache.iterdir())
    assert "ansible_distribution" in stored
    assert (KEY in stored) is not subset_of_the_guide


def test_bugs_of_the_collection_show_no_secret(sim: Simulator) -> None:
    def run_into_a_bug(context: ModuleContext) -> dict[str, Any]:
        raise KeyError(context.desired["password"])

    spec = ModuleSpec(run_into_a_bug, {"password": {"type": "str", "no_log": True}})
    params = {name: option.get("default") for name, option in spec.argument_spec.items()}
    params.update(base_url=sim.url, session_id=SESSION, password=PASSWORD)
    result = execute(Task(spec, params, False), Hooks(build_masker(spec, params))).result
    assert result["failed"]
    assert "KeyError" in result["msg"]
    hidden = json.dumps(result, ensure_ascii=False)
    assert "This is a bug in the collection: KeyError: " in hidden
    assert "w0rd" not in hidden


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (CHAT, {KEY, CHAT, f"cgi-bin/webhook/send?v=1&key={KEY}"}),
        ("https://user:secret-word@hooks.example.com/T0/B0/xyzxyz", {"secret-word", "T0/B0/xyzxyz"}),
        (" padded ", {"padded"}),
        ("https://[broken?key=abcdefgh", {"https://[broken?key=abcdefgh"}),
    ],
)
def test_secret_parts_are_masked(text: str, parts: set[str]) -> None:
    secrets = collect_secrets({"url": {"no_log": True}, "name": {}}, {"url": text, "name": "shown"})
    assert parts <= secrets
    assert not secrets & {"1", "", "shown", "https", "chat.example.com"}


def test_only_secret_parameters_are_masked() -> None:
    spec = {"params": {"type": "dict"}}
    assert collect_secrets(spec, {"params": {"name": "host-1", "password": "12345678", "username": "root"}}) == {
        "12345678"
    }
    assert collect_secrets(spec, {"params": {}}) == set()


def test_credentials_are_not_sent_to_another_origin() -> None:
    with StubServer(lambda request: StubResponse(200, {"inventories": []})) as other:
        for origin in (other.url, other.url.replace("127.0.0.1", "localhost"), "http://127.0.0.1:9"):

            def answer(request: StubRequest, origin: str = origin) -> StubResponse:
                return StubResponse(307, b"", (("Location", f"{origin}{request.target}"),))

            with StubServer(answer) as service, pytest.raises(VirtinfraError, match="redirected"):
                client_of(service).get("QueryHost", {})
            with StubServer(answer) as service, pytest.raises(VirtinfraError, match="redirected"):
                client_of(service).start_job("DeleteCbtTask", {"uuid": STOPPED_VM})
            assert len(service.requests) == 1
        assert other.requests == []


@pytest.mark.parametrize("no_log", [True, False])
def test_a_secret_that_was_made_for_the_task_is_in_its_hidden_result(
    playbook_runner: PlaybookRunner, no_log: bool
) -> None:
    """A result that Ansible shows has asterisks; one that it hides has the secret, which later tasks can use."""
    made = {"inventory": {"AccessKeyID": "id-1", "AccessKeySecret": MADE}}
    call = {"operation": "CreateAccessKey", "params": {"accountUuid": "a" * 32}}
    with StubServer(lambda request: StubResponse(200, made)) as service:
        connection = {"base_url": service.url, "session_id": "session-1"}
        run = playbook_runner.play(
            {"virtinfra.manager.api": {**call, **connection}, "no_log": no_log, "register": "made"},
            {
                "ansible.builtin.debug": {"msg": "{{ made.reply.inventory.AccessKeySecret | hash('sha256') }}"},
                "when": "not made.failed",
            },
            arguments=["-vvvv"],
        )
    assert MADE not in run.output
    is_there = run.results[1]["msg"] == hashlib.sha256(MADE.encode()).hexdigest()
    assert is_there == no_log, run.output
