"""Documents the records that modules return: the fields of docs/openapi.yaml, with Ansible's names, and of data movers.

The session ``format`` writes a sample of each record into the modules, and the descriptions of the fields into the
guide "Fields of results", because the pages of modules would have hundreds of lines with them. A server may omit
companion fields, so these say when they are returned.
"""

from __future__ import annotations

import copy
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import to_snake_case
from ansible_collections.virtinfra.manager.plugins.module_utils._api.references import (
    find_referenced_type,
    format_name_field,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import REFERS_TO, ResourceType

from simulator.description import PYTHON_TYPES, description, resolve
from support.collection import ROOT, load_spec, module

Field = dict[str, Any]
Fields = dict[str, Field]
WIDTH = 120

TASK_VMS: Fields = {
    "vm_instance_uuid": {
        "description": "The uuid of the first VM of the task. Null if the service does not show it.",
        "type": "str",
        "sample": "a0000004000040008000000000000003",
    },
    "resource_uuids": {
        "description": "The uuids of the VMs of the task. Null if the service does not show them.",
        "type": "list",
        "elements": "str",
        "sample": ["a0000004000040008000000000000003"],
    },
}
SHOWN_VMS = {name: {**field, "returned": "when the service shows it"} for name, field in TASK_VMS.items()}
WORKCHAT_ONLY = ("url", "at_all", "at_person_user_ids", "at_person_list", "platform")
REMARKS: Field = {
    "description": "The remarks of the members whom messages mention, by their user IDs.",
    "type": "dict",
    "sample": {"user-1": "on call"},
}
TOPICS: Field = {
    "description": "The uuids of the topics that the endpoint subscribes to.",
    "type": "list",
    "elements": "str",
    "sample": ["a000000e000040008000000000000001"],
    "returned": "when O(topics) is given",
}

TAGS: Field = {
    "description": "The user tags, sorted.",
    "type": "list",
    "elements": "str",
    "sample": ["production"],
    "returned": "when O(tags) is given",
}

CONSOLE: Field = {
    "description": "Where the console is. Null if the VM does not run.",
    "type": "dict",
    "contains": {
        "protocol": {"description": "The protocol.", "type": "str", "sample": "vnc"},
        "host_ip": {"description": "The address of the host.", "type": "str", "sample": "10.0.0.11"},
        "port": {"description": "The port on the host.", "type": "int", "sample": 5900},
    },
    "sample": {"protocol": "vnc", "host_ip": "10.0.0.11", "port": 5900},
    "returned": "when O(console) is true",
}

# The names in the samples of types whose objects have other names in the simulator.
NAMES = {
    "l3_network": "l3-1",
    "instance_offering": "offering-1",
    "host_nic": "eth0",
    "endpoint": "snmp-endpoint-1",
    "platform": "snmp-1",
}

JOBS = (
    "api",
    "resource",
    "cbt_task",
    "cbt_volume_export",
    "host_nic_service",
    "kvm_host",
    "sns_endpoint",
    "sns_snmp_platform",
    "sns_snmp_test",
    "sns_teamchat_person",
    "sns_topic",
    "vm_from_snapshot_group",
    "vm",
    "vm_nic",
    "vm_nic_qos",
    "vm_snapshot_group",
    "volume",
)
"""The modules that return a job."""

NAMED_OBJECTS = {
    *(
        "also_removed",
        "detached_from",
        "in_use_by",
        "new_default_networks",
        "later_groups",
        "migrated_vms",
        "overwritten_vms",
        "remaining_vms",
        "stopped_vms",
    ),
}
"""Lists of other objects by uuid and name, whose samples show their members."""


def describe_job() -> Fields:
    """Return the fields of the handle of a job."""
    uuid = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
    return {
        "uuid": {"description": "The uuid of the job.", "type": "str", "sample": uuid},
        "job_uuid": {
            "description": "The id that was sent with the call as X-Job-UUID, with which the service posts the result.",
            "type": "str",
            "sample": uuid,
        },
        "location": {
            "description": "The path at which the job is polled.",
            "type": "str",
            "sample": f"/service/v1/api-jobs/{uuid}",
        },
        "operation": {"description": "The operation.", "type": "str", "sample": "StartVmInstance"},
        "object": {
            "description": "The object of the call as messages name it, null if the call names none.",
            "type": "str",
            "sample": "vm vm-1",
        },
        "state": {
            "description": "The state of the job: V(running) or V(unknown).",
            "type": "str",
            "sample": "running",
        },
    }


def contains(schema: str) -> Fields:
    """Return the fields of a record as RETURN documents them."""
    assert schema in description()["components"]["schemas"], f"docs/openapi.yaml does not describe {schema}"
    node = description()["components"]["schemas"][schema]
    inherited = contains(node["$ref"].rsplit("/", 1)[-1]) if "$ref" in node else {}
    mark = {"x-companion": True} if node.get("x-companion") else {}
    own = {to_snake_case(name): _field({**entry, **mark}) for name, entry in node["properties"].items()}
    return {**inherited, **own}


@cache
def describe_mover_record(record: str) -> Fields:
    """Return the fields of a record that modules of data movers return, which point_fields.yml describes."""
    text = (ROOT / "tests" / "support" / "point_fields.yml").read_text(encoding="utf-8")
    return {
        name: {**field, "contains": describe_mover_record(field["contains"])} if "contains" in field else field
        for name, field in yaml.safe_load(text)[record].items()
    }


def _field(entry: Mapping[str, Any]) -> Field:
    resolved = resolve(entry)
    types = resolved["type"] if isinstance(resolved["type"], list) else [resolved["type"]]
    field: Field = {"description": re.sub("`(.+?)`", _as_result, entry["description"]), "type": PYTHON_TYPES[types[0]]}
    if entry.get("x-companion"):
        field["returned"] = "when the service sends it"
    element = resolved
    if field["type"] == "list":
        element = resolve(resolved["items"])
        field["elements"] = PYTHON_TYPES[element["type"]]
    if "properties" in element:
        reference = resolved["items"] if field["type"] == "list" else entry
        return {**field, "contains": contains(reference["$ref"].rsplit("/", 1)[-1])}
    samples = resolved.get("examples") or resolved["enum"]
    return {**field, "sample": _with_snake_case(samples[0])}


def _as_result(name: re.Match[str]) -> str:
    return f"C({to_snake_case(name[1])})"


def _with_snake_case(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_snake_case(item) for item in value]
    return {to_snake_case(name): item for name, item in value.items()} if isinstance(value, dict) else value


def _always(fields: Fields) -> Fields:
    """Return the fields of a companion record whose fields the modules always return, null if the service lacks one."""
    return {
        name: {key: _always(value) if key == "contains" else value for key, value in field.items() if key != "returned"}
        for name, field in fields.items()
    }


def _endpoint(**overrides: Field) -> Fields:
    """Return the fields of endpoints of all types."""
    fields = {**contains("SNSWorkchatEndpointInventory"), **overrides}
    return {
        name: {**field, "returned": "for workchat endpoints"} if name in WORKCHAT_ONLY else field
        for name, field in fields.items()
    }


@cache
def documented_records() -> dict[str, dict[str, Fields]]:
    """Return the fields of the records in the results of each module; ``hosts.nics`` is a member of ``hosts``."""
    persons: Field = {
        "description": "The persons whom messages mention. Null if the service cannot list them.",
        "type": "list",
        "elements": "dict",
        "contains": contains("SNSTeamchatAtPersonInventory"),
    }
    vm = contains("VmInstanceInventory")
    records = {
        "cbt_task": {
            "cbt_task": {**contains("CbtTaskInventory"), **SHOWN_VMS},
            "volume_cbt_backup_infos": contains("VolumeCbtBackupInfo"),
        },
        "cbt_task_info": {"cbt_tasks": {**contains("CbtTaskInventory"), **TASK_VMS}},
        "host_info": {"hosts": contains("HostInventory")},
        "host_network_info": {
            "hosts.bondings": contains("Bonding"),
            "hosts.nics": contains("HostNetworkInterface"),
        },
        "host_nic_candidate_info": {"candidate_nics": contains("CandidateNetworkInterface")},
        "host_nic_service": {"records": contains("HostNicServiceType")},
        "kvm_host": {"host": contains("HostInventory")},
        "primary_storage_info": {"primary_storages": contains("PrimaryStorageInventory")},
        "sns_endpoint": {"endpoint": _endpoint(at_person_list=REMARKS, topic_uuids=TOPICS)},
        "sns_endpoint_info": {"endpoints": _endpoint(persons=persons)},
        "sns_snmp_platform": {"platform": contains("SNSApplicationPlatformInventory")},
        "sns_teamchat_person": {"person": contains("SNSTeamchatAtPersonInventory")},
        "sns_topic_subscriber_info": {"subscribers": contains("SNSTopicSubscriber")},
        "vm_from_snapshot_group": {"vm": vm},
        "vm_info": {"vms": {**vm, "console": CONSOLE}},
        "vm_nic_info": {"nics": contains("VmNicInventory")},
        "vm_snapshot_group": {"snapshot_group": _always(contains("VolumeSnapshotGroupInventory"))},
        "vm_snapshot_group_info": {"snapshot_groups": _always(contains("VolumeSnapshotGroupInventory"))},
        "vm": {"vm": vm},
        "volume": {"volume": contains("Volume")},
        "vm_nic": {"nic": contains("VmNicInventory"), "vm": vm},
    }
    records["batch"] = {"jobs": describe_job(), "results.job": describe_job()}
    for name, paths in records.items():
        if "tags" in load_spec(name).all_options:
            path = next(iter(paths))
            paths[path] = {**paths[path], "tags": TAGS}
        if "include_tags" in load_spec(name).all_options:
            path = next(iter(paths))
            paths[path] = {**paths[path], "tags": {**TAGS, "returned": "when O(include_tags) is true"}}
    documented = {
        name: {
            **{
                path: fields if "." in path else _with_names(name, fields)
                for path, fields in records.get(name, {}).items()
            },
            **({"job": describe_job()} if name in JOBS else {}),
        }
        for name in sorted({*records, *JOBS})
    }
    return {**documented, **_list_mover_records()}


def _list_mover_records() -> dict[str, dict[str, Fields]]:
    """Return the fields of the records in the results of each module of data movers."""
    point = describe_mover_record("Point")
    return {
        "backup_point": {"point": point},
        "backup_point_info": {
            "points": {**point, **describe_mover_record("PointState")},
            "checkpoints": describe_mover_record("Checkpoint"),
            "leftovers": describe_mover_record("Leftover"),
            "running": describe_mover_record("RunningTask"),
            "runs": describe_mover_record("BackupRun"),
            "space": describe_mover_record("RepositorySpace"),
        },
        "backup_restore": {"point": point, "volumes": describe_mover_record("RestoredVolume")},
        "backup_run": {"others": describe_mover_record("BackupRun"), "running": describe_mover_record("RunningTask")},
    }


def _with_names(module_name: str, fields: Fields) -> Fields:
    """Return the fields of a record, with the names of objects after the uuids of those that options name."""
    options: dict[ResourceType, list[str]] = {}
    for option, parameter in load_spec(module_name).parameters.items():
        if parameter in REFERS_TO:
            options.setdefault(REFERS_TO[parameter], []).append(option)
    documented: Fields = {}
    for field, details in fields.items():
        documented[field] = details
        resource_type = find_referenced_type(field)
        if resource_type in options:
            documented[format_name_field(field)] = _name_field(resource_type, details, options[resource_type])
    return documented


def _name_field(resource_type: ResourceType, uuid_field: Field, options: list[str]) -> Field:
    """Return the field with the names of the objects in another field."""
    when = f"when {' or '.join(f'O({option})' for option in options)} is a name"
    if "returned" in uuid_field:
        when = f"{uuid_field['returned']}, and {when}"
    sample = NAMES.get(resource_type.name, f"{resource_type.name.replace('_', '-')}-1")
    if uuid_field["type"] == "list":
        description = (
            f"The names of the {resource_type.noun}s, as the task gives them. Null for those that it does not name."
        )
        return {"description": description, "type": "list", "elements": "str", "sample": [sample], "returned": when}
    description = f"The name of the {resource_type.noun}, as the task gives it. Null for another {resource_type.noun}."
    return {"description": description, "type": "str", "sample": sample, "returned": when}


LABEL = "ansible_collections.virtinfra.manager.docsite.guide_records"
GENERATED = "R(Fields of results, "

# The units that the descriptions of numbers name.
UNITS = ("bytes", "milliseconds")


def format_fields(fields: Fields) -> str:
    """Return sentences about the fields of a record: where they are described, their units, and conditions."""
    sentences = [] if fields.keys() == describe_job().keys() else [f"{GENERATED}{LABEL}) describes the fields."]
    numbers = {name: field["description"] for name, field in fields.items() if field["type"] in ("int", "float")}
    for unit in UNITS:
        if names := [f"C({name})" for name, text in numbers.items() if re.search(rf"\b{unit}\b", text)]:
            sentences.append(f"{_join(names)} {'is' if len(names) == 1 else 'are'} in {unit}.")
    conditions: dict[str, list[str]] = {}
    for name, field in fields.items():
        # The fragment _references says when names of objects are returned.
        if "O(" in field.get("returned", "") and not field["returned"].endswith("is a name"):
            conditions.setdefault(field["returned"], []).append(f"C({name})")
    for condition, names in conditions.items():
        sentences.append(f"{_join(names)} {'is' if len(names) == 1 else 'are'} returned {condition}.")
    return " ".join(sentences)


def build_sample(fields: Fields) -> dict[str, Any]:
    """Return one record with the samples of its fields, those that identify it first."""
    first = {name: fields[name] for name in ("uuid", "name", "type") if name in fields}
    return {name: _sample_field(field) for name, field in {**first, **fields}.items()}


def _sample_field(field: Field) -> Any:
    """Return the sample of a field. Records in it are short: without dates, other objects, and further records."""
    if "contains" not in field:
        return field["sample"]
    shown = {name: each for name, each in field["contains"].items() if "contains" not in each}
    record = build_sample({name: each for name, each in shown.items() if not name.endswith(("_uuid", "_date"))})
    return [record] if field["type"] == "list" else record


def format_sample(fields: Fields, is_list: bool, indent: int) -> Iterator[str]:
    """Yield the member ``sample`` of records: a list of one, or a record as a string in the form of YAML.

    ``ansible-doc`` shows both with several fields in a line. Of a mapping, it shows a line for each field.
    """
    record = build_sample(fields)
    sample = [record] if is_list else record
    yield f"{' ' * indent}sample:{'' if is_list else ' >-'}"
    for line in _wrap_flow(sample, WIDTH - indent - 2):
        # A string keeps the ends of lines that are indented, and ansible-doc would show them as backslashes.
        yield f"{' ' * (indent + 2)}{line if is_list else line.lstrip()}"


def _wrap_flow(value: Any, width: int) -> list[str]:
    """Return the lines of a value in YAML's flow style, each member below the first one, as yamllint demands."""
    text = _dump_flow(value)
    if len(text) <= width or not isinstance(value, (dict, list)):
        return [text]
    members = value.items() if isinstance(value, dict) else [("", item) for item in value]
    lines: list[str] = []
    for name, member in members:
        key = f"{name}: " if name else ""
        text = f"{key}{_dump_flow(member)}"
        if len(text) <= width - 2:
            if lines and len(lines[-1]) + len(text) + 4 <= width:
                lines[-1] += f", {text}"
                continue
            block = [text]
        elif key:
            block = [key.rstrip(), *(f"  {line}" for line in _wrap_flow(member, width - 4))]
        else:
            block = _wrap_flow(member, width - 2)
        if lines:
            lines[-1] += ","
        lines.extend(block)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines[0], lines[-1] = f"{opening}{lines[0]}", f"{lines[-1]}{closing}"
    return [lines[0], *(f" {line}" for line in lines[1:])]


def _dump_flow(value: Any) -> str:
    """Return a value in YAML's flow style, in one line."""
    # In a list, because more texts need quotes inside than outside a flow collection.
    return str(yaml.safe_dump([value], default_flow_style=True, width=10**6, sort_keys=False)).strip()[1:-1]


def _join(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def format_descriptions(descriptions: Iterable[str], indent: int) -> Iterator[str]:
    """Yield the member ``description`` of something documented, a list, as lines of YAML."""
    yield f"{' ' * indent}description:"
    for text in descriptions:
        scalar = text if _is_plain(text) else json.dumps(text, ensure_ascii=False)
        first, *others = textwrap.wrap(scalar, WIDTH - indent - 4, break_on_hyphens=False, break_long_words=False)
        yield f"{' ' * indent}  - {first}"
        yield from (f"{' ' * indent}    {line}" for line in others)


def _is_plain(text: str) -> bool:
    """Whether YAML reads a string without quotes as it is."""
    try:
        return bool(yaml.safe_load(f"- {text}") == [text])
    except yaml.YAMLError:
        return False


def with_records(text: str, records: Mapping[str, Fields]) -> str:
    """Return the text of a module whose RETURN has a sample of each of these records."""
    head, returns, tail = re.split(r'(?<=\nRETURN = r""")(.*?)(?=""")', text, maxsplit=1, flags=re.DOTALL)
    lines = returns.split("\n")
    for path, fields in records.items():
        start, end, indent = 0, len(lines), 0
        for number, name in enumerate(path.split(".")):
            indent = 4 * number
            start = next(line for line in range(start, end) if lines[line] == f"{' ' * indent}{name}:")
            end = _end(lines, start, indent)
        block = lines[start:end]
        (documented,) = yaml.safe_load(textwrap.dedent("\n".join(block))).values()
        written = documented["description"]
        own = [text for text in ([written] if isinstance(written, str) else written) if not text.startswith(GENERATED)]
        lines[start:end] = [
            block[0],
            *format_descriptions(filter(None, [*own, format_fields(fields)]), indent + 2),
            *_without(block[1:], indent + 2, ("contains", "sample", "description")),
            *format_sample(fields, documented["type"] == "list", indent + 2),
        ]
    return head + "\n".join(lines) + tail


def load_returns(name: str) -> dict[str, dict[str, Any]]:
    """Return the documented results of a module, with the fields of their records."""
    returns = copy.deepcopy(module(name).returns)
    for path, fields in documented_records().get(name, {}).items():
        *outer, member = path.split(".")
        found = returns
        for each in outer:
            found = found[each]["contains"]
        found[member]["contains"] = fields
    for member in NAMED_OBJECTS & returns.keys():
        if "contains" not in returns[member]:
            returns[member]["contains"] = _describe_members(returns[member]["sample"][0])
    return returns


def _describe_members(sample: Mapping[str, str]) -> Fields:
    """Return the members of named objects, which a sample shows."""
    return {name: {"description": "As in the sample.", "type": "str", "sample": sample[name]} for name in sample}


def _end(lines: list[str], start: int, indent: int) -> int:
    """Return the line after the block that starts in a line."""
    inside = re.compile(rf" {{{indent + 1}}}")
    return next((line for line in range(start + 1, len(lines)) if not inside.match(lines[line])), len(lines))


def _without(lines: list[str], indent: int, names: tuple[str, ...]) -> list[str]:
    """Return the lines of a block without some of its members."""
    remaining, line = [], 0
    while line < len(lines):
        is_unwanted = lines[line].startswith(tuple(f"{' ' * indent}{name}:" for name in names))
        end = _end(lines, line, indent) if is_unwanted else line + 1
        remaining += [] if is_unwanted else lines[line:end]
        line = end
    return remaining


def main() -> None:
    """Write samples of the records into the modules."""
    for name, records in documented_records().items():
        path = ROOT / "plugins" / "modules" / f"{name}.py"
        path.write_text(with_records(path.read_text(encoding="utf-8"), records), encoding="utf-8")


if __name__ == "__main__":
    main()
