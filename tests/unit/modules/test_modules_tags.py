"""The user tags of objects: compared with the options, and changed one by one."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import MemoryStore

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner, run_module
from support.scenarios import CHAT_ENDPOINT, HOST, NEW_HOST, PLATFORM, SNAPSHOT_GROUP, TOPIC, USER_TAG, VM

# An object of each type, and its type in user tags.
OBJECTS = {
    "kvm_host": ({"uuid": HOST}, "host", "HostVO"),
    "vm": ({"uuid": seeded_uuid("vm", 2)}, "vm", "VmInstanceVO"),
    "vm_from_snapshot_group": ({"name": "vm-3"}, "vm", "VmInstanceVO"),
    "cbt_task": ({"name": "cbt-task-1"}, "cbt_task", "CbtTaskVO"),
    "sns_endpoint": ({"type": "any", "uuid": CHAT_ENDPOINT}, "endpoint", "SNSApplicationEndpointVO"),
    "sns_snmp_platform": ({"uuid": PLATFORM}, "platform", "SNSApplicationPlatformVO"),
    "sns_topic": ({"uuid": TOPIC}, "topic", "SNSTopicVO"),
    "vm_snapshot_group": ({"uuid": SNAPSHOT_GROUP}, "snapshot_group", "VolumeSnapshotGroupVO"),
}

# An object of each type that does not exist, and the operation that creates it.
CREATED: dict[str, tuple[dict[str, Any], str]] = {
    "kvm_host": (NEW_HOST, "AddKVMHost"),
    "vm_from_snapshot_group": (
        {"name": "copy", "snapshot_group": SNAPSHOT_GROUP},
        "CreateVmInstanceFromVolumeSnapshotGroup",
    ),
    "cbt_task": ({"name": "nightly", "vm": seeded_uuid("vm", 5)}, "CreateCbtTask"),
    "sns_endpoint": ({"type": "snmp", "name": "traps", "platform": PLATFORM}, "CreateSNSSnmpEndpoint"),
    "sns_snmp_platform": (
        {"name": "receiver", "snmp_address": "192.0.2.51", "snmp_port": 162},
        "CreateSNSSnmpPlatform",
    ),
    "sns_topic": ({"name": "alarms"}, "CreateSNSTopic"),
    "vm_snapshot_group": ({"vm": VM, "name": "before"}, "CreateVolumeSnapshotGroup"),
}

# The modules of the objects whose creation takes user tags.
SENT_AT_CREATION = ("kvm_host", "vm_from_snapshot_group")

ADDED, REMOVED = "CreateUserTag", "DeleteTag"

# The operations with which a tag is attached through a tag pattern.
FOUND, CREATED_PATTERN, ATTACHED = PATTERNS = ("QueryTag", "CreateTag", "AttachTagToResources")

# The call with which a task finds out that the service has the operation, before it adds a tag.
PROBED = REMOVED


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    sim.reset(cbt_tasks=1)
    return ModuleRunner(sim)


def tags_of(sim: Simulator, uuid: str) -> list[str]:
    """Return the texts of the user tags of an object."""
    return sorted(tag["tag"] for tag in sim.records("usertag") if tag["resourceUuid"] == uuid)


@pytest.mark.parametrize("module", OBJECTS)
def test_tags_of_an_object_are_added_and_removed(run: ModuleRunner, sim: Simulator, module: str) -> None:
    options, key, resource_type = OBJECTS[module]
    ran = run.twice(module, {**options, "tags": [" b ", "a", "b"]})
    assert ran.calls == [ADDED, ADDED]
    uuid = ran[key]["uuid"]
    assert ran[key]["tags"] == tags_of(sim, uuid) == ["a", "b"]
    assert {tag["resourceType"] for tag in sim.records("usertag") if tag["resourceUuid"] == uuid} == {resource_type}
    added = run.twice(module, {**options, "tags": ["c"], "tags_mode": "add"})
    assert added.calls == [ADDED]
    assert added["diff"]["before"]["tags"] == ["a", "b"]
    assert added["diff"]["after"]["tags"] == added[key]["tags"] == ["a", "b", "c"]
    removed = run.twice(module, {**options, "tags": ["a", "unknown"], "tags_mode": "remove"})
    assert removed.calls == [REMOVED]
    assert removed[key]["tags"] == tags_of(sim, uuid) == ["b", "c"]
    assert run.twice(module, {**options, "tags": ["c", "d"]}).calls == [PROBED, ADDED, REMOVED]
    assert run.twice(module, {**options, "tags": []}).calls == [REMOVED, REMOVED]
    assert tags_of(sim, uuid) == []


@pytest.mark.parametrize("module", CREATED)
def test_a_new_object_gets_its_tags(run: ModuleRunner, sim: Simulator, module: str) -> None:
    options, create = CREATED[module]
    key = OBJECTS[module][1]
    checked = run(module, {**options, "tags": ["b", "a"]}, check=True)
    assert checked[key]["tags"] == checked["diff"]["after"]["tags"] == ["a", "b"]
    ran = run.twice(module, {**options, "tags": ["b", "a"]})
    others = [] if module in SENT_AT_CREATION else [ADDED, ADDED]
    assert [name for name in ran.calls if name == create or name.endswith("Tag")] == [*others[:1], create, *others]
    assert ran[key]["tags"] == tags_of(sim, ran[key]["uuid"]) == ["a", "b"]


@pytest.mark.parametrize("module", CREATED)
def test_tags_that_the_creation_ignores_are_added(run: ModuleRunner, sim: Simulator, module: str) -> None:
    options, create = CREATED[module]
    sim.configure(user_tags_at_creation=False)
    ran = run.twice(module, {**options, "tags": ["b", "a"]})
    probed = [] if module in SENT_AT_CREATION else [ADDED]
    assert [name for name in ran.calls if name == create or name.endswith("Tag")] == [*probed, create, ADDED, ADDED]
    assert ran[OBJECTS[module][1]]["tags"] == ["a", "b"]


def test_tags_to_be_removed_are_not_sent_with_the_creation(run: ModuleRunner, sim: Simulator) -> None:
    ran = run.twice("sns_topic", {"name": "alarms", "tags": ["a"], "tags_mode": "remove"})
    assert ran["topic"]["tags"] == tags_of(sim, ran["topic"]["uuid"]) == []
    assert all("userTags" not in (entry["body"] or {}) for entry in ran.log)


def test_tags_are_read_with_the_option_only(run: ModuleRunner) -> None:
    ran = run.idle("kvm_host", {"uuid": HOST})
    assert not ran.queries("QueryUserTag")
    assert "tags" not in ran["host"]
    with_mode = run.idle("kvm_host", {"uuid": HOST, "tags_mode": "add"})
    assert not with_mode.queries("QueryUserTag")


def test_a_tag_is_replaced_by_one_in_other_letters(run: ModuleRunner, sim: Simulator) -> None:
    """Services refuse the second tag while the first one exists."""
    run.twice("kvm_host", {"uuid": HOST, "tags": ["Prod", "x"]})
    ran = run.twice("kvm_host", {"uuid": HOST, "tags": ["prod"], "tags_mode": "add"})
    assert ran.calls == [ADDED, REMOVED, ADDED]  # The first call finds out that the service can add a tag.
    assert tags_of(sim, HOST) == ["prod", "x"]
    ran = run.twice("kvm_host", {"uuid": HOST, "tags": ["PROD", "y"]})
    assert ran.calls == [PROBED, ADDED, REMOVED, REMOVED, ADDED]
    assert tags_of(sim, HOST) == ["PROD", "y"]


def test_all_copies_of_a_tag_are_removed(run: ModuleRunner, sim: Simulator) -> None:
    """Servers do not prevent that two requests at the same time add the same tag."""
    run.twice("kvm_host", {"uuid": HOST, "tags": ["a", "b"]})
    copy = next(tag["uuid"] for tag in sim.records("usertag") if tag["tag"] == "b")
    sim.change("usertag", copy, tag="a")
    run.idle("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert run.twice("kvm_host", {"uuid": HOST, "tags": []}).calls == [REMOVED, REMOVED]
    assert tags_of(sim, HOST) == []


def test_tags_of_the_given_tag_patterns_remain(run: ModuleRunner, sim: Simulator) -> None:
    pattern = seeded_uuid("usertag", 9)
    sim.change("usertag", USER_TAG, tagPatternUuid=pattern)
    run.idle("vm_from_snapshot_group", {"name": "vm-1", "tags": ["tag-1"]})
    options = {"name": "vm-1", "tags": ["a"], "tag_patterns": [pattern]}
    assert run.twice("vm_from_snapshot_group", options).calls == [ADDED]
    assert tags_of(sim, VM) == ["a", "tag-1"]
    assert run.twice("vm_from_snapshot_group", {"name": "vm-1", "tags": ["a"]}).calls == [REMOVED]


@pytest.mark.parametrize("value", [[" "], [""], ["a", ""], ["a", "b", "B"]])
def test_invalid_tags_are_refused(run: ModuleRunner, value: list[str]) -> None:
    ran = run("kvm_host", {"uuid": HOST, "tags": value})
    assert ran["error"]["code"] == "INVALID"
    assert ran.message.startswith("tags must not contain ")
    assert ran.log == []


def test_empty_string_in_place_of_tags_is_not_given(run: ModuleRunner, sim: Simulator) -> None:
    """Core before 2.19 makes it of null."""
    tags = tags_of(sim, VM)
    run.idle("vm", {"uuid": VM, "tags": ""})
    assert tags == tags_of(sim, VM) != []


def test_tags_come_before_other_changes(run: ModuleRunner) -> None:
    """A service that lacks the operation has then changed nothing."""
    ran = run.twice("vm", {"name": "vm-2", "description": "new", "state": "running", "tags": ["a"]})
    writes = [entry for entry in ran.log if entry["method"] != "GET"]
    made = [entry["operation"] for entry in writes if entry["operation"] == ADDED or ran["vm"]["uuid"] in entry["path"]]
    assert made == [ADDED, "UpdateVmInstance", "StartVmInstance"]


def test_an_object_with_other_tags_is_not_removed(run: ModuleRunner) -> None:
    absent = {"name": "vm-1", "state": "absent"}
    message = run.refused("vm", {**absent, "tags": ["tag-1", "x"]})
    assert message == (
        "vm vm-1: the options differ from the existing vm: tags (is ['tag-1'], should be ['tag-1', 'x'])."
        f" The vm was found by uuid '{VM}'. Nothing was removed. Correct the options."
    )
    assert "Nothing was removed" in run.refused("vm", {**absent, "tags": ["tag-1"], "tags_mode": "remove"})
    assert run.twice("vm", {**absent, "tags": ["tag-1"]}).calls == ["DestroyVmInstance"]


def test_an_object_that_does_not_exist_needs_no_tags(run: ModuleRunner) -> None:
    ran = run.idle("sns_topic", {"name": "unknown", "state": "absent", "tags": ["a"]})
    assert not ran.queries("QueryUserTag")


@pytest.mark.parametrize("missing", ["QueryUserTag", ADDED, REMOVED])
def test_nothing_is_changed_if_the_service_lacks_an_operation(run: ModuleRunner, sim: Simulator, missing: str) -> None:
    sim.configure(missing_operations=[missing, *PATTERNS])
    before = sim.state()
    options = {"name": "vm-2", "description": "new", "tags": ["a"]}
    if missing == REMOVED:
        options = {"name": "vm-1", "description": "new", "tags": ["a"]}
    ran = run("vm", options)
    assert ran["error"]["code"] == "UNSUPPORTED", ran.result
    assert not ran.changed
    assert sim.state() == before


@pytest.mark.parametrize("tag", ["env::prod", "TAG-1"])
def test_no_tag_is_removed_if_the_query_answers_the_call_that_adds_one(
    run: ModuleRunner, sim: Simulator, tag: str
) -> None:
    """A path with nothing left but its query answers each verb with the query, and with status 200."""
    sim.configure(missing_operations=[ADDED, *PATTERNS])
    ran = run("vm", {"name": "vm-1", "tags": [tag]})
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert (
        "the service does not offer CreateUserTag (HTTP status 200, with the reply of a query, for POST" in ran.message
    )
    assert not ran.changed
    assert tags_of(sim, VM) == ["tag-1"]


@pytest.mark.parametrize("module", CREATED)
def test_no_object_is_created_if_its_tags_cannot_be_added(run: ModuleRunner, sim: Simulator, module: str) -> None:
    sim.configure(missing_operations=[ADDED, CREATED_PATTERN])
    before = sim.state()
    ran = run(module, {**CREATED[module][0], "tags": ["a"]})
    if module in SENT_AT_CREATION:
        assert ran[OBJECTS[module][1]]["tags"] == ["a"]
    else:
        assert ran["error"]["code"] == "UNSUPPORTED"
        assert sim.state() == before


def test_no_object_is_created_if_its_tags_cannot_be_compared(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QueryUserTag"])
    message = run.refused("sns_topic", {"name": "alarms", "tags": ["a"]})
    assert message.startswith("topic alarms: cannot compare tags: ")
    assert message.endswith(" Omit tags.")


def test_tags_need_the_record_of_the_object(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QueryHost"])
    options = {"uuid": HOST, "tags": ["a"], "api_token": ""}
    assert "cannot compare tags: " in run.refused("kvm_host", options)


@pytest.mark.parametrize("job_uuid", ["honour", "ignore"])
def test_a_tag_that_another_run_adds_at_the_same_time_is_no_failure(sim: Simulator, job_uuid: str) -> None:
    """The other run adds the tag after the task has read the tags of the host."""
    sim.configure(job_uuid=job_uuid)
    options = {"base_url": sim.url, "session_id": sim.session, "uuid": HOST, "tags": ["a"]}

    def add_tag() -> None:
        if sim.log()[-1:] and sim.log()[-1]["operation"] == "QueryUserTag" and not tags_of(sim, HOST):
            assert run_module("kvm_host", options).result["changed"]

    ran = run_module("kvm_host", options, before_send=add_tag)
    assert ran.result["host"]["tags"] == tags_of(sim, HOST) == ["a"]
    assert ran.result["changed"] == (job_uuid == "ignore")


def test_a_refused_tag_is_a_failure(run: ModuleRunner, sim: Simulator) -> None:
    sim.fault("fail", ADDED, error={"code": "SYS.1006", "details": "Duplicated Tag"})
    ran = run("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert ran.failed
    assert not ran.changed
    assert "Duplicated Tag" in ran.message


@pytest.mark.parametrize("member", [{"name": "x"}, {"uuid": "a" * 32}])
def test_a_record_of_no_object_is_not_taken_for_a_missing_tag(
    run: ModuleRunner, sim: Simulator, member: dict[str, str]
) -> None:
    """The object would be left with its tags, as if they had been removed."""
    sim.fault("other_response", "QueryUserTag", reply={"inventory": member})
    ran = run("vm", {"name": "vm-1", "tags": []})
    assert ran["error"]["code"] == "UNREACHABLE"
    assert "QueryUserTag has a record without uuid" in ran.message
    assert tags_of(sim, VM) == ["tag-1"]


@pytest.mark.parametrize("fault", ["drop_after", "expire", "drop_before", "duplicate"])
def test_a_lost_response_does_not_add_a_second_tag(run: ModuleRunner, sim: Simulator, fault: str) -> None:
    sim.fault(fault, ADDED)
    ran = run("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert ran.changed
    assert tags_of(sim, HOST) == ["a"]
    run.idle("kvm_host", {"uuid": HOST, "tags": ["a"]})


def test_an_object_that_check_mode_only_predicts_gets_its_tags(run: ModuleRunner) -> None:
    ran = run("kvm_host", {"uuid": None, "tags": ["a"]}, check=True, predicted=("host",))
    assert ran.changed
    assert ran["host"]["tags"] == ["a"]


@pytest.mark.parametrize(("condition", "names"), [("__userTag__=TAG-1", ["vm-1"]), ("__userTag__=other", [])])
def test_objects_are_listed_by_their_tags(run: ModuleRunner, condition: str, names: list[str]) -> None:
    assert [vm["name"] for vm in run("vm_info", {"query": [condition]})["vms"]] == names


def test_objects_are_listed_by_system_tags(run: ModuleRunner) -> None:
    run.twice("kvm_host", {**NEW_HOST, "system_tags": ["pageTableExtensionDisabled"]})
    listed = run("host_info", {"query": ["__systemTag__=pageTableExtensionDisabled"]})["hosts"]
    assert [host["name"] for host in listed] == [NEW_HOST["name"]]


def test_the_tags_of_an_object_are_removed_with_it(run: ModuleRunner, sim: Simulator) -> None:
    created = run.twice("sns_topic", {"name": "alarms", "tags": ["a"]})["topic"]["uuid"]
    run.twice("sns_topic", {"name": "alarms", "state": "absent"})
    assert tags_of(sim, created) == []


def patterns_of(sim: Simulator) -> list[str]:
    """Return the values of the tag patterns that the simulator did not begin with."""
    return [pattern["value"] for pattern in sim.records("tagpattern")][1:]


@pytest.mark.parametrize("verbs_matter", [False, True])
@pytest.mark.parametrize("module", OBJECTS)
def test_tags_are_attached_through_patterns(run: ModuleRunner, sim: Simulator, module: str, verbs_matter: bool) -> None:
    sim.configure(missing_operations=[ADDED], verbs_matter=verbs_matter)
    options, key, resource_type = OBJECTS[module]
    ran = run.twice(module, {**options, "tags": ["env::prod"]})
    assert [name for name in ran.calls if name in PATTERNS] == [ATTACHED, CREATED_PATTERN, ATTACHED]
    uuid = ran[key]["uuid"]
    assert ran[key]["tags"] == tags_of(sim, uuid) == ["env::prod"]
    (tag,) = [tag for tag in sim.records("usertag") if tag["resourceUuid"] == uuid]
    (pattern,) = sim.records("tagpattern")[1:]
    assert (tag["resourceType"], tag["tagPatternUuid"]) == (resource_type, pattern["uuid"])
    assert (pattern["name"], pattern["value"], pattern["type"]) == ("env::prod", "env::prod", "simple")
    assert run.twice(module, {**options, "tags": []}).calls == [REMOVED]
    again = run.twice(module, {**options, "tags": ["env::prod"]})
    assert [name for name in again.calls if name in PATTERNS] == [ATTACHED]
    assert patterns_of(sim) == ["env::prod"]


def test_the_simple_pattern_with_exactly_the_tag_is_attached(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=[ADDED])
    for value, pattern_type in (("A", "simple"), ("a", "withToken"), ("a", "simple")):
        params = {"name": "other", "value": value, "type": pattern_type}
        run("api", {"operation": CREATED_PATTERN, "params": params})
    expected = sim.records("tagpattern")[-1]["uuid"]
    ran = run.twice("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert [entry["path"].split("/")[-2] for entry in ran.log if entry["operation"] == ATTACHED] == [expected]
    assert ran.sent(ATTACHED) == {"resourceUuids": [HOST]}


@pytest.mark.parametrize("module", CREATED)
def test_a_new_object_gets_its_tags_through_patterns(run: ModuleRunner, sim: Simulator, module: str) -> None:
    sim.configure(missing_operations=[ADDED], user_tags_at_creation=False)
    options, create = CREATED[module]
    ran = run.twice(module, {**options, "tags": ["b", "a"]})
    assert ran[OBJECTS[module][1]]["tags"] == ["a", "b"]
    if module not in SENT_AT_CREATION:
        made = [name for name in ran.calls if name == create or name in PATTERNS]
        assert made == [ATTACHED, CREATED_PATTERN, CREATED_PATTERN, create, ATTACHED, ATTACHED]


@pytest.mark.parametrize("missing", PATTERNS)
@pytest.mark.parametrize("tag", ["env::prod", "TAG-1"])
def test_no_tag_is_removed_if_the_service_lacks_an_operation_on_patterns(
    sim: Simulator, missing: str, tag: str
) -> None:
    sim.configure(missing_operations=[ADDED, missing])
    before = sim.state()
    store = MemoryStore(None)  # type: ignore[arg-type]
    run = ModuleRunner(sim, lambda dummy: store)
    options = {"name": "vm-1", "description": "new", "tags": [tag]}
    for check in (False, True):
        ran = run("vm", options, check=check)
        assert ran["error"]["code"] == "UNSUPPORTED"
        assert "the service does not offer CreateUserTag" in ran.message
        assert (
            f" Tags cannot be attached through tag patterns either: the service does not offer {missing}" in ran.message
        )
        assert not ran.changed
    assert sim.state() == before


def test_no_tag_is_attached_if_another_needs_a_pattern_that_cannot_be_created(
    run: ModuleRunner, sim: Simulator
) -> None:
    sim.configure(missing_operations=[ADDED, CREATED_PATTERN])
    ran = run("vm", {"name": "vm-1", "tags": ["pattern-1", "x"]})
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert tags_of(sim, VM) == ["tag-1"]
    run.twice("vm", {"name": "vm-1", "tags": ["pattern-1"]})


def test_an_attachment_that_failed_is_a_failure(run: ModuleRunner, sim: Simulator) -> None:
    """The job of such an attachment succeeds."""
    sim.configure(missing_operations=[ADDED], tags_per_object=1)
    ran = run("vm", {"name": "vm-1", "tags": ["a"], "tags_mode": "add"})
    assert ran["error"]["code"] == "SYS.1006"
    assert "which is the limit" in ran.message
    assert tags_of(sim, VM) == ["tag-1"]
    sim.fault("other_response", "poll", count=None, reply={"results": [{"success": False}]})
    ran = run("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert ran.failed
    assert "AttachTagToResources failed" in ran.message


@pytest.mark.parametrize(
    ("fault", "operation"),
    [
        *((fault, ATTACHED) for fault in ("drop_after", "expire", "drop_before", "duplicate")),
        *((fault, CREATED_PATTERN) for fault in ("drop_after", "expire", "duplicate")),
    ],
)
def test_a_lost_response_makes_no_second_pattern(run: ModuleRunner, sim: Simulator, operation: str, fault: str) -> None:
    sim.configure(missing_operations=[ADDED])
    sim.fault(fault, operation)
    ran = run("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert ran.changed, ran.result
    assert (patterns_of(sim), tags_of(sim, HOST)) == (["a"], ["a"])
    run.idle("kvm_host", {"uuid": HOST, "tags": ["a"]})


def test_a_pattern_whose_creation_is_in_doubt_is_created_by_the_next_run(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=[ADDED])
    sim.fault("drop_before", CREATED_PATTERN)
    ran = run("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert ran["error"]["code"] == "OUTCOME_UNKNOWN"
    assert "the outcome of CreateTag is unknown" in ran.message
    run.twice("kvm_host", {"uuid": HOST, "tags": ["a"]})
    assert patterns_of(sim) == ["a"]


def test_a_tag_is_attached_without_a_wait(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=[ADDED])
    ran = run("kvm_host", {"uuid": HOST, "tags": ["a"], "wait": False})
    assert ran["job"]["operation"] == ATTACHED, ran.result
    assert patterns_of(sim) == ["a"]


def test_the_tasks_of_a_run_find_out_once_that_tags_need_patterns(sim: Simulator) -> None:
    sim.configure(missing_operations=[ADDED])
    store = MemoryStore(None)  # type: ignore[arg-type]
    run = ModuleRunner(sim, lambda dummy: store)
    assert run.twice("kvm_host", {"uuid": HOST, "tags": ["a"]}).calls == [
        "QueryUserTag",
        ATTACHED,
        CREATED_PATTERN,
        ATTACHED,
    ]
    assert run.twice("kvm_host", {"uuid": HOST, "tags": ["a", "b"]}).calls == [CREATED_PATTERN, ATTACHED]
