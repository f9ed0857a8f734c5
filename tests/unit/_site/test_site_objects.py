"""The description of a service in files, and what differs from it."""

from __future__ import annotations

import copy
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.drift import build_rows, plan_drift
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site_files import (
    GROUP,
    HOSTS,
    NOTIFICATIONS,
    format_files,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site_objects import build_site

UNSUPPORTED = {"failed": True, "msg": "it does not offer it", "error": {"code": "UNSUPPORTED"}}
FAILED = {"failed": True, "msg": "no answer", "error": {"code": "UNREACHABLE"}}


def host(number: int, name: str = "", **members: Any) -> dict[str, Any]:
    """Return the record of a host."""
    known = {"uuid": f"{number:032x}", "name": name or f"host-{number}", "cluster_uuid": "c" * 32, "state": "Enabled"}
    return {**known, "management_ip": f"192.0.2.{number}", **members}


def endpoint(number: int, name: str, kind: str = "WorkChat") -> dict[str, Any]:
    """Return the record of an endpoint."""
    record = {"uuid": f"{number:032x}", "name": name, "type": kind, "state": "Enabled", "platform_uuid": "p"}
    return {**record, "persons": []}


def results(**others: Any) -> dict[str, Any]:
    """Return the results of the modules for a service with two hosts."""
    return {
        "hosts": {"records": [host(2), host(1)]},
        "clusters": {"records": [{"uuid": "c" * 32, "name": "cluster-1"}]},
        "services": {"records": []},
        "subscribers": {"records": []},
        "endpoints": {"records": []},
        "topics": {"records": []},
        "platforms": {"records": []},
        **others,
    }


def contents(given: dict[str, Any]) -> dict[str, str]:
    """Return the contents of the files by their paths."""
    return {file["path"]: file["content"] for file in format_files(build_site(given))}


def read(content: str) -> Any:
    """Return what Ansible reads in a file."""
    return DataLoader().load(content)


def test_order_of_records_does_not_matter() -> None:
    given = results(endpoints={"records": [endpoint(1, "b"), endpoint(2, "a")]})
    reverse = copy.deepcopy(given)
    reverse["hosts"]["records"].reverse()
    reverse["endpoints"]["records"].reverse()
    assert contents(given) == contents(reverse)
    assert list(read(contents(given)[HOSTS])[GROUP]["hosts"]) == ["host-1", "host-2"]


def test_texts_that_could_be_templates_are_tagged() -> None:
    override = "#jinja2: variable_start_string:'['\n[ 1 ]"
    for text in ("{{ 1 }}", "{% if x %}", "{{{'a': 1}}}", override, "a: b # c", "['\\x7b\\x7b']"):
        content = contents(results(hosts={"records": [host(1, text)]}))[HOSTS]
        (variables,) = read(content)[GROUP]["hosts"].values()
        assert variables["host_onboarding_name"] == text
        assert "host_onboarding_name: !unsafe" in content
        assert list(read(content)[GROUP]["hosts"]) == [f"{1:032x}"]


def test_plain_texts_keep_their_type() -> None:
    numbers = ("123", "1.5", "2026-01-01", "0x1f", "1_000", "1:30", ".inf", "0b1")
    words = ("true", "null", "no", "y", "~", "=", "<<", "", " ", "---", "...", "web 1", "gr\u00fcn")
    signs = ("*a", "&a", "!unsafe x", "!a", "a: b", "- x", "? x", ": x", "%x", "@x", "`x", "|", "> x", " x", "x\ny")
    controls = [f"a{chr(number)}b" for number in (*range(32), 0x7F, 0x85, 0xA0, 0x2028, 0x2029, 0xFEFF, 0xFFFF)]
    for text in (*numbers, *words, *signs, *controls):
        topic = {"uuid": "1" * 32, "name": text, "description": text, "state": "Enabled"}
        content = contents(results(topics={"records": [topic]}))[NOTIFICATIONS]
        (entry,) = read(content)["notifications_topics"]
        assert (entry["name"], entry["description"]) == (text, text)
        assert "!unsafe " not in content.replace("!unsafe x", "")


def test_text_that_no_file_can_contain_is_a_problem_of_its_object() -> None:
    names = ("topic-1", "a\ud800b", "topic-3")
    topics = [{"uuid": str(number) * 32, "name": name, "state": "Enabled"} for number, name in enumerate(names, 1)]
    given = results(topics={"records": topics})
    entries = read(contents(given)[NOTIFICATIONS])["notifications_topics"]
    assert [entry["name"] for entry in entries] == ["topic-1", "topic-3"]
    problems = {topic["uuid"]: topic["problem"] for topic in build_site(given)["topic"] or () if topic["problem"]}
    assert problems == {"2" * 32: "name contains a character that no file can contain"}


def test_inventory_names_are_unique_and_safe() -> None:
    names = ["all", "localhost", GROUP, "127.0.0.1", "a,b", "-x", "same", "SAME", "web[1:3]", "web-1"]
    records = [host(number, name) for number, name in enumerate(names, 1)]
    hosts = read(contents(results(hosts={"records": records}))[HOSTS])[GROUP]["hosts"]
    assert len(hosts) == len(names)
    assert [name for name in hosts if len(name) != 32] == ["web-1"]


def test_masked_texts_are_left_out() -> None:
    topic = {"uuid": "1" * 32, "name": "t", "description": "password=********", "state": "Enabled"}
    (entry,) = read(contents(results(topics={"records": [topic]}))[NOTIFICATIONS])["notifications_topics"]
    assert entry == {"name": "t", "state": "enabled"}


def test_placeholders_of_urls_have_different_names() -> None:
    chats = [endpoint(1, "a b"), endpoint(2, "a-b"), endpoint(3, "{{ x }}"), endpoint(4, "\u4e2d")]
    entries = read(contents(results(endpoints={"records": chats}))[NOTIFICATIONS])["notifications_endpoints"]
    assert {entry["name"]: entry["url"] for entry in entries} == {
        "a b": f"{{{{ vault_notifications_url_{1:032x} | default(omit) }}}}",
        "a-b": f"{{{{ vault_notifications_url_{2:032x} | default(omit) }}}}",
        "{{ x }}": "{{ vault_notifications_url_x | default(omit) }}",
        "\u4e2d": f"{{{{ vault_notifications_url_{4:032x} | default(omit) }}}}",
    }


def test_endpoints_with_one_name_are_problems() -> None:
    site = build_site(results(endpoints={"records": [endpoint(1, "a"), endpoint(2, "a"), endpoint(3, "b")]}))
    assert [bool(item["problem"]) for item in site["endpoint"] or ()] == [True, True, False]
    twins = results(endpoints={"records": [endpoint(1, "a"), endpoint(2, "a")]})
    assert read(contents(twins)[NOTIFICATIONS])["notifications_endpoints"] == []


def test_failed_reads_leave_out_the_files_that_need_them() -> None:
    needing = {"clusters": HOSTS, "services": HOSTS, "subscribers": NOTIFICATIONS, "topics": NOTIFICATIONS}
    for name, path in needing.items():
        given = results(**{name: FAILED})
        assert path not in contents(given)
        assert len(contents(given)) == 1
        assert [(item["name"], item["problem"]) for item in build_site(given)["failure"] or ()] == [(name, "no answer")]
    for name in ("clusters", "services", "subscribers"):
        assert len(contents(results(**{name: UNSUPPORTED}))) == 2
        assert build_site(results(**{name: UNSUPPORTED}))["failure"] == []
    assert len(contents(results(hosts=UNSUPPORTED))) == 1


def test_host_state_without_equivalent_is_a_problem() -> None:
    given = results(hosts={"records": [host(1, state="Odd")]})
    assert read(contents(given)[HOSTS])[GROUP]["hosts"] == {}
    (row,) = [entry for entry in plan_drift(build_site(given), {}) if entry["kind"] == "host"]
    assert (row["outcome"], row["error"]) == ("skipped", "the state Odd has no equivalent in the role")


def test_drift_of_objects_on_one_side() -> None:
    names = {"192.0.2.1": "host-1", "192.0.2.9": "h"}
    hosts = [{"name": name, "management_ip": address} for address, name in names.items()]
    plan = plan_drift(build_site(results()), {"hosts": hosts, "topics": [{"name": "topic-1"}]})
    assert [(entry["kind"], entry["name"], entry["outcome"]) for entry in plan] == [
        ("host", "host-1", None),
        ("host", "h", "missing"),
        ("host", "host-2", "not described"),
        ("topic", "topic-1", "missing"),
    ]


def test_results_complete_the_plan() -> None:
    plan: list[dict[str, Any]] = [
        {"kind": "host", "name": name, "outcome": outcome, "error": None, "options": {}}
        for name, outcome in (("a", None), ("b", "missing"), ("c", None), ("d", None), ("e", None), ("f", None))
    ]
    batch = [
        {"changed": False},
        {"changed": True, "diff": {"before": {"state": "x", "name": "n"}, "after": {"state": "y", "name": "n"}}},
        {"failed": True, "msg": "name cannot change", "error": {"code": "UNCHANGEABLE"}},
        {"failed": True, "msg": "no answer", "error": {"code": "UNREACHABLE"}},
    ]
    rows = build_rows(plan, {"host": {"results": batch, "msg": "2 failed"}})
    assert [(row["name"], row["outcome"], row["error"]) for row in rows] == [
        ("a", "same", None),
        ("b", "missing", None),
        ("c", "differs", "state is 'x', described as 'y'"),
        ("d", "differs", "name cannot change"),
        ("e", "failed", "no answer"),
        ("f", "failed", "2 failed"),
    ]


def endpoints_of(*records: dict[str, Any], **others: Any) -> list[dict[str, Any]]:
    """Return the endpoints that the file of notifications describes."""
    content = contents(results(endpoints={"records": list(records)}, **others))[NOTIFICATIONS]
    return list(read(content)["notifications_endpoints"])


def test_chats_are_described_with_whom_they_mention() -> None:
    """Of some servers the service lists persons with remarks, of others only their ids."""
    persons = [{"user_id": "u2", "remark": "night"}, {"user_id": "u1", "remark": None}]
    chats = [
        {**endpoint(1, "a"), "at_all": True, "at_person_list": persons},
        {**endpoint(2, "b", "WeCom"), "at_all": False, "at_person_user_ids": [7, 4], "description": "on call"},
        {**endpoint(3, "c", "Work-Chat"), "state": "Disabled"},
    ]
    common = {"type": "workchat", "topics": [], "state": "enabled"}
    entries = endpoints_of(*chats)
    assert [{name: value for name, value in entry.items() if name != "url"} for entry in entries] == [
        {**common, "name": "a", "at_all": True, "at_person_list": {"u1": "", "u2": "night"}},
        {**common, "name": "b", "description": "on call", "at_all": False, "at_person_user_ids": ["4", "7"]},
        {**common, "name": "c", "state": "disabled"},
    ]


def test_receivers_of_traps_are_described_with_their_platform() -> None:
    """Their topics are described, too, if the service lists topics. Other types only have the options of all types."""
    records = [endpoint(1, "traps", "SNMP"), endpoint(2, "mail", "Email"), {**endpoint(3, "x", "SNMP")}]
    records[2]["platform_uuid"] = None
    links = [("1", "t2"), ("1", "t1"), ("2", "gone")]
    others = {
        "platforms": {"records": [{"uuid": "p", "name": "snmp-1", "type": "SNMP"}]},
        "topics": {"records": [{"uuid": "t1", "name": "zeta"}, {"uuid": "t2", "name": "alarms"}]},
        "subscribers": {
            "records": [{"topic_uuid": topic, "endpoint_uuid": f"{int(number):032x}"} for number, topic in links]
        },
    }
    assert endpoints_of(*records, **others) == [
        {"type": "any", "name": "mail", "topics": ["gone"], "state": "enabled"},
        {"type": "snmp", "name": "traps", "platform": "snmp-1", "topics": ["alarms", "zeta"], "state": "enabled"},
        {"type": "snmp", "name": "x", "topics": [], "state": "enabled"},
    ]
    unknown = endpoints_of(*records, **{**others, "subscribers": UNSUPPORTED})
    assert not any("topics" in entry for entry in unknown)


def test_persons_are_described_with_their_endpoints() -> None:
    """By the name of the endpoint, or by its uuid if another one has the name."""
    persons = [{"uuid": "x", "user_id": "u1", "remark": "night"}, {"uuid": "y", "user_id": "u2", "remark": None}]
    records = [
        {**endpoint(1, "team", "TeamChat"), "persons": persons},
        {**endpoint(2, "twin", "TeamChat"), "persons": persons[:1]},
        {**endpoint(3, "twin", "TeamChat"), "persons": None},
        {**endpoint(4, "chat"), "persons": persons},
    ]
    given = results(endpoints={"records": records})
    assert read(contents(given)[NOTIFICATIONS])["notifications_persons"] == [
        {"endpoint": "team", "user_id": "u1", "remark": "night"},
        {"endpoint": f"{2:032x}", "user_id": "u1", "remark": "night"},
        {"endpoint": "team", "user_id": "u2"},
    ]
    described = {"persons": [{"endpoint": "team", "user_id": "u1"}, {"endpoint": "team", "user_id": "u3"}]}
    entries = [entry for entry in plan_drift(build_site(given), described) if entry["kind"] == "person"]
    assert [(entry["name"], entry["outcome"]) for entry in entries] == [
        ("u1 of team", None),
        ("u3 of team", "missing"),
        ("u1 of twin", "not described"),
        ("u2 of team", "not described"),
    ]


def test_names_that_select_no_single_object_are_replaced_by_uuids() -> None:
    """A name that looks like a uuid would be read as one."""
    looks_like_a_uuid = "0f" * 16
    names = {"t1": "alarms", "t2": "twin", "t3": " twin ", "t4": looks_like_a_uuid, "t5": "", "t6": "key=********"}
    given = results(topics={"records": [{"uuid": uuid, "name": name} for uuid, name in names.items()]})
    topics = read(contents(given)[NOTIFICATIONS])["notifications_topics"]
    assert {entry.get("uuid", entry.get("name")) for entry in topics} == {"alarms", "t2", "t3", "t4", "t5", "t6"}
    described = {"topics": [{"uuid": "t2", "name": "twin"}, {"name": "alarms"}, {"uuid": "t9"}]}
    entries = plan_drift(build_site(given), described)
    assert [(entry["name"], entry["outcome"]) for entry in entries if entry["kind"] == "topic"][:3] == [
        ("twin", None),
        ("alarms", None),
        ("t9", "missing"),
    ]


def interface(number: int, name: str | None, vlan: int | None, *types: str) -> dict[str, Any]:
    """Return the service types of an interface of a host, as the service lists them."""
    return {
        "hostUuid": f"{number:032x}",
        "interfaceName": name,
        "interfaceUuid": f"i{number}",
        "vlanId": vlan,
        "serviceTypes": list(types),
    }


SERVICES = [
    interface(1, "eth1", 100, "TenantNetwork", "StorageNetwork"),
    interface(1, "eth0", None, "ManagementNetwork"),
    interface(1, "eth2", 5),
    interface(2, None, 7, "BackupNetwork"),
    interface(9, "eth0", 0, "ManagementNetwork"),
]


def test_service_types_are_described_with_their_hosts() -> None:
    """Service types of unknown hosts are not described. An interface without a name has its uuid."""
    hosts = read(contents(results(services={"records": SERVICES}))[HOSTS])[GROUP]["hosts"]
    assert {name: host["host_onboarding_services"] for name, host in hosts.items()} == {
        "host-1": [
            {"interface": "eth0", "vlans": [0], "service_types": ["ManagementNetwork"]},
            {"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork", "TenantNetwork"]},
        ],
        "host-2": [{"interface": "i2", "vlans": [7], "service_types": ["BackupNetwork"]}],
    }
    assert hosts["host-1"]["host_onboarding_cluster"] == "cluster-1"
    without = read(contents(results())[HOSTS])[GROUP]["hosts"]
    assert [host["host_onboarding_services"] for host in without.values()] == [[], []]


