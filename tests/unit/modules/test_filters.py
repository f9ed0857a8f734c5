"""The filters that roles and playbooks use to build lists and messages."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.virtinfra import manager as collection
from ansible_collections.virtinfra.manager.plugins.filter import failed_jobs, overdue_vms, to_datetime
from ansible_collections.virtinfra.manager.plugins.filter.chat_refusal import explain_refusal
from ansible_collections.virtinfra.manager.plugins.filter.columns_to_rows import build_rows
from ansible_collections.virtinfra.manager.plugins.filter.failed_jobs import list_failed_jobs
from ansible_collections.virtinfra.manager.plugins.filter.lost_hosts import list_lost_hosts
from ansible_collections.virtinfra.manager.plugins.filter.new_host_refusal import refuse_new_host
from ansible_collections.virtinfra.manager.plugins.filter.overdue_vms import list_overdue_vms
from ansible_collections.virtinfra.manager.plugins.filter.serial_refusal import refuse_serial
from ansible_collections.virtinfra.manager.plugins.filter.unknown_variables import (
    describe_unknown as describe_variables,
)

UUID = "a0000003000040008000000000000001"


def test_columns_become_rows() -> None:
    assert build_rows({"name": ["a", "b"], "state": "present", "tags": iter([[1], None])}) == [
        {"name": "a", "state": "present", "tags": [1]},
        {"name": "b", "state": "present", "tags": None},
    ]
    assert build_rows({"name": [], "state": None}) == []
    assert build_rows({"name": map(str, range(2)), "options": {"a": 1}}) == [
        {"name": "0", "options": {"a": 1}},
        {"name": "1", "options": {"a": 1}},
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": ["a", "b"], "uuid": ["c"]}, "not name: 2, uuid: 1"),
        ({"name": "a"}, "not no list"),
        ({}, "not no list"),
        (["a"], "must be a dictionary"),
    ],
)
def test_columns_without_a_common_length_are_refused(columns: Any, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        build_rows(columns)


def test_failed_jobs_of_one_event_of_many_and_of_several_conditions() -> None:
    job = {"job": {"uuid": "job-1"}, "msg": "it failed"}
    about = {**job, "about": "host-1", "msg": "x" * 2000}
    assert list_failed_jobs({"event": job}) == [{**job, "name": "job-1", "text": "job-1: it failed"}]
    both = list_failed_jobs({"event": {"jobs": [job, about]}})
    assert [entry["name"] for entry in both] == ["job-1", "host-1"]
    assert both[1]["text"] == f"host-1: {'x' * 1000} ..."
    assert list_failed_jobs({"events": {"m_0": job, "m_1": {"jobs": [about]}}}) == both


def test_only_hosts_that_an_event_names_are_lost() -> None:
    hosts = [{"uuid": str(number), "name": f"host-{number}", "management_ip": "192.0.2.1"} for number in range(3)]
    changes = [{"change": {"uuid": str(number)}} for number in (1, 2, 7)]
    vms = [{"name": name, "host_uuid": uuid} for name, uuid in (("a", "1"), ("b", "1"), ("c", "0"), ("d", None))]
    assert [host["text"] for host in list_lost_hosts(hosts, changes, vms)] == [
        "host-1 (192.0.2.1) is down. Its VMs: a, b",
        "host-2 (192.0.2.1) is down. It has no VMs.",
    ]
    many = [{"name": "v" * 600, "host_uuid": "1"}] * 2
    assert list_lost_hosts(hosts, changes, many)[0]["text"].endswith("vvv ...")


def test_vms_that_are_not_protected_are_overdue() -> None:
    vms = [
        {"vm": "a", "outcome": "protected", "error": None},
        {"vm": "b", "outcome": "overdue", "error": "Its newest point is of Monday."},
    ]
    (entry,) = list_overdue_vms({"vms": vms})
    assert (entry["name"], entry["text"]) == ("b", "b is overdue: Its newest point is of Monday.")


def test_a_refusal_of_a_chat_names_what_was_not_reported_and_masks_the_address() -> None:
    url = "https://user:pass-word@chat.example.com/services/a-key%2Fb?token=other-key"
    sent = [[{"name": "a"}], [{"name": "b"}, {"name": "c"}]]
    results = [
        {"chat_batch": sent[0], "status": 200},
        {
            "chat_batch": sent[1],
            "failed": True,
            "msg": "Status 403",
            "content": "a-key/b pass-word other-key no" + "x" * 500,
        },
    ]
    shown = explain_refusal({"results": results, "failed": True}, [*sent[0], *sent[1]], url)
    assert shown.startswith("b, c. Status 403. ******** ******** ******** nox")
    assert len(shown) < 250
    unsent = {"failed": True, "msg": "the template is wrong"}
    assert explain_refusal(unsent, sent[0], url) == "a. the template is wrong."


WRONG: list[Any] = [None, 1, "text", [], ["text"], [{}], {}, {"jobs": ["text"]}]

# The filters and tests that take a value of any type, of which they return something.
OF_ANY_TYPE = {"escape_controls", "remote_address", "serial_refusal"}


def list_plugins() -> list[tuple[str, Any]]:
    """Return the filters and tests of the collection, by their names."""
    folder = Path(collection.__path__[0]) / "plugins"
    plugins = []
    for path in sorted((*folder.glob("filter/*.py"), *folder.glob("test/*.py"))):
        module = import_module(f"{collection.__name__}.plugins.{path.parent.name}.{path.stem}")
        named = module.FilterModule().filters() if path.parent.name == "filter" else module.TestModule().tests()
        plugins += named.items()
    return plugins


@pytest.mark.parametrize(("name", "function"), list_plugins())
def test_a_value_of_a_wrong_type_is_refused_with_what_is_taken(name: str, function: Any) -> None:
    """Python's own message would name neither the filter nor what it takes."""
    needed = [each for each in signature(function).parameters.values() if each.default is each.empty]
    refusals = []
    for value in WRONG:
        try:
            function(*[value] * len(needed))
        except AnsibleFilterError as refusal:
            refusals.append(str(refusal))
    assert bool(refusals) == (name not in OF_ANY_TYPE)
    pattern = re.compile(rf"{name}:? (takes|needs|the input must be|give|not|\[0\] of the input is) \w")
    assert [each for each in refusals if not pattern.match(each)] == []


