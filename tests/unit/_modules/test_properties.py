"""Properties of every option of every module, for generated values.

Left out or null, it is neither sent nor compared. Given, it is sent once, and the second run changes nothing. An empty
value is sent like any other value and equals a missing one; if it would identify an object, it is refused.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import to_camel_case
from ansible_collections.virtinfra.manager.plugins.module_utils._api.references import is_null, is_reference
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import RESOURCE_TYPES
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION, WAIT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.description import operations, records
from simulator.launch import Simulator
from simulator.state.query import fold_with_spaces
from simulator.state.store import seeded_uuid
from support.collection import MODULES, called_operations, load_spec
from support.examples import count_examples
from support.module_runner import ModuleRun, ModuleRunner

Options = Mapping[str, Any]
Values = Mapping[str, st.SearchStrategy[Any]]

FEW = settings(max_examples=count_examples(2), suppress_health_check=[HealthCheck.function_scoped_fixture])

letters = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(str.strip)
words = st.tuples(st.sampled_from(["", " ", "\n"]), letters, st.sampled_from(["", " ", "\t"])).map("".join)
addresses = st.sampled_from(["10.9.9.9", "fd00::9", "node-9.example.com", " 10.9.9.10\n"])
urls = st.sampled_from(["https://chat.example.com/9", "http://chat.example.com:8080", "\nhttps://10.9.9.9/a?b=c "])
# The modules of the objects whose creation takes user tags.
TAGGED_AT_CREATION = ("kvm_host", "vm", "vm_from_snapshot_group")
some_words = st.lists(words, max_size=3)
truth = st.booleans()


def fold_tag(tag: str) -> str:
    """Return the same text for all tags that services treat as equal."""
    return fold_with_spaces(tag.strip())


def spellings(text: str) -> st.SearchStrategy[str]:
    """The spellings of a uuid."""
    dashed = str(uuid.UUID(text))
    return st.sampled_from([text, text.upper(), dashed, dashed.upper(), f" {text} "])


new_uuid = st.uuids(version=4).flatmap(lambda each: spellings(each.hex))
tag_patterns = st.lists(st.just(seeded_uuid("tagpattern", 1)), max_size=2)
json_values = st.recursive(
    st.one_of(truth, letters, st.integers()),
    lambda inner: st.lists(inner) | st.dictionaries(letters, inner),
    max_leaves=4,
).filter(lambda value: isinstance(value, (list, dict)))
nic_details = st.dictionaries(words, json_values, max_size=2)
one_nic = nic_details | nic_details.map(json.dumps)
several_nics = st.lists(nic_details, max_size=2)
some_nics = several_nics | several_nics.map(json.dumps)
ids = st.lists(words.map(str.strip), max_size=3, unique=True)
addresses = st.integers(100, 250).map("10.102.0.{}".format)
macs = st.integers(0, 2**16 - 1).map(lambda number: f"fa:16:3e:00:{number >> 8:02x}:{number & 255:02x}")
TAGS: Values = {"system_tags": some_words, "user_tags": some_words}
SYSTEM_TAGS: Values = {"system_tags": some_words}
NEW_TAGS: Values = {**SYSTEM_TAGS, "tags": st.lists(words, max_size=3, unique_by=fold_tag)}
NEW: Values = {"resource_uuid": new_uuid, "tag_patterns": tag_patterns}

# Options that identify an object, as references do, so that an empty string is refused.
NAMING = ("name", "url", "ip", "mac", "address", "user_id", "username")


@dataclass(frozen=True)
class Case:
    """A module with options that make it call an operation, and values for its other options.

    ``before`` are options of earlier runs. ``renamed`` are parameters that an option gives under another name.
    """

    module: str
    options: Options
    values: Values
    before: tuple[Options, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    each_time: bool = False

    def prepare(self, sim: Simulator) -> ModuleRunner:
        """Return a runner with a service in which the module has to change something."""
        sim.reset(cbt_tasks=2, sync=True)
        run = ModuleRunner(sim)
        for options in self.before:
            assert not run(self.module, options).failed
        return run

    def parameter(self, option: str) -> str:
        """Return the parameter for an option."""
        parameter = load_spec(self.module).parameters[option]
        if parameter == "tags":
            return "userTags" if self.module in TAGGED_AT_CREATION else "tag"
        return self.renamed.get(option, parameter)


def is_reference_option(name: str, option: str) -> bool:
    """Return whether an option of a module refers to an object."""
    return is_reference(load_spec(name).parameters[option])


VM, STOPPED, NIC = seeded_uuid("vm", 5), seeded_uuid("vm", 4), seeded_uuid("vmnic", 1)
CBT = {"name": "n", "vm": VM}
CHAT = {"type": "workchat", "name": "n", "url": "https://chat.example.com/"}
SNMP = {"type": "snmp", "name": "n"}
RESTORED = {"name": "n", "snapshot_group": seeded_uuid("snapshotgroup", 1)}
ATTACHED = {"vm": VM, "l3_network": seeded_uuid("l3network", 2)}
HOST = {
    "management_ip": "10.0.0.99",
    "name": "n",
    "cluster": seeded_uuid("cluster", 1),
    "username": "root",
    "password": "Tr0ub4dor&3",
}
PLATFORM, PERSON = seeded_uuid("platform", 1), seeded_uuid("person", 1)
EXPORTED = {"vm": STOPPED, "volumes": [seeded_uuid("volume", 7)]}

ACTING: dict[str, Case] = {
    "cbt_task created": Case(
        "cbt_task",
        CBT,
        {
            **NEW_TAGS,
            **NEW,
            "description": words,
            "task_type": words,
            "vms": st.lists(spellings(VM), min_size=1, max_size=1),
            "name": words,
        },
    ),
    "cbt_task enabled": Case(
        "cbt_task", {"name": "n", "state": "enabled"}, {**SYSTEM_TAGS, "bitmap_name": words}, before=(CBT,)
    ),
    "cbt_task disabled": Case(
        "cbt_task", {"name": "n", "state": "disabled"}, {**SYSTEM_TAGS, "force": truth}, before=(CBT,)
    ),
    "cbt_task deleted": Case(
        "cbt_task",
        {"name": "n", "state": "absent"},
        {"force": truth, "delete_mode": st.sampled_from(["Permissive", "Enforcing"])},
        before=(CBT,),
    ),
    "cbt_volume_export": Case("cbt_volume_export", EXPORTED, {**TAGS, "force": truth}, each_time=True),
    "host_nic_service": Case(
        "host_nic_service",
        {"host": seeded_uuid("host", 1), "interfaces": [seeded_uuid("hostnic", 2)], "service_types": ["BackupNetwork"]},
        {**TAGS, "vlan_ids": st.lists(st.integers(1, 4094), min_size=1, max_size=3, unique=True)},
    ),
    "kvm_host added": Case(
        "kvm_host", HOST, {**NEW_TAGS, **NEW, "description": words, "ssh_port": st.integers(1, 65535)}
    ),
    "kvm_host removed": Case(
        "kvm_host",
        {"management_ip": HOST["management_ip"], "state": "absent"},
        {"delete_mode": st.sampled_from(["permissive", "enforcing"])},
        before=(HOST,),
    ),
    "kvm_host shut down": Case(
        "kvm_host",
        {"uuid": seeded_uuid("host", 1), "power": "off", "stop_type": "cold", "force": True},
        SYSTEM_TAGS,
    ),
    "kvm_host with another controller": Case(
        "kvm_host",
        {"uuid": seeded_uuid("host", 1), "ipmi_username": "operator", "ipmi_password": "new", "ipmi_port": 6623},
        {
            **SYSTEM_TAGS,
            "ipmi_address": addresses,
            "ipmi_username": words,
        },
    ),
    "kvm_host disabled": Case("kvm_host", {"uuid": seeded_uuid("host", 1), "state": "disabled"}, SYSTEM_TAGS),
    "sns_endpoint workchat": Case(
        "sns_endpoint",
        CHAT,
        {
            **NEW_TAGS,
            **NEW,
            "description": words,
            "at_all": truth,
            "at_person_user_ids": ids,
            "at_person_list": st.dictionaries(words.map(str.strip), words, max_size=3),
            "url": urls,
            "name": words,
        },
    ),
    "sns_endpoint snmp": Case(
        "sns_endpoint", SNMP, {**NEW_TAGS, **NEW, "description": words, "platform": spellings(PLATFORM), "name": words}
    ),
    "sns_endpoint updated": Case(
        "sns_endpoint",
        {"type": "snmp", "uuid": seeded_uuid("endpoint", 1), "description": "changed"},
        {**SYSTEM_TAGS, "name": words},
    ),
    "sns_endpoint of any type": Case(
        "sns_endpoint",
        {"type": "any", "uuid": seeded_uuid("endpoint", 2), "url": "https://chat.example.com/2"},
        {**SYSTEM_TAGS, "name": words, "at_all": st.just(True)},
    ),
    "sns_endpoint removed": Case(
        "sns_endpoint",
        {"type": "any", "name": "snmp-endpoint-1", "state": "absent"},
        {"delete_mode": st.sampled_from(["permissive", "enforcing"])},
    ),
    "sns_snmp_platform created": Case(
        "sns_snmp_platform",
        {"name": "n", "snmp_address": "10.1.1.1", "snmp_port": 1},
        {**NEW_TAGS, **NEW, "description": words},
    ),
    "sns_snmp_platform removed": Case(
        "sns_snmp_platform",
        {"name": "snmp-1", "state": "absent", "force": True},
        {"delete_mode": st.sampled_from(["permissive", "enforcing"])},
    ),
    "sns_topic created": Case(
        "sns_topic",
        {"name": "n"},
        {**NEW_TAGS, **NEW, "name": words, "description": words, "locale": st.sampled_from(["zh_CN", "en_US"])},
    ),
    "sns_topic removed": Case(
        "sns_topic",
        {"name": "topic-2", "state": "absent"},
        {"delete_mode": st.sampled_from(["permissive", "enforcing"])},
    ),
    "sns_snmp_platform": Case(
        "sns_snmp_platform",
        {"uuid": PLATFORM, "snmp_port": 1},
        {**SYSTEM_TAGS, "name": words, "description": words, "snmp_address": addresses},
    ),
    "sns_snmp_test": Case(
        "sns_snmp_test",
        {"platform": PLATFORM},
        {**TAGS, "endpoint": spellings(seeded_uuid("endpoint", 1))},
        each_time=True,
    ),
    "sns_teamchat_person": Case(
        "sns_teamchat_person",
        {"uuid": PERSON, "remark": "changed"},
        {**TAGS, "endpoint": spellings(seeded_uuid("endpoint", 2)), "user_id": words, "remark": words},
    ),
    "sns_teamchat_person added": Case(
        "sns_teamchat_person",
        {"endpoint": seeded_uuid("endpoint", 2), "user_id": "n"},
        {**TAGS, **NEW, "remark": words},
    ),
    "vm_from_snapshot_group": Case(
        "vm_from_snapshot_group",
        RESTORED,
        {
            **NEW_TAGS,
            **NEW,
            "name": words,
            "description": words,
            "instance_offering": spellings(seeded_uuid("instanceoffering", 1)),
            "cpu_num": st.integers(1, 1024),
            "memory_size": st.integers(2**24, 2**49),
            "reserved_memory_size": st.just(0) | st.integers(2**20, 2**49),
            "l3_networks": st.lists(spellings(seeded_uuid("l3network", 2)), min_size=1, max_size=1),
            "vm_nic_params": some_nics,
            "type": st.sampled_from(["UserVm", "ApplianceVm"]),
            "zone": spellings(seeded_uuid("zone", 1)),
            "cluster": spellings(seeded_uuid("cluster", 1)),
            "host": spellings(seeded_uuid("host", 1)),
            "primary_storage": spellings(seeded_uuid("primarystorage", 1)),
            "root_volume_system_tags": some_words,
            "data_volume_system_tags": st.dictionaries(new_uuid, some_words, max_size=2),
            "volume_snapshot_encryptions": st.lists(
                st.fixed_dictionaries({"uuid": new_uuid, "encrypted": truth}), max_size=2
            ),
        },
    ),
    "vm_from_snapshot_group on networks": Case(
        "vm_from_snapshot_group",
        {**RESTORED, "l3_networks": [seeded_uuid("l3network", 1)]},
        {"default_l3_network": spellings(seeded_uuid("l3network", 1))},
    ),
    "vm created": Case(
        "vm",
        {"name": "n", "image": seeded_uuid("image", 1), "cpu_num": 1, "memory_size": 2**30},
        {
            **NEW_TAGS,
            **NEW,
            "name": words,
            "description": words,
            "image": spellings(seeded_uuid("image", 1)),
            "root_disk_size": st.integers(2**36, 2**40),
            "ssh_key_pairs": st.lists(spellings(seeded_uuid("sshkeypair", 1)), min_size=1, max_size=1),
            "primary_storage": spellings(seeded_uuid("primarystorage", 1)),
            "cpu_num": st.integers(1, 1024),
            "memory_size": st.integers(2**24, 2**49),
            "cluster": spellings(seeded_uuid("cluster", 1)),
            "host": spellings(seeded_uuid("host", 1)),
        },
    ),
    "vm created of an offering": Case(
        "vm",
        {"name": "n", "image": seeded_uuid("image", 1), "instance_offering": seeded_uuid("instanceoffering", 1)},
        {"instance_offering": spellings(seeded_uuid("instanceoffering", 1))},
    ),
    "volume created": Case(
        "volume",
        {"name": "n", "size": 2**30},
        {
            **SYSTEM_TAGS,
            **NEW,
            "name": words,
            "description": words,
            "size": st.integers(2**20, 2**40),
            "primary_storage": spellings(seeded_uuid("primarystorage", 1)),
        },
        renamed={"size": "diskSize"},
    ),
    "volume created of an offering": Case(
        "volume",
        {"name": "n", "disk_offering": seeded_uuid("diskoffering", 1)},
        {"disk_offering": spellings(seeded_uuid("diskoffering", 1))},
    ),
    "volume removed": Case(
        "volume",
        {"name": "n", "state": "absent"},
        {"delete_mode": st.sampled_from(["permissive", "enforcing"])},
        before=({"name": "n", "size": 2**30},),
    ),
    "vm changed": Case(
        "vm",
        {"uuid": STOPPED, "cpu_num": 12},
        {**SYSTEM_TAGS, "name": words, "memory_size": st.integers(2**35, 2**36)},
    ),
    "vm described": Case("vm", {"uuid": VM, "name": "renamed"}, {"description": words}),
    "vm stopped": Case(
        "vm",
        {"uuid": VM, "state": "stopped"},
        {"stop_type": st.sampled_from(["grace", "cold"])},
        renamed={"stop_type": "type"},
    ),
    "vm destroyed": Case(
        "vm", {"uuid": VM, "state": "absent"}, {"delete_mode": st.sampled_from(["permissive", "enforcing"])}
    ),
    "vm started": Case(
        "vm",
        {"uuid": STOPPED, "state": "running"},
        {"host": spellings(seeded_uuid("host", 1)), "cluster": spellings(seeded_uuid("cluster", 1))},
    ),
    "vm migrated": Case(
        "vm",
        {"uuid": seeded_uuid("vm", 1), "state": "restarted"},
        {"host": spellings(seeded_uuid("host", 3))},
        each_time=True,
    ),
    "vm_snapshot_group taken": Case(
        "vm_snapshot_group",
        {"vm": VM, "name": "n"},
        {**NEW_TAGS, **NEW, "name": words, "description": words, "with_memory": st.booleans()},
    ),
    "vm_snapshot_group changed": Case(
        "vm_snapshot_group",
        {"uuid": seeded_uuid("snapshotgroup", 1), "name": "renamed"},
        {**SYSTEM_TAGS, "name": words},
    ),
    "vm_snapshot_group removed": Case(
        "vm_snapshot_group",
        {"uuid": seeded_uuid("snapshotgroup", 1), "state": "absent"},
        {
            "delete_mode": st.sampled_from(["permissive", "enforcing"]),
            "direction": st.sampled_from(["pull", "commit", "auto"]),
        },
    ),
    "vm_nic attached": Case(
        "vm_nic",
        ATTACHED,
        {**TAGS, "static_ip": addresses, "custom_mac": macs, "driver_type": words, "vm_nic_params": one_nic},
    ),
    "vm_nic moved": Case(
        "vm_nic",
        {"uuid": NIC, "l3_network": seeded_uuid("l3network", 2)},
        {**TAGS, "static_ip": addresses, "vm_nic_params": one_nic},
    ),
    "vm_nic disabled": Case("vm_nic", {"uuid": NIC, "state": "disabled"}, TAGS),
    "vm_nic_qos": Case("vm_nic_qos", {"uuid": NIC, "direction": "in"}, TAGS),
    "vm_nic_qos set": Case(
        "vm_nic_qos",
        {"uuid": NIC, "state": "present", "outbound_bandwidth": 8192},
        {**TAGS, "outbound_bandwidth": st.integers(8192, 2**34), "inbound_bandwidth": st.integers(8192, 2**34)},
    ),
}

READING: dict[str, Case] = {
    **{
        name: Case(name, {}, {"query": st.just(["name=n"])}, renamed={"query": "q"})
        for name in (
            *("cbt_task_info", "host_info", "primary_storage_info", "sns_endpoint_info", "vm_info"),
            "vm_snapshot_group_info",
        )
    },
    "vm_nic_info": Case("vm_nic_info", {}, {"query": st.just(["ip=10.0.0.1"])}, renamed={"query": "q"}),
    "sns_topic_subscriber_info": Case(
        "sns_topic_subscriber_info",
        {},
        {"query": st.uuids(version=4).map(lambda each: [f"topicUuid={each.hex}"])},
        renamed={"query": "q"},
    ),
    **{
        f"{name} by a cursor": Case(
            name, {"session_id": None}, {"filters": st.just(["name=n"])}, renamed={"filters": "filter"}
        )
        for name in ("host_info", "vm_info")
    },
    "host_network_info": Case("host_network_info", {"hosts": [seeded_uuid("host", 1)]}, TAGS),
    "host_nic_candidate_info": Case(
        "host_nic_candidate_info",
        {"hosts": [seeded_uuid("host", 1)]},
        {
            **TAGS,
            "interface_type": st.sampled_from(["all", "interface", "bonding"]),
            "intersecting": truth,
            "limit": st.integers(1, 100),
            "start": st.integers(0, 100),
        },
    ),
    "resource_info": Case(
        "resource_info", {"resource_type": "zone"}, {"query": st.just(["name=n"])}, renamed={"query": "q"}
    ),
    "resource_info by a cursor": Case(
        "resource_info",
        {"resource_type": "vm", "session_id": None},
        {
            "sort": st.sampled_from(["name", "uuid"]),
            "order": st.sampled_from(["asc", "desc"]),
            "filters": st.just(["cpuNum>0", "name=n"]),
            "page_size": st.integers(1, 1000),
        },
        renamed={"filters": "filter"},
    ),
}

# Options that select listed records by uuid, by name or by number, and the wait for them.
CHOOSING = {
    *(
        "uuid",
        "name",
        "limit",
        "fields",
        "topic",
        "endpoint",
        "vm",
        "type",
        "wait_for",
        "path",
        "l3_network",
        "ip",
        "mac",
    ),
}

# Each value of such an option is set by a call of its own, see test_modules_topics and test_modules_tags.
SET_BY_SEVERAL_CALLS = {"topics", "tags"}

# Options whose parameters have another form, or are in the path of another call, see test_modules_vm_creation and
# test_modules_volumes.
CONVERTED = {"clone_from", "disks", "networks", "user_data", "user_data_file", "vm"}

# Options that are not sent: they say which operations are called, when a task fails, and how long it waits.
NOT_SENT = {
    "console",
    "state",
    "data_volumes",
    "destroy_local_storage",
    "evacuate",
    "expunge",
    "fail_on_error",
    "fail_on_problems",
    "force",
    "include_tags",
    "recover",
    "running_vms",
    "tags_mode",
    "trust_path",
    "update_password",
    "wait_for",
}


def find_untried(name: str) -> set[str]:
    """Return the options of a module that no case tries.

    Options with a default are required, determine what the module does, or are sent with it.
    """
    spec = load_spec(name).argument_spec
    known = {*CONNECTION, *WAIT, *SET_BY_SEVERAL_CALLS, *CONVERTED, *list_choosing(name), *list_tried(name)}
    return {option for option in spec if option not in known and "default" not in spec[option]}


def list_tried(name: str) -> set[str]:
    """Return the options of a module that a case tries or has."""
    cases = [case for case in (*ACTING.values(), *READING.values()) if case.module == name]
    return {option for case in cases for option in (*case.values, *case.options)}


def list_choosing(name: str) -> set[str]:
    """Return the options of a module that choose the objects."""
    return CHOOSING if name.endswith("_info") or name == "vm_nic_qos" else {"uuid"}


# The values of options that need no particular ones, by their types.
PLAIN_VALUES: Values = {"bool": truth, "int": st.integers(1, 1000), "str": words}


def list_plain_values(name: str) -> Values:
    """Return values for the untried options of a module that accept any value of their type."""
    spec, parameters = load_spec(name).argument_spec, load_spec(name).parameters
    return {
        option: st.sampled_from(rules["choices"]) if "choices" in rules else PLAIN_VALUES[rules["type"]]
        for option, rules in spec.items()
        if option in find_untried(name) and rules["type"] in PLAIN_VALUES and not is_reference(parameters[option])
    }


# The first case of a module tries these options, because its call creates the object or is the only one.
for label in {case.module: label for label, case in reversed(ACTING.items())}.values():
    ACTING[label] = replace(ACTING[label], values={**list_plain_values(ACTING[label].module), **ACTING[label].values})


def parametrize_options(cases: Mapping[str, Case], optional_only: bool = False) -> pytest.MarkDecorator:
    """Return the parametrization of a test by case and option; ``optional_only`` leaves out the required ones."""
    pairs = [(label, option) for label, case in cases.items() for option in case.values]
    needed = [(label, option) for label, case in cases.items() for option in case.options if optional_only]
    return pytest.mark.parametrize(("label", "option"), [pair for pair in pairs if pair not in needed])


def test_every_option_is_tried(subtests: pytest.Subtests) -> None:
    others = ("api", "batch", "job_info", "job_wait", "resource", "workflow")
    for name in (name for name in MODULES if name not in others):
        with subtests.test(name):
            task = load_spec(name)
            untried = find_untried(name)
            assert not untried, f"ACTING and READING of {__file__} have no values to try for {name}: {untried}"
            called = [operations()[operation] for operation in called_operations(name) if operation in operations()]
            sent = {parameter for operation in called for parameter in operation.parameters}
            own = task.argument_spec.keys() - CONNECTION.keys() - WAIT.keys() - list_tried(name)
            defaults = {option for option in own if "default" in task.argument_spec[option]}
            unsent = {option for option in defaults if task.parameters[option] not in sent}
            assert unsent - list_choosing(name) <= NOT_SENT


# ----------------------------------------------------------------------------------------- options of modules that act


def requests(ran: ModuleRun) -> list[tuple[Any, ...]]:
    """Return the request log without polls."""
    members = ("operation", "method", "path", "query", "body")
    return [tuple(entry[name] for name in members) for entry in ran.log if entry["operation"] != "poll"]


def list_sent_values(ran: ModuleRun, parameter: str) -> list[Any]:
    """Return the values of a parameter in the bodies and query strings of all calls whose operation has it.

    Calls that add one tag each count as one value, the sorted tags.
    """
    found = []
    for entry in ran.log:
        stated = operations().get(entry["operation"])
        if stated and stated.is_async and (parameter in stated.parameters or parameter in map(to_camel_case, TAGS)):
            body = entry["body"] or {}
            places = (body, *(value for value in body.values() if isinstance(value, dict)))
            found += [place[parameter] for place in places if parameter in place]
    return [sorted({*found})] if found and parameter == "tag" else found


def trim_value(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def may_be_null(name: str, option: str) -> bool:
    """Return whether Ansible accepts null for an option: not if it has a default or choices."""
    return not {"default", "choices"} & load_spec(name).argument_spec[option].keys()


@parametrize_options(ACTING, optional_only=True)
def test_left_out_or_null(sim: Simulator, label: str, option: str) -> None:
    case = ACTING[label]
    without = case.prepare(sim)(case.module, case.options)
    assert not without.failed, without.message
    taken_from_the_record = case.parameter(option) in ("snmpAddress", "endpointUuid") and case.module != "sns_snmp_test"
    assert bool(list_sent_values(without, case.parameter(option))) == taken_from_the_record
    if may_be_null(case.module, option):
        null = case.prepare(sim)(case.module, {**case.options, option: None})
        assert requests(null) == requests(without)
        assert null.changed == without.changed


@parametrize_options(ACTING)
@FEW
@given(data=st.data())
def test_given(sim: Simulator, label: str, option: str, data: st.DataObject) -> None:
    case = ACTING[label]
    value = data.draw(case.values[option])
    options = {**case.options, option: value}
    run = case.prepare(sim)
    ran = run(case.module, options)
    assert not ran.failed, ran.message
    assert ran.changed == (case.module != "sns_snmp_test")
    assert list_sent_values(ran, case.parameter(option)) == list_expected_values(option, value)
    if not case.each_time:
        run.idle(case.module, options)


def list_expected_values(option: str, value: Any) -> list[Any]:
    """Return the values that the calls must contain for an option: one, or none for an empty list of persons."""
    if option == "delete_mode":
        return [value.capitalize()]
    if option == "vm_nic_params":
        return [value if isinstance(value, str) else json.dumps(value)]
    if option == "tags":
        value = sorted(tag.strip() for tag in value)
    return [] if option.startswith(("at_person", "tags")) and not value else [format_as_sent(value)]


def format_as_sent(value: Any) -> Any:
    """Return a value as it is sent: strings trimmed, uuids as 32 hexadecimal digits in lower case."""
    if isinstance(value, list):
        return [normalize_spelling(item) for item in value]
    return normalize_spelling(trim_value(value))


def normalize_spelling(value: Any) -> Any:
    if isinstance(value, dict):
        return {normalize_spelling(key): normalize_spelling(item) for key, item in value.items()}
    text = value.strip().replace("-", "").lower() if isinstance(value, str) else ""
    return text if re.fullmatch("[0-9a-f]{32}", text) else value


@parametrize_options(ACTING)
def test_empty(sim: Simulator, label: str, option: str) -> None:
    case = ACTING[label]
    spec = load_spec(case.module).argument_spec[option]
    options = {**case.options, option: ""}
    run = case.prepare(sim)
    if spec["type"] == "list" and not (spec.get("required") or is_reference_option(case.module, option)):
        # Core before 2.19 makes an empty string of null.
        assert list_sent_values(run(case.module, options), case.parameter(option)) == []
    elif spec["type"] == "json":
        assert "must be JSON" in run.refused(case.module, options)
    elif spec["type"] not in ("str", "list") or spec.get("choices") or spec.get("elements") in ("int", "dict"):
        with pytest.raises(AssertionError, match=r"unable to convert|value of"):
            run(case.module, options)
    elif is_reference_option(case.module, option):
        # Core before 2.19 makes an empty string of null, so it is not given, unless the task needs the reference.
        ran = run(case.module, options)
        assert not any(map(is_null, list_sent_values(ran, case.parameter(option))))
        assert not ran.failed or re.search(f"{option} must not be|{option} is required|give .*{option}", ran.message)
    elif option in ("password", "url"):
        with pytest.raises(InvalidOptions, match=f"^{option} must not be empty"):
            run(case.module, options)
    elif spec["type"] == "str" and option.endswith(NAMING):
        ran = run(case.module, options)
        assert (ran.message, ran.log) == (f"{option} must not be empty", [])
    else:
        ran = run(case.module, options)
        assert list_sent_values(ran, case.parameter(option)) == list_expected_values(option, "")
        if not ran.failed and not case.each_time:
            run.idle(case.module, options)


REFERRING = [
    (label, option)
    for label, case in ACTING.items()
    for option in case.options
    if is_reference_option(case.module, option) and label != "vm_nic moved"
]


@pytest.mark.parametrize(("label", "option"), REFERRING)
@FEW
@given(null=st.sampled_from([None, "", "None"]))
def test_null_reference_in_check_mode(sim: Simulator, label: str, option: str, null: str | None) -> None:
    """A null reference stands for an object that an earlier task would have created, so a change is predicted."""
    case = ACTING[label]
    references = [null] if isinstance(case.options[option], list) else null
    options = {**case.options, option: references}
    ran = case.prepare(sim)(case.module, options, check=True, predicted=tuple(RESOURCE_TYPES))
    assert not ran.failed, ran.message
    assert ran.changed == (case.module != "sns_snmp_test")
    assert ran.calls == []


@FEW
@given(seconds=st.integers(1, 10**6), job=st.uuids(), hook=st.integers(1, 65535))
def test_options_about_the_job(sim: Simulator, seconds: int, job: Any, hook: int) -> None:
    """The options about the job are headers of the call. Without them the call has only a generated job id."""
    case = ACTING["kvm_host disabled"]
    given_headers = {"api_timeout": seconds, "job_uuid": str(job), "webhook_url": f"http://192.0.2.1:{hook}/"}
    for about, timeout, url in (
        (given_headers, str(seconds), given_headers["webhook_url"]),
        (dict.fromkeys(given_headers), None, None),
        ({"webhook_url": "", "job_uuid": ""}, None, None),
    ):
        ran = case.prepare(sim)(case.module, {**case.options, **about})
        headers = next(entry["headers"] for entry in ran.log if entry["method"] != "GET")
        assert headers.get("x-api-timeout") == timeout
        assert headers.get("x-web-hook") == url
        assert (headers["x-job-uuid"] == job.hex) == (timeout is not None)


# ---------------------------------------------------------------------------------------- options of modules that read


@parametrize_options(READING)
@FEW
@given(data=st.data())
def test_reading(sim: Simulator, label: str, option: str, data: st.DataObject) -> None:
    case = READING[label]
    value = data.draw(case.values[option])
    run = case.prepare(sim)
    with_it, null, without = (
        run(case.module, {**case.options, **extra})
        for extra in ({option: value}, {option: None} if may_be_null(case.module, option) else {}, {})
    )
    parameter = case.parameter(option)
    texts = value if isinstance(value, list) else [str(value).lower() if isinstance(value, bool) else str(value)]
    (query,) = {str(entry["query"].get(parameter, [])) for entry in with_it.log}
    assert query == str([text for text in texts if text])
    assert requests(null) == requests(without)
    assert option == "page_size" or not any(parameter in entry["query"] for entry in without.log)
    assert not with_it.failed, with_it.message
    assert not with_it.changed


# ---------------------------------------------------------------------------------------- options of existing objects


@dataclass(frozen=True)
class ExistingObject:
    """An existing object: the options that find it, its record, and the operation that updates it.

    ``values`` are the values to try for each option. ``recorded`` maps options to the names of their record fields.
    """

    module: str
    options: Options
    kind: str
    record: str
    values: Values
    update: str = ""
    recorded: Mapping[str, str] = field(default_factory=dict)
    uncompared: tuple[str, ...] = ()

    def predict_effect(self, option: str, value: Any, here: Mapping[str, Any]) -> str:
        """Return the expected effect of the option: ``idle``, ``update`` or ``refused``."""
        parameter = load_spec(self.module).parameters[option]
        name = self.recorded.get(option, parameter)
        changeable = self.update and parameter in operations()[self.update].parameters
        if option in (*TAGS, *self.uncompared) or not (changeable or name in records()[self.record]):
            return "idle"
        if make_comparable(value) == make_comparable(here.get(name)):
            return "idle"
        return "update" if changeable else "refused"


def make_comparable(value: Any) -> Any:
    """Return a value in a comparable form: trimmed, null as empty, lists without an order."""
    if isinstance(value, (list, dict)):
        return sorted(text.strip() for text in value) or ""
    return str(normalize_spelling(value) or "").strip() if not isinstance(value, bool) else value or ""


EXISTING: dict[str, ExistingObject] = {
    "cbt task": ExistingObject(
        "cbt_task",
        {"name": "cbt-task-1"},
        "cbttask",
        "CbtTaskInventory",
        {
            **SYSTEM_TAGS,
            "description": words,
            "task_type": words,
            "tag_patterns": tag_patterns,
            "bitmap_name": words,
            "force": truth,
        },
    ),
    "workchat endpoint": ExistingObject(
        "sns_endpoint",
        CHAT,
        "endpoint",
        "SNSWorkchatEndpointInventory",
        {
            **SYSTEM_TAGS,
            "description": words,
            "at_person_user_ids": ids,
            "at_person_list": st.dictionaries(words.map(str.strip), words, max_size=2),
            "tag_patterns": tag_patterns,
        },
        update="UpdateSNSApplicationEndpoint",
        recorded={"at_person_list": "atPersonUserIds"},
    ),
    "chat room of an endpoint": ExistingObject(
        "sns_endpoint",
        CHAT,
        "endpoint",
        "SNSWorkchatEndpointInventory",
        {"url": urls, "at_all": truth},
        update="UpdateSNSWeComEndpoint",
    ),
    "chat room of an endpoint of any type": ExistingObject(
        "sns_endpoint",
        {"type": "any", "uuid": seeded_uuid("endpoint", 2)},
        "endpoint",
        "SNSApplicationEndpointInventory",
        {"url": urls, "at_all": truth},
        update="UpdateSNSFeiShuEndpoint",
    ),
    "snmp endpoint": ExistingObject(
        "sns_endpoint",
        {"type": "snmp", "uuid": seeded_uuid("endpoint", 1)},
        "endpoint",
        "SNSApplicationEndpointInventory",
        {**SYSTEM_TAGS, "name": words, "description": words, "platform": spellings(PLATFORM)},
        update="UpdateSNSApplicationEndpoint",
    ),
    "platform": ExistingObject(
        "sns_snmp_platform",
        {"uuid": PLATFORM},
        "platform",
        "SNSApplicationPlatformInventory",
        {
            **SYSTEM_TAGS,
            "name": words,
            "description": words,
            "snmp_address": addresses,
            "snmp_port": st.one_of(st.just(162), st.integers(1, 65535)),
        },
        update="UpdateSNSSnmpPlatform",
    ),
    "person": ExistingObject(
        "sns_teamchat_person",
        {"uuid": PERSON},
        "person",
        "SNSTeamchatAtPersonInventory",
        {**TAGS, "user_id": st.one_of(st.just(" user-1"), words), "remark": words},
        update="UpdateAtPersonOfAtTeamchatEndpoint",
    ),
    "vm": ExistingObject(
        "vm_from_snapshot_group",
        {"name": "vm-1"},
        "vm",
        "VmInstanceInventory",
        {
            **{
                name: values
                for name, values in ACTING["vm_from_snapshot_group"].values.items()
                if name not in ("name", "tags")
            },
            "resource_uuid": spellings(seeded_uuid("vm", 1)),
            "cluster": st.sampled_from([seeded_uuid("cluster", number) for number in (1, 2)]),
            "host": st.sampled_from([seeded_uuid("host", number) for number in (1, 2)]),
            "zone": st.sampled_from([seeded_uuid("zone", 1), VM]),
            "default_l3_network": st.sampled_from([seeded_uuid("l3network", 1), VM]),
        },
        uncompared=("cluster", "host"),
    ),
    "host": ExistingObject(
        "kvm_host",
        {"management_ip": "10.0.0.11"},
        "host",
        "HostInventory",
        {
            **SYSTEM_TAGS,
            "name": st.one_of(st.just("host-1 "), words),
            "description": words,
            "cluster": st.sampled_from([seeded_uuid("cluster", number) for number in (1, 2)]),
            "username": words,
            "password": words,
            "ssh_port": st.integers(1, 65535),
            "tag_patterns": tag_patterns,
        },
        "UpdateHost",
        uncompared=("username", "ssh_port"),
    ),
}


THERE_OPTIONS = pytest.mark.parametrize(
    ("label", "option"), [(label, option) for label, existing in EXISTING.items() for option in existing.values]
)
# A reference that is null belongs to an object that check mode has only predicted: see test_references.
NULLABLE = pytest.mark.parametrize(
    ("label", "option"),
    [
        (label, option)
        for label, existing in EXISTING.items()
        for option in existing.values
        if may_be_null(existing.module, option) and not is_reference_option(existing.module, option)
    ],
)


@THERE_OPTIONS
@FEW
@given(data=st.data())
def test_existing_objects(sim: Simulator, label: str, option: str, data: st.DataObject) -> None:
    """Equal values change nothing, values that the API can change are updated once, others are refused."""
    existing = EXISTING[label]
    may_be_empty = option in ("description", "remark", "task_type")
    value = data.draw(st.one_of(existing.values[option], st.just("")) if may_be_empty else existing.values[option])
    sim.reset(cbt_tasks=2, sync=True)
    run = ModuleRunner(sim)
    found = run(existing.module, existing.options)
    returned = next(member for name, member in found.result.items() if name != "diff" and isinstance(member, dict))
    here = next(record for record in sim.records(existing.kind) if record["uuid"] == returned["uuid"])
    options = {**existing.options, option: value}
    expected = existing.predict_effect(option, value, here)
    if expected == "refused":
        assert "the API cannot change" in run.refused(existing.module, options)
    elif expected == "idle":
        run.idle(existing.module, options)
    else:
        ran = run.twice(existing.module, options)
        assert ran.calls == [existing.update]
        assert list_sent_values(ran, load_spec(existing.module).parameters[option]) == [trim_value(value)]


@NULLABLE
def test_existing_values_that_are_not_given(sim: Simulator, label: str, option: str) -> None:
    existing = EXISTING[label]
    sim.reset(cbt_tasks=2, sync=True)
    run = ModuleRunner(sim)
    run(existing.module, existing.options)
    without = run.idle(existing.module, existing.options)
    null = run.idle(existing.module, {option: None, **existing.options})
    assert requests(null) == requests(without)


# ----------------------------------------------------------------------------------------------- options with defaults


@pytest.mark.parametrize("label", [*ACTING, *READING])
def test_defaults_may_be_given(sim: Simulator, label: str) -> None:
    case = ACTING.get(label) or READING[label]
    spec = load_spec(case.module).options
    defaults = {name: option["default"] for name, option in spec.items() if "default" in option}
    unsaid = case.prepare(sim)(case.module, case.options)
    said = case.prepare(sim)(case.module, {**defaults, **case.options})
    assert requests(said) == requests(unsaid)
    assert said.changed == unsaid.changed