def test_drift_of_service_types() -> None:
    """Each VLAN is compared. The VLANs of hosts that are missing or not described are not listed one by one."""
    services = [{"interface": "eth1", "vlans": [100, 200], "service_types": ["StorageNetwork"]}]
    described = [
        {"name": "host-1", "management_ip": "192.0.2.1", "state": "enabled", "services": services},
        {"name": "new", "management_ip": "192.0.2.9", "services": services},
    ]
    plan = plan_drift(build_site(results(services={"records": SERVICES})), {"hosts": described})
    assert [(entry["kind"], entry["name"], entry["outcome"]) for entry in plan] == [
        ("host", "host-1", None),
        ("host", "new", "missing"),
        ("host", "host-2", "not described"),
        ("service", "host-1 eth1 VLAN 100", None),
        ("service", "host-1 eth1 VLAN 200", None),
        ("service", "host-1 eth0 VLAN 0", "not described"),
    ]
    assert plan[0]["options"] == {"name": "host-1", "management_ip": "192.0.2.1", "state": "enabled"}
    wanted = {"host": f"{1:032x}", "interfaces": ["eth1"], "service_types": ["StorageNetwork"]}
    assert [entry["options"] for entry in plan[3:5]] == [{**wanted, "vlan_ids": [vlan]} for vlan in (100, 200)]
    without = [{**described[0], "services": [{"interface": "eth0", "service_types": []}]}]
    plan = plan_drift(build_site(results(services={"records": SERVICES})), {"hosts": without})
    assert ("host-1 eth0 VLAN 0", None) in [(entry["name"], entry["outcome"]) for entry in plan]


