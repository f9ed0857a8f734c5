# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the simulator is started, steered, seeded, watched and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid as uuids
from pathlib import Path
from typing import Any

import pytest
import requests
import trustme

from simulator.launch import FOLDER, Simulator, SimulatorError
from simulator.query import moment
from simulator.store import KINDS, seeded_uuid
from simulator.talk import Talk

DOCUMENT = FOLDER.parent / "docs" / "simulator.md"


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


def test_seeded_uuids_are_of_version_4() -> None:
    for kind in KINDS:
        uuid = seeded_uuid(kind, 12345)
        assert (len(uuid), uuids.UUID(uuid).version) == (32, 4)
    assert seeded_uuid("cluster", 1) == "a0000002000040008000000000000001"


def test_default_seed(talk: Talk) -> None:
    state = talk.sim.state()
    counts = {kind: len(state[kind]) for kind in ("zone", "cluster", "host", "vm", "l3network", "primarystorage")}
    assert counts == {"zone": 1, "cluster": 2, "host": 3, "vm": 6, "l3network": 3, "primarystorage": 2}
    counts = {kind: len(state[kind]) for kind in ("vmnic", "volume", "hostnic", "bonding", "snapshotgroup", "cbttask")}
    assert counts == {"vmnic": 6, "volume": 12, "hostnic": 12, "bonding": 3, "snapshotgroup": 1, "cbttask": 0}
    assert [host["managementIp"] for host in state["host"]] == ["10.0.0.11", "10.0.0.12", "10.0.0.13"]
    assert [host["clusterUuid"][-1] for host in state["host"]] == ["1", "2", "1"]
    assert [vm["state"] for vm in state["vm"]] == ["Running", "Stopped"] * 3
    assert {vm["vmNics"][0]["l3NetworkUuid"] for vm in state["vm"]} == {seeded_uuid("l3network", 1)}
    assert [storage["name"] for storage in state["primarystorage"]] == ["ps-1", "ps-2"]
    assert [person["userId"] for person in state["person"]] == ["user-1", "user-2"]
    assert [endpoint["name"] for endpoint in state["endpoint"]] == ["snmp-endpoint-1", "teamchat-endpoint-1"]


def test_timestamps_have_one_form_unless_they_are_mixed(talk: Talk) -> None:
    def dates() -> list[str]:
        return [vm["createDate"] for vm in talk.found("vm-instances?sort=name")]

    assert dates()[0] == "Jan 6, 2024, 4:52:16 AM"
    talk.sim.configure(timestamps="narrow")
    assert dates()[0] == "Jan 6, 2024, 4:52:16\u202fAM"
    talk.sim.configure(timestamps="mixed")
    mixed = dates()
    assert {"\u202f" in date for date in mixed} == {True, False}
    assert {date.count(",") for date in mixed} == {1, 2}
    talk.sim.configure(timestamps="plain")
    plain = dates()
    assert plain[0] == "Jan 6, 2024 4:52:16 AM"
    assert {date.count(",") for date in plain} == {1}
    assert [moment(date) for date in plain] == [moment(date) for date in mixed]
    created = talk.inventory("POST", "sns/application-endpoints/snmp", {"params": {"name": "x"}})["createDate"]
    assert moment(created).year >= 2024


def test_counts_of_the_seed(talk: Talk) -> None:
    talk.sim.reset(hosts=7, vms=0, clusters=1, primary_storages=3, l3_networks=1, cbt_tasks=5, persons=0)
    state = talk.sim.state()
    assert [len(state[kind]) for kind in ("host", "vm", "cluster", "primarystorage", "cbttask")] == [7, 0, 1, 3, 0]
    assert [len(state[kind]) for kind in ("vmnic", "snapshotgroup", "person")] == [0, 0, 0]
    talk.sim.reset(hosts=0, vms=4, cbt_tasks=4)
    tasks = talk.sim.records("cbttask")
    assert [task["status"] for task in tasks] == ["Created", "Stopped", "Running", "Failed"]
    assert all("hostUuid" not in vm for vm in talk.found("vm-instances"))


def test_destroyed_vms_keep_their_names(talk: Talk) -> None:
    talk.sim.reset(destroyed_vms=1)
    states = {(vm["uuid"], vm["state"]) for vm in talk.found("vm-instances?q=name=vm-1")}
    assert states == {(seeded_uuid("vm", 1), "Running"), (seeded_uuid("vm", 7), "Destroyed")}


def test_the_same_seed_gives_the_same_uuids(talk: Talk) -> None:
    def created() -> Any:
        return talk.inventory("POST", "sns/application-endpoints/snmp", {"params": {"name": "x"}})["uuid"]

    first = created()
    talk.sim.reset()
    assert created() == first
    talk.sim.reset(random_seed=2)
    assert created() != first
    assert uuids.UUID(first).version == 4


