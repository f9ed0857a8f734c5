"""Option values as playbooks write them, and as templates return them on every ansible-core version."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from simulator.state.store import seeded_uuid
from support.playbook_runner import PlaybookRunner

BOTH_PROCESSES = pytest.mark.parametrize("as_module", [False, True], ids=["controller", "module process"])

VM, NIC, NETWORK = seeded_uuid("vm", 5), seeded_uuid("vmnic", 2), seeded_uuid("l3network", 3)
NIC_PARAMS = {"up": True, "list": [1, "x"], "text": "it's"}


# ---------------------------------------------------------------------------------------------------------------- JSON


@BOTH_PROCESSES
def test_json_option_arrives_as_json_text(playbook_runner: PlaybookRunner, as_module: bool) -> None:
    text = json.dumps(NIC_PARAMS)
    forms: list[Any] = [NIC_PARAMS, text]
    # The controller evaluates templates before a module process starts.
    if not as_module:
        forms += ["{{ as_mapping }}", "{{ as_text }}", "{{ as_mapping | to_json }}"]
    tasks: list[dict[str, Any]] = [
        {"virtinfra.manager.vm_nic": {"uuid": NIC, "l3_network": network, "vm_nic_params": form}}
        for form, network in zip(forms, itertools.cycle([seeded_uuid("l3network", 3), seeded_uuid("l3network", 2)]))
    ]
    for form in forms:
        called = {"vmNicUuid": NIC, "destL3NetworkUuid": seeded_uuid("l3network", 1), "vmNicParams": form}
        tasks.append({"virtinfra.manager.api": {"operation": "ChangeVmNicNetwork", "params": called}})
    run = playbook_runner.play(*tasks, vars={"as_mapping": NIC_PARAMS, "as_text": text}, as_module=as_module)
    for played in run:
        (body,) = [entry["body"] for entry in played.requests if entry["operation"] == "ChangeVmNicNetwork"]
        sent = body["params"]["vmNicParams"]
        assert isinstance(sent, str)
        assert json.loads(sent) == NIC_PARAMS
    assert len(run.tasks) == len(tasks), run.output


def test_list_of_json_arrives_as_objects(playbook_runner: PlaybookRunner) -> None:
    encryptions = [{"uuid": seeded_uuid("volume", 1), "encrypted": True}]
    forms = [encryptions, "{{ encryptions }}", [json.dumps(encryptions[0])], ["{{ encryptions[0] | to_json }}"]]
    options = {"snapshot_group": seeded_uuid("snapshotgroup", 1)}
    tasks: list[dict[str, Any]] = [
        {"virtinfra.manager.vm_from_snapshot_group": {**options, "name": name, "volume_snapshot_encryptions": form}}
        for name, form in zip("abcd", forms, strict=True)
    ]
    run = playbook_runner.play(*tasks, vars={"encryptions": encryptions})
    assert len(run.tasks) == len(tasks), run.output
    for played in run:
        (body,) = [entry["body"] for entry in played.requests if entry["method"] == "POST"]
        assert body["params"]["volumeSnapshotEncryptions"] == encryptions


def test_json_option_that_is_no_json_is_refused(playbook_runner: PlaybookRunner) -> None:
    run = playbook_runner.play(
        *(
            {
                "virtinfra.manager.vm_nic": {"uuid": NIC, "l3_network": NETWORK, "vm_nic_params": text},
                "check_mode": check,
            }
            for text in ("{'up': True}", "up=1", "")
            for check in (True, False)
        )
    )
    assert len(run.tasks) == 6, run.output
    for played in run:
        assert "vm_nic_params must be JSON" in played.result["msg"]
        assert played.written == []


# ------------------------------------------------------------------------------------------------------------ versions


@BOTH_PROCESSES
def test_version_that_yaml_reads_as_a_number_is_refused(playbook_runner: PlaybookRunner, as_module: bool) -> None:
    tasks = [{"virtinfra.manager.host_info": {"service_version": version}} for version in (4.10, 5, "4.10")]
    *refused, accepted = playbook_runner.play(*tasks, as_module=as_module)
    assert len(refused) == 2
    for played in refused:
        assert "service_version must be quoted" in played.result["msg"]
        assert played.requests == []
    assert accepted.status == "ok"


# --------------------------------------------------------------------------------------------------------------- forms

# Tasks with values in another form than that of their options, and what the message contains.
# Records of other objects than those that an option refers to.
OF_NIC = {"uuid": "b", "vm_instance_uuid": "v", "l3_network_uuid": "n", "mac": "m", "ip": "i", "device_id": 0}
OF_HOST = {"uuid": "b", "name": "a", "cluster_uuid": "c", "management_ip": "i", "username": "root", "ssh_port": 22}

MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("cbt_task", {"vm": ["a", "b"]}, "vm must be one string, not ['a', 'b']. Did you mean vms?"),
    ("vm_nic", {"vm": ["a", "b"]}, "vm must be one string, not ['a', 'b']. virtinfra.manager.batch runs the module"),
    ("vm", {"name": "vm-5", "state": "recovered"}, "got: recovered. Did you mean recover: true?"),
    *(
        ("kvm_host", {"name": "host-1", "state": state}, f"got: {state}. {hint}")
        for state, hint in (
            ("disconnected", "The service has no operation that disconnects a host. With state: disabled,"),
            ("started", "Did you mean power: on?"),
            ("evacuated", "state: maintenance moves the VMs of a host to others. The role"),
            ("drained", "state: maintenance moves the VMs of a host to others. The role"),
        )
    ),
    ("kvm_host", {"name": "host-1", "running_vms": "evacuate"}, "got: evacuate. Did you mean migrate?"),
    *(
        (module, {"name": "a", "state": state}, "state: absent removes an object that can be recovered. With expunge: ")
        for module in ("vm", "volume")
        for state in ("expunged", "purged")
    ),
    *(
        ("vm", {"name": "vm-5", "state": "stopped", "stop_type": word}, f"got: {word}. Did you mean {meant}?")
        for word, meant in (("force", "cold"), ("immediate", "cold"), ("poweroff", "cold"), ("soft", "grace"))
    ),
    (
        "vm",
        {"name": "vm-5", "state": "migrated"},
        "got: migrated. To migrate a running VM, give the other host as host",
    ),
    ("vm", {"name": "vm-5", "state": "cloned"}, "To clone a VM, give the name of the other VM as clone_from."),
    ("vm", {"name": "vm-5", "state": "stop"}, "got: stop. Did you mean stopped?"),
    ("vm", {"name": "vm-5", "state": "undeleted"}, "Did you mean recover: true?"),
    (
        "vm",
        {"name": "vm-5", "state": "restored"},
        "recover: true recovers a destroyed VM, and virtinfra.manager.vm_snap",
    ),
    ("volume", {"name": "a", "state": "detach"}, "got: detach. Did you mean detached?"),
    ("volume", {"name": "a", "state": "grown"}, "Give the size that the volume shall have as size, such as 20G."),
    *(
        ("sns_endpoint", {"name": "a", "type": kind}, hint)
        for kind, hint in (
            ("webhook", "CreateSNSHttpEndpoint, and select it with type: any."),
            ("wecom", "Did you mean workchat?"),
            ("wechat", "Did you mean workchat?"),
            ("feishu", "CreateSNSFeiShuEndpoint, and select it with type: any."),
            ("teams", "CreateSNSMicrosoftTeamsEndpoint, and select it with type: any."),
            ("sms", "type: any selects an existing endpoint of this type, which no module creates."),
            ("teamchat", "type: any selects an existing endpoint of this type, which no module creates."),
        )
    ),
    *(
        ("resource", {"kind": kind, "name": "a"}, f"got: {kind}. {hint}")
        for kind, hint in (
            ("ha", "Did you mean vm_ha?"),
            ("boot_order", "Did you mean vm_boot_order?"),
            ("schedule", "Did you mean scheduler_trigger or scheduler_job?"),
            ("cron", "Did you mean scheduler_trigger or scheduler_job?"),
            ("security_rule", "Kind security_group has the rules of a group, as properties.rules."),
            ("backup_storage", "virtinfra.manager.resource_info lists these, with resource_type backup_storage,"),
        )
    ),
    (
        "vm",
        {"name": "vm-5", "state": "running", "wait_timeout": 0},
        "wait_timeout must be more than 0 seconds. With wait:",
    ),
    ("vm", {"name": "vm-5", "state": "running", "wait_timeout": -1}, "wait_timeout must not be negative"),
    ("kvm_host", {"name": "host-1", "state": "rebooted"}, "got: rebooted. Did you mean power: reset?"),
    ("vm_nic", {"vm": "vm-5", "state": "disconnected"}, "got: disconnected. Did you mean disabled?"),
    ("vm_snapshot_group", {"vm": "vm-5", "name": "a", "scope": "all"}, "got: all. Did you mean chain?"),
    (
        "host_nic_service",
        {"vlan_ids": "100-110"},
        "each item of vlan_ids must be a whole number, not '100-110'. For a range, write {{ range(100, 111) | list }}",
    ),
    ("host_nic_service", {"service_types": None}, "service_types must not be null"),
    ("vm", {"name": "vm-5", "wait": None}, "wait must not be null. Omit it, for example with default(omit), to get tr"),
    ("vm", {"name": "vm-5", "state": None}, "state must not be null. Omit it, for example with default(omit), to get"),
    ("vm", {"name": "vm-5", "api_timeout": 0}, "api_timeout must be at least 1 second, not 0."),
    ("vm", {"name": "vm-5", "api_timeout": -5}, "api_timeout must be at least 1 second, not -5."),
    (
        "host_nic_service",
        {"host": "host-1", "interfaces": ["eth1.100"], "service_types": []},
        "For a VLAN of an interface, give interfaces: [eth1] and vlan_ids: [100].",
    ),
    *(
        ("sns_endpoint", {"type": "workchat", "name": "a", "url": url}, "url contains the mask that hides a secret")
        for url in ("https://chat.example.com/********", "https://chat.example.com/?key=********")
    ),
    ("kvm_host", {"name": "a", "password": "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"}, "password contains the mask"),
    (
        "resource",
        {"kind": "image", "name": "a", "properties": {"url": "https://a:********@b.example.com/c"}},
        "properties contains the mask that hides a secret",
    ),
    ("host_nic_service", {"host": "host-1", "service_types": ["storage"]}, "Did you mean StorageNetwork?"),
    ("host_nic_service", {"host": "host-1", "service_types": ["vMotion"]}, "Did you mean MigrationNetwork?"),
    (
        "sns_endpoint",
        {"name": "a", "type": "email", "address": "a@example.com"},
        "got: email. Create it with virtinfra.manager.api and CreateSNSEmailEndpoint, and select it with type: any.",
    ),
    ("sns_endpoint", {"name": "a", "type": "http"}, "CreateSNSHttpEndpoint, and select it with type: any."),
    ("kvm_host", {"esxi_hostname": "a"}, "Did you mean name or management_ip?"),
    (
        "vm_nic",
        {"vm": "vm-5", "l3_network": "l3-1", "static_ip": "dhcp"},
        "not 'dhcp'. Omit it to get an address of the IP range",
    ),
    (
        "kvm_host",
        {"name": "host-1", "ipmi_address": "10.0.0.12:22"},
        "ipmi_address must be an IP address or a host name, without a port",
    ),
    ("resource", {"kind": "zone", "name": "a", "properties": ["b"]}, "must be a mapping, such as {description: "),
    (
        "resource",
        {"kind": "security_group", "name": "a", "properties": {"rules": ["22/tcp"]}},
        "properties.rules[0] must be a mapping, such as {type: ",
    ),
    ("resource", {"kind": "iso_attachment", "vm": "vm-5", "name": "iso-2"}, "Give it as iso, not as name"),
    (
        "resource",
        {"kind": "vm_ha", "vm": "vm-5", "properties": {"level": "none"}},
        "not 'none'. Did you mean state: absent?",
    ),
    (
        "resource",
        {"kind": "volume", "name": "a", "vm": "vm-5"},
        "kind volume. virtinfra.manager.volume attaches volumes",
    ),
    ("resource", {"kind": "vm_ha", "name": "vm-5"}, "Give it as vm, not as name"),
    (
        "resource",
        {"kind": "security_group_attachment", "security_group": "a", "vm": "vm-5"},
        "kind security_group_attachment needs nic. virtinfra.manager.vm_nic_info lists the NICs of a VM",
    ),
    *(
        ("resource", {"kind": kind, "name": "a", "properties": {name: "b"}}, expected)
        for kind, name, expected in (
            ("l3_network", "cidr", "with kind ip_range."),
            ("l3_network", "dns", "with the operation AddDnsToL3Network."),
            ("scheduler_job", "cron", "with kind scheduler_trigger"),
            ("scheduler_job", "trigger", "assigns jobs to them, with kind scheduler_job_trigger."),
            ("scheduler_job", "target_resource", "'b'. virtinfra.manager.resource_info returns it, such as with"),
            ("volume", "vm", "virtinfra.manager.volume attaches volumes to VMs, and so does kind volume_attachment"),
            ("scheduler_trigger", "interval", "Did you mean scheduler_interval?"),
            ("vip", "ip", "Did you mean required_ip?"),
            ("port_forwarding", "port", "Did you mean vip_port_start or private_port_start?"),
            ("port_forwarding", "protocol", "Did you mean protocol_type?"),
            ("load_balancer_listener", "port", "Did you mean load_balancer_port or instance_port?"),
            ("cluster", "hypervisor", "Did you mean hypervisor_type?"),
        )
    ),
    ("job_wait", {"jobs": [{"uuid": "x"}]}, "the uuid or the handle of a job, such as started.job, not 'x'"),
    ("batch", {"module": "vm", "objects": [], "common": ["state"]}, "must be a mapping, such as {cluster: cluster-1}"),
    ("cbt_task", {"name": {"a": 1}}, "name must be one string, not {'a': 1}"),
    ("vm", {"name": "vm-5", "host": {"uuid": "b", "name": "a"}}, "It is a whole record. Give its member uuid, 'b'"),
    (
        "vm_nic",
        {"vm": OF_NIC, "l3_network": "l3-1"},
        "It is a record of the type NIC, not VM. Give its member vm_instance_uuid, 'v'",
    ),
    (
        "vm_nic",
        {"vm": "vm-1", "l3_network": OF_NIC},
        "record of the type NIC, not L3 network. Give its member l3_network_uuid, 'n'",
    ),
    (
        "kvm_host",
        {"cluster": OF_HOST},
        "It is a record of the type host, not cluster. Give its member cluster_uuid, 'c'",
    ),
    ("kvm_host", {"cluster": OF_NIC}, "It is a record of the type NIC, not cluster. Give the uuid of a cluster"),
    ("vm_info", {"query": {"state": "Running"}}, "not {'state': 'Running'}. Write query: ['state=Running']"),
    ("vm_info", {"query": [{"state": "Running"}]}, "not {'state': 'Running'}. Write query: ['state=Running']"),
    ("vm_info", {"filters": {"state": "Running"}}, "need api_token. For query: ['name=web-1'], an account is enough"),
    ("vm", {"wait": 600}, "wait must be true or false, such as true, with wait_timeout for the seconds, not 600"),
    ("vm", {"name": {"uuid": "b", "name": "a"}}, "It is a whole record. Give its member name, 'a'"),
    ("vm", {"name": "vm-5", "host": {"changed": False, "hosts": []}}, "Give the uuid of one object in it"),
    ("job_wait", {"jobs": {"changed": True, "results": []}}, "whose list is its member results"),
    ("batch", {"module": "vm", "objects": {"changed": False, "vms": []}}, "whose list is its member vms"),
    ("job_wait", {"jobs": [{"uuid": VM, "create_date": "x"}]}, "a record, whose uuid is not that of a job"),
    ("job_wait", {"jobs": [{"uuid": None, "operation": "StopVmInstance"}]}, "Check mode has predicted this job"),
    ("vm_info", {"auth": {"username": "a"}}, "account and account_password"),
    ("host_info", {"ip": "10.0.0.11"}, "Did you mean query: ['managementIp=...']?"),
    ("vm", {"name": "vm-5", "tags": [{"env": "prod"}]}, "each item of tags must be a string, such as ['env::prod']"),
    (
        "vm",
        {"name": "vm-5", "tags": {"env": "prod"}},
        "tags must be a list, such as ['env::prod'], not {'env': 'prod'}",
    ),
    ("vm", {"name": "vm-5", "memory_size": "much"}, "memory_size must be a size, such as 16G, not 'much'"),
    (
        "vm_from_snapshot_group",
        {"name": "copy", "snapshot_group": seeded_uuid("snapshotgroup", 1), "memory_size": 16},
        "16 bytes are too few. Write the unit, such as 16G",
    ),
    ("vm", {"name": "vm-5", "wait_timeout": "10m"}, "wait_timeout must be a number of seconds, not '10m'"),
    ("vm_info", {"wait_for": "Running"}, "wait_for must be a mapping, such as {field: state, values: [Running]}"),
    ("vm_info", {"wait_for": {"field": "state", "values": {}}}, "wait_for.values must be a list, not {}"),
    ("vm_info", {"query": {"name": "web-1"}}, "query must be a list, such as ['name=web-1', 'state=Running']"),
    (
        "vm_nic",
        {"vm": "vm-5", "l3_network": "l3-1", "custom_mac": 41135036},
        "must be an address such as 52:54:00:12:34:56, not '41135036'. Put it in quotes",
    ),
    (
        "vm",
        {"name": "a", "networks": ["l3-1"]},
        "each item of networks must be a mapping, such as [{l3_network: l3-1}]",
    ),
    ("vm", {"name": "a", "networks": "l3-1,l3-2"}, "each item of networks must be a mapping, such as"),
    ("vm", {"name": "a", "disks": ["20G"]}, "each item of disks must be a mapping, such as [{size: 20G}], not '20G'"),
    ("volume", {"name": "a", "size": 10}, "10 bytes are too few. Write the unit, such as 16G"),
    ("vm", {"name": "vm-5", "state": "poweredon"}, "got: poweredon. Did you mean running?"),
    ("vm", {"name": "vm-5", "state": "started"}, "got: started. Did you mean running?"),
    ("vm", {"name": "vm-5", "state": "runing"}, "got: runing. Did you mean running?"),
    ("volume", {"name": "a", "state": "attached"}, "got: attached. Did you mean present?"),
    ("kvm_host", {"name": "host-1", "state": "maintenence"}, "Did you mean maintenance?"),
    (
        "resource",
        {"kind": "disk_offering", "name": "a", "properties": {"disk_size": 10}},
        "properties.disk_size is in bytes, and 10 bytes are too few",
    ),
    ("resource", {"kind": "zones", "name": "a"}, "got: zones. Did you mean zone?"),
    ("resource", {"kind": "vm", "name": "a"}, "got: vm. virtinfra.manager.vm manages these."),
    ("resource", {"kind": "portgroup", "name": "a"}, "Did you mean l3_network or l2_network?"),
    ("resource", {"kind": "subnet", "name": "a"}, "Did you mean ip_range?"),
    ("resource", {"kind": "datastore", "name": "a"}, "Kind storage_attachment attaches primary storages"),
    ("resource", {"kind": "snapshots", "name": "a"}, "virtinfra.manager.vm_snapshot_group manages these."),
    ("resource", {"kind": "user_tag", "name": "a"}, "got: user_tag. The option tags of each kind has the user tags of"),
    ("resource", {"kind": "flavor", "name": "a"}, "Did you mean instance_offering?"),
    ("resource", {"kind": "keypair", "name": "a"}, "Did you mean ssh_key_pair?"),
    ("vm", {"name": "vm-5", "memory_size": "4,5G"}, "not '4,5G'. Write a point, not a comma"),
    ("vm", {"name": "vm-5", "memory_size": "16G8"}, "memory_size must be a size, such as 16G, not '16G8'"),
    ("vm", {"name": "vm-5", "root_disk_size": "+10G"}, "It is the size that the volume shall have, not what is added"),
    ("vm", {"name": "vm-5", "cpu_num": True}, "cpu_num must be a whole number, not True"),
    ("vm", {"name": "vm-5", "state": True}, "got: True. Did you mean running?"),
    ("vm", {"name": ["vm-5"]}, "name must be one string, not ['vm-5']. virtinfra.manager.batch runs the module"),
    ("vm_info", {"name": ["vm-1", "vm-2"]}, "Write query: ['name?=vm-1,vm-2']"),
    ("vm_info", {"uuid": ["a" * 32, "b" * 32]}, f"Write query: ['uuid?={'a' * 32},{'b' * 32}']"),
    ("vm_nic_info", {"vm": ["vm-1", "vm-2"]}, "Write query: ['vmInstance.name?=vm-1,vm-2']"),
    ("vm_nic_info", {"vm": ["a" * 32]}, f"Write query: ['vmInstanceUuid?={'a' * 32}']"),
    ("vm_nic_info", {"ip": ["10.0.0.1", "10.0.0.2"]}, "Write query: ['ip?=10.0.0.1,10.0.0.2']"),
    ("vm_nic_info", {"l3_network": ["l3-1", "l3-2"]}, "'l3-2']. Run the task for each of them, in a loop"),
    ("vm_snapshot_group_info", {"vm": ["vm-1", "vm-2"]}, "Write query: ['vmInstance.name?=vm-1,vm-2']"),
    ("cbt_task_info", {"vm": ["vm-1", "vm-2"]}, "'vm-2']. Run the task for each of them, in a loop"),
    ("sns_topic_subscriber_info", {"topic": ["a", "b"]}, "'b']. Run the task for each of them, in a loop"),
    (
        "vm_nic_qos",
        {"vm": "vm-5", "outbound_bandwidth": "100M"},
        "a whole number, such as 104857600, without a unit, not '100M'",
    ),
    ("vm_nic_info", {"ip": "10.0.0.0/24"}, "ip must be an IP address such as 10.0.0.5"),
    ("sns_snmp_platform", {"name": "a", "snmp_address": "10.0.0.5:162"}, "snmp_address must be an IP address"),
    ("vm", {"name": "a", "networks": [{"static_ip": "dhcp"}]}, "networks[0].static_ip must be an IP address"),
    ("vm", {"name": "a", "disks": [{"size": 20}]}, "disks[0].size is in bytes, and 20 bytes are too few"),
    (
        "resource",
        {"kind": "ip_range", "name": "a", "parent": "l3-1", "properties": {"network_cidr": "10.0.0.0"}},
        "properties.network_cidr must be a network such as 10.0.0.0/24",
    ),
    (
        "resource",
        {"kind": "l2_network", "name": "a", "parent": "zone-1", "properties": {"vlan": 5000}},
        "properties.vlan must be from 1 to 4094",
    ),
    (
        "resource",
        {"kind": "image", "name": "a", "properties": {"url": "images.example.com"}},
        "properties.url must begin with a scheme",
    ),
    (
        "resource",
        {"kind": "cluster", "name": "a"},
        "or give parent and properties.hypervisor_type to create it.",
    ),
    ("batch", {"module": "vm", "objects": ["vm-2"]}, "each item of objects must be a mapping, such as [{name: vm-2}"),
    (
        "batch",
        {"module": "kvm_host", "objects": [{"name": "host-1", "status": "Connected"}]},
        "there is no option status. status is what the service reports. Leave it out.",
    ),
    (
        "batch",
        {"module": "volume", "objects": [{"name": "a", "status": "Ready"}]},
        "there is no option status. status is what the service reports. Leave it out.",
    ),
    ("batch", {"module": "vm", "objects": [{"name": ["vm-2"]}]}, "objects[0]: name must be one string, not ['vm-2']"),
]


# A module process validates with the same code, so one value of each module shows that it does.
IN_A_PROCESS = [case for case in MALFORMED if case[0] != "batch"]
ONE_OF_EACH = [case for number, case in enumerate(IN_A_PROCESS) if case[0] not in {c[0] for c in IN_A_PROCESS[:number]}]


@pytest.mark.parametrize(
    ("as_module", "cases"),
    [
        pytest.param(False, MALFORMED, id="controller"),
        pytest.param(True, ONE_OF_EACH, id="module process"),
        pytest.param(True, IN_A_PROCESS, id="all in a module process", marks=pytest.mark.nightly),
    ],
)
def test_value_in_another_form_is_refused(
    playbook_runner: PlaybookRunner, as_module: bool, cases: list[tuple[str, dict[str, Any], str]]
) -> None:
    tasks = [{f"virtinfra.manager.{module}": options} for module, options, dummy in cases]
    run = playbook_runner.play(*tasks, as_module=as_module)
    for played, (dummy, options, expected) in zip(run, cases, strict=True):
        assert expected in played.result["msg"], options
        assert played.written == []


HINTS: list[tuple[str, dict[str, Any], str]] = [
    *(
        ("vm", {word: 1}, f"there is no option {word}. {hint}")
        for word, hint in (
            ("password", "The login of the guest is set by its user_data, and that of the service is account and"),
            ("root_password", "Did you mean user_data or user_data_file?"),
            ("undelete", "Did you mean recover?"),
            ("restore", "recover: true recovers a destroyed VM, and virtinfra.manager.vm_snapshot_group sets a VM"),
            ("graceful", "Did you mean stop_type: grace?"),
            ("shutdown_timeout", "Did you mean wait_timeout? It is a number of seconds."),
            ("powerstate", "Did you mean state?"),
            ("root_size", "Did you mean root_disk_size?"),
            ("console", "virtinfra.manager.vm_info returns the address of a console, with console: true."),
            ("net0", "Did you mean networks?"),
            ("scsi0", "Did you mean disks?"),
            ("x0", "The options are "),
        )
    ),
    (
        "vm",
        {"name": "c", "clone_from": "vm-1", "disks": [{"size": "1G"}]},
        "disks and clone_from cannot be used together. A clone has the disks of its source. virtinfra.manager.volume",
    ),
    ("volume", {"name": "d", "size": "1G", "disk_offering": "o"}, "cannot be used together. Remove one of them"),
    ("vm", {"status": "running"}, "Did you mean state?"),
    *(
        ("vm_nic", {word: 1}, "virtinfra.manager.vm_nic_qos limits the bandwidth of a NIC.")
        for word in ("bandwidth", "rate", "qos", "inbound_bandwidth")
    ),
    ("vm_nic", {"link_down": True}, "Did you mean state: disabled?"),
    ("vm_nic", {"link_down": False}, "Did you mean state: enabled?"),
    ("volume", {"resize": "20G"}, "Give the size that the volume shall have as size, such as 20G."),
    ("cbt_task", {"bitmap": "a"}, "Did you mean bitmap_name?"),
    ("cbt_task", {"checkpoint": "a"}, "Did you mean bitmap_name?"),
    *(
        ("cbt_task", {word: 1}, "The role virtinfra.manager.vm_backup makes incremental backups, and removes old ones.")
        for word in ("retention", "repository", "incremental")
    ),
    ("vm_snapshot_group", {"include_ram": True}, "Did you mean with_memory?"),
    ("vm_snapshot_group", {"keep": 3}, "The role virtinfra.manager.vm_snapshots takes snapshots of many VMs, and remo"),
    ("vm_snapshot_group", {"new_snapshot_name": "a"}, "To rename an object, give its uuid, and the new name as name."),
    (
        "vm_snapshot_group",
        {"state": "reverted", "stop": True},
        "virtinfra.manager.vm stops the VM, with state: stopped,",
    ),
    (
        "kvm_host",
        {"evacuate_vms": True},
        "state: maintenance moves the VMs of a host to others. The role virtinfra.manag",
    ),
    ("kvm_host", {"state": "absent", "evacuate_vms": True}, "Did you mean evacuate?"),
    ("kvm_host", {"disconnect": True}, "The service has no operation that disconnects a host."),
    (
        "vm_nic_qos",
        {"vm": "vm-1", "l3_network": "l3-1", "state": "present", "direction": "in", "outbound_bandwidth": 1000000},
        "direction cannot be used with state present. Remove direction, and give inbound_bandwidth for in, or",
    ),
    (
        "api",
        {"operation": "StopVmInstance", "params": {"uuid": "vm-1", "type": "force"}},
        "type of StopVmInstance must be one of grace, cold, not 'force'. Did you mean cold?",
    ),
    ("sns_endpoint", {"webhook": "https://chat.example.com"}, "there is no option webhook. Did you mean url?"),
    ("kvm_host", {"address": "10.0.0.1"}, "Did you mean management_ip?"),
    ("kvm_host", {"ip": "10.0.0.1"}, "Did you mean management_ip?"),
    ("kvm_host", {"ssh_user": "root"}, "Did you mean username?"),
    ("kvm_host", {"user": "root"}, "Did you mean username?"),
    ("kvm_host", {"ipmi_user": "root"}, "Did you mean ipmi_username?"),
    ("kvm_host", {"host": "host-1"}, "Did you mean name?"),
    ("kvm_host", {"cluster_name": "cluster-1"}, "Did you mean cluster?"),
    ("vm_nic", {"network_name": "l3-1"}, "Did you mean l3_network?"),
    ("vm", {"flavor": "small"}, "Did you mean instance_offering?"),
    ("vm", {"network": "l3-1"}, "Did you mean networks?"),
    ("vm", {"user_tags": ["a"]}, "Did you mean tags?"),
    ("vm", {"node": "host-1"}, "Did you mean host?"),
    ("vm", {"vmid": 100}, "Did you mean uuid?"),
    ("batch", {"module": "vm", "items": []}, "Did you mean objects?"),
    ("batch", {"module": "vm", "loop": []}, "loop is a keyword of the task, beside the module."),
    (
        "job_wait",
        {"jobs": [], "timeout": 600, "delay": 5},
        "Did you mean wait_interval? It is a number of seconds. There is no option timeout. Did you mean wait_timeout?",
    ),
    ("vm", {"name": "vm-5", "retries": 30}, "Did you mean wait_timeout? It is a number of seconds."),
    ("vm", {"name": "vm-5", "until": "done is succeeded", "retries": 3}, "retries is a keyword of the task, beside"),
    ("job_info", {"jobs": [], "delay": 5}, "delay is a keyword of the task, beside the module."),
    (
        "vm_info",
        {"name": "vm-5", "wait_for": {"field": "state", "values": ["Running"], "retries": 30, "delay": 5}},
        "Did you mean timeout? It is a number of seconds. There is no option delay. Did you mean interval?",
    ),
    ("vm", {"name": "vm-5", "disk": [{"size": "20G"}]}, "Did you mean disks? For example: disks: [{size: 20G}]"),
    ("vm", {"name": "vm-5", "disk": "20G"}, "Did you mean disks or root_disk_size?"),
    (
        "vm_from_snapshot_group",
        {"name": "vm-5", "networks": [{"l3_network": "l3-1"}]},
        "Did you mean l3_networks? For example: l3_networks: [l3-1]",
    ),
    ("job_info", {"job_id": "a"}, "Did you mean jobs?"),
    ("job_info", {"uuid": "a"}, "Did you mean jobs?"),
    ("resource_info", {"kind": "vm"}, "Did you mean resource_type?"),
    ("resource", {"resource_type": "zone"}, "Did you mean kind?"),
    ("resource", {"kind": "image", "url": "http://a"}, "Did you mean properties: {url: ...}?"),
    ("resource", {"kind": "zone", "description": "a"}, "Did you mean properties: {description: ...}?"),
    ("kvm_host", {"enabled": True}, "Did you mean state: enabled?"),
    ("sns_teamchat_person", {"user": "person-1"}, "Did you mean user_id?"),
    ("vm_snapshot_group", {"vm_name": "vm-1"}, "Did you mean vm?"),
    ("vm_info", {"vm_name": "vm-1"}, "Did you mean name?"),
    ("vm", {"vm": "vm-1"}, "Did you mean name?"),
    ("sns_snmp_platform", {"host": "192.0.2.1"}, "Did you mean snmp_address?"),
    ("vm_info", {"username": "admin"}, "Did you mean account?"),
    ("vm_info", {"host": "host-1"}, "Did you mean query: ['host.name=...']?"),
    ("vm_info", {"cluster": "cluster-1"}, "Did you mean query: ['cluster.name=...']?"),
    ("host_info", {"cluster": "cluster-1"}, "Did you mean query: ['cluster.name=...']?"),
    ("vm_info", {"state": "Running"}, "Did you mean query: ['state=...']?"),
    ("vm_info", {"wait_timeout": 5}, "Did you mean wait_for.timeout?"),
    ("vm", {"ha": True}, "virtinfra.manager.resource sets it, with kind vm_ha."),
    ("vm", {"autostart": True}, "virtinfra.manager.resource sets it, with kind vm_ha."),
    ("vm", {"boot": "cdrom"}, "virtinfra.manager.resource sets it, with kind vm_boot_order."),
    ("volume", {"pool": "a"}, "Did you mean primary_storage?"),
    ("volume", {"unit": "GB"}, "Write the unit in size, such as 20G."),
    ("volume", {"name_new": "a"}, "To rename an object, give its uuid, and the new name as name."),
    ("volume", {"device": "vdb"}, "The service chooses the device in the guest."),
    ("vm_nic", {"connected": False}, "Did you mean state: disabled or state: enabled?"),
    ("vm_nic", {"name": "eth0"}, "A NIC is selected by vm and l3_network, or by uuid."),
    ("vm_snapshot_group", {"remove_children": True}, "Did you mean scope: chain?"),
    ("vm_snapshot_group", {"volume": "data"}, "A snapshot group has the snapshots of all volumes of a VM."),
    ("vm_info", {"page_size": 10}, "Results are complete: all pages are read."),
    ("vm_info", {"uuids": ["a"]}, "Did you mean query: ['uuid?=...']?"),
    ("api", {"name": "vm-2"}, "params has those of the call, such as params: {uuid: vm-1}."),
    ("api", {"headers": {}}, "The module sends JSON, and the headers with which the connection signs."),
    ("sns_snmp_platform", {"version": "v2c"}, "A platform has the address and the port of a receiver, and no version"),
    ("vm_nic_qos", {"nic": "a"}, "Did you mean uuid?"),
    ("vm_nic_qos", {"mbps": 100}, "Did you mean outbound_bandwidth or inbound_bandwidth?"),
    ("sns_endpoint", {"subscriptions": ["t"]}, "Did you mean topics?"),
    ("sns_endpoint", {"members": ["u"]}, "Did you mean at_person_list?"),
    ("job_wait", {"uuids": ["a"]}, "Did you mean jobs?"),
    ("batch", {"tags": ["x"]}, "Did you mean common: {tags: [web]}?"),
    ("batch", {"fail_fast": True}, "Did you mean on_failure: stop?"),
    ("batch", {"continue_on_error": True}, "Did you mean on_failure: continue?"),
    (
        "sns_endpoint",
        {"email": "a@example.com"},
        "Create it with virtinfra.manager.api and CreateSNSEmailEndpoint,",
    ),
    ("sns_snmp_test", {"ip": "10.0.0.1"}, "Did you mean platform?"),
    ("cbt_task", {"schedule": "0 3 * * *"}, "with kind scheduler_job."),
    (
        "vm",
        {"cpus": 2, "ram": "4G"},
        "there is no option cpus. Did you mean cpu_num? There is no option ram. Did you mean memory_size?",
    ),
    (
        "vm_nic",
        {f"x{number}": 1 for number in range(7)},
        "there is no option x0, x1, x2, x3 or x4. The options are ",
    ),
    ("kvm_host", {"ssh_user": "root", "user": "root"}, "there is no option ssh_user or user. Did you mean username?"),
    ("kvm_host", {"account_name": "root"}, "there is no option account_name. Did you mean username or account?"),
    (
        "kvm_host",
        {"ansible_user": "a", "host_password": "b"},
        "username? There is no option host_password. Did you mean",
    ),
    (
        "vm",
        {"ssh_user": "root"},
        "no option ssh_user. virtinfra.manager.kvm_host has the SSH login of a host, as username",
    ),
    ("vm_info", {"account_password_command": "pass"}, "It is a key of a profile, which the option profile names."),
    ("vm_info", {"wait_for": {"fields": "state"}}, "wait_for: there is no option fields. Did you mean field?"),
    (
        "host_info",
        {"fields": ["name"]},
        "there is no option fields. Results contain all fields. Choose some in a template",
    ),
    ("api", {"url": "v1/hosts"}, "Did you mean path?"),
    ("vm", {"cpus": 2}, "Did you mean cpu_num?"),
    ("vm", {"ram": "4G"}, "Did you mean memory_size?"),
    ("vm", {"power": "on"}, "Did you mean state?"),
    ("kvm_host", {"name": "host-1", "maintenance": True}, "Did you mean state: maintenance?"),
    ("vm", {"template": "a"}, "Did you mean image or clone_from?"),
    ("vm", {"hardware": {"num_cpus": 2}}, "Did you mean cpu_num or memory_size?"),
    ("vm", {"force": True}, "state: absent destroys a running VM, too: omit it. stop_type: cold stops a VM at once."),
    ("vm", {"datacenter": "a"}, "there is no option datacenter. The zone of an object is that of its cluster."),
    ("vm", {"cloud_init": "a"}, "Did you mean user_data or user_data_file?"),
    ("vm", {"guest_id": "a"}, "The operating system of a guest is that of its image."),
    ("vm", {"power_state": "on"}, "Did you mean state? Its values are present, running,"),
    ("vm", {"disk": "20G"}, "Did you mean disks or root_disk_size?"),
    ("vm", {"nics": []}, "Did you mean networks? For example: networks: [{l3_network: l3-1}]"),
    ("vm", {"hostname": "a"}, "The address of the service is base_url. The host name of the guest is set by"),
    ("vm", {"annotation": "a"}, "Did you mean description?"),
    ("vm", {"esxi_hostname": "host-2"}, "Did you mean host?"),
    ("vm", {"datastore": "a"}, "Did you mean primary_storage?"),
    ("vm", {"key_name": "a"}, "Did you mean ssh_key_pairs?"),
    ("vm", {"ciuser": "a"}, "Did you mean user_data or user_data_file?"),
    ("vm", {"folder": "a"}, "There are no folders and pools."),
    ("vm", {"wait_for_ip_address": True}, "virtinfra.manager.vm_info waits for the value of a field"),
    ("vm", {"snapshot_name": "a"}, "there is no option snapshot_name. virtinfra.manager.vm_snapshot_group takes snap"),
    ("vm", {"new_name": "a"}, "To rename an object, give its uuid, and the new name as name."),
    ("vm", {"cpuNum": 2}, "Did you mean cpu_num?"),
    ("vm", {"bas_url": "a"}, "Did you mean base_url?"),
    ("vm", {"networks": [{"name": "l3-1"}]}, "networks[0]: there is no option name. Did you mean l3_network?"),
    ("vm", {"networks": [{"netmask": "a"}]}, "It is that of the IP range of the L3 network."),
    ("vm", {"disks": [{"size_gb": 20}]}, "disks[0]: there is no option size_gb. Did you mean size?"),
    ("vm", {"disks": [{"datastore": "a"}]}, "virtinfra.manager.volume creates others."),
    ("vm", {"gpu": 1}, "there is no option gpu. The options are"),
    ("vm", {"started": True}, "Did you mean state: running?"),
    ("vm", {"deleted": True}, "Did you mean state: absent?"),
    ("vm", {"size": "small"}, "Did you mean root_disk_size or instance_offering?"),
    ("vm_nic", {"nic": "a"}, "Did you mean uuid?"),
    ("kvm_host", {"ipmi_pass": "a"}, "Did you mean ipmi_password?"),
    ("kvm_host", {"reconnect": True}, "Did you mean state: reconnected?"),
    ("kvm_host", {"url": "a"}, "Did you mean management_ip?"),
    ("kvm_host", {"hostname": "a"}, "Did you mean name or management_ip?"),
    ("kvm_host", {"esxi_password": "a"}, "Did you mean password?"),
    ("kvm_host", {"idrac_ip": "a"}, "Did you mean ipmi_address?"),
    ("kvm_host", {"name": "host-1", "reboot": True}, "Did you mean power: reset?"),
    ("volume", {"server": "vm-1"}, "Did you mean vm?"),
    ("host_info", {"api_host": "a"}, "Did you mean base_url?"),
    ("host_info", {"hostname": "a"}, "Did you mean name or base_url?"),
    ("vm_info", {"ip": "10.0.0.1"}, "Did you mean query: ['vmNics.ip=...']?"),
    ("vm_info", {"names": ["a"]}, "Did you mean query: ['name?=web-1,web-2']?"),
    ("vm_info", {"wait_for": {"state": "Running"}}, "For example: wait_for: {field: state, values: [Running]}"),
    ("api", {"body": {}}, "Did you mean params?"),
    ("api", {"operation": "QueryHost", "query": []}, "Did you mean params: {q: ['name=web-1']}?"),
    ("api", {"operation": "QueryHost", "params": {"condition": "a"}}, "no parameter condition. Did you mean q?"),
    ("api", {"operation": "DeleteHost", "params": {"uid": "a", "hard": 1}}, "uuid? DeleteHost has no parameter hard."),
    (
        "backup_point",
        {"name": "a", "rate": 3},
        "as vm_info returns it. There is no option rate. Did you mean rate_limit?",
    ),
    ("backup_point", {"vm": "vm-1", "repository": "/tmp"}, "vm must be a mapping, such as {uuid: ..., name: web-1}"),
    (
        "backup_point_info",
        {"path": "/tmp", "vms": ["a"]},
        "repository? There is no option vms. Did you mean vm_uuids?",
    ),
    (
        "backup_restore",
        {"dest": "/tmp", "vm": "a"},
        "repository? There is no option vm. Did you mean vm_uuid?",
    ),
    ("backup_run", {"uuid": "a", "vms": ["a"]}, "Did you mean run? There is no option vms. Did you mean vm_uuids?"),
    ("vm_nic_qos", {"vm": "vm-1", "l3_network": "l3-1"}, "direction is required with state absent"),
    ("resource", {"type": "zone", "name": "a"}, "there is no option type. Did you mean kind?"),
    ("resource", {"kind": "cluster", "name": "a", "zone": "zone-1"}, "there is no option zone. Did you mean parent?"),
    ("resource", {"kind": "ip_range", "name": "a", "properties": {"cidr": "a"}}, "Did you mean network_cidr?"),
    ("batch", {"module": "vm", "state": "running"}, "Give an option of the module as common: {state: ...}."),
    (
        "batch",
        {"module": "resource", "kind": "disk_offering", "objects": []},
        "there is no option kind. The options are module, common,",
    ),
    (
        "batch",
        {"module": "resource", "kind": "disk_offering", "objects": []},
        "Give an option of the module as common: {kind: ...}.",
    ),
    ("resource", {"kind": "access_key", "name": "a"}, "with the operation CreateAccessKey"),
    ("resource", {"kind": "certificate", "name": "a"}, "with the operation CreateCertificate"),
    ("resource", {"kind": "dns", "name": "a"}, "with the operation AddDnsToL3Network"),
    (
        "vm",
        {"strategy": "CreateStopped"},
        "no option strategy. To create a VM without starting it, give state: stopped.",
    ),
    ("vm", {"count": 3}, "no option count. virtinfra.manager.batch runs a module for many objects."),
    (
        "vm",
        {"volumes": ["data-1"]},
        "no option volumes. disks are the data volumes of a new VM. virtinfra.manager.volume",
    ),
    ("vm_from_snapshot_group", {"power": "off"}, "With strategy: CreateStopped, the new VM is not started."),
    ("vm_from_snapshot_group", {"state": "stopped"}, "With strategy: CreateStopped, the new VM is not started."),
    ("volume", {"shareable": True}, "with the operation CreateDataVolume and the system tag ephemeral::shareable"),
    ("vm_from_snapshot_group", {"cpu": 2}, "Did you mean cpu_num?"),
    ("vm_from_snapshot_group", {"vm": "vm-1"}, "Did you mean name or snapshot_group?"),
    ("host_nic_service", {"nics": ["eth0"]}, "Did you mean interfaces?"),
    ("host_network_info", {"name": "host-1"}, "Did you mean hosts?"),
    ("sns_topic", {"endpoints": ["a"]}, "virtinfra.manager.sns_endpoint subscribes an endpoint to topics."),
    ("sns_snmp_platform", {"server": "10.0.0.1"}, "Did you mean snmp_address?"),
    ("job_wait", {"jid": "1.2"}, "Wait for it with ansible.builtin.async_status."),
    ("service_info", {"port": 8080}, "The port is a part of base_url"),
    ("vm_nic_qos", {"vm": "vm-5", "l3_network": "l3-1", "outbound_bandwidth": 9999}, "absent, which is the default."),
    ("resource", {"kind": "security_group", "direction": "ingress"}, "has the options name, uuid, and as properties"),
    ("resource", {"kind": "storage_attachment", "host": "host-1"}, "has the options primary_storage, cluster."),
    ("resource", {"kind": "l3_network", "network": "l2-1"}, "there is no option network. Did you mean parent?"),
    ("resource", {"kind": "ip_range", "network_name": "l3-1"}, "Did you mean parent?"),
    ("resource", {"kind": "subnet", "cidr": "10.9.0.0/24"}, "got: subnet. Did you mean ip_range?"),
    ("resource", {"kind": "tag", "name": "a", "vm": "vm-1"}, "Modules attach tags to objects"),
    ("resource", {"kind": "vip", "name": "a", "l3_network": "l3-1"}, "kind vip. Give it as the option parent"),
    ("api", {"operation": "QueryHost", "params": {"name": "a"}}, "no parameter name. Did you mean q: ['name=...']?"),
    ("job_wait", {"max_wait": 5}, "Did you mean wait_timeout?"),
    ("kvm_host", {"shutdown": True}, "Did you mean power: off?"),
    ("kvm_host", {"name": "host-1", "state": "off"}, "Did you mean power: off?"),
    ("kvm_host", {"name": "host-1", "state": "stopped"}, "Did you mean power: off?"),
    ("vm_nic", {"interface": "net0"}, "A NIC is selected by vm and l3_network, or by uuid."),
    ("vm_nic", {"label": "Network adapter 1"}, "A NIC is selected by vm and l3_network, or by uuid."),
    ("vm_nic", {"tag": 3}, "The VLAN of a NIC is that of the L2 network."),
    ("vm_nic", {"tags": ["a"]}, "Did you mean user_tags?"),
    ("vm", {"pool": "production"}, "There are no folders and pools."),
    ("sns_endpoint", {"secret": "a"}, "The key of a chat room is a part of its url."),
    ("sns_endpoint", {"port": 162}, "those of the platform, which virtinfra.manager.sns_snmp_platform manages."),
    ("host_nic_service", {"interfaces": ["eth1"], "state": "absent"}, "An empty list of service_types removes all"),
    ("host_nic_service", {"service_types": ""}, "service_types must not be an empty string. Its values are Man"),
    ("vm", {"user_data": {"hostname": "a"}}, "user_data must be one string, such as"),
    ("resource", {"kind": "disk_offering", "size": "20G"}, "Did you mean properties: {disk_size: ...}?"),
    ("api", {"operation": "StartVmInstance", "uuid": "a"}, "there is no option uuid. The options are operation"),
    ("vm", {"snapshot": "before"}, "there is no option snapshot. virtinfra.manager.vm_snapshot_group takes snapshots."),
    ("vm_from_snapshot_group", {"snapshot": "before"}, "Did you mean snapshot_group?"),
    ("vm", {"is_template": True}, "with the operation ConvertVmInstanceToTemplatedVmInstance."),
    ("vm", {"verify_ssl": False}, "Did you mean validate_certs?"),
    ("kvm_host", {"maintenance": False}, "there is no option maintenance. Did you mean state: enabled?"),
    ("kvm_host", {"enabled": False}, "Did you mean state: disabled?"),
    ("kvm_host", {"shutdown": "no"}, "Did you mean power: on?"),
    ("vm", {"running": False}, "Did you mean state: stopped?"),
    ("vm", {"force_stop": False}, "Remove it, or give stop_type: cold in place of true."),
    ("vm", {"state": "stopped", "force": True}, "Did you mean stop_type: cold?"),
    ("vm", {"state": "absent", "force": True}, "no option force. state: absent destroys a running VM, too: omit it."),
    ("vm", {"state": "absent", "force_delete": True}, "force_delete. state: absent destroys a running VM, too: omit"),
    ("volume", {"purge": True}, "no option purge. state: absent removes an object that can be recovered."),
    ("vm", {"delete": True}, "there is no option delete. Did you mean state: absent?"),
    ("kvm_host", {"storage": "local"}, "there is no option storage. The options are "),
    ("vm", {"expung": True}, "there is no option expung. Did you mean expunge?"),
    ("vm", {"nmae": "vm-1"}, "Did you mean name?"),
    ("vm", {"base_ulr": "http://127.0.0.1"}, "Did you mean base_url?"),
    ("vm_nic", {"vm": "vm-5", "network": "l3-1"}, "Did you mean l3_network?"),
    (
        "session",
        {"color": "red"},
        "there is no option color. The options are state, and those of the connection.",
    ),
    (
        "batch",
        {"module": "vm_info", "objects": []},
        (
            "not 'vm_info'. It only reads: use a task of vm_info without batch. One task of vm_info reads many objects:"
            " use its option query"
        ),
    ),
]


def test_the_option_that_was_meant(playbook_runner: PlaybookRunner) -> None:
    """Own options and the words of other collections come before similar ones, and shared options last."""
    run = playbook_runner.play(*({f"virtinfra.manager.{module}": options} for module, options, dummy in HINTS))
    messages = [str(played.result.get("msg")) for played in run]
    wrong = [
        f"{module} {options} lacks {expected!r}: {message}"
        for message, (module, options, expected) in zip(messages, HINTS, strict=True)
        if expected not in message
    ]
    assert not wrong, "\n".join(wrong)


def test_size_with_a_binary_unit(playbook_runner: PlaybookRunner) -> None:
    """4GiB, which Ansible does not know, is 4G, also in lists, in objects of a batch and in properties of kinds."""
    image = {"image": "image-1", "cpu_num": 1, "memory_size": "1GiB", "disks": [{"size": "2 GiB"}]}
    offering = {"kind": "disk_offering", "name": "large", "properties": {"disk_size": "20GiB"}}
    run = playbook_runner.play(
        {"virtinfra.manager.vm": {"name": "first", **image}},
        {"virtinfra.manager.batch": {"module": "vm", "objects": [{"name": "second", **image}]}},
        {"virtinfra.manager.resource": offering},
    )
    sent = [entry["body"]["params"] for played in run for entry in played.requests if entry["method"] == "POST"]
    assert [(each.get("memorySize"), each.get("dataDiskSizes")) for each in sent[:2]] == [(2**30, [2**31])] * 2
    assert sent[2]["diskSize"] == 20 * 2**30


@BOTH_PROCESSES
def test_secret_in_another_form_is_not_shown(playbook_runner: PlaybookRunner, as_module: bool) -> None:
    task = {"virtinfra.manager.host_info": {"api_token": ["hunter2-hunter2"]}}
    (played,) = playbook_runner.play(task, as_module=as_module)
    assert "api_token must be one string" in played.result["msg"]
    assert "hunter2" not in str(played.result)


@BOTH_PROCESSES
@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("VIRTINFRA_REQUEST_TIMEOUT", "30s", "VIRTINFRA_REQUEST_TIMEOUT must be a number of seconds, not '30s'"),
        ("VIRTINFRA_VALIDATE_CERTS", "nope", "VIRTINFRA_VALIDATE_CERTS must be true or false, not 'nope'"),
    ],
)
def test_variable_in_another_form_is_refused(
    playbook_runner: PlaybookRunner, as_module: bool, variable: str, value: str, expected: str
) -> None:
    task = {"virtinfra.manager.host_info": {}, "environment": {variable: value}}
    (played,) = playbook_runner.play(task, as_module=as_module)
    assert expected in played.result["msg"]


# --------------------------------------------------------------------------------------------------------------- names


@BOTH_PROCESSES
def test_name_of_the_api_is_an_alias(playbook_runner: PlaybookRunner, as_module: bool) -> None:
    nic = {"vm_instance_uuid": "vm-5", "l3_network_uuid": "l3-2"}
    both = {"vm": "vm-5", "l3_network": "l3-2", "l3_network_uuid": "l3-2"}
    first, second = playbook_runner.play(
        {"virtinfra.manager.vm_nic": nic}, {"virtinfra.manager.vm_nic": both}, as_module=as_module
    )
    assert first.result["nic"]["l3_network_uuid"] == seeded_uuid("l3network", 2)
    assert (second.result["changed"], second.result["nic"]) == (False, first.result["nic"])
    assert second.result["warnings"] == ["Both option l3_network and its alias l3_network_uuid are set."]