def test_drift_of_what_others_need() -> None:
    """A task could not even compare an endpoint whose platform or topic is missing."""
    given = results(
        endpoints={"records": [endpoint(1, "traps", "SNMP"), endpoint(2, "more", "SNMP")]},
        platforms={"records": [{"uuid": "p", "name": "snmp-1", "type": "SNMP"}]},
        topics={"records": [{"uuid": "t", "name": "alarms"}]},
    )
    endpoints = [
        {"name": "traps", "platform": "snmp-2", "topics": ["alarms", "logs"]},
        {"name": "more", "platform": "p", "topics": ["t"]},
    ]
    plan = plan_drift(build_site(given), {"endpoints": endpoints})
    entries = [entry for entry in plan if entry["kind"] == "endpoint"]
    assert [(entry["outcome"], entry["error"]) for entry in entries] == [
        ("differs", "it is described with platform snmp-2 and topic logs, which the service does not have"),
        (None, None),
    ]


def test_differences_in_words() -> None:
    """Secrets look the same when they are masked, and some changes have no members at all."""
    masked = {"before": {"url": "********"}, "after": {"url": "********"}}
    both = [{"before": {"state": "x"}, "after": {"state": "y"}}, masked]
    diffs = (masked, both, {"before": "text", "after": "other"}, None)
    plan: list[dict[str, Any]] = [{"kind": "endpoint", "name": "a", "outcome": None, "error": None, "options": {}}] * 4
    batch = [{"changed": True, "diff": diff} for diff in diffs]
    assert [row["error"] for row in build_rows(plan, {"endpoint": {"results": batch}})] == [
        "url differs",
        "state is 'x', described as 'y', url differs",
        "a task would change it",
        "a task would change it",
    ]
    (row,) = build_rows(plan[:1], {})
    assert (row["outcome"], row["error"]) == ("failed", "the object was not checked")
