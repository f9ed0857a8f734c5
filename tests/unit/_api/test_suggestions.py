"""What is suggested for a word that is not known, and what it is compared with."""

from __future__ import annotations

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.conditions import suggest_condition
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    InvalidOptions,
    count_slips,
    suggest_name,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation


@pytest.mark.parametrize(
    ("one", "another", "slips"),
    [
        ("state", "state", 0),
        ("stat", "state", 1),
        ("states", "state", 1),
        ("stade", "state", 1),
        ("satte", "state", 1),
        ("tsaet", "state", 2),
        ("", "abc", 3),
        ("ab", "", 2),
        ("abc", "cba", 2),
    ],
)
def test_slips(one: str, another: str, slips: int) -> None:
    assert count_slips(one, another) == count_slips(another, one) == slips


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("nmae", ["name", "state"], "name"),
        ("clutser", ["cluster"], "cluster"),
        ("direction", ["description"], None),
        # Seven letters may have one slip, eight may have two.
        ("clsuetr", ["cluster"], None),
        ("clsuters", ["cluster"], "cluster"),
        ("NAME", ["name"], "name"),
    ],
)
def test_misspelling(name: str, known: list[str], meant: str | None) -> None:
    assert suggest_name(name, known, is_misspelling=True) == (f" Did you mean {meant}?" if meant else "")


@pytest.mark.parametrize(
    ("name", "record_type", "condition"),
    [
        ("cpu_num", "VmInstanceInventory", "cpuNum=..."),
        ("ram", "VmInstanceInventory", "memorySize=..."),
        ("ip", "VmInstanceInventory", "vmNics.ip=..."),
        ("ip", "HostInventory", "managementIp=..."),
        ("hostname", "VmInstanceInventory", "name=..."),
        ("cluster", "HostInventory", "cluster.name=..."),
        ("cluster_name", "VmInstanceInventory", "cluster.name=..."),
        ("vm", "VmInstanceInventory", None),
        ("tags", "HostInventory", "__userTag__=..."),
        ("id", "HostInventory", None),
        ("colour", "HostInventory", None),
        ("tags", "NoInventory", None),
    ],
)
def test_condition_for_an_option_that_a_module_lacks(name: str, record_type: str, condition: str | None) -> None:
    assert suggest_condition(name, record_type) == condition


@pytest.mark.parametrize(
    ("name", "hint"),
    [("stateEvnt", ". Did you mean stateEvent?"), ("colour", ". Its parameters are uuid, stateEvent.")],
)
def test_parameter_that_an_operation_lacks(name: str, hint: str) -> None:
    with pytest.raises(InvalidOptions, match="ChangeHostState has no parameter") as refused:
        get_operation("ChangeHostState").request({"uuid": "a0000003000040008000000000000001", name: "x"})
    assert str(refused.value) == f"ChangeHostState has no parameter {name}{hint}"
