"""The mistakes that new users make: each message names the remedy, and none that does not help."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trustme
from ansible.errors import AnsibleError

from simulator.launch import Simulator
from support.inventory_sources import Source, collect_warnings
from support.module_runner import ModuleRunner
from support.playbook_runner import PlaybookRunner
from support.stub_server import StubRequest, StubResponse, StubServer, forward
from support.tls import untrusted_context

NO_CREDENTIALS = {"session_id": None, "api_token": None}
ACCOUNT = {**NO_CREDENTIALS, "account": "admin", "account_password": "simulator-password"}


@dataclass(frozen=True)
class Mistake:
    """A module, the plugin of an inventory or a role with options, and what the messages must and must not contain.

    URL is the address of the service in ``says``, FOLDER a temporary folder.
    """

    of: str
    options: Mapping[str, Any]
    says: tuple[str, ...]
    says_not: tuple[str, ...] = ()
    connection: Mapping[str, Any] = field(default_factory=dict)
    check: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


MODULES = {
    "name of a network in place of its uuid": Mistake(
        "vm_info",
        {"query": ["vmNics.l3NetworkUuid=l3-1"]},
        ("vmNics.l3NetworkUuid is a uuid, and l3-1 is none. Give the uuid of l3-1.",),
    ),
    "word of YAML in a condition": Mistake(
        "resource_info",
        {"resource_type": "volume", "query": ["isShareable=yes"]},
        ("the condition 'isShareable=yes': write isShareable=true.",),
    ),
    "variable of an inventory in a condition": Mistake(
        "vm_info", {"query": ["virtinfra_state=Running"]}, ("Did you mean state?",)
    ),
    "quotes in a condition of an operation": Mistake(
        "api",
        {"operation": "QueryVmInstance", "params": {"q": ["state = 'Running'"]}},
        ("In q, the condition \"state = 'Running'\": the quotes are part of the value. Write state=Running.",),
    ),
    "blanks in a condition of an operation": Mistake(
        "api",
        {"operation": "QueryVmInstance", "params": {"q": ["state = Running"]}},
        (": the blanks are", "state=Running."),
    ),
    "pattern in a condition of an operation": Mistake(
        "api", {"operation": "QueryVmInstance", "params": {"q": ["name=vm-*"]}}, ("Write name~=vm-%.",)
    ),
    "key of a tag in a condition": Mistake(
        "vm_info", {"query": ["__usertag__=tag-1"]}, ("Did you mean __userTag__?",), ("::",)
    ),
    "quotes in a filter": Mistake(
        "vm_info",
        {"filters": ["state = 'Running'"]},
        ("In filters, the condition", "Write state=Running."),
    ),
    "word for the system of VMs in a query": Mistake(
        "vm_info", {"query": ["os=Linux"]}, ("Did you mean guestOsType or platform?",)
    ),
    "dashes that are too few in a MAC address": Mistake(
        "vm_nic_info", {"mac": "52-54-00-00-01"}, ("It has six bytes",), ("quotes",)
    ),
    "operator in an awaited value": Mistake(
        "vm_info",
        {"name": "vm-1", "wait_for": {"field": "state", "values": ["!Running"]}},
        ("'!Running' is never met. List the values that end the wait. The documented values of state are Created,",),
        ("Did you mean",),
        check=True,
    ),
    "operator in an awaited number": Mistake(
        "vm_info",
        {"name": "vm-1", "wait_for": {"field": "cpu_num", "values": [">1"]}},
        ("wait_for: cpu_num is a number, and is compared for equality, so '>1' is never met. Give numbers.",),
    ),
    "condition on the awaited field": Mistake(
        "vm_info",
        {"query": ["state=Running"], "wait_for": {"field": "state", "values": ["Stopped"]}},
        (
            "wait_for: no object with state Stopped meets the condition 'state=Running'",
            "by another field, such as name",
        ),
    ),
    "sign in the order": Mistake(
        "resource_info", {"resource_type": "image", "sort": "-name"}, ("Write sort: name and order: desc",)
    ),
    "field of a result to sort by": Mistake(
        "resource_info",
        {"resource_type": "vm", "sort": "cpu_num"},
        ("sort: the records have no field cpu_num. Did you mean cpuNum?",),
    ),
    "query in place of a type": Mistake("resource_info", {"resource_type": "QueryImage"}, ("Did you mean image?",)),
    "unknown parameter with a name": Mistake(
        "api",
        {"operation": "StartVmInstance", "params": {"vm_uuid": "vm-2"}},
        ("StartVmInstance has no parameter vm_uuid. Its parameters are uuid,",),
        ("hexadecimal",),
    ),
    "verb in place of an operation": Mistake(
        "api",
        {"method": "PUT", "path": "v1/vm-instances/vm-2/actions", "body_key": "start"},
        ("body_key must be startVmInstance, not start.",),
    ),
    "placeholder in a path": Mistake(
        "api", {"method": "GET", "path": "v1/zones/{uuid}"}, ("path has the placeholder {uuid}.",)
    ),
    "address copied from the browser": Mistake(
        "host_info", {}, ("Set base_url to URL",), ("<html",), connection={"base_url": "URL/#/login"}
    ),
    "account in the address": Mistake(
        "host_info",
        {},
        ("account and account_password",),
        ("path_prefix", "hunter2"),
        connection={"base_url": "http://admin:hunter2@127.0.0.1"},
    ),
    "wrong path prefix": Mistake(
        "host_info",
        {},
        ("HTTP status 404 for GET /servic/v1/hosts", "path_prefix"),
        ("Pass uuid",),
        connection={"path_prefix": "servic", "api_token": None},
    ),
    "wrong path prefix, with a token": Mistake(
        "host_info",
        {},
        ("HTTP status 404 for GET /servic/v1/hosts", "a cursor query was used instead. Check path_prefix."),
        connection={"path_prefix": "servic"},
    ),
    "dead proxy": Mistake(
        "host_info",
        {},
        ("the variable http_proxy", "use_proxy to false", "NO_PROXY"),
        ("Check base_url",),
        connection={"base_url": "http://manager.example.com", "request_retries": 0},
        environment={"http_proxy": "http://127.0.0.1:1", "no_proxy": ""},
    ),
    "dead proxy of the option": Mistake(
        "host_info",
        {},
        ("(proxy 127.0.0.1:1)", "Check proxy_url and whether the proxy runs."),
        ("Check base_url", "NO_PROXY", "hunter2"),
        connection={"proxy_url": "http://user:hunter2@127.0.0.1:1", "request_retries": 0},
    ),
    "self-signed certificate": Mistake(
        "host_info",
        {},
        ("Set ca_path (or VIRTINFRA_CA_PATH)",),
        ("client_cert", "validate_certs"),
        connection={"base_url": "SELF_SIGNED"},
    ),
    "certificate for another name": Mistake(
        "host_info",
        {},
        ("Use a name in base_url that the certificate lists: other.example.com",),
        ("client_cert", "Set ca_path"),
        connection={"base_url": "OTHER_NAME", "ca_path": "FOLDER/ca.pem"},
    ),
    "operation newer than the service": Mistake(
        "cbt_task_info",
        {},
        ("QueryCbtTask, which needs version 4.10.10 or newer",),
        connection={"base_url": "WITHOUT_CBT"},
    ),
    "https to a port without TLS": Mistake(
        "host_info", {}, ("try http in base_url",), ("attempts",), connection={"base_url": "HTTPS"}
    ),
    "interfaces of one name on several hosts": Mistake(
        "host_nic_service",
        {"interfaces": ["eth0"], "service_types": ["StorageNetwork"]},
        ("Give host.",),
        ("by uuid",),
    ),
    "related object in place of its name": Mistake(
        "host_info", {"query": ["cluster=cluster-1"]}, ("have no field cluster. Did you mean cluster.name?",)
    ),
    "new CBT task without its VM": Mistake(
        "cbt_task", {"name": "new"}, ("give vm to create it",), ("task_type", "resource_uuids")
    ),
    "host in another cluster": Mistake(
        "kvm_host", {"name": "host-1", "cluster": "cluster-2"}, ("cluster-1", "cluster-2")
    ),
    "prefix in a path": Mistake(
        "api",
        {"path": "/service/v1/hosts", "method": "GET"},
        ("path must be without path_prefix: v1/hosts, not /service/v1/hosts",),
    ),
    "field of another object": Mistake(
        "host_info", {"query": ["cluster.nam=cluster-1"]}, ("clusters have no field nam. Did you mean name?",)
    ),
    "type in the plural, without a token": Mistake(
        "resource_info", {"resource_type": "Hosts"}, ("Did you mean host?",), connection={"api_token": None}
    ),
    "type in the plural": Mistake("resource_info", {"resource_type": "vms"}, ("Did you mean vm?",)),
    "VM that an earlier task would create": Mistake(
        "vm_nic", {"vm": "later", "l3_network": "l3-1"}, ("when: not ansible_check_mode",), check=True
    ),
    "VM that does not exist": Mistake(
        "vm_nic", {"vm": "later", "l3_network": "l3-1"}, ("Check the name",), ("ansible_check_mode",)
    ),
    "new host without its options": Mistake(
        "kvm_host",
        {"name": "host-31"},
        ("give username, password, management_ip and cluster",),
        ("***",),
        connection=ACCOUNT,
    ),
    "misspelt value in a condition": Mistake(
        "vm_info",
        {"query": ["state=Runing"]},
        ("'Runing' is not a documented value of state. Did you mean Running?", "The documented values are Created,"),
    ),
    "foreign field of VMs": Mistake(
        "vm_info", {"query": ["status=Running"]}, ("no field status. Did you mean state?",)
    ),
    "memory of VMs": Mistake("vm_info", {"query": ["memory>1"]}, ("no field memory. Did you mean memorySize?",)),
    "condition of SQL": Mistake("vm_info", {"query": "name like vm%"}, ("Write name~=vm%.",)),
    "asterisk in a value": Mistake("vm_info", {"query": ["name=vm-*"]}, ("Write name~=vm-%.",)),
    "names in one value": Mistake("vm_info", {"query": ["name=vm-1, vm-2"]}, ("Write name?=vm-1,vm-2.",)),
    "pattern without wildcards": Mistake(
        "host_info", {"query": ["managementIp~=10.0."]}, ("Write managementIp~=%10.0.%.",)
    ),
    "name in place of a uuid": Mistake(
        "vm_info", {"query": ["clusterUuid=cluster-1"]}, ("clusterUuid is a uuid. Write cluster.name=cluster-1.",)
    ),
    "name in place of a uuid beside a new name": Mistake(
        "vm",
        {"uuid": "vm-1", "name": "web-1"},
        ("not 'vm-1'. Give the uuid itself, which virtinfra.manager.resource_info returns.",),
        ("in place of uuid",),
    ),
    "alternatives in one condition": Mistake(
        "vm_info", {"query": ["name=vm-1 or name=vm-2"]}, ("Write each condition as an item of the list",)
    ),
    "values of a text": Mistake(
        "vm_info", {"query": "state?=Running,Stopped"}, ("so write a list: query: ['state?=Running,Stopped']",)
    ),
    "free space of storages": Mistake(
        "primary_storage_info", {"query": ["free>1T"]}, ("no field free. Did you mean availableCapacity?",)
    ),
    "template without a value": Mistake("vm_info", {"query": ["name="]}, ("it has no value",)),
    "operation by another name": Mistake("api", {"operation": "ListVms"}, ("Did you mean QueryVmInstance?",)),
    "collection in the singular": Mistake(
        "api", {"path": "/v1/host", "method": "GET"}, ("no read at this path. Did you mean v1/hosts?",)
    ),
    "collection by another name": Mistake(
        "api", {"path": "v1/vms", "method": "GET"}, ("Did you mean v1/vm-instances?",)
    ),
    "type by another name": Mistake(
        "resource_info", {"resource_type": "datastore"}, ("is unknown. Did you mean primary_storage?",)
    ),
    "VM in place of a job": Mistake(
        "job_wait", {"jobs": ["vm-1"]}, ("the uuid or the handle of a job, such as started.job, not 'vm-1'",)
    ),
    "id of a task with async": Mistake("job_wait", {"jobs": ["j123.456"]}, ("ansible.builtin.async_status",)),
    **{
        f"{name} that is missing": Mistake(
            "host_info", {}, (f"{name} /nowhere cannot be used: there is no such file",), connection={name: "/nowhere"}
        )
        for name in ("ca_path", "client_cert")
    },
    "key without its certificate": Mistake(
        "host_info", {}, ("client_key needs client_cert",), connection={"client_key": "/nowhere"}
    ),
    "password without its account": Mistake(
        "host_info", {}, ("account_password needs account",), connection={"account_password": "hunter2"}
    ),
    "name of the VM as its host": Mistake(
        "vm", {"name": "vm-1", "host": "vm-1"}, ("vm-1 is the name of a VM.",), ("clone_from",)
    ),
    "user ID with the sign of a mention": Mistake(
        "sns_teamchat_person",
        {"endpoint": "teamchat-endpoint-1", "user_id": "@alice"},
        ("user_id '@alice' is sent with its @. If it is no part of the user ID, write alice.",),
    ),
    "new VM without a network": Mistake(
        "vm",
        {"name": "new", "image": "image-1", "cpu_num": 1, "memory_size": "1G"},
        ("the VM has no NIC, because networks is not given. Give networks, or [] for none.",),
    ),
    "no CPU": Mistake("vm", {"name": "vm-1", "cpu_num": 0}, ("cpu_num must be from 1 to 1024, not 0",), ("stopped",)),
    "memory without a unit": Mistake(
        "vm", {"name": "vm-1", "memory_size": 4}, ("4 bytes are too few. Write the unit, such as 16G",), ("stopped",)
    ),
    "rule with a direction": Mistake(
        "resource",
        {"kind": "security_group", "name": "a", "properties": {"rules": [{"direction": "ingress"}]}},
        ("properties.rules[0]: there is no member direction. Did you mean type?",),
    ),
    "rule with a network of no addresses": Mistake(
        "resource",
        {"kind": "security_group", "name": "a", "properties": {"rules": [{"src_ip_range": "all"}]}},
        ("src_ip_range must consist of addresses, networks and ranges", "10.0.0.0/24", "not 'all'"),
    ),
    "ISO as the image of a VM": Mistake(
        "vm", {"name": "vm-1", "image": "iso-2"}, ("the API cannot change image", "with kind iso_attachment.")
    ),
    "several names in one text": Mistake(
        "vm",
        {"name": "vm-1,vm-3", "state": "stopped"},
        ("a task has one name: virtinfra.manager.batch runs the module for many objects",),
    ),
    "pattern as the name of a VM": Mistake(
        "vm", {"name": "vm-*", "state": "stopped"}, ("names are no patterns: virtinfra.manager.batch runs the module",)
    ),
    "other size of an offering": Mistake(
        "resource",
        {"kind": "disk_offering", "name": "disk-offering-1", "properties": {"disk_size": "7G"}},
        ("the API cannot change", "Make another offering."),
    ),
    "problems of the connection": Mistake(
        "service_info", {}, ("session_id", "VIRTINFRA_ACCOUNT_PASSWORD"), connection=NO_CREDENTIALS
    ),
}

# Expressions that compare a variable with a value that it never has.
COMPARISONS: Mapping[str, Mapping[str, Any]] = {
    "in include": {"include": ["virtinfra_state == 'enabled'"]},
    "in exclude": {"exclude": ["virtinfra_state != 'enabled'"]},
    "in a list": {"groups": {"a": "virtinfra_state not in ['Disabled', 'enabled']"}},
    "before the variable": {"groups": {"a": "'enabled' == virtinfra_state and true"}},
    "in a test": {"groups": {"a": "virtinfra_state is eq('enabled')"}},
    "in compose": {"compose": {"a": "1 if virtinfra_state == 'enabled' else 2"}},
    "in keyed_groups": {"keyed_groups": [{"key": "virtinfra_state in ('enabled',)", "prefix": "a"}]},
}

FILTERS = {"source": "cursor", "session_id": None, "api_token": "API-KEY"}

INVENTORIES = {
    "inventory without credentials": Mistake(
        "hosts", {"session_id": None}, ("VIRTINFRA_SESSION_ID", "VIRTINFRA_ACCOUNT", "VIRTINFRA_API_TOKEN")
    ),
    "one equals sign": Mistake("hosts", {"groups": {"a": "x = 'Enabled'"}}, ("groups: a", "Write == to compare.")),
    "misspelt value in the query of an inventory": Mistake(
        "vms", {"query": ["state=running"]}, ("Did you mean Running?",)
    ),
    "variable without the end of its name": Mistake(
        "hosts", {"keyed_groups": [{"key": "virtinfra_cluster"}]}, ("Did you mean virtinfra_cluster_name?",)
    ),
    "prefix of a variable forgotten": Mistake(
        "hosts",
        {"keyed_groups": [{"key": "cluster_name"}]},
        ("keyed_groups: no host has a variable cluster_name. Did you mean virtinfra_cluster_name?",),
    ),
    "keyed group without a key": Mistake(
        "hosts", {"keyed_groups": [{"prefix": "c"}]}, ("keyed_groups: the entry {'prefix': 'c'} has no key.",)
    ),
    "user tags without the option": Mistake(
        "vms", {"keyed_groups": [{"key": "virtinfra_user_tags"}]}, ("virtinfra_user_tags needs user_tags: true.",)
    ),
    "misspelt variable in a test of core": Mistake(
        "vms", {"groups": {"web": "virtinfra_nam is match('web')"}}, ("Did you mean virtinfra_name?",)
    ),
    "variable that nothing resembles": Mistake(
        "vms", {"include": "virtinfra_lamp == 'on'"}, ("no host has a variable virtinfra_lamp.",), ("Did you mean",)
    ),
    "misspelt variable": Mistake(
        "vms", {"groups": {"prod": "'prod' in virtinfra_tags"}}, ("groups: prod", "Did you mean virtinfra_user_tags?")
    ),
    "misspelt variable in a condition": Mistake(
        "hosts", {"include": ["virtinfra_staet == 'Enabled'"]}, ("include: ", "Did you mean virtinfra_state?")
    ),
    "name in place of a text": Mistake(
        "hosts", {"compose": {"ansible_user": "root"}}, ("compose: ansible_user", """write "'root'\"""")
    ),
    "composed variable in another": Mistake(
        "hosts",
        {"compose": {"first": "virtinfra_name", "second": "first | upper"}},
        ("compose: second: no host has a variable first.", "first | default('')"),
    ),
    **{
        f"value that no host has, {form}": Mistake(
            "hosts",
            options,
            ("'enabled' is not a documented value of state. Did you mean Enabled? The documented values are Enabled,",),
            ("has no effect",),
        )
        for form, options in COMPARISONS.items()
    },
    "size in an expression": Mistake(
        "vms",
        {"groups": {"a": "virtinfra_memory_size > 4G"}},
        ("groups: a: ", "Numbers have no units. Write 4294967296 in place of 4G."),
    ),
    "size that is a string": Mistake(
        "vms",
        {"include": "virtinfra_memory_size >= '4GiB'"},
        ("include: virtinfra_memory_size is a number", "Write 4294967296, which is 4GiB in bytes."),
    ),
    "number that is a string": Mistake(
        "vms", {"groups": {"a": "virtinfra_cpu_num == '2'"}}, ("groups: a: ", "is a string. Write 2 without quotes.")
    ),
    "state without quotes": Mistake(
        "vms",
        {"exclude": ["virtinfra_state != Running"]},
        ("exclude: no host has a variable Running. To give the text Running, write it in quotes: 'Running'.",),
        ("default",),
    ),
    "domain without quotes": Mistake(
        "vms", {"compose": {"fqdn": "virtinfra_name ~ example.com"}}, ("write it in quotes: 'example.com'",)
    ),
    "path without quotes": Mistake(
        "vms",
        {"compose": {"ansible_ssh_private_key_file": "/etc/keys/id"}},
        ("write \"'/etc/keys/id'\", with both kinds of quotes",),
    ),
    "statement in a condition": Mistake(
        "vms",
        {"groups": {"a": "{% if virtinfra_state == 'Running' %}up{% endif %}"}},
        ("groups: a: ", "is a template. Write the condition alone, such as virtinfra_state == 'Running'."),
    ),
    "list as the address": Mistake(
        "vms",
        {"compose": {"ansible_host": "virtinfra_addresses"}},
        ("compose: ansible_host must be a text", "virtinfra_addresses[0]"),
    ),
    "list of texts that is compared with a text": Mistake(
        "vms",
        {"groups": {"a": "virtinfra_addresses == '10.0.0.1'"}},
        ("groups: a: virtinfra_addresses is a list. Write '10.0.0.1' in virtinfra_addresses",),
    ),
    "part of an element of a list": Mistake(
        "vms",
        {"groups": {"a": "'10.' in virtinfra_addresses"}},
        ("'10.' is compared with whole elements of the list", "such as '10.' in virtinfra_addresses | join(' ')"),
    ),
    "pattern that is compared as a text": Mistake(
        "vms", {"groups": {"a": "virtinfra_name == 'vm-1*'"}}, ("Write virtinfra_name is match('vm-1.*')",)
    ),
    "list of mappings that is compared with a text": Mistake(
        "hosts",
        {"groups": {"a": "virtinfra_primary_storages == 'ps-1'"}},
        ("Write 'ps-1' in virtinfra_primary_storages | map(attribute='name')",),
    ),
    "mapping that is compared with a text": Mistake(
        "vms", {"groups": {"a": "virtinfra_host == 'host-1'"}}, ("is a mapping. Write virtinfra_host_name to compare",)
    ),
    "size in megabytes": Mistake(
        "vms",
        {"groups": {"a": "virtinfra_memory_size > 4096"}},
        ("virtinfra_memory_size is in bytes, such as ", "Write 4096 * 1024 * 1024 for 4096 MiB"),
    ),
    "size in gigabytes": Mistake(
        "vms",
        {"groups": {"a": "virtinfra_memory_size >= 8"}},
        ("virtinfra_memory_size is in bytes, such as ", "Write 8 * 1024 * 1024 * 1024 for 8 GiB"),
    ),
    "date that is compared as a text": Mistake(
        "vms",
        {"include": ["virtinfra_create_date > '2024-01-06'"]},
        ("include: virtinfra_create_date is a text such as ", "virtinfra_create_date | virtinfra.manager.to_datetime"),
    ),
    "cache plugin without a cache": Mistake(
        "vms", {"cache_plugin": "ansible.builtin.jsonfile"}, ("cache_plugin has no effect without cache: true",)
    ),
    "key that is a list of mappings": Mistake(
        "hosts",
        {"keyed_groups": [{"key": "virtinfra_primary_storages"}]},
        ("keyed_groups: virtinfra_primary_storages is a list of mappings", "| map(attribute='name')."),
    ),
    "key that is a number": Mistake(
        "vms", {"keyed_groups": [{"key": "virtinfra_cpu_num", "prefix": "cpu"}]}, ("Write virtinfra_cpu_num | string.",)
    ),
    "key with another word for tags": Mistake(
        "vms", {"keyed_groups": [{"key": "tags"}]}, ("Did you mean virtinfra_user_tags? It needs user_tags: true.",)
    ),
    "prefix that is a variable": Mistake(
        "vms",
        {"keyed_groups": [{"key": "virtinfra_state", "prefix": "virtinfra_cluster_name"}]},
        ("keyed_groups: prefix is a text, so virtinfra_cluster_name is not evaluated", "virtinfra_cluster_name ~ '_'"),
    ),
    "parent group that is a variable": Mistake(
        "vms",
        {"keyed_groups": [{"key": "virtinfra_state", "parent_group": "virtinfra_cluster_name"}]},
        ("Write parent_group: '{{ virtinfra_cluster_name }}'",),
    ),
    "option in an entry of keyed_groups": Mistake(
        "vms",
        {"keyed_groups": [{"key": "virtinfra_state", "leading_separator": False}]},
        ("an entry has no leading_separator. It is an option of the source",),
    ),
    "unknown member of keyed_groups": Mistake(
        "vms", {"keyed_groups": [{"key": "virtinfra_state", "color": 1}]}, ("Its members are key, prefix, separator,",)
    ),
    "variable with a prefix that the source removes": Mistake(
        "vms", {"hostvars_prefix": "", "groups": {"a": "virtinfra_state == 'Running'"}}, ("Did you mean state?",)
    ),
    "variable whose name is reserved": Mistake(
        "vms",
        {"hostvars_prefix": "", "groups": {"a": "virtinfra_name == 'vm-1'"}},
        ("Ansible reserves name, so hosts have no such variable. Set another hostvars_prefix.",),
    ),
    "word of another inventory for names": Mistake(
        "vms", {"hostnames": ["private-ip-address"]}, ("write virtinfra_name or virtinfra_addresses[0].",), ("default",)
    ),
    "tag for names": Mistake(
        "vms", {"hostnames": ["tag:Name"]}, ("hostnames: 'tag:Name' is neither a field nor a valid expression",)
    ),
    "one name for two services": Mistake(
        "vms",
        {"services": [{"name": "a"}, {"name": "a", "base_url": "http://127.0.0.1:1"}]},
        ("services: URL/service and http://127.0.0.1:1/service have the same name a.",),
    ),
    "one service twice": Mistake(
        "vms",
        {"services": [{"name": "a"}, {"name": "b"}]},
        ("services: a and b are the same service, URL/service, so its VMs are in the inventory twice.",),
    ),
    "session of one of the services": Mistake(
        "vms", {"services": [{"name": "a"}, {"name": "b", "session_id": "x"}]}, ("services[1] (b): hosts: QueryHost ",)
    ),
    "password of one of the services": Mistake(
        "vms",
        {"services": [{"name": "a", "account": "x", "account_password": "y"}]},
        ("services[0] (a): account x: LogInByAccount failed",),
    ),
    "credentials of the environment beside those of a service": Mistake(
        "vms",
        {"services": [{"name": "a", "api_token": "API-KEY", "query": ["state=Running"]}]},
        ("services[0] (a): QueryVmInstance needs session_id, or account and",),
        ("VIRTINFRA_SESSION_ID",),
    ),
    "condition that is a text": Mistake(
        "vms", {"groups": {"web": "virtinfra_name"}}, ("virtinfra_name is a text", "virtinfra_name == 'vm-1'")
    ),
    "condition with an unknown test": Mistake(
        "vms", {"groups": {"a": "virtinfra_name is Web"}}, ("groups: a could be evaluated for none of 6 hosts",)
    ),
    "field that no NIC has": Mistake(
        "vms", {"compose": {"a": "virtinfra_vm_nics[0].ipp"}}, ("compose: a could be evaluated for none of", "ipp")
    ),
    "mapping in place of a list": Mistake(
        "vms", {"keyed_groups": {"key": "virtinfra_state"}}, ("must be a list, such as [{key: virtinfra_state",)
    ),
    "option of another inventory": Mistake("vms", {"hostname": "name"}, ("Did you mean base_url or hostnames?",)),
    "field in place of a query": Mistake("hosts", {"state": "Enabled"}, ("Did you mean query: ['state=...']?",)),
    "condition that puts texts together": Mistake(
        "vms",
        {"groups": {"web": "virtinfra_name ~ 'web'"}},
        ("groups: web: ", "gives a text", "'web' in virtinfra_name"),
    ),
    "braces around an expression": Mistake(
        "hosts", {"compose": {"label": "{{ virtinfra_name }}"}}, ("compose: label", "without {{ }}")
    ),
    "name of the cluster in a query": Mistake(
        "hosts", {"query": ["clusterName=cluster-1"]}, ("have no field clusterName. Did you mean cluster.name?",)
    ),
    "tag in a query": Mistake("vms", {"query": ["tag=prod"]}, ("Did you mean __userTag__?",)),
    "shell pattern in a query": Mistake(
        "vms", {"query": ["name~=vm-*"]}, ("'name~=vm-*': * matches only itself. Write % for any characters.",)
    ),
    "other word for an option of a service": Mistake(
        "hosts",
        {"services": [{"url": "http://127.0.0.1:1"}]},
        ("services[0]: there is no option url. Did you mean base_url?",),
    ),
    "other word for an option": Mistake("hosts", {"url": "http://127.0.0.1:1"}, ("Did you mean base_url?",)),
    "unknown option": Mistake(
        "hosts",
        {"color": "red"},
        ("unknown option color. The options are ", "keyed_groups", "those of the connection."),
    ),
    "networks as those of a task": Mistake(
        "vms", {"networks": [{"name": "l3-1"}]}, ("must be a string, such as [l3-1],",), ("l3_network",)
    ),
    "limit of a module": Mistake("vms", {"limit": 5}, ("query or include select hosts",), ("The options are",)),
    "facts of another inventory": Mistake(
        "vms", {"want_facts": True}, ("All fields of the records are variables",), ("The options are",)
    ),
    "excluding filters of another inventory": Mistake("hosts", {"exclude_filters": []}, ("Did you mean exclude?",)),
    "word for the system of VMs": Mistake(
        "vms",
        {"keyed_groups": [{"key": "virtinfra_os", "prefix": "os"}]},
        ("Did you mean virtinfra_guest_os_type or virtinfra_platform?",),
    ),
    "word for addresses of VMs": Mistake(
        "vms", {"hostnames": ["ip"]}, ("Did you mean virtinfra_addresses[0] or virtinfra_vm_nics[0].ip?",)
    ),
    "word for the address of hosts": Mistake("hosts", {"hostnames": ["ip"]}, ("Did you mean management_ip?",)),
    "words for variables": Mistake(
        "hosts", {"variables": ["ram", "ip"]}, ("Did you mean total_memory_capacity?", "Did you mean management_ip?")
    ),
    "words in conditions": Mistake(
        "hosts",
        {"include": ["hypervisor == 'KVM' or mem > 4"]},
        ("Did you mean virtinfra_hypervisor_type?",),
    ),
    "variable in a filter": Mistake(
        "vms",
        {**FILTERS, "filters": ["virtinfra_state == 'Running'"]},
        ("In filters, the condition", "Write state=Running."),
    ),
    "other spelling of tags in a filter": Mistake(
        "vms", {**FILTERS, "filters": ["__usertag__=web"]}, ("Did you mean __userTag__?",)
    ),
    "patterns in a list of values": Mistake("vms", {**FILTERS, "filters": ["name?=vm-%"]}, ("Write name~=vm-%.",)),
    "gigabytes in a query": Mistake(
        "hosts",
        {"query": ["availableMemoryCapacity>64"]},
        ("availableMemoryCapacity is in bytes. Write availableMemoryCapacity>68719476736 for 64 GiB.",),
    ),
    "unknown value of an option": Mistake(
        "hosts", {"on_failure": "ignore"}, ("on_failure must be one of fail, skip, last_known, not 'ignore'",)
    ),
    "unknown source": Mistake("hosts", {"source": "session"}, ("source must be one of query, cursor",)),
    "cache without a place": Mistake(
        "hosts", {"cache": True, "cache_plugin": "ansible.builtin.jsonfile"}, ("Set cache_connection",)
    ),
    "unknown network": Mistake("vms", {"networks": ["l3-9"]}, ("no L3 network 'l3-9'", "l3-1, l3-2, l3-3")),
}

