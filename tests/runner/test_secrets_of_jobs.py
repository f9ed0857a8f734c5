"""The output of a job, its events and its other artifacts contain no secret, except one file of ansible-runner."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import hash_password

from simulator.launch import Simulator
from support.job_runner import COLLECTIONS, Job
from support.scenarios import NEW_HOST
from support.secret_forms import list_all_forms

SESSION = "s3ss10n/6f1c=very+private"
TOKEN = "t0k3n~bearer-0815"
ACCOUNT_PASSWORD = "c0rrect horse/battery+staple"
SSH_PASSWORD = "pA$$ <w0rd> & 'more'"
CHAT_KEY = "693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa"
HOOK_KEY = "hook-key-4711"
SECRETS = list_all_forms(
    SESSION, TOKEN, ACCOUNT_PASSWORD, hash_password(ACCOUNT_PASSWORD), SSH_PASSWORD, CHAT_KEY, HOOK_KEY
)
REPEATED = " | ".join(list_all_forms(SESSION, TOKEN, SSH_PASSWORD, HOOK_KEY))
VARIABLES = {
    "account_password": ACCOUNT_PASSWORD,
    "ssh_password": SSH_PASSWORD,
    "chat": f"https://chat.example.com/send?key={CHAT_KEY}",
    "hook": f"http://127.0.0.1:9/hooks/{HOOK_KEY}",
}

HOST = {**NEW_HOST, "password": "{{ ssh_password }}", "webhook_url": "{{ hook }}"}
ACCOUNT = {"account": "admin", "account_password": "{{ account_password }}"}
TASKS = [
    # The service repeats all that it knows in the failure of the first call.
    {"virtinfra.manager.kvm_host": HOST},
    {"virtinfra.manager.kvm_host": HOST, "loop": [1, 2]},
    {"virtinfra.manager.kvm_host": {**HOST, "no_such_option": "{{ ssh_password }}"}},
    {"virtinfra.manager.sns_endpoint": {"type": "workchat", "name": "chat", "url": "{{ chat }}"}},
    {"virtinfra.manager.resource_info": {"resource_type": "cluster"}},
    {"virtinfra.manager.host_info": ACCOUNT},
    {"virtinfra.manager.session": ACCOUNT, "register": "login"},
    {"virtinfra.manager.host_info": {"session_id": "{{ login.session_id }}"}},
    {"virtinfra.manager.host_info": {}, "async": 60, "poll": 1},
]


def read(path: Path) -> str:
    """Return the content of a file."""
    return path.read_text(encoding="utf-8", errors="replace")


def test_only_the_file_command_holds_secrets(sim: Simulator, tmp_path: Path) -> None:
    sim.reset(session=SESSION, token=TOKEN, account_password=ACCOUNT_PASSWORD)
    sim.fault("fail", "AddKVMHost", error={"code": "SYS.1006", "details": f"repeated: {REPEATED}"})
    play = {"hosts": "localhost", "gather_facts": False, "ignore_errors": True, "tasks": TASKS}
    environment = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": SESSION, "VIRTINFRA_API_TOKEN": TOKEN}
    ansible = {"ANSIBLE_ASYNC_DIR": str(tmp_path / "async"), "ANSIBLE_INJECT_INVOCATION": "true"}
    job = Job(tmp_path / "job", [play], {**COLLECTIONS, **environment, **ansible})
    job.write("env/extravars", VARIABLES)
    (job.folder / "env" / "cmdline").write_text("-vvvvv --diff", encoding="utf-8")
    output = job.run()
    assert "repeated: ********" in output
    assert output.count("failed=0") == 1, output
    assert "ignored=2" in output, output
    assert [secret for secret in SECRETS if secret in output] == []
    kept = {path: read(path) for path in job.artifacts.rglob("*") if path.is_file()}
    holders = {path.name for path, text in kept.items() if any(secret in text for secret in SECRETS)}
    assert holders == {"command"}
    # The file command contains the environment of the run, as the guide says.
    command = job.artifacts / "command"
    assert command.stat().st_mode & 0o077 == 0
    assert all(secret in kept[command] for secret in (SESSION, TOKEN))
    assert not [secret for secret in (ACCOUNT_PASSWORD, SSH_PASSWORD, CHAT_KEY, HOOK_KEY) if secret in kept[command]]
    events = [text for path, text in kept.items() if path.parent.name == "job_events"]
    assert sum('"invocation"' in text for text in events) >= len(TASKS)
    assert any("chat.example.com" in text for text in events)
