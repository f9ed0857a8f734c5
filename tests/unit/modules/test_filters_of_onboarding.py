# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter plan_onboarding: the objects of each step, and the report of each host."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.filter.plan_onboarding import plan_onboarding

SERVICES = [{"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork"]}]
ADDED = {"changed": True, "host": {"uuid": "1" * 32}}


def make_host(name: str = "a", **variables: Any) -> dict[str, Any]:
    """Return the variables of a host."""
    defaults = {"state": "enabled", "services": [], "timeout": 60, "cluster": "cluster-1", "password": "secret-word"}
    return {"host": name, "name": name, "management_ip": "10.1.0.1", **defaults, **variables}


def test_host_without_services_is_added_with_its_final_state() -> None:
    plan = plan_onboarding([make_host(state="maintenance")])
    assert [step["state"] for step in plan["add"]] == ["maintenance"]
    done = {"results": [ADDED]}
    plan = plan_onboarding([make_host()], done, {"results": []}, {"results": []}, {"results": []})
    assert plan["disable"] == plan["serve"] == plan["finish"] == []
    assert plan["reports"]["a"] == {
        "name": "a",
        "management_ip": "10.1.0.1",
        "uuid": "1" * 32,
        "outcome": "changed",
        "services": None,
        "error": None,
    }


def test_only_new_hosts_are_disabled_until_their_services_are_set() -> None:
    hosts = [make_host(name, services=SERVICES) for name in "ab"]
    added = {"results": [ADDED, {"changed": False, "host": {"uuid": "2" * 32}}]}
    plan = plan_onboarding(hosts, added)
    assert [step["state"] for step in plan["add"]] == ["present", "present"]
    assert plan["disable"] == [{"uuid": "1" * 32, "state": "disabled", "wait_timeout": 60}]
    assert [step["host"] for step in plan["serve"]] == ["1" * 32, "2" * 32]
    assert [step["state"] for step in plan["finish"]] == ["enabled", "enabled"]


def test_failed_host_is_in_no_later_step() -> None:
    hosts = [make_host(name, services=SERVICES) for name in "ab"]
    failed = {"failed": True, "msg": "host a: give cluster to add it"}
    added = {"results": [failed, {"changed": False, "host": {"uuid": "2" * 32}}]}
    served = {"results": [{"changed": False, "services": [{"vlan_id": 100}]}]}
    plan = plan_onboarding(hosts, added, {"results": []}, served, {"results": [{"changed": False}]})
    assert [step["uuid"] for step in plan["finish"]] == ["2" * 32]
    assert plan["reports"]["a"]["outcome"] == "failed"
    assert plan["reports"]["a"]["error"] == "host a: give host_onboarding_cluster to add it"
    assert plan["reports"]["b"]["outcome"] == "unchanged"
    assert plan["reports"]["b"]["services"] == [{"vlan_id": 100}]


def test_task_that_failed_without_results_fails_its_hosts() -> None:
    plan = plan_onboarding([make_host()], {"failed": True, "msg": "no service"}, {}, {}, {"results": []})
    assert plan["reports"]["a"]["error"] == "host a: no service"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"state": "absent"}, "value of host_onboarding_state must be one of: enabled, disabled, maintenance"),
        ({"ssh_port": "many"}, "argument 'host_onboarding_ssh_port' is of type"),
        ({"services": "eth1"}, "host_onboarding_services must be a list of dictionaries"),
        ({"services": [{"interface": "eth1"}]}, "missing required arguments: service_types found in host_onb"),
        ({"services": [{"interface": "eth1", "service_types": ["Net"]}]}, "value of service_types must be one or more"),
        ({"services": [{"interface": "eth1", "service_types": [], "vlan": 1}]}, "host_onboarding_services.vlan"),
    ],
)
def test_host_with_invalid_variables_is_in_no_step(variables: dict[str, Any], message: str) -> None:
    """The messages are those with which Ansible itself validates the variables of a role."""
    hosts = [make_host(**variables), make_host("b", ssh_port="__omit_place_holder__1")]
    plan = plan_onboarding(hosts, {"results": [ADDED]}, finished={"results": []})
    assert [step["name"] for step in plan["add"]] == ["b"]
    error = plan["reports"]["a"]["error"]
    assert error.startswith("host a: ")
    assert message in error
    assert "secret-word" not in error


def test_variables_are_not_copied_with_their_templates() -> None:
    """The containers of Ansible refer to all variables, which a deep copy of them would copy."""

    class Container(dict[str, Any]):
        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("copied")

    services = [Container(SERVICES[0])]
    assert len(plan_onboarding([make_host(services=services)])["add"]) == 1
