"""Members of the records in variables: those that no record has, and values that they never have, give a warning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError

from simulator.launch import Simulator
from support.inventory_sources import Source, collect_warnings

Fill = Callable[..., list[str]]


@pytest.fixture
def fill(sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fill:
    """Return a function that fills an inventory and returns the warnings, without that of conditions with a list."""
    warnings = collect_warnings(monkeypatch)

    def fill_inventory(plugin: str, expression: str, **options: Any) -> list[str]:
        warnings.clear()
        connection = {"base_url": sim.url, "session_id": sim.session}
        Source(tmp_path, plugin, **connection, **options, groups={"a": expression}).fill()
        return [warning for warning in warnings if "could be evaluated for none" not in warning]

    return fill_inventory


STATES = "'up' is not a documented value of state. The documented values are enable, disable."


@pytest.mark.parametrize(
    "expression",
    [
        "virtinfra_vm_nics[0].state == 'up'",
        "virtinfra_vm_nics[0]['state'] == 'up'",
        "virtinfra_vm_nics.0.state != 'up'",
        "'up' == (virtinfra_vm_nics | first).state",
        "virtinfra_vm_nics[0].state in ['enable', 'up']",
        "virtinfra_vm_nics[0].state is eq('up')",
        "virtinfra_vm_nics[0].state is ansible.builtin.eq('up')",
        "virtinfra_vm_nics[0].state | default('') == 'up'",
        "virtinfra_vm_nics | selectattr('state', 'equalto', 'up') | list | length > 0",
        "virtinfra_vm_nics | default([]) | selectattr('state', '==', 'up') | list",
        "virtinfra_vm_nics | rejectattr('state', 'in', ['enable', 'up']) | list",
        "virtinfra_vm_nics | selectattr('ip') | selectattr('state', 'eq', 'up') | list",
        "(virtinfra_vm_nics | selectattr('ip') | first).state == 'up'",
        "'up' in virtinfra_vm_nics | map(attribute='state')",
        "'up' not in virtinfra_vm_nics | map(attribute='state') | list",
        "'up' is in(virtinfra_vm_nics | map(attribute='state') | list)",
        "virtinfra_vm_nics | map(attribute='state') | list is contains('up')",
        "(virtinfra_vm_nics | map(attribute='state') | list)[0] == 'up'",
        "virtinfra_vm_nics | map(attribute='state') | select('equalto', 'up') | list",
    ],
)
def test_values_that_no_element_of_a_list_has(fill: Fill, expression: str) -> None:
    assert fill("vms", expression)[0] == f"groups: a: virtinfra_vm_nics: {STATES}"


@pytest.mark.parametrize(
    ("plugin", "expression", "warning"),
    [
        ("vms", "virtinfra_state is match('running')", "no documented value of state matches 'running'."),
        ("vms", "virtinfra_state is search('down$')", "no documented value of state matches 'down$'."),
        ("vms", "virtinfra_state is ansible.builtin.regex('^up')", "no documented value of state matches '^up'."),
        (
            "vms",
            "virtinfra_vm_nics[0].state is match('up')",
            "virtinfra_vm_nics: no documented value of state matches 'up'. The documented values are enable, disable.",
        ),
        (
            "vms",
            "virtinfra_vm_nics | selectattr('state', 'match', 'up') | list",
            "virtinfra_vm_nics: no documented value of state matches 'up'. The documented values are enable, disable.",
        ),
        (
            "vms",
            "virtinfra_vm_nics | map(attribute='state') | reject('search', 'up') | list",
            "virtinfra_vm_nics: no documented value of state matches 'up'. The documented values are enable, disable.",
        ),
        (
            "vms",
            "virtinfra_host.state == 'enabled'",
            "virtinfra_host: 'enabled' is not a documented value of state. Did you mean Enabled?",
        ),
        (
            "hosts",
            "virtinfra_primary_storages | selectattr('status', 'equalto', 'connected') | list",
            "virtinfra_primary_storages: 'connected' is not a documented value of status. Did you mean Connected?",
        ),
        (
            "hosts",
            "virtinfra_primary_storages[0].available_capacity < 500",
            "available_capacity of virtinfra_primary_storages is in bytes, such as ",
        ),
        (
            "vms",
            "virtinfra_name == 'vm-1*'",
            (
                "virtinfra_name is compared with the whole text 'vm-1*', in which * matches only itself. Write"
                " virtinfra_name is match('vm-1.*')"
            ),
        ),
        (
            "vms",
            "virtinfra_name not in ['vm-1', '%.example']",
            (
                "virtinfra_name is compared with the whole text '%.example', in which % matches only itself. Write"
                " virtinfra_name is not match('.*[.]example$')"
            ),
        ),
        (
            "vms",
            "virtinfra_addresses[0] == '10.*'",
            (
                "an element of virtinfra_addresses is compared with the whole text '10.*', in which * matches only"
                " itself. Write ... is match('10[.].*')"
            ),
        ),
        (
            "vms",
            "virtinfra_vm_nics | selectattr('stat', 'equalto', 'enable') | list",
            "the elements of virtinfra_vm_nics have no stat. Did you mean state?",
        ),
        (
            "vms",
            "virtinfra_vm_nics | map(attribute='l3NetworkUuid') | list",
            "the elements of virtinfra_vm_nics have no l3NetworkUuid. Did you mean l3_network_uuid?",
        ),
        (
            "vms",
            "virtinfra_vm_nics | rejectattr('is_up') | list",
            "the elements of virtinfra_vm_nics have no is_up. Their members are ",
        ),
        (
            "vms",
            "virtinfra_vm_nics | map(attribute='used_ips.0.adress') | list",
            "the elements of virtinfra_vm_nics[0].used_ips have no adress.",
        ),
        ("vms", "virtinfra_vm_nics[0].stat == 'enable'", "the elements of virtinfra_vm_nics have no stat."),
        ("vms", "virtinfra_host.stat == 'Enabled'", "virtinfra_host has no stat. Did you mean state?"),
        (
            "vms",
            "'l3-1' in (virtinfra_vm_nics | map(attribute='l3_network_name') | list)",
            (
                "the elements of virtinfra_vm_nics have no l3_network_name, which needs networks with the name of a"
                " network, such as networks: [l3-1]"
            ),
        ),
        (
            "vms",
            "virtinfra_description.owner | default('nobody') == 'ann'",
            (
                "virtinfra_description is a text, and has no member owner. Use the text itself, such as 'owner' in"
                " virtinfra_description"
            ),
        ),
        (
            "vms",
            "virtinfra_addresses.first | default('none') == '10.0.0.1'",
            "virtinfra_addresses is a list of texts, and has no member first. Write virtinfra_addresses | first",
        ),
        (
            "vms",
            "virtinfra_addresses | map(attribute='ip') | list",
            "virtinfra_addresses[0] is a text, and has no member ip. Use the text itself, such as",
        ),
        (
            "vms",
            "virtinfra_vm_nics.state | default('') == 'enable'",
            "virtinfra_vm_nics is a list. Write virtinfra_vm_nics[0].state, or virtinfra_vm_nics | map(attribute=",
        ),
        (
            "vms",
            "virtinfra_vm_nics.state == 'enable'",
            "virtinfra_vm_nics is a list. Write virtinfra_vm_nics[0].state, or virtinfra_vm_nics | map(attribute=",
        ),
    ],
)
def test_values_and_names_that_no_record_has(fill: Fill, plugin: str, expression: str, warning: str) -> None:
    assert fill(plugin, expression)[0].startswith(f"groups: a: {warning}")


@pytest.mark.parametrize(
    "expression",
    [
        "'{}' in virtinfra_addresses",
        "'{}' not in virtinfra_addresses",
        "'{}' is in(virtinfra_addresses)",
        "'{}*' in virtinfra_addresses",
        "virtinfra_addresses is contains('{}')",
        "'{}' in virtinfra_vm_nics | map(attribute='ip')",
    ],
)
def test_a_part_of_an_element_of_a_list(sim: Simulator, fill: Fill, expression: str) -> None:
    address = sim.records("vm")[0]["vmNics"][0]["ip"]
    (warning,) = fill("vms", expression.format(address[:5]))
    assert "is compared with whole elements of the list, such as '" in warning
    assert f"| join(' '), such as {address[:5]!r} in " in warning
    assert fill("vms", expression.format(address).replace("*", "")) == []


def test_a_part_of_an_element_is_found_as_the_warning_says(fill: Fill, sim: Simulator) -> None:
    address = sim.records("vm")[0]["vmNics"][0]["ip"]
    assert fill("vms", f"{address[:5]!r} in virtinfra_addresses | join(' ')") == []


@pytest.mark.parametrize(
    ("number", "meant"), [(8, "8 * 1024 * 1024 * 1024 for 8 GiB"), (4096, "4096 * 1024 * 1024 for 4096 MiB")]
)
def test_a_size_without_a_unit(fill: Fill, number: int, meant: str) -> None:
    (warning,) = fill("vms", f"virtinfra_memory_size >= {number}")
    assert warning.endswith(f"Write {meant}")


def test_members_of_network_facts(fill: Fill) -> None:
    assert fill("hosts", "virtinfra_bondings | selectattr('slave', 'defined') | list", network_facts=True) == []
    (warning,) = fill("hosts", "virtinfra_nics | selectattr('speed_mb', '>', 1) | list", network_facts=True)
    assert warning.startswith("groups: a: the elements of virtinfra_nics have no speed_mb.")


@pytest.mark.parametrize("value", ["0", "4G"])
def test_a_number_of_an_element_that_is_compared_with_a_string_is_refused(fill: Fill, value: str) -> None:
    with pytest.raises(AnsibleParserError, match=f"device_id of virtinfra_vm_nics is a number, and '{value}' is a"):
        fill("vms", f"virtinfra_vm_nics | selectattr('device_id', '==', '{value}') | list")


@pytest.mark.parametrize(
    ("plugin", "expression"),
    [
        ("vms", "virtinfra_vm_nics[0].state == 'enable'"),
        ("vms", "virtinfra_vm_nics | selectattr('state', 'in', ['enable', 'disable']) | list"),
        ("vms", "virtinfra_vm_nics | selectattr('ip', 'match', '10.') | map(attribute='mac') | list"),
        ("vms", "virtinfra_vm_nics | selectattr('device_id', 'eq', 0) | list"),
        ("vms", "virtinfra_vm_nics | map(attribute='used_ips') | flatten | map(attribute='ip') | list"),
        ("vms", "virtinfra_vm_nics | map(attribute='ip') | select('in', ['10.0.0.1']) | list"),
        ("vms", "virtinfra_vm_nics | map(attribute='state') | map('upper') | list is contains('ENABLE')"),
        ("vms", "'ena' in virtinfra_vm_nics[0].state"),
        ("vms", "virtinfra_state in 'Running or Paused'"),
        ("vms", "virtinfra_vm_nics[0].state | upper == 'ENABLE'"),
        ("vms", "virtinfra_vm_nics[0].ip.startswith('10.')"),
        ("vms", "virtinfra_vm_nics[0].get('state', 'up') == 'up'"),
        ("vms", "virtinfra_vm_nics[0].keys() | length > 0"),
        ("vms", "virtinfra_vm_nics.copy()[0].state == 'enable'"),
        ("vms", "virtinfra_vm_nics | length > 0 and virtinfra_vm_nics[-1].gateway == ''"),
        ("vms", "virtinfra_vm_nics[0].other is defined and virtinfra_vm_nics[0].other == 'x'"),
        ("vms", "virtinfra_vm_nics[0].other | default('none') == 'none'"),
        ("vms", "'other' in virtinfra_vm_nics[0] and virtinfra_vm_nics[0].other == 'x'"),
        ("vms", "virtinfra_vm_nics[0].state | default('none') == 'none'"),
        ("vms", "virtinfra_vm_nics | selectattr('other', 'defined') | map(attribute='other') | list"),
        ("vms", "virtinfra_vm_nics | map(attribute='other', default='x') | list"),
        ("vms", "virtinfra_vm_nics[:1] | map(attribute='state') | list"),
        ("vms", "virtinfra_addresses | select('match', '10.') | list"),
        ("vms", "'10.0.0.1' is in(virtinfra_addresses)"),
        ("vms", "virtinfra_state | first == 'R' or virtinfra_state[0] == 'P' or virtinfra_platform[0] == 'L'"),
        ("vms", "virtinfra_platform.upper() == 'LINUX'"),
        ("vms", "virtinfra_name.split('-')[0] == 'vm' and virtinfra_name['startswith']('vm')"),
        ("vms", "virtinfra_addresses.index('10.0.0.1') == 0 and virtinfra_addresses.0 == '10.0.0.1'"),
        ("vms", "(virtinfra_description | from_json).owner | default('') == 'ann'"),
        ("vms", "virtinfra_memory_size.gb | default(0) == 1"),
        ("vms", "virtinfra_state is match('Run') or virtinfra_state is search('top')"),
        ("vms", "virtinfra_state is match('run', ignorecase=true) or virtinfra_state is match(virtinfra_name)"),
        ("vms", "virtinfra_name is match('web')"),
        ("vms", "'vm' in virtinfra_name or 'xyz' in virtinfra_addresses or 'web*' is in(virtinfra_name)"),
        ("vms", "(virtinfra_host or {}).other | default('x') == 'x'"),
        ("vms", "virtinfra_host.state == 'Enabled'"),
        ("vms", "{'up': 1}[virtinfra_vm_nics[0].state] | default(0) == 1"),
        ("hosts", "virtinfra_primary_storages | map(attribute='name') | list is contains('ps-1')"),
        ("hosts", "virtinfra_primary_storages | selectattr('state', 'eq', 'Enabled') | list"),
        ("hosts", "virtinfra_primary_storages | map(attribute='available_capacity') | sum > 1"),
    ],
)
def test_correct_expressions_give_no_warning(fill: Fill, plugin: str, expression: str) -> None:
    assert fill(plugin, expression) == []


def test_members_that_only_some_services_send_are_known(sim: Simulator, fill: Fill) -> None:
    vm = sim.records("vm")[0]
    sim.change("vm", vm["uuid"], vmNics=[{**nic, "state": "up", "uplink": "a"} for nic in vm["vmNics"]])
    assert (
        fill("vms", "virtinfra_vm_nics | selectattr('uplink', 'eq', 'a') | selectattr('state', 'eq', 'up') | list")
        == []
    )


def test_without_elements_no_name_is_checked(sim: Simulator, fill: Fill) -> None:
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], vmNics=[])
    assert fill("vms", "virtinfra_vm_nics | selectattr('uplink', 'eq', 'a') | list") == []


@pytest.mark.parametrize(
    "expression",
    [
        "virtinfra_user_tags['tier'] | default('none')",
        "virtinfra_user_tags.tier",
        "virtinfra_user_tags.tier is defined",
    ],
)
def test_a_member_of_user_tags_is_answered_with_a_tag(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str
) -> None:
    warnings = collect_warnings(monkeypatch)
    sim.reset(user_tags=2)
    for record, tag in zip(sim.records("usertag"), ("a", "tier::web"), strict=True):
        vm = {"resourceUuid": sim.records("vm")[0]["uuid"], "resourceType": "VmInstanceVO"}
        sim.change("usertag", record["uuid"], **vm, tag=tag)
    options = {"base_url": sim.url, "session_id": sim.session, "user_tags": True}
    Source(tmp_path, "vms", **options, compose={"tier": expression}).fill()
    assert warnings[0] == (
        "compose: tier: virtinfra_user_tags is a list of texts, and has no member tier. Write 'tier::web' in"
        " virtinfra_user_tags"
    )


def test_a_composed_variable_is_not_checked_as_that_of_the_record(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings = collect_warnings(monkeypatch)
    options = {"base_url": sim.url, "session_id": sim.session}
    compose = {"virtinfra_description": "{'owner': virtinfra_name}"}
    inventory = Source(
        tmp_path, "vms", **options, compose=compose, groups={"a": "virtinfra_description.owner == 'vm-1'"}
    ).fill()
    assert warnings == []
    assert [host.name for host in inventory.groups["a"].hosts] == ["vm-1"]
