"""Starting and stopping the simulator."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests
import trustme

from simulator.launch import FOLDER, Simulator, SimulatorError
from support.waiting import wait_until


def has_exited(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] == "Z"


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "simulator", "--port", "0", "--port-file", str(folder / "port"), *arguments]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(FOLDER)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: (folder / "port").exists() or process.poll() is not None)
    return process


@pytest.mark.parametrize(("number", "last"), [(signal.SIGTERM, "It keeps nothing."), (signal.SIGINT, "has stopped.")])
def test_signal_stops_the_simulator_that_printed_how_to_connect(tmp_path: Path, number: int, last: str) -> None:
    process = start(tmp_path, "--session", "it's mine")
    port = (tmp_path / "port").read_text(encoding="utf-8").strip()
    assert requests.get(f"http://127.0.0.1:{port}/_simulator/health", timeout=30).json()["status"] == "up"
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, errors, list(tmp_path.iterdir())) == (0, b"", [])
    lines = output.decode().splitlines()
    pasted = "\n".join([*(line for line in lines if line.startswith("export ")), "env"])
    shell = subprocess.run(["sh", "-c", pasted], capture_output=True, check=True, text=True)
    environment = dict(line.partition("=")[::2] for line in shell.stdout.splitlines())
    assert environment["VIRTINFRA_BASE_URL"] == f"http://127.0.0.1:{port}"
    assert environment["VIRTINFRA_SESSION_ID"] == "it's mine"
    assert environment["VIRTINFRA_API_TOKEN"] == "simulator-token"
    assert [line for line in lines if "account admin with the password simulator-password" in line]
    assert [line for line in lines if f"http://127.0.0.1:{port}/" in line and "faults" in line]
    assert lines[-1].endswith(last)


def refusal(*arguments: str) -> tuple[int, list[str]]:
    """Start a simulator that cannot run, and return its exit code and the lines of its message."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER)}
    process = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, check=False, text=True, timeout=30
    )
    assert process.stdout == ""
    return process.returncode, process.stderr.splitlines()


def test_used_port_has_a_message_with_the_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, (message,) = refusal("-m", "simulator", "--port", str(port))
    assert code == 1
    assert message.startswith(f"cannot listen on 127.0.0.1 port {port}: Address already in use. Choose another")


def test_missing_package_has_a_message_with_the_remedy() -> None:
    # -S leaves out the folder of the installed packages.
    code, (message,) = refusal("-S", "-m", "simulator")
    assert code == 1
    assert "needs the Python package uvicorn" in message or "needs the Python package starlette" in message
    assert "make simulator" in message
    assert message.endswith(f"-m pip install -r {FOLDER}/simulator/requirements.txt")


def test_unusable_tls_file_has_one_message(tmp_path: Path) -> None:
    code, (message,) = refusal("-m", "simulator", "--port", "0", "--tls-cert", str(tmp_path / "cert.pem"))
    assert code == 1
    assert message.startswith(f"cannot use the TLS files {tmp_path}/cert.pem: ")


def test_control_request_stops_the_simulator(tmp_path: Path) -> None:
    process = start(tmp_path)
    port = (tmp_path / "port").read_text(encoding="utf-8").strip()
    requests.post(f"http://127.0.0.1:{port}/_simulator/stop", timeout=30)
    assert process.communicate(timeout=30)[1] == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("named", [True, False])
def test_simulator_stops_with_its_parent(tmp_path: Path, named: bool) -> None:
    script = (
        "import os, subprocess, sys, time\n"
        "arguments = ['--parent', str(os.getpid())] if sys.argv[2] == 'True' else []\n"
        "command = [sys.executable, '-m', 'simulator', '--port=0', '--port-file', sys.argv[1] + '/port', *arguments]\n"
        "print(subprocess.Popen(command, stdout=subprocess.DEVNULL).pid, flush=True)\n"
        "while not os.path.exists(sys.argv[1] + '/port'): time.sleep(0.02)\n"
    )
    parent = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(named)],
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=30,
    )
    wait_until(lambda: has_exited(int(parent.stdout)))
    wait_until(lambda: list(tmp_path.iterdir()) == [])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--latency", "Op=slow"), "latency must be SECONDS"),
        (("--port", "65536"), "a port is a number from 0 to 65535"),
        (("--tls-key", "key.pem"), "--tls-key and --tls-client-ca need --tls-cert"),
    ],
)
def test_invalid_argument_is_reported(arguments: tuple[str, str], reason: str) -> None:
    code, (usage, message) = refusal("-m", "simulator", *arguments)
    assert code == 2
    assert "--help" in usage
    assert reason in message


def test_exit_before_listening_is_reported() -> None:
    with pytest.raises(SimulatorError, match="exited with code 2"), Simulator("--nonsense"):
        pass


def test_arguments_set_options(tmp_path: Path) -> None:
    arguments = "--latency 0.5 --latency AddKVMHost=2 --hosts 9 --literal --no-null-members --nic-services a".split()
    with Simulator(*arguments, "--nic-services", "b", "--sync", "--session", "mine") as sim:
        health = sim.health()
        assert health["seed"]["hosts"] == 9
        switches = health["switches"]
        assert (switches["latency"], switches["latencies"]) == (0.5, {"AddKVMHost": 2.0})
        assert (switches["nic_services"], switches["sync"], switches["session"]) == (["a", "b"], True, "mine")
        assert (switches["success_members"], switches["null_members"]) == (True, False)
        sim.reset(hosts=1)
        assert (len(sim.records("host")), sim.health()["switches"]["sync"]) == (1, True)
        process = sim._process
        assert process is not None
    assert process.poll() == 0
    sim.stop()


def test_tls_with_and_without_client_certificates(tmp_path: Path) -> None:
    authority = trustme.CA()
    server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("client@example.com")
    files = {name: str(tmp_path / f"{name}.pem") for name in ("ca", "cert", "key", "client")}
    authority.cert_pem.write_to_path(files["ca"])
    server.private_key_pem.write_to_path(files["key"])
    server.cert_chain_pems[0].write_to_path(files["cert"])
    client.private_key_and_cert_chain_pem.write_to_path(files["client"])
    tls = ["--tls-cert", files["cert"], "--tls-key", files["key"]]
    with Simulator(*tls, "--location", "right") as sim:
        assert sim.url.startswith("https://127.0.0.1:")
        response = requests.delete(
            f"{sim.url}/service/v1/vm-instances/x/nic-qos",
            headers={"Authorization": f"OAuth {sim.session}"},
            verify=files["ca"],
            timeout=30,
        )
        assert response.json()["location"].startswith(sim.url)
        sim.fault("drop_before")
        with pytest.raises(requests.ConnectionError, match="Connection aborted"):
            requests.get(f"{sim.url}/service/v1/hosts", verify=files["ca"], timeout=30)
    with Simulator(*tls, "--tls-client-ca", files["ca"], client_cert=(files["client"], files["client"])) as sim:
        assert sim.health()["status"] == "up"
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{sim.url}/_simulator/health", verify=files["ca"], timeout=30)
