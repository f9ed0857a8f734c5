"""The variables of roles: which are found, how they are converted, and which are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from ansible.errors import AnsibleError, AnsibleUndefinedVariable
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.variables import (
    Play,
    list_roles,
    load_role_options,
    read_variables,
)

from support.workflow_runner import keep_value


def read(**variables: Any) -> Mapping[str, Any]:
    """Return the variables of the role vm_snapshots, as a workflow gets them."""
    given = {f"vm_snapshots_{name}": value for name, value in variables.items()}
    return read_variables("vm_snapshots", {"other": 1, **given}, keep_value, Masker())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("db-10", ["db-10"]),
        ("db-1, db-2,", ["db-1", "db-2"]),
        ("db-1\ndb-2\r\n\n", ["db-1", "db-2"]),
        ('["db-1", "a, b"]', ["db-1", "a, b"]),
        ("a, b\nc", ["a, b", "c"]),
        (["db-1", 7], ["db-1", "7"]),
        (None, []),
        ("", []),
    ],
)
def test_texts_become_lists(given: object, expected: list[str]) -> None:
    """A text in place of a list would select by substring: db, db-1 and db-10 for db-10."""
    assert read(vms=given)["vms"] == expected


def test_values_have_the_types_of_the_specification() -> None:
    values = read(keep="3", memory="yes")
    assert (values["keep"], values["memory"]) == (3, True)
    options = load_role_options("vm_snapshots")
    assert values.keys() == {name.removeprefix("vm_snapshots_") for name in options}
    assert values["name_prefix"] == options["vm_snapshots_name_prefix"]["default"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vmss": 1}, "the role vm_snapshots has no variable vm_snapshots_vmss. Did you mean vm_snapshots_vms?"),
        (
            {"vmss": 1, "about": 1},
            " The role vm_snapshots has no variable vm_snapshots_vmss. Did you mean vm_snapshots_vms?",
        ),
        ({"what_is_this_for": 1}, "has no variable vm_snapshots_what_is_this_for. Its variables are vm_snapshots_"),
        ({"what_is_this_for": 1}, " vm_snapshots_query, vm_snapshots_vms, "),
        ({"keep": "many"}, "vm_snapshots_keep must be a whole number, not 'many'"),
        ({"interval": "daily"}, "must be one of: day, hour, minute, got: daily. Did you mean day?"),
        ({"state": "gone"}, "vm_snapshots_state must be one of: present, absent, got: gone"),
        ({"vms": "[db-1]"}, "vm_snapshots_vms must be a list, and its text is not JSON"),
        ({"vms": '{"db-1": null}'}, "vm_snapshots_vms must be a list"),
        ({"vms": "{db-1: null}"}, "vm_snapshots_vms must be a list, and its text is not JSON"),
        ({"vms": {"db-1": None}}, "vm_snapshots_vms must be a list"),
        ({"vms": [["db-1"]]}, "each item of vm_snapshots_vms must be a string"),
        (
            {"vms": ["a", {"uuid": "u", "name": "n"}]},
            "vm_snapshots_vms[1] is a whole record. Give its member uuid, 'u'",
        ),
        ({"query": {"state": "Running"}}, "Write vm_snapshots_query: ['state=Running']"),
        (
            {"query": "name~=web-%,state=Running,Paused,Stopped"},
            (
                "vm_snapshots_query: 'Paused' is not a condition. A string is split at commas, so write a list:"
                " vm_snapshots_query: ['name~=web-%', 'state?=Running,Paused,Stopped'], or -e '{\"vm_snapshots_query\":"
                ' ["name~=web-%", "state?=Running,Paused,Stopped"]}\''
            ),
        ),
        (
            {"query": "['state?=Running,Paused']"},
            'needs quotes: -e \'{"vm_snapshots_query": ["name=web-1", "state=Running"]}\'',
        ),
    ],
)
def test_wrong_variables(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptions) as failure:
        read(**given)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("role", "given", "message"),
    [
        (
            "vm_backup_drill",
            {"count": "all"},
            "vm_backup_drill_count must be a whole number, such as 0, which chooses all, not 'all'",
        ),
        (
            "notifications",
            {"topics": [{"name": "t1", "endpoints": ["e1"]}]},
            (
                "notifications_topics[0]: there is no option endpoints. The member topics of an entry of"
                " notifications_endpoints subscribes the endpoint."
            ),
        ),
        ("vm_backup", {"keep_daily": 7}, "daily is a member of vm_backup_keep: write vm_backup_keep: {daily: 7}."),
        ("vm_backup", {"before_operation": "X"}, "write vm_backup_before: {operation: ...}."),
        ("vm_backup_report", {"keep_last": 7}, "write vm_backup_report_keep: {last: 7}."),
        ("vm_backup_restore", {"snapshot": True}, "Did you mean vm_backup_restore_snapshot_first?"),
        ("notifications", {"subscriptions": []}, "The member topics of an entry of notifications_endpoints subscribes"),
        ("vm_backup_drill", {"watch": "2m"}, "vm_backup_drill_watch must be a whole number of seconds, not '2m'"),
        (
            "site_shutdown",
            {"time_limit": "15m"},
            "site_shutdown_time_limit must be a whole number of seconds, not '15m'",
        ),
        ("site_shutdown", {"host_time": "5m"}, "site_shutdown_host_time must be a whole number of seconds, not '5m'"),
        (
            "vm_backup",
            {"mode": "full"},
            "vm_backup_mode. The role itself chooses full or incremental. vm_backup_full_ev",
        ),
        ("vm_backup", {"incremental": True}, "vm_backup_full_every says each which point of a VM is full: with 1 all"),
        ("vm_backup", {"mover": "mover-1"}, "vm_backup_mover. The data movers of the role are the hosts of the play."),
        (
            "host_onboarding",
            {"services": [{"nic": "eth1", "service_types": ["StorageNetwork"]}]},
            "host_onboarding_services[0]: there is no option nic. Did you mean interface?",
        ),
        (
            "host_onboarding",
            {"services": "[{interface: eth1}]"},
            '\'[{"interface": "eth1", "vlans": [100, 200], "service_types": ["StorageNetwork"]}]\' in an INI',
        ),
        *(
            ("vm_restore", {"vms": [{"name": "a", "snapshot_group": "b", word: value}]}, f"no option {word}. {hint}")
            for word in ("networks", "network", "nic")
            for value, hint in (
                (["l3-1"], "Did you mean l3_networks? For example: l3_networks: [l3-1]"),
                ([{"l3_network": "l3-1"}], "Did you mean nics? For example: nics: [{l3_network: l3-1}]"),
            )
        ),
        (
            "vm_restore",
            {"vms": [{"name": "a", "snapshot_group": "b", "l3_networks": [{"l3_network": "l3-1"}]}]},
            "l3_networks must be a string, such as [l3-1], not {",
        ),
        ("site_drift", {"file_mode": 640}, "site_drift_file_mode: 640 is no mode."),
        # Entries with the options of a module have its messages.
        (
            "notifications",
            {"endpoints": [{"type": "email", "name": "ops", "address": "ops@example.com"}]},
            "got: email. Create it with virtinfra.manager.api and CreateSNSEmailEndpoint, and select it with type",
        ),
        (
            "notifications",
            {"endpoints": [{"type": "snmp", "name": "ops", "snmp_port": 162}]},
            "there is no option snmp_port. The address and the port are those of the platform, which virtinfra",
        ),
        (
            "notifications",
            {"endpoints": [{"type": "snmp", "name": "ops", "colour": "red"}]},
            "platform, topics. For example: notifications_endpoints: [{type: snmp, name: monitoring,",
        ),
        (
            "host_maintenance",
            {"serial": 2},
            "no variable host_maintenance_serial. The playbook maintenance_walk has maintenance_walk_serial.",
        ),
        ("host_removal", {"pattern": "host-1"}, "The playbook remove_hosts has remove_hosts_pattern."),
        ("host_removal", {"evacuate": True}, "drains the host itself. host_removal_running_vms says what it may do"),
        *(
            (role, {"hosts": "host-3"}, f"are those of the play. Of the playbook {playbook}, they are those of")
            for role, playbook in (
                ("host_removal", "remove_hosts"),
                ("host_maintenance", "maintenance_walk"),
                ("host_onboarding", "onboard_hosts"),
            )
        ),
        # A list of objects for a variable that is true or false.
        ("site_shutdown", {"hosts": ["a", "b"]}, "true or false, such as true, with site_shutdown_host_query or site"),
        ("site_shutdown", {"hosts": "a,b"}, "true, with site_shutdown_host_query or site_shutdown_exclude_hosts to"),
        ("vm_backup_report", {"names": ["a"]}, "such as true, with vm_backup_report_query to choose VMs, not ['a']"),
        ("vm_backup", {"stopped": ["a"]}, "such as true, with vm_backup_vms or vm_backup_query to choose VMs"),
        # States of other roles.
        *(
            ("vm_power", {"state": word}, f"got: {word}. No state restarts VMs: run the role with vm_power_state: stop")
            for word in ("restarted", "restart", "reboot", "rebooted", "reset")
        ),
        ("vm_power", {"restart": True}, "no variable vm_power_restart. No state restarts VMs: run the role with"),
        ("site_shutdown", {"state": "restarted"}, "run the role with site_shutdown_state: stopped, and then with run"),
        ("site_shutdown", {"state": "restored"}, "got: restored. Did you mean running?"),
        ("host_evacuation", {"state": "restarted"}, "The role only migrates VMs. virtinfra.manager.vm restarts them."),
        ("host_evacuation", {"state": "absent"}, "Did you mean restored?"),
        ("host_evacuation", {"state": "present"}, "Did you mean evacuated?"),
        ("host_maintenance", {"state": "restored"}, "got: restored. Did you mean absent?"),
        ("host_maintenance", {"state": "running"}, "Did you mean absent?"),
        ("host_maintenance", {"state": "stopped"}, "Did you mean present?"),
        ("host_maintenance", {"state": "unmarked"}, "No state only takes marks off. absent puts back what they say"),
        ("host_onboarding", {"state": "present"}, "Did you mean enabled?"),
        ("host_onboarding", {"state": "absent"}, "got: absent. The role virtinfra.manager.host_removal removes hosts."),
        ("vm_backup", {"state": "absent"}, "ended ends what earlier runs left open. virtinfra.manager.backup_point"),
        ("vm_backup", {"state": "restored"}, "The role virtinfra.manager.vm_backup_restore writes points back."),
        ("vm_backup_restore", {"state": "restarted"}, "Did you mean vm_backup_restore_start: true?"),
        ("vm_restore", {"state": "restored"}, "Did you mean present?"),
        *(
            (role, {"state": "reverted"}, "got: reverted. virtinfra.manager.vm_snapshot_group with state: reverted")
            for role in ("vm_snapshots", "vm_restore")
        ),
    ],
)
def test_wrong_variables_of_other_roles(role: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptions) as failure:
        read_variables(role, {f"{role}_{name}": value for name, value in given.items()}, keep_value, Masker())
    assert message in str(failure.value)


@pytest.mark.parametrize("given", ["vm_snapshot_keep", "vm_snaphots_keep", "vms_snapshots_keep"])
def test_misspelt_beginning(given: str) -> None:
    """A variable of the play with such a name, from which the one of the role is set, is none."""
    message = f"has no variable {given}. Did you mean vm_snapshots_keep?"
    for default in ({}, {"vm_snapshots_keep": 7}):
        with pytest.raises(InvalidOptions, match=re.escape(message)):
            read_variables("vm_snapshots", {given: 3, **default}, keep_value, Masker())
    own = {given: 3, "vm_snapshots_keep": 3, "snapshots_vms": ["a"], "vm_restore_timeout": 5}
    assert read_variables("vm_snapshots", own, keep_value, Masker())["keep"] == 3


def test_texts_in_place_of_mappings_get_an_argument_that_works() -> None:
    """The command line takes a mapping only as JSON."""
    for role in list_roles():
        for name, rules in load_role_options(role).items():
            if "dict" not in (rules.get("type"), rules.get("elements")):
                continue
            for text in ("{a: b}", "[{a: b}]", "text"):
                with pytest.raises(InvalidOptions) as failure:
                    read_variables(role, {name: text}, keep_value, Masker())
                argument = json.loads(re.findall(r"-e '(.*?)'", str(failure.value))[0])
                assert argument.keys() == {name}
                assert not ArgumentSpecValidator({name: rules}).validate(argument).error_messages


def test_json_and_pairs_become_mappings() -> None:
    for text in ('{"daily": 3}', "daily=3"):
        assert read_variables("vm_backup", {"vm_backup_keep": text}, keep_value, Masker())["keep"]["daily"] == 3


def test_paths_on_the_controller_have_the_values_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """All modules and the other roles read paths so."""
    monkeypatch.setenv("REPORTS", "/srv/reports")
    for role in ("capacity_report", "site_drift", "vm_backup_report"):
        given = {f"{role}_path": "$REPORTS/page.html"}
        required = {f"{role}_repository": "/srv/backups"} if role == "vm_backup_report" else {}
        assert read_variables(role, {**given, **required}, keep_value, Masker())["path"] == "/srv/reports/page.html"


NUMBERS = [
    (role, name) for role in list_roles() for name, rules in load_role_options(role).items() if rules["type"] == "int"
]


@pytest.mark.parametrize(("role", "name"), NUMBERS)
def test_no_number_is_negative_and_no_limit_is_zero(role: str, name: str) -> None:
    """With a negative timeout, a role would give up before the service has answered."""
    required: dict[str, Any] = {
        given: "/x" for given, rules in load_role_options(role).items() if rules.get("required")
    }
    required.update(vm_restore_vms=[], vm_power_state="stopped")
    least = 1 if name.endswith(("_concurrency", "_per_host", "_port")) else 0
    least = 1 if name.endswith("_timeout") and not name.endswith("_grace_timeout") else least
    with pytest.raises(InvalidOptions, match=f"^{name} must be at least {least}, not {least - 1}$"):
        read_variables(role, {**required, name: least - 1}, keep_value, Masker())


def test_templates_are_evaluated() -> None:
    values = read_variables("vm_snapshots", {"vm_snapshots_keep": "{{ x }}"}, lambda value: 5, Masker())
    assert values["keep"] == 5

    def fail(value: object) -> object:
        raise AnsibleUndefinedVariable("'x' is undefined")

    with pytest.raises(InvalidOptions, match="vm_snapshots_keep cannot be evaluated: 'x' is undefined"):
        read_variables("vm_snapshots", {"vm_snapshots_keep": "{{ x }}"}, fail, Masker())


def test_the_placeholder_in_double_braces() -> None:
    def fail(value: object) -> object:
        raise AnsibleUndefinedVariable("'vm_uuid' is undefined")

    given = {"vm_backup_before": {"operation": "FreezeVm", "params": {"uuid": "{{ vm_uuid }}"}}}
    message = "'vm_uuid' is undefined. Write {vm_uuid}, in single braces, for the uuid of each VM"
    with pytest.raises(InvalidOptions, match=f"^vm_backup_before cannot be evaluated: {re.escape(message)}$"):
        read_variables("vm_backup", given, fail, Masker())


def test_a_variable_that_is_ignored_because_another_is_not_defined() -> None:
    """The task of a host omits such a variable, which is not left out for the reason that the host lacks it."""
    role = "host_onboarding"
    names = [f"{role}_{name}" for name in ("password", "cluster")]
    found: list[dict[str, Any]] = [UndefinedPassword({names[0]: "{{ x }}"}), {}]
    for of_host in found:
        play = Play(
            {"hostvars": {"h1": of_host}, names[0]: "{{ x }}"}, lambda value: UndefinedPassword()[names[0]], Masker()
        )
        with pytest.raises(InvalidOptions, match=r"^host_onboarding_password cannot be evaluated: 'x' is undefined$"):
            play.read_collected(role, "h1", {"names": names})
    for of_host in ({names[0]: "omitted"}, OmittedPassword({names[0]: "{{ x | default(omit) }}"})):
        play = Play({"hostvars": {"h1": of_host}}, keep_value, Masker())
        assert play.read_collected(role, "h1", {"names": names})["password"] is None


class OmittedPassword(dict[str, object]):
    """The variables of a host that has none of them, because their templates are omitted."""

    def __getitem__(self, name: str) -> object:
        raise AnsibleError("A template was resolved to an Omit scalar.")


class UndefinedPassword(dict[str, object]):
    """The variables of a host, of which each refers to one that does not exist."""

    def __getitem__(self, name: str) -> object:
        raise AnsibleUndefinedVariable("'x' is undefined")


def test_a_host_is_no_group_and_not_several() -> None:
    groups = {"all": ["m1", "m2"], "movers": ["m1", "m2"]}
    play = Play({"groups": groups}, keep_value, Masker())
    play.require_hosts("mover", ["m1", "localhost", "other"])
    for name, message in (
        ("movers", "mover must be a host, and movers is a group. Its hosts are: m1, m2"),
        ("m1,m2", "mover must be one host, not m1,m2"),
    ):
        with pytest.raises(InvalidOptions, match=message):
            play.require_hosts("mover", [name])
    described = [play.describe_unknown_host(name) for name in ("m1", "localhost", "m9")]
    assert described == ["", "", " The inventory has no host m9."]


def test_the_report_of_an_earlier_run_is_no_variable() -> None:
    assert read(report=[])


def test_omitted_members_are_left_out() -> None:
    """Core before 2.19 has a text in their place, with which an endpoint got this text as its URL."""
    omit = "__omit_place_holder__1"
    entry = {"type": "workchat", "name": "operators", "url": omit, "topics": ["t", omit]}
    variables = {"omit": omit, "notifications_endpoints": [entry], "notifications_state": omit}
    values = read_variables("notifications", variables, keep_value, Masker())
    assert values["state"] == "present"
    assert values["endpoints"][0]["url"] is None
    assert values["endpoints"][0]["topics"] == ["t"]


def test_variables_of_the_hosts_of_the_inventory() -> None:
    """Only those that a host has, converted by the argument specification."""
    services = [{"interface": "eth1", "vlans": "100,200", "service_types": "StorageNetwork"}]
    hosts = {"h1": {"host_onboarding_services": services, "other": 1}, "h2": {"host_onboarding_stat": "enabled"}}
    play = Play({"groups": {"site_hosts": ["h1", "h2"]}, "hostvars": hosts}, keep_value, Masker())
    assert (play.list_hosts("site_hosts"), play.list_hosts("none")) == (["h1", "h2"], [])
    assert play.read_host("host_onboarding", "h1", ["name", "services"]) == {
        "services": [{"interface": "eth1", "vlans": [100, 200], "service_types": ["StorageNetwork"]}]
    }
    with pytest.raises(InvalidOptions, match="host h2: the role host_onboarding has no variable"):
        play.read_host("host_onboarding", "h2", ["name"])


def test_defaults_that_are_templates_are_those_of_the_role() -> None:
    """Nothing but Ansible evaluates them, so outside of the role the variable is not set."""
    values = read_variables("host_removal", {}, keep_value, Masker())
    assert (values["uuid"], values["least_available"]) == (None, 1)


class Undefined(dict[str, object]):
    """The variables of a host, of which the first refers to one that does not exist."""

    def __getitem__(self, name: str) -> object:
        if name == "first":
            raise AnsibleUndefinedVariable("'x' is undefined")
        return super().__getitem__(name)


def test_variables_of_the_hosts_of_the_batch() -> None:
    """Variables that are not defined are left out: the code that needs one of a host reports the lack."""
    hosts = {"h1": Undefined(first=1, second=2), "h2": {"second": "3"}, "h3": {"second": 4}}
    play = Play({"ansible_play_batch": ["h1", "h2"], "hostvars": hosts}, keep_value, Masker())
    assert play.read_batch("first", "second") == ["2", "3"]
