"""Values of the service that look like templates are never evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.launch import Simulator
from support.examples import count_examples
from support.inventory_sources import Source
from support.playbook_runner import PlaybookRunner, Task
from support.scenarios import USER_TAG, VM
from support.stub_server import StubRequest, StubResponse, StubServer

# Texts that would create a file if a template engine evaluated them; the last ones only together, or with their own
# delimiters.
ATTACKS = {
    "expression": "{{ lookup('pipe', 'touch MARK') }}",
    "statement": "{% set x = lookup('pipe', 'touch MARK') %}",
    "quoted": "\"' }} {{ lookup('pipe', 'touch MARK') }}",
    "delimiters": "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n[[ lookup('pipe', 'touch MARK') ]]",
    "opening": "{",
    "rest": "{ lookup('pipe', 'touch MARK') }}",
    "slashes": "a/../../b",
    "newlines": "a\nb\r\n",
    "long": "x" * 10000,
    "odd": "\u0000\u2028\ufffe",
}
COMPOSE = {
    "copied": "virtinfra_description",
    "joined": "virtinfra_description ~ ''",
    "put_together": "virtinfra_description ~ virtinfra_hostname",
    "changed": "virtinfra_description | replace('a', 'a')",
    "by_core": "virtinfra_description | regex_replace('^', '')",
    "listed": "[virtinfra_description, virtinfra_description]",
    "nested": "{'a': {'b': virtinfra_description}}",
    "half": "'{' ~ virtinfra_hostname",
}
KEYED = [{"key": "virtinfra_description", "prefix": "d"}, {"key": "virtinfra_description ~ '-x'", "separator": ""}]
CHECKS = [
    "virtinfra_description == value",
    "copied == value",
    "joined == value",
    "changed == value",
    "by_core == value",
    "listed == [value, value]",
    "nested == {'a': {'b': value}}",
    "put_together == value ~ rest",
    "half == '{' ~ rest",
    "virtinfra_extra_member == [{'a': value, value: 'b'}]",
    "hostvars[inventory_hostname].virtinfra_description == value",
    "'odd' in group_names",
    "inventory_hostname in groups.odd",
]
USE: Task = {
    "ansible.builtin.debug": {
        "msg": "{{ inventory_hostname }} {{ inventory_hostname_short }} {{ group_names }} {{ groups }}"
        " {{ copied | default(virtinfra_name) }} {{ hostvars }}"
    }
}
PASSED = "All assertions passed"


def count_passed_checks(playbook_runner: PlaybookRunner, source: Source, checks: list[str], **texts: str) -> int:
    """Run these checks on all hosts of an inventory and return how many passed."""
    variables = {}
    for name, text in texts.items():
        (playbook_runner.folder / name).write_bytes(text.encode())
        path = json.dumps(str(playbook_runner.folder / name))
        variables[name] = f"{{{{ lookup('ansible.builtin.file', {path}, rstrip=false) }}}}"
    check: Task = {"ansible.builtin.assert": {"that": checks}}
    run = playbook_runner.play(
        check, USE, hosts="all", vars=variables, ignore_errors=False, arguments=["-i", str(source.path)]
    )
    assert run.code == 0, run.output[-3000:]
    return run.output.count(PASSED)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_value_of_a_host_is_a_template(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, attack: str
) -> None:
    mark = tmp_path / "mark"
    value = ATTACKS[attack].replace("MARK", str(mark))
    rest = ATTACKS["rest"].replace("MARK", str(mark))
    for record in sim.records("host"):
        hostile = {"name": value, "description": value, "hostname": rest, "extraMember": [{"a": value, value: "b"}]}
        sim.change("host", record["uuid"], **hostile)
    source = Source(
        tmp_path,
        "hosts",
        base_url=sim.url,
        session_id=sim.session,
        compose=COMPOSE,
        keyed_groups=KEYED,
        groups={"odd": "virtinfra_description != 'a'"},
        hostnames=["name", "virtinfra_description", "{{ virtinfra_description }}"],
    )
    assert count_passed_checks(playbook_runner, source, CHECKS, value=value, rest=rest) == 3
    assert not mark.exists(), "a value of the service was run"


@pytest.mark.parametrize("attack", ["expression", "statement", "delimiters"])
def test_one_template_among_plain_strings_is_not_evaluated(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, attack: str
) -> None:
    mark = tmp_path / "mark"
    value = ATTACKS[attack].replace("MARK", str(mark))
    for record in sim.records("host"):
        sim.change("host", record["uuid"], description=value)
    compose = {"copied": "virtinfra_description"}
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, compose=compose)
    assert (
        count_passed_checks(playbook_runner, source, ["virtinfra_description == value", "copied == value"], value=value)
        == 3
    )
    assert not mark.exists(), "a value of the service was run"


@pytest.mark.parametrize("plugin", ["vms", "primary_storages"])
def test_no_value_of_any_inventory_is_a_template(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, plugin: str
) -> None:
    mark = tmp_path / "mark"
    value = ATTACKS["expression"].replace("MARK", str(mark))
    for record in sim.records("host"):
        sim.change("host", record["uuid"], name=value, managementIp=value)
    for record in sim.records("vm"):
        nics = [{"ip": value, "metaData": value, "usedIps": [{"ip": value}]}]
        sim.change("vm", record["uuid"], name=value, description=value, vmNics=nics)
    for record in sim.records("primarystorage"):
        sim.change("primarystorage", record["uuid"], name=value, description=value, url=value)
    sim.change("usertag", USER_TAG, tag=value)
    source = Source(
        tmp_path,
        plugin,
        base_url=sim.url,
        session_id=sim.session,
        user_tags=True,
        keyed_groups=[
            {"key": "virtinfra_host.name | default(virtinfra_name)"},
            {"key": "virtinfra_addresses | default([])"},
            {"key": "virtinfra_user_tags", "prefix": "tag"},
        ],
        compose={"copied": "virtinfra_host.name | default(virtinfra_url)"},
    )
    checks = ["virtinfra_name == value", "copied | default(value) == value", "ansible_host | default('') != value"]
    if plugin == "vms":
        checks += ["virtinfra_user_tags == ([value] if virtinfra_uuid == '" + VM + "' else [])"]
        checks += ["virtinfra_addresses == [value]", "virtinfra_vm_nics[0].ip == value"]
        checks += ["virtinfra_host is none or virtinfra_host.name == value"]
    assert (
        count_passed_checks(playbook_runner, source, checks, value=value) == {"vms": 6, "primary_storages": 5}[plugin]
    )
    assert not mark.exists(), "a value of the service was run"


# Each evaluates its value once more, as careless playbooks do, or fails; the last two use it as a string argument.
CARELESS: list[Task] = [
    {"ansible.builtin.debug": {"msg": "x"}, "when": "{{ VALUE }}"},
    {"ansible.builtin.debug": {"msg": "x"}, "when": "VALUE"},
    {"ansible.builtin.assert": {"that": ["{{ VALUE }}"]}},
    {"ansible.builtin.assert": {"that": "{{ VALUE }}"}},
    {"ansible.builtin.assert": {"that": "VALUE"}},
    {"ansible.builtin.debug": {}, "failed_when": "{{ VALUE }}"},
    {"ansible.builtin.debug": {}, "failed_when": "VALUE"},
    {"ansible.builtin.debug": {}, "changed_when": "{{ VALUE }}"},
    {"ansible.builtin.debug": {}, "until": "{{ VALUE }}", "retries": 1, "delay": 0, "register": "dummy"},
    {"ansible.builtin.debug": {}, "until": "VALUE", "retries": 1, "delay": 0, "register": "dummy"},
    {"ansible.builtin.debug": {"var": "{{ VALUE }}"}},
    {"ansible.builtin.debug": {"var": "VALUE"}},
    {"ansible.builtin.debug": {"msg": "{{ item }}"}, "loop": ["{{ VALUE }}"], "when": "item"},
    {"ansible.builtin.debug": {"var": "item"}, "loop": "{{ [VALUE] }}", "when": "{{ item }}"},
    {"ansible.builtin.debug": {"msg": "{{ item }}"}, "with_items": "{{ VALUE }}"},
    {"ansible.builtin.set_fact": {"set": "{{ VALUE }}"}},
    {"ansible.builtin.debug": {"msg": "{{ set }}"}, "when": "{{ set }}"},
]
# The variables with the hostile value: plain, composed, and in the result of a module.
EXPRESSIONS = [
    *("virtinfra_description", "copied", "joined", "by_core", "virtinfra_extra_member[0].a"),
    *("(virtinfra_extra_member[0] | list)[1]", "hostvars[inventory_hostname].copied"),
    *("found.hosts[0].description", "found.hosts[0].extra_member[0].a"),
]
BARE = "lookup('pipe', 'touch MARK')"


def build_careless_tasks(tasks: list[Task], value: str) -> list[Task]:
    """Return tasks in which an expression replaces the value."""
    filled: list[Task] = json.loads(json.dumps(tasks).replace("VALUE", value))
    return [{**task, "ignore_errors": True} for task in filled]


@pytest.mark.parametrize("attack", [BARE, "{{ " + BARE + " }}"], ids=["bare", "braces"])
def test_no_value_of_a_host_is_run_by_careless_tasks(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, attack: str
) -> None:
    """Use cached, composed, grouped and registered values in conditions and loops."""
    mark = tmp_path / "mark"
    value = attack.replace("MARK", str(mark))
    for record in sim.records("host"):
        sim.change("host", record["uuid"], description=value, extraMember=[{"a": value, value: "b"}])
    source = Source(
        tmp_path,
        "hosts",
        base_url=sim.url,
        session_id=sim.session,
        cache=True,
        cache_plugin="jsonfile",
        cache_connection=str(tmp_path / "cache"),
        compose={name: COMPOSE[name] for name in ("copied", "joined", "by_core")},
        keyed_groups=[{"key": "virtinfra_description", "separator": ""}],
    )
    source.fill(cache=True)
    sim.clear_log()
    # If the expressions equal the value, the tasks used it.
    met: Task = {"ansible.builtin.assert": {"that": [f"{expression} == value" for expression in EXPRESSIONS]}}
    read: Task = {"virtinfra.manager.host_info": {}, "register": "found"}
    tasks = [read, met, *build_careless_tasks(CARELESS, "virtinfra_description")]
    tasks += [task for each in (*EXPRESSIONS, "group_names[0]") for task in build_careless_tasks(CARELESS[:1], each)]
    (tmp_path / "value").write_text(value, encoding="utf-8")
    variables = {"ansible_connection": "local", "value": f"{{{{ lookup('file', '{tmp_path / 'value'}') }}}}"}
    run = playbook_runner.play(*tasks, hosts="host-1", vars=variables, arguments=["-i", str(source.path)])
    assert [played.status for played in run][:2] == ["ok", "ok"], run.results[1]
    assert len(run.tasks) == len(tasks), run.output[-3000:]
    assert not mark.exists(), "a value of the service was run"


# Values that core's decoders would convert to objects; the last one has an escaped key.
REVIVED = {
    "trusted": {
        "__ansible_type": "_AnsibleTaggedStr",
        "value": "{{ lookup('pipe', 'touch MARK') }}",
        "tags": [{"__ansible_type": "TrustedAsTemplate"}],
    },
    "unknown": {"__ansible_type": "no such type"},
    "vault": {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n00\n"},
    "unsafe": {"__ansible_unsafe": "x"},
    "converted": {"_AnsibleType": "no such type"},
}


@pytest.mark.parametrize("attack", REVIVED)
def test_the_cache_does_not_deserialize_objects_of_the_service(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, attack: str
) -> None:
    mark = tmp_path / "mark"
    value = json.loads(json.dumps(REVIVED[attack]).replace("MARK", str(mark)))
    for record in sim.records("host"):
        sim.change("host", record["uuid"], description=value, extraMember=[value])
    source = Source(
        tmp_path,
        "hosts",
        base_url=sim.url,
        session_id=sim.session,
        cache=True,
        cache_plugin="jsonfile",
        cache_connection=str(tmp_path / "cache"),
        compose={"copied": "virtinfra_description"},
    )
    name = "ansible_vault" if attack == "vault" else "ansible_unsafe" if attack == "unsafe" else "ansible_type"
    checks = [f"virtinfra_description.{name} is string", "copied == virtinfra_description"]
    checks += [f"virtinfra_extra_member[0].{name} == virtinfra_description.{name}"]
    for dummy in ("fresh", "cached"):
        assert count_passed_checks(playbook_runner, source, checks) == 3
        sim.clear_log()
    assert not sim.log(), "the cache must have answered"
    assert not mark.exists(), "a value of the service was run"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
MEMBERS = [
    *("name", "managementIp", "clusterUuid", "hostUuid", "attachedClusterUuids", "vmNics", "deviceId", "usedIps", "ip"),
    *("bondings", "nics", "host", "hosts", "service", "l3NetworkUuid", "description", "a-b", "1", "", "class"),
]
NESTED = st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=5)
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(MEMBERS), JSON | st.lists(NESTED, max_size=2), max_size=8), max_size=3
)


@pytest.mark.parametrize("plugin", ["hosts", "vms", "primary_storages"])
def test_records_of_any_shape_are_an_inventory_or_a_failure(tmp_path: Path, plugin: str) -> None:
    records: list[dict[str, Any]] = []

    def answer(request: StubRequest) -> StubResponse:
        if "network-facts" in request.path:
            return StubResponse(200, {"nics": records, "bondings": records})
        return StubResponse(200, {"inventories": records, "total": len(records)})

    with StubServer(answer) as service:
        facts = {"network_facts": True} if plugin == "hosts" else {}
        source = Source(tmp_path, plugin, base_url=service.url, session_id="s", request_retries=0, **facts)

        @settings(max_examples=count_examples(20), deadline=None, suppress_health_check=list(HealthCheck))
        @given(RECORDS)
        def hold(given_records: list[dict[str, Any]]) -> None:
            records[:] = [{**record, "uuid": f"{number:032x}"} for number, record in enumerate(given_records)]
            inventory = InventoryData()
            try:
                source.fill(inventory)
            except AnsibleParserError:
                assert list(inventory.hosts) == []
            else:
                assert len(inventory.hosts) >= len(records)

        hold()