@pytest.mark.parametrize(
    ("plugin", "value", "message"),
    [
        (
            failed_jobs,
            {"jobs": [{"state": "failed"}], "changed": False},
            (
                "failed_jobs takes the variable ansible_eda, which a rulebook sets for its playbook. For the result of"
                " job_wait, write result.jobs | selectattr('state', 'equalto', 'failed'). The member 'event' is"
                " missing."
            ),
        ),
        (failed_jobs, [{"state": "failed"}], "selectattr('state', 'equalto', 'failed')."),
        (overdue_vms, [{"vm": "a"}], ": the fact vm_backup_report_report."),
        (to_datetime, "2024-01-06", "such as 'Jan 6, 2017 3:51:16 AM': '2024-01-06'"),
    ],
)
def test_what_a_filter_takes(plugin: Any, value: Any, message: str) -> None:
    (function,) = plugin.FilterModule().filters().values()
    with pytest.raises(AnsibleFilterError) as refused:
        function(value)
    assert str(refused.value).endswith(message)


@pytest.mark.parametrize(
    ("host", "groups", "reason"),
    [
        ({}, {}, ""),
        ({"uuid": "localhost"}, {}, "its uuid is invalid"),
        ({"uuid": f"{UUID}\n"}, {}, "its uuid is invalid"),
        ({}, {"all": [UUID]}, "the inventory already has a host or group with this name"),
        ({}, {UUID: []}, "the inventory already has a host or group with this name"),
        ({}, {"repair": ["other"]}, "the group repair of the inventory already has hosts"),
        ({"management_ip": "127.1"}, {}, "its management_ip 127.1 is not the address of another machine"),
        ({"management_ip": "a\x1b"}, {}, "its management_ip a\\x1b is not the address of another machine"),
        ({"management_ip": None}, {}, "its management_ip None is not the address of another machine"),
    ],
)
def test_a_host_of_the_service_takes_the_place_of_no_inventory_host(host: Any, groups: Any, reason: str) -> None:
    record = {"uuid": UUID, "management_ip": "192.0.2.1", **host}
    assert refuse_new_host(record, {"all": [], **groups}, "repair") == reason