def test_reset_forgets_everything(talk: Talk) -> None:
    talk.sim.configure(latency=600.0)
    job = talk.send("POST", "sns/application-endpoints/snmp", {"params": {"name": "x"}}).json()["location"][-32:]
    talk.sim.fault("slow")
    talk.sim.reset()
    assert (talk.sim.log(), talk.sim.faults()) == ([], [])
    assert talk.poll(job).status_code == 404
    assert talk.sim.health()["switches"]["latency"] == 0
    talk.sim.advance()
    assert len(talk.sim.records("endpoint")) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"nonsense": 1},
        {"hosts": "3"},
        {"hosts": -1},
        {"clusters": 0},
        {"location": "nowhere"},
        {"sync": 1},
        {"latency": "slow"},
        {"latencies": {"AddKVMHost": "slow"}},
        {"latencies": {"Nonsense": 1}},
        {"version": "new"},
        {"prefix": "/service/"},
        {"literal": 1},
    ],
)
def test_options_that_are_refused(talk: Talk, options: dict[str, Any]) -> None:
    before = talk.sim.health()
    for refuse in (talk.sim.reset, talk.sim.configure):
        with pytest.raises(SimulatorError):
            refuse(**options)
    with pytest.raises(SimulatorError):
        talk.sim.configure(hosts=4)
    assert talk.sim.health() == before


def test_literal_and_back(talk: Talk) -> None:
    default = talk.sim.health()["switches"]
    talk.sim.configure(literal=True, null_members=False)
    literal = talk.sim.health()["switches"]
    assert (literal["companions"], literal["cbt_create"], literal["null_members"]) == ("404", "literal", False)
    talk.sim.configure(literal=False)
    assert talk.sim.health()["switches"] == default


def test_literal_replies(talk: Talk) -> None:
    talk.sim.reset(literal=True)
    reply = talk.call("GET", "primary-storage")
    assert (reply["success"], reply["error"], "schema" in reply) == (True, None, False)
    assert reply["inventories"][0].keys() == reply["inventories"][1].keys()
    failed = talk.finished(talk.send("POST", "cbt-task/create", {"params": {"name": "x"}}))
    assert (failed.status_code, failed.json()["success"]) == (503, False)
    assert set(failed.json()["error"]) == {"code", "description", "details", "elaboration", "opaque", "cause"}
    assert failed.json()["error"]["cause"] is None
    path = f"vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in"
    assert talk.call("DELETE", path) == {}
    page = talk.call("GET", "/api/v1/resources/cursor-query?resourceType=host")
    assert set(page) == {"items", "total", "nextCursor", "hasMore"}


def test_json_without_a_content_type(talk: Talk) -> None:
    assert talk.send("GET", "hosts").headers["Content-Type"] == "application/json;charset=UTF-8"
    talk.sim.configure(content_type=False)
    assert "Content-Type" not in talk.send("GET", "hosts").headers


def test_prefix(talk: Talk) -> None:
    talk.sim.configure(prefix="deep/er")
    assert talk.send("GET", "hosts").status_code == 404
    authorization = {"Authorization": "OAuth simulator-session"}
    assert requests.get(f"{talk.sim.url}/deep/er/v1/hosts", headers=authorization, timeout=30).status_code == 200
    path = f"{talk.sim.url}/deep/er/v1/vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in"
    location = requests.delete(path, headers=authorization, timeout=30).json()["location"]
    assert "/deep/er/v1/api-jobs/" in location
    talk.call("GET", "/api/v1/resources/cursor-query?resourceType=host")
    talk.sim.configure(prefix="")
    assert requests.get(f"{talk.sim.url}/v1/hosts", headers=authorization, timeout=30).status_code == 200


def test_older_versions(talk: Talk) -> None:
    talk.sim.configure(version="3.10.0")
    assert talk.send("GET", "cbt-task").status_code == 404
    assert talk.send("POST", "cbt-task/create", {}).status_code == 404
    assert talk.send("GET", f"hosts/network-facts/{seeded_uuid('host', 1)}").status_code == 200
    talk.call("GET", "/api/v1/resources/cursor-query?resourceType=host")
    host = talk.found("hosts?sort=name")[0]
    assert {"nqn", "hostname", "cpuStatus"} & set(host) == set()
    assert "guestOsType" not in talk.found("vm-instances")[0]
    assert "encrypted" not in talk.found("vm-instances")[0]["allVolumes"][0]
    nic = f"vm-instances/nics/{seeded_uuid('vmnic', 1)}/actions"
    assert talk.inventory("PUT", nic, {"changeVmNicState": {"state": "disable"}})["vmNics"][0]["state"] == "enable"
    attach = f"vm-instances/{seeded_uuid('vm', 1)}/l3-networks/{seeded_uuid('l3network', 2)}"
    talk.inventory("POST", attach, {"params": {"customMac": "fa:00:00:aa:bb:cc", "vmNicParams": 1}})
    talk.sim.configure(version="3.15")
    assert talk.inventory("PUT", nic, {"changeVmNicState": {"state": "disable"}})["vmNics"][0]["state"] == "disable"
    talk.sim.configure(version="")
    assert "nqn" in talk.found("hosts?sort=name")[0]