ROLES = {
    "snapshots with a misspelt value": Mistake(
        "vm_snapshots",
        {"vm_snapshots_query": ["state=Runing"]},
        ("No VM meets vm_snapshots_query (state=Runing)", "vm_snapshots_allow_empty", "Did you mean Running?"),
    ),
    "notifications without variables": Mistake(
        "notifications", {}, ("Give notifications_endpoints", "notifications_allow_empty")
    ),
    "evacuation without variables": Mistake("host_evacuation", {}, ("Give host_evacuation_hosts",)),
    "evacuation of an unknown host": Mistake(
        "host_evacuation", {"host_evacuation_hosts": ["host-1", "host-91"]}, ("No VM was migrated: ", "host-91")
    ),
    "evacuation to the evacuated host": Mistake(
        "host_evacuation",
        {"host_evacuation_hosts": ["host-1"], "host_evacuation_targets": ["host-1"]},
        ("host_evacuation_targets has only hosts that are evacuated.",),
    ),
    "shutdown without a VM that there is not": Mistake(
        "site_shutdown",
        {"site_shutdown_exclude_vms": ["nosuch"], "site_shutdown_hosts": False},
        ("Nothing was changed: ", "nosuch (site_shutdown_exclude_vms)"),
        ("site_shutdown_exclude_hosts",),
    ),
    "power of no VM": Mistake(
        "vm_power",
        {"vm_power_state": "stopped", "vm_power_groups": [{"name": "web", "query": ["name=nobody"]}]},
        ("No VM meets the query of these groups: web.", "vm_power_allow_empty"),
    ),
    "shutdown with a misspelt name": Mistake(
        "site_shutdown",
        {"site_shutdown_groups": [{"name": "web", "vms": ["vm-l"]}]},
        ("Nothing was changed: ", "no VM has the name or uuid vm-l (the group web of site_shutdown_groups)"),
    ),
    "shutdown of no VM": Mistake(
        "site_shutdown",
        {
            "site_shutdown_groups": [{"name": "web", "query": ["name=nobody"]}],
            "site_shutdown_hosts": False,
        },
        ("These groups have no VM: web. Check site_shutdown_groups", "site_shutdown_allow_empty"),
    ),
    "list without quotes on the command line": Mistake(
        "vm_snapshots",
        {"vm_snapshots_query": "[state=Running]"},
        ("vm_snapshots_query must be a list", """-e '{"vm_snapshots_query": ["name=web-1", """),
        ("Expecting value", "-e vm_snapshots_query="),
    ),
    "power of an empty list": Mistake(
        "vm_power",
        {"vm_power_state": "stopped", "vm_power_groups": [{"name": "web", "vms": []}]},
        ("No VM was changed.",),
    ),
    "restore of no VM": Mistake("vm_restore", {"vm_restore_vms": []}, ("vm_restore_vms is empty.",)),
    "onboarding without variables": Mistake(
        "host_onboarding",
        {"host_onboarding_name": "host-31", "host_onboarding_management_ip": "10.0.0.31"},
        ("give host_onboarding_username, host_onboarding_password and host_onboarding_cluster to add it",),
        ("host host-31: host host-31",),
    ),
    "YAML error in the tasks of a maintenance": Mistake(
        "host_maintenance",
        {
            "host_maintenance_uuid": "a0000003000040008000000000000001",
            "host_maintenance_tasks": "FOLDER/tasks.yml",
        },
        ("host_maintenance_tasks is FOLDER/tasks.yml, which cannot be used.",),
        files={"tasks.yml": "- name: [\n"},
    ),
    "description in a file": Mistake(
        "site_description",
        {"site_description_folder": "FOLDER/tasks.yml"},
        ("site_description_folder: cannot write FOLDER/tasks.yml/hosts.yml: FOLDER/tasks.yml is a file,",),
        files={"tasks.yml": ""},
    ),
    "description nowhere": Mistake(
        "site_description", {"site_description_folder": ""}, ("site_description_folder must not be empty.",)
    ),
    **{
        f"page of {role} {what}": Mistake(role, {f"{role}_path": path, **variables}, (f"{role}_path{says}",))
        for role, variables in {
            "capacity_report": {},
            "site_drift": {},
            "vm_backup_report": {"vm_backup_report_repository": "/nowhere"},
        }.items()
        for what, path, says in (
            ("in a folder that does not exist", "FOLDER/none/a.html", ": cannot write FOLDER/none/a.html: the folder"),
            ("that is a folder", "FOLDER", ": cannot write FOLDER: it is not a file. Name a file in it"),
        )
    },
    "page without a path": Mistake(
        "capacity_report", {"capacity_report_path": ""}, ("capacity_report_path must not be empty.",)
    ),
    "page without permissions": Mistake(
        "capacity_report",
        {"capacity_report_path": "a.html", "capacity_report_file_mode": "rw"},
        ("capacity_report_file_mode: 'rw' is no mode.",),
    ),
    "permissions in decimal": Mistake(
        "capacity_report",
        {"capacity_report_path": "a.html", "capacity_report_file_mode": 640},
        ("capacity_report_file_mode: 640 is no mode. Write permissions with a zero and in quotes, such as '0640'.",),
    ),
    "page with the name of its data": Mistake(
        "vm_backup_report",
        {"vm_backup_report_path": "FOLDER/a.json", "vm_backup_report_repository": "/nowhere"},
        (", the name of the file with the data beside the page. Give the page another one, such as FOLDER/a.html",),
    ),
    "list in place of the mover of a drill": Mistake(
        "vm_backup_drill",
        {"vm_backup_drill_repository": "/nowhere", "vm_backup_drill_mover": ["mover-1"]},
        ("vm_backup_drill_mover must be one string, such as mover-1, not ['mover-1']",),
        ("unhashable",),
    ),
    "list in place of the mover of a restore": Mistake(
        "vm_backup_restore",
        {
            "vm_backup_restore_vm": "vm-1",
            "vm_backup_restore_repository": "/nowhere",
            "vm_backup_restore_mover": ["mover-1"],
        },
        ("vm_backup_restore_mover must be one string, such as mover-1, not ['mover-1']",),
        ("unhashable",),
    ),
    "restored files in a relative folder": Mistake(
        "vm_backup_restore",
        {
            "vm_backup_restore_vm": "vm-1",
            "vm_backup_restore_repository": "/nowhere",
            "vm_backup_restore_to_directory": "here",
        },
        ("vm_backup_restore_to_directory must be an absolute path on the data mover, not here",),
    ),
    "capacity report with a relative path": Mistake(
        "capacity_report",
        {"capacity_report_path": "capacity.html"},
        ("FOLDER/capacity.html",),
        ("ansible_collections",),
    ),
}