@pytest.mark.parametrize(
    ("playbook", "names", "meant"),
    [
        ("maintenance_walk", ["maintenance_walk_patern"], "maintenance_walk_pattern"),
        ("maintenance_walk", ["maintenance_pattern"], "maintenance_walk_pattern"),
        ("maintenance_walk", ["maintenence_walk_pattern"], "maintenance_walk_pattern"),
        ("maintenance_walk", ["maintenance_walk_pattern", "maintenance_walk_seriel"], "maintenance_walk_serial"),
        ("onboard_hosts", ["onboard_hosts_patern"], "onboard_hosts_pattern"),
        ("onboard_hosts", ["onboard_host_pattern"], "onboard_hosts_pattern"),
        ("back_up_vms", ["back_up_vms_patern"], "back_up_vms_pattern"),
        ("back_up_vms", ["backup_vms_pattern"], "back_up_vms_pattern"),
        ("remove_hosts", ["remove_hosts_patern"], "remove_hosts_pattern"),
    ],
)
def test_misspelt_variables_of_playbooks(playbook: str, names: list[str], meant: str) -> None:
    """With a misspelt pattern, a playbook would process all hosts."""
    message = f"the playbook {playbook} has no variable {names[-1]}. Did you mean {meant}?"
    assert describe_variables(playbook, ["inventory_hostname", *names]) == message


def test_variables_of_other_purposes_are_none_of_the_playbook() -> None:
    """Nor is a variable of the play from which that of the playbook is set."""
    others = ["groups", "host_maintenance_tasks", "remove_hosts_pattern", "pattern", "maintenance_tasks", "serial"]
    assert describe_variables("maintenance_walk", others) == ""
    both = ["maintenance_pattern", "maintenance_walk_pattern", "maintenance_walk_serial"]
    assert describe_variables("maintenance_walk", both) == ""
    own = (
        "Its own variables are maintenance_walk_pattern, maintenance_walk_serial. Those of its role begin with"
        " host_maintenance_."
    )
    message = f"the playbook maintenance_walk has no variable maintenance_walk_hook. {own}"
    assert describe_variables("maintenance_walk", ["maintenance_walk_hook"]) == message


def test_a_variable_of_the_role_with_the_prefix_of_the_playbook() -> None:
    message = (
        "the playbook maintenance_walk has no variable maintenance_walk_tasks. Did you mean host_maintenance_tasks?"
    )
    assert describe_variables("maintenance_walk", ["maintenance_walk_tasks"]) == message


def test_a_playbook_without_own_variables_names_those_of_its_role() -> None:
    message = "the playbook drift has no variable drift_colour. Those of its role begin with site_drift_."
    assert describe_variables("drift", ["site_drift_group", "drift_colour", "drifting"]) == message


@pytest.mark.parametrize("value", [1, "12", "30%", "100%", [1], [1, "5", "30%"], ["007"]])
def test_sizes_of_batches(value: Any) -> None:
    assert refuse_serial(value, "walk_serial") == ""


@pytest.mark.parametrize(
    "value", [0, "0", "0%", -1, "-1", 1.5, True, None, "", "lots", "1,2", " 30%", "3 %", [], [1, 0], {}]
)
def test_values_that_are_no_sizes_of_batches(value: Any) -> None:
    """Ansible takes 0 as all hosts, and fails with a traceback for the others."""
    message = refuse_serial(value, "walk_serial")
    assert message.startswith(
        "walk_serial must be a number of hosts from 1, a percentage of them such as 30%, or a list"
    )
    assert message.endswith(f""" [1, "30%"]}}', not {value!r}""")