def test_log(talk: Talk) -> None:
    params = {"username": "root", "password": "hidden", "name": "x", "managementIp": "x", "clusterUuid": "x"}
    talk.send("POST", "hosts/kvm?a=1&a=2", {"params": params})
    entry, *polls = talk.sim.log()
    assert polls == []
    assert (entry["method"], entry["path"], entry["query"]) == ("POST", "/service/v1/hosts/kvm", {"a": ["1", "2"]})
    assert (entry["operation"], entry["status"], len(entry["job"])) == ("AddKVMHost", 202, 32)
    assert entry["headers"]["authorization"] == "OAuth"
    assert entry["body"]["params"] == {**params, "password": "***"}
    assert "simulator-session" not in str(talk.sim.log())
    talk.poll(entry["job"])
    talk.send("GET", "nothing")
    assert [(one["operation"], one["status"]) for one in talk.sim.log()[1:]] == [("poll", 503), (None, 404)]
    talk.sim.clear_log()
    assert talk.sim.log() == []


def test_records_can_be_changed_from_outside(talk: Talk) -> None:
    talk.sim.change("host", seeded_uuid("host", 1), status="Disconnected")
    assert talk.found("hosts?q=name=host-1")[0]["status"] == "Disconnected"
    for kind, uuid in (("host", "unknown"), ("unknown", "x")):
        with pytest.raises(SimulatorError):
            talk.sim.change(kind, uuid)
    with pytest.raises(SimulatorError):
        talk.sim.records("unknown")


def test_operations_are_listed(talk: Talk) -> None:
    operations = {operation["name"]: operation for operation in talk.sim.operations()}
    assert len([one for one in operations.values() if not one["companion"] and not one["further"]]) == 27
    assert len([one for one in operations.values() if one["companion"]]) == 9
    assert operations["CursorNext"]["paths"] == ["/api/v1/resources/cursor-next"]


def test_every_option_and_fault_is_documented() -> None:
    from simulator import faults
    from simulator.options import Seed, Switches

    text = DOCUMENT.read_text(encoding="utf-8")
    names = [*Seed.__dataclass_fields__, *Switches.__dataclass_fields__, *faults.KINDS, *faults.GARBAGE, "literal"]
    assert [name for name in names if f"`{name}`" not in text] == []


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] == "Z"


def wait_for(happened: Any) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "simulator", "--port", "0", "--port-file", str(folder / "port"), *arguments]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(FOLDER)}, stderr=subprocess.PIPE)
    wait_for(lambda: (folder / "port").exists() or process.poll() is not None)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_and_nothing_is_left(tmp_path: Path, number: int) -> None:
    process = start(tmp_path)
    url = f"http://127.0.0.1:{(tmp_path / 'port').read_text(encoding='utf-8').strip()}"
    assert requests.get(f"{url}/_simulator/health", timeout=30).json()["status"] == "up"
    process.send_signal(number)
    dummy, errors = process.communicate(timeout=30)
    assert (process.returncode, errors, list(tmp_path.iterdir())) == (0, b"", [])


def test_it_can_be_told_to_stop(tmp_path: Path) -> None:
    process = start(tmp_path)
    port = (tmp_path / "port").read_text(encoding="utf-8").strip()
    requests.post(f"http://127.0.0.1:{port}/_simulator/stop", timeout=30)
    assert process.communicate(timeout=30)[1] == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("named", [True, False])
def test_it_ends_with_its_parent(tmp_path: Path, named: bool) -> None:
    script = (
        "import os, subprocess, sys, time\n"
        "arguments = ['--parent', str(os.getpid())] if sys.argv[2] == 'True' else []\n"
        "command = [sys.executable, '-m', 'simulator', '--port=0', '--port-file', sys.argv[1] + '/port', *arguments]\n"
        "print(subprocess.Popen(command).pid, flush=True)\n"
        "while not os.path.exists(sys.argv[1] + '/port'): time.sleep(0.02)\n"
    )
    parent = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(named)],
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=30,
    )
    wait_for(lambda: gone(int(parent.stdout)))
    wait_for(lambda: list(tmp_path.iterdir()) == [])


def test_a_wrong_argument_ends_it_with_a_message(tmp_path: Path) -> None:
    process = start(tmp_path, "--latency", "Op=slow")
    assert b"latency must be" in process.communicate(timeout=30)[1]
    assert process.returncode == 2
    with pytest.raises(SimulatorError, match="ended with 2"), Simulator("--nonsense"):
        pass


def test_arguments(tmp_path: Path) -> None:
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


def test_tls(tmp_path: Path) -> None:
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
        answer = requests.delete(
            f"{sim.url}/service/v1/vm-instances/x/nic-qos",
            headers={"Authorization": f"OAuth {sim.session}"},
            verify=files["ca"],
            timeout=30,
        )
        assert answer.json()["location"].startswith(sim.url)
        sim.fault("drop_before")
        with pytest.raises(requests.ConnectionError, match="Connection aborted"):
            requests.get(f"{sim.url}/service/v1/hosts", verify=files["ca"], timeout=30)
    with Simulator(*tls, "--tls-client-ca", files["ca"], client_cert=(files["client"], files["client"])) as sim:
        assert sim.health()["status"] == "up"
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{sim.url}/_simulator/health", verify=files["ca"], timeout=30)