@contextmanager
def serve_mistakes(sim: Simulator, folder: Path) -> Iterator[dict[str, str]]:
    """Yield the addresses for the placeholders in the table, of services with the faults that these need."""
    authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    authority.issue_cert("other.example.com").configure_cert(context)

    def lack_cbt_tasks(request: StubRequest) -> StubResponse:
        return StubResponse(404) if "/cbt-task" in request.path else forward(sim.port, request)

    with ExitStack() as stack:
        servers = {
            "SELF_SIGNED": StubServer(lambda request: StubResponse(200), untrusted_context()),
            "OTHER_NAME": StubServer(lambda request: StubResponse(200), context),
            "WITHOUT_CBT": StubServer(lack_cbt_tasks),
        }
        urls = {name: stack.enter_context(server).url for name, server in servers.items()}
        yield {**urls, "HTTPS": sim.url.replace("http:", "https:"), "URL": sim.url, "FOLDER": str(folder)}


def fill_in(value: Any, texts: Mapping[str, str]) -> Any:
    """Return a value with the placeholders in its strings replaced."""
    if isinstance(value, Mapping):
        return {name: fill_in(item, texts) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [fill_in(item, texts) for item in value]
    if isinstance(value, str):
        for name, text in texts.items():
            value = value.replace(name, text)
    return value


def check(mistakes: Mapping[str, Mistake], texts: Mapping[str, str], make: Callable[[Mistake], str]) -> None:
    """Make each mistake, and check its messages."""
    wrong = []
    for name, mistake in mistakes.items():
        message = make(mistake)
        missing = [part for part in fill_in(mistake.says, texts) if part not in message]
        surplus = [part for part in mistake.says_not if part in message]
        if missing or surplus:
            wrong.append(f"{name}: lacks {missing}, has {surplus}: {message}")
    assert not wrong, "\n".join(wrong)


def test_mistakes_with_modules(sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_mistakes(sim, tmp_path) as texts:

        def make(mistake: Mistake) -> str:
            with monkeypatch.context() as patch:
                for name, value in mistake.environment.items():
                    patch.setenv(name, value)
                connection = fill_in(mistake.connection, texts)
                ran = ModuleRunner(sim)(mistake.of, mistake.options, mistake.check, **connection)
            return " ".join([ran.message, *ran.warnings])

        check(MODULES, texts, make)


def test_mistakes_with_inventories(sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings, texts = collect_warnings(monkeypatch), {"URL": sim.url, "API-KEY": sim.token}

    def make(mistake: Mistake) -> str:
        warnings.clear()
        options = {"base_url": sim.url, "session_id": sim.session, **fill_in(mistake.options, texts)}
        given = {name: value for name, value in options.items() if value is not None}
        try:
            Source(tmp_path, mistake.of, **given).fill()
        except AnsibleError as failure:
            warnings.append(str(failure))
        return " ".join(warnings)

    check(INVENTORIES, texts, make)


def test_mistakes_with_roles(playbook_runner: PlaybookRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"FOLDER": str(tmp_path)}

    def make(mistake: Mistake) -> str:
        for name, content in mistake.files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
        options = fill_in(mistake.options, texts)
        role = {"role": f"virtinfra.manager.{mistake.of}", **options}
        run = playbook_runner.play(roles=[role], ignore_errors=False)
        messages = [str(played.result.get("msg", "")) for played in run]
        warnings = [warning for played in run for warning in played.result.get("warnings", ())]
        return " ".join([*messages[-2:], *warnings])

    check(ROLES, texts, make)
    assert (tmp_path / "capacity.html").is_file()


@pytest.mark.parametrize(
    ("playbook", "variables", "message"),
    [
        (
            "restore_vms",
            {"vm_restore_vms": {"web": "blue"}},
            "vm_restore_vms must be a list, such as [{name: web-1, snapshot_group: before}], not {'web': 'blue'}",
        ),
        (
            "back_up_vms",
            {"vm_backup_vms": ["vm-1"], "vm_backup_repository": "/srv/backups", "vm_backup_keep": 7},
            "vm_backup_keep must be a mapping, such as {last: 7, daily: 14}, not 7",
        ),
        (
            "power_vms",
            {"vm_power_state": "powered", "vm_power_groups": []},
            "value of vm_power_state must be one of: running, stopped, restored, unmarked, got: powered",
        ),
        (
            "power_vms",
            {"vm_power_state": False, "vm_power_groups": []},
            (
                "value of vm_power_state must be one of: running, stopped, restored, unmarked, got: False. Did you mean"
                " stopped? YAML reads on and off, unless in quotes, as true and false."
            ),
        ),
        *(
            (
                playbook,
                {},
                "A rulebook of Event-Driven Ansible runs this playbook, and gives it the event in ansible_eda.",
            )
            for playbook in ("repair_host", "report_down_hosts", "report_failed_job")
        ),
        (
            "shut_down_site",
            {"site_shutdown_group": []},
            "the role site_shutdown has no variable site_shutdown_group. Did you mean site_shutdown_groups?",
        ),
        (
            "shut_down_site",
            {"site_shutdown_vms": ["vm-1"]},
            (
                "the role site_shutdown has no variable site_shutdown_vms. Did you mean site_shutdown_groups:"
                " [{name: web, vms: [web-1, web-2]}]?"
            ),
        ),
        (
            "back_up_vms",
            {"vm_backup_retention": 7},
            "the role vm_backup has no variable vm_backup_retention. Did you mean vm_backup_keep?",
        ),
    ],
)
def test_mistakes_with_playbooks(
    playbook_runner: PlaybookRunner, playbook: str, variables: dict[str, Any], message: str
) -> None:
    """A wrong variable is named by the one task that fails, without the description of all variables."""
    arguments = ["-e", json.dumps(variables)]
    environment = {"VIRTINFRA_BASE_URL": "http://127.0.0.1:9", "VIRTINFRA_SESSION_ID": "none"}
    *dummy, failed = playbook_runner.playbook(f"virtinfra.manager.{playbook}", arguments, environment)
    assert failed.result["msg"] == message
    assert "argument_spec_data" not in failed.result


def test_address_of_a_lookup_without_its_name(playbook_runner: PlaybookRunner) -> None:
    text = "{{ lookup('virtinfra.manager.session', 'http://127.0.0.1:9') }}"
    (failed,) = playbook_runner.play({"ansible.builtin.debug": {"msg": text}})
    assert "the options have names: write base_url= before the first value" in failed.result["msg"]


def test_account_of_a_lookup_without_its_name(playbook_runner: PlaybookRunner) -> None:
    text = "{{ lookup('virtinfra.manager.session', 'admin', 'a-password') }}"
    (failed,) = playbook_runner.play({"ansible.builtin.debug": {"msg": text}})
    assert "write account= before the first value, as in lookup(" in failed.result["msg"]
    assert "account='admin', account_password=vault_account_password" in failed.result["msg"]
