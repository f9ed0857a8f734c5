"""The documentation of results is complete, and agrees with docs/openapi.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest
import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.manifest import Point, VolumeCopy

from support import kind_docs, plugin_connection, query_fields
from support.collection import ALL_MODULES, MODULES, ROOT, module, shape_differences
from support.guide_tables import TABLES, find_guides, write_tables
from support.return_docs import documented_records, load_returns, with_records
from support.short_examples import with_short_examples
from support.written import require_current

# Results whose members the service chooses, and results that are always null.
FREE = {
    *("api.reply", "cbt_volume_export.volume_infos", "resource_info.resources", "sns_snmp_test.webhook_resp"),
    *("cbt_task.volume_cbt_backup_infos.volume", "job_info.jobs.result", "job_wait.jobs.result"),
    # The object as it was given, and its error, as those of all modules.
    *("batch.results.item", "batch.results.error", "vm_snapshot_group.results.error"),
    # The report of each role has its own members.
    *("workflow.report", "workflow.next"),
    # The object has the fields of its kind.
    "resource.resource",
    # A mapping from user IDs to remarks, and the same as a list of records.
    *("sns_endpoint.endpoint.at_person_list", "sns_endpoint_info.endpoints.at_person_list"),
    # What a run says about itself.
    "backup_point_info.runs.owner",
    "backup_run.others.owner",
    # What another module returns.
    "backup_run.results",
    "backup_run.listed",
    # A record of vm_info, of the version of the service that made it.
    "backup_point_info.points.vm",
    # The guide Errors describes the errors of all modules.
    *("host_network_info.hosts.error", "job_info.jobs.error.causes", "job_wait.jobs.error.causes"),
}


def list_fields(fields: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the fields of a result with their paths, nested ones too."""
    for name, field in fields.items():
        yield f"{path}.{name}", field
        yield from list_fields(field.get("contains", {}), f"{path}.{name}")


@pytest.mark.parametrize("name", ALL_MODULES)
def test_every_member_of_a_result_is_documented(name: str) -> None:
    for path, field in list_fields(load_returns(name), name):
        assert field["description"], path
        is_mapping = "dict" in (field["type"], field.get("elements"))
        assert ("contains" in field) == (is_mapping and path not in FREE), path
        assert (field["type"] == "list") == ("elements" in field), path


@pytest.mark.parametrize("name", ALL_MODULES)
def test_samples_have_the_documented_types(name: str) -> None:
    for path, field in list_fields(load_returns(name), name):
        if "sample" in field:
            sample = field["sample"]
            value = yaml.safe_load(sample) if field["type"] == "dict" and isinstance(sample, str) else sample
            # Records in the sample of a record are short.
            assert [each for each in shape_differences(value, field, path) if " lacks " not in each] == []


@pytest.mark.parametrize(
    ("name", "path"), [(name, path) for name, paths in documented_records().items() for path in paths]
)
def test_a_sample_shows_each_field_of_a_record(name: str, path: str) -> None:
    """Names, types and units at a glance: the page of a module has no other list of the fields."""
    *outer, member = path.split(".")
    found = module(name).returns
    for each in outer:
        found = found[each]["contains"]
    sample = found[member]["sample"]
    # ansible-doc shows the end of a line in a string as a backslash.
    assert "\n" not in sample
    (record,) = sample if found[member]["type"] == "list" else [yaml.safe_load(sample)]
    fields = documented_records()[name][path]
    assert {*record} == {*fields}
    sentence = " ".join(found[member]["description"])
    in_bytes = [field for field, entry in fields.items() if "in bytes" in entry["description"]]
    assert [field for field in in_bytes if field not in sentence.partition(" in bytes.")[0]] == []


@pytest.mark.parametrize(
    ("name", "member"), [("backup_point", "point"), ("backup_point_info", "points"), ("backup_restore", "point")]
)
def test_restore_points_are_documented_alike(name: str, member: str) -> None:
    """The manifest has all fields of a volume."""
    expected = load_returns("backup_point")["point"]["contains"]
    found = {field: rules for field, rules in load_returns(name)[member]["contains"].items() if field in expected}
    assert found == expected
    assert expected["volumes"]["contains"].keys() == {field.name for field in fields(VolumeCopy)}
    volume = VolumeCopy("a" * 32, 0, 1, "full", "", None, None, "none", 1, 1, 0, 1, "", True)
    assert expected.keys() == Point("b" * 32, "20261127T021500Z", {}, (volume,)).describe().keys()


@pytest.mark.parametrize("name", documented_records())
def test_records_are_documented_as_in_the_description_of_the_service(name: str) -> None:
    path = ROOT / "plugins" / "modules" / f"{name}.py"
    require_current(path, with_records(path.read_text(encoding="utf-8"), documented_records()[name]))


@pytest.mark.parametrize("name", MODULES)
def test_descriptions_have_the_first_short_examples(name: str) -> None:
    path = ROOT / "plugins" / "modules" / f"{name}.py"
    require_current(path, with_short_examples(name, path.read_text(encoding="utf-8")))


def test_tables_of_the_guides_are_those_of_the_code() -> None:
    texts = [path.read_text(encoding="utf-8") for path in find_guides()]
    for path, text in zip(find_guides(), texts, strict=True):
        require_current(path, write_tables(text))
    assert [name for name in TABLES if not any(f"writes this table: {name}." in text for text in texts)] == []


def test_fields_of_queries_are_those_of_the_tables() -> None:
    require_current(query_fields.FRAGMENT, query_fields.format_fragment())


def test_connection_options_of_plugins_are_those_of_modules() -> None:
    require_current(plugin_connection.FRAGMENT, plugin_connection.format_plugin_connection())


def test_options_of_kinds_are_those_of_their_rows() -> None:
    require_current(kind_docs.FRAGMENT, kind_docs.format_fragment())
