"""A playbook without uuids, which needs only the address of the service, an account and its password."""

from __future__ import annotations

import json
import re
from typing import Any

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner, Run

TASKS: dict[str, dict[str, Any]] = {
    "list the clusters": {"resource_info": {"resource_type": "cluster"}},
    "add a host": {
        "kvm_host": {
            "name": "host-40",
            "management_ip": "10.0.0.40",
            "cluster": "cluster-2",
            "username": "root",
            "password": "Tr0ub4dor&3/ssh",
            "state": "enabled",
        },
        "register": "added",
    },
    "use its second interface for storage": {
        "host_nic_service": {
            "host": "{{ added.host.uuid }}",
            "interfaces": ["eth1"],
            "service_types": ["StorageNetwork"],
        }
    },
    "open a session": {"cbt_task": {"name": "backup-vm-5", "vm": "vm-5", "state": "enabled"}},
    "restore a VM": {
        "vm_from_snapshot_group": {
            "name": "vm-restored",
            "snapshot_group": "snapshot-group-1",
            "zone": "zone-1",
            "cluster": "cluster-1",
            "primary_storage": "ps-1",
            "l3_networks": ["l3-1", "l3-2"],
            "default_l3_network": "l3-2",
        },
        "register": "restored",
    },
    "attach a network to it": {
        "vm_nic": {"vm": "{{ restored.vm.uuid }}", "l3_network": "l3-3", "state": "enabled"},
    },
    "notify by SNMP": {"sns_endpoint": {"type": "snmp", "name": "monitoring", "platform": "snmp-1"}},
    "change a remark": {
        "sns_teamchat_person": {"endpoint": "teamchat-endpoint-1", "user_id": "user-1", "remark": "on call"}
    },
    "read the interfaces of a host": {"host_network_info": {"hosts": ["host-1"]}},
    "list the subscribers of a topic": {"sns_topic_subscriber_info": {"topic": "topic-1"}},
}
CHANGING = {name for name, task in TASKS.items() if not next(iter(task)).endswith("_info")}


def play(playbook_runner: PlaybookRunner, *arguments: str, **environment: str) -> Run:
    """Run the playbook, with the connection from the environment only."""
    playbook_runner.defaults = {}
    tasks = [
        {
            "name": name,
            **{f"virtinfra.manager.{key}" if isinstance(value, dict) else key: value for key, value in task.items()},
        }
        for name, task in TASKS.items()
    ]
    assert not re.search("[0-9a-f]{32}", json.dumps(tasks))
    run = playbook_runner.play(
        *tasks, arguments=arguments, environment={"VIRTINFRA_BASE_URL": playbook_runner.simulator, **environment}
    )
    assert [played.task for played in run] == [*TASKS], run.output
    return run


def list_changed_tasks(run: Run) -> set[str]:
    """Return the tasks of a run that changed something; none failed."""
    assert [(played.task, played.result) for played in run if played.status != "ok"] == []
    return {played.task for played in run if played.result["changed"]}


def test_playbook_with_names_only(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    sim.reset(sync=True)
    account = {"VIRTINFRA_ACCOUNT": "admin", "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password"}
    checked = play(playbook_runner, "--check", **account)
    assert list_changed_tasks(checked) == CHANGING
    assert {name for played in checked for name in played.written} <= {"LogInByAccount"}
    assert list_changed_tasks(play(playbook_runner, **account)) == CHANGING
    assert list_changed_tasks(play(playbook_runner, **account)) == set()


NO_LOGIN = (
    "the service does not offer LogInByAccount (HTTP status 404 for PUT /service/v1/accounts/login). Get a session in"
    " another way and pass it as session_id"
)
NO_TOKEN = "CursorQuery needs api_token (or VIRTINFRA_API_TOKEN in the environment)"


def lacks(query: str, path: str) -> str:
    """Return why neither a query nor the cursor query can be used."""
    return f"the service does not offer {query} (HTTP status 404 for GET /service/v1/{path}); {NO_TOKEN}"


UNNAMED = {
    "list the clusters": lacks("QueryCluster", "clusters"),
    "add a host": f"cluster: cannot look up the name 'cluster-2': {lacks('QueryCluster', 'clusters')}. Give the uuid.",
    "open a session": f"vm: cannot look up the name 'vm-5': {lacks('QueryVmInstance', 'vm-instances')}. Give the uuid.",
    "restore a VM": "snapshot_group: cannot look up the name 'snapshot-group-1':"
    f" {lacks('QueryVolumeSnapshotGroup', 'volume-snapshots/group')}. Give the uuid.",
    "notify by SNMP": "platform: cannot look up the name 'snmp-1':"
    f" {lacks('QuerySNSApplicationPlatform', 'sns/application-platforms')}. Give the uuid.",
    "change a remark": "endpoint: cannot look up the name 'teamchat-endpoint-1':"
    f" {lacks('QuerySNSApplicationEndpoint', 'sns/application-endpoints')}. Give the uuid.",
    "read the interfaces of a host": f"hosts: cannot look up the name 'host-1': {lacks('QueryHost', 'hosts')}."
    " Give the uuid.",
    "list the subscribers of a topic": "topic: cannot look up the name 'topic-1':"
    f" {lacks('QuerySNSTopic', 'sns/topics')}. Give the uuid.",
}
"""The message of each task if the service offers only the documented queries; two tasks need the result of others."""


def test_literal_service_names_missing_parameters(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    sim.reset(sync=True, literal=True)
    for environment in (
        {"VIRTINFRA_ACCOUNT": "nobody", "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password"},
        {"VIRTINFRA_SESSION_ID": sim.session},
    ):
        run = play(playbook_runner, **environment)
        messages = {played.task: played.result["msg"] for played in run if played.task in UNNAMED}
        if "VIRTINFRA_ACCOUNT" in environment:
            assert {name: message for name, message in messages.items() if NO_LOGIN not in message} == {}
        else:
            assert messages == UNNAMED
        assert {played.status for played in run} == {"failed"}
        assert {name for played in run for name in played.written} <= {"None"}  # a login that the service does not know
