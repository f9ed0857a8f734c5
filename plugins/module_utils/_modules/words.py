"""The words that users bring from other modules and collections, and what they mean here.

The well-known collections for VMware, oVirt, Proxmox, OpenStack and libvirt have these names for options and values.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from .._api.errors import suggest_name
from .._api.value_words import Meaning, map_words

# Words for objects, and our noun. An option for such an object has the noun as its name, or a plural of it.
NOUNS: Mapping[str, str] = {
    word: noun
    for noun, words in {
        "cluster": "cluster_name",
        "disk_offering": "volume_type",
        "endpoint": "sns_endpoint",
        "host": "esxi esxi_host esxi_hostname hypervisor kvm_host node target_host destination destination_host",
        "instance_offering": "flavor flavour instance_type machine_type offering plan service_offering",
        "l2_network": "vlan vswitch dvswitch switch bond_network",
        "l3_network": "bridge l3 net network nic_network portgroup port_group subnet vnet",
        "nic": "interface network_adapter network_interface vm_nic vnic",
        "platform": "snmp_platform",
        "primary_storage": "datastore destination_datastore storage storage_domain storage_pool",
        "snapshot_group": "snap snapname snapshot vm_snapshot",
        "ssh_key_pair": "authorized_keys key key_name keypair key_pair ssh_key sshkeys ssh_public_key public_key",
        "topic": "sns_topic",
        "vm": "guest instance machine server virtual_machine vm_instance vms",
        "volume": "disk hdd data_volume",
        "zone": "availability_zone data_center datacenter region region_name",
    }.items()
    for word in (noun, *words.split())
}

# Options for objects that do not have the noun as their name.
OPTIONS_OF_NOUNS: Mapping[str, tuple[str, ...]] = {
    "l3_network": ("networks", "nics"),
    "nic": ("networks", "interfaces"),
    "vm": ("vm_uuid", "vm_uuids"),
    "volume": ("disks",),
}

# The nouns of the objects of modules that have other names.
NOUNS_OF_MODULES = {
    "kvm_host": "host",
    "vm_from_snapshot_group": "vm",
    "vm_nic": "nic",
    "vm_nic_qos": "nic",
    "vm_snapshot_group": "snapshot_group",
    "sns_teamchat_person": "person",
    "sns_snmp_platform": "platform",
    "sns_topic": "topic",
    "sns_endpoint": "endpoint",
}

# Words for the login with which the service, or Ansible, reaches a host.
_SSH_LOGINS = "ansible_ssh_user ansible_user host_user host_username remote_user ssh_login ssh_user ssh_username"
_SSH_PASSWORDS = "ansible_password ansible_ssh_pass host_password ssh_pass ssh_passwd ssh_password"

# The options of a module itself come before those that all modules share. A word with a dot is that of a module, or of
# an option with suboptions.
MEANINGS: Mapping[str, list[Meaning]] = map_words(
    # Inventories
    ("inventory.hostname", [("base_url", "hostnames")]),
    ("inventory.host_name inventory.inventory_hostname", "hostnames"),
    ("inventory.group_by inventory.keyed_group inventory.group", "keyed_groups"),
    ("inventory.include_tags inventory.tags inventory.with_tags inventory.gather_tags", "user_tags"),
    ("inventory.prefix inventory.vars_prefix", "hostvars_prefix"),
    ("inventory.fields inventory.properties inventory.attributes", "variables"),
    ("inventory.default_value inventory.separator inventory.parent_group inventory.key", "keyed_groups"),
    ("inventory.hostvars inventory.host_vars inventory.vars inventory.set", "compose"),
    ("inventory.include_filters", [("filters", "include")]),
    ("inventory.exclude_filters", "exclude"),
    ("inventory.where inventory.only", [("include", "query")]),
    ("inventory.name inventory.names", "query: ['name=web-1']"),
    ("inventory.with_networks inventory.network", "networks"),
    # Profiles and the lookup, and the sources of events
    ("connection.address connection.endpoint connection.host connection.name", "base_url"),
    ("connection.retries source.retries inventory.retries", "request_retries"),
    ("connection.key", [("client_key", "access_key_id")]),
    ("account_pass account_passwd", "account_password"),
    ("source.delay source.poll_interval source.period source.every", "interval"),
    ("source.address source.bind source.listen source.host", ["host", "base_url"]),
    ("source.cert source.certfile source.ssl source.tls source.certificate", ["certfile", "client_cert"]),
    ("source.secret source.key", [("webhook_key", "token"), "access_key_secret"]),
    ("source.url", "base_url"),
    ("source.buffer source.queue source.queue_size", "buffer_size"),
    ("source.kind source.type source.resource", "resource_type"),
    # The connection
    (
        "api_host api_url auth_url base_uri engine_url manager manager_url service_url vcenter vcenter_hostname",
        "base_url",
    ),
    ("endpoint_url", ["url", "base_url"]),
    ("url", ["url", "path", "management_ip", "snmp_address", "base_url"]),
    ("uri", ["url", "path", "base_url"]),
    ("server", ["base_url"]),
    ("kvm_host.server", [("management_ip", "base_url")]),
    ("vm.server vm_info.server vm_from_snapshot_group.server", [("name", "base_url")]),
    ("hostname", ["snmp_address", ("host", "base_url"), ("hosts", "base_url"), "base_url"]),
    ("kvm_host.hostname kvm_host.esxi_hostname", [("name", "management_ip")]),
    ("host_info.hostname vm_info.hostname", [("name", "base_url")]),
    ("host", ["snmp_address"]),
    (f"{_SSH_LOGINS} root_user", "username"),
    (f"{_SSH_PASSWORDS} root_password", "password"),
    ("login", ["username", "account"]),
    ("user user_name", ["username", "user_id", "account"]),
    ("kvm_host.account_name", [("username", "account")]),
    ("host_onboarding.account host_onboarding.account_name", "username"),
    ("account_name account_user", "account"),
    ("host_onboarding.account_password", "password"),
    ("username api_user auth_username", "account"),
    ("pass passwd password", ["password", "account_password"]),
    ("api_password auth_password", "account_password"),
    ("profile_name cloud", "profile"),
    ("api_key", [("api_token", "access_key_id")]),
    ("api_token_id access_key", "access_key_id"),
    ("secret api_token_secret secret_key access_secret", "access_key_secret"),
    ("token auth_token", "api_token"),
    ("session", "session_id"),
    ("insecure ssl_verify tls_verify validate_ssl verify verify_ssl verify_certs validate_cert", "validate_certs"),
    ("ca ca_cert ca_certs cacert ca_file ca_bundle", "ca_path"),
    ("cert certificate", "client_cert"),
    ("proxy proxy_host http_proxy https_proxy", "proxy_url"),
    ("prefix api_path", "path_prefix"),
    ("api_version version", "service_version"),
    ("request_retry max_retries", "request_retries"),
    # Waiting
    ("wait_for.retries", "timeout"),
    ("wait_for.delay wait_for.sleep", "interval"),
    ("timeout state_change_timeout", ["wait_timeout", "request_timeout"]),
    ("max_wait max_wait_time retries shutdown_timeout stop_timeout wait_max wait_time", "wait_timeout"),
    ("wait_timeout", "wait_for.timeout"),
    ("wait_interval", "wait_for.interval"),
    ("wait", "wait_for"),
    ("delay interval poll_interval sleep", "wait_interval"),
    ("job job_id handle handles task_id", "jobs"),
    # Objects of all types
    ("id moid guid vmid", ["uuid", "vm", "jobs", "hosts"]),
    ("wait_for.fields", "field"),
    ("uuid name", ["jobs", "hosts"]),
    ("cbt_volume_export.name", [("vm", "volumes")]),
    ("sns_snmp_test.name", [("platform", "endpoint")]),
    ("sns_teamchat_person.name", [("user_id", "remark")]),
    ("annotation comment comments desc display_description notes", ["description", "remark"]),
    ("displayname display_name title label_name", "name"),
    ("label labels tag metadata meta customvalues custom_attributes", ["tags", "user_tags"]),
    ("user_tags", "tags"),
    ("tags", "user_tags"),
    ("power power_state powerstate running status action command ensure desired_state", "state"),
    ("reboot restart", ["state: restarted", "power: reset"]),
    ("enabled", "state"),
    ("vm.stopped.force", "stop_type: cold"),
    ("force", "stop_type: cold"),
    ("force_stop hard_stop", "stop_type: cold"),
    ("acpi graceful graceful_shutdown soft soft_shutdown", "stop_type: grace"),
    ("vm.undelete vm.undeleted volume.undelete volume.undeleted", "recover"),
    ("force_delete", "force"),
    # Lists
    ("count max max_results max_items", "limit"),
    ("filter", ["query", "filters"]),
    ("filters conditions condition where search", "query"),
    ("name_match pattern regex", "query: ['name~=web%']"),
    ("names", ["vms", "hosts", "query: ['name?=web-1,web-2']"]),
    ("gather_tags show_tags with_tags tags_info", "include_tags"),
    ("columns attributes", ["properties", "fields"]),
    # VMs
    (
        "cpu cpus cores num_cpus num_cpu vcpu vcpus cpu_cores cpu_count cpu_sockets sockets",
        "cpu_num",
    ),
    ("mem memory_mb memory_gb ram ram_mb memory_max", "memory_size"),
    ("memory", ["memory_size", "with_memory"]),
    ("memory_dump save_memory use_memory vmstate include_memory include_ram with_ram", "with_memory"),
    ("hardware", [("cpu_num", "memory_size")]),
    ("template template_src template_name source base_image", [("image", "clone_from"), "snapshot_group", "url"]),
    ("clone linked_clone clone_source source_vm src", "clone_from"),
    ("os image_id image_name iso_name ami boot_image", "image"),
    (
        "cloud_init cloudinit userdata userdata_file cicustom cipassword ciuser customization sysprep ipconfig",
        [("user_data", "user_data_file")],
    ),
    ("disk", ["size", ("disks", "root_disk_size"), "volume", "volumes"]),
    ("hdd data_disk data_disks ide sata scsi virtio volumes", "disks"),
    ("root_disk root_size root_volume_size", "root_disk_size"),
    ("vm.admin_pass vm.admin_password vm.guest_password vm.root_password", [("user_data", "user_data_file")]),
    ("vm.size", [("root_disk_size", "instance_offering")]),
    ("vm_nic.nic vm_nic.nic_uuid", "uuid"),
    ("vm_nic.connected vm_nic.link vm_nic.link_state vm_nic.linked", [("state: disabled", "state: enabled")]),
    ("vm_nic.link_down", "state: disabled"),
    ("vm_nic.link_up", "state: enabled"),
    ("pool", "primary_storage"),
    ("size_gb size_mb size_kb size_tb disk_gb capacity volume_size", ["size", "root_disk_size", "disk_size"]),
    ("disk_size", "size"),
    ("size", ["root_disk_size", "disk_size"]),
    ("nic nics interfaces network_interfaces net networks", ["l3_networks", "l3_network", "networks", "nics"]),
    ("target migrate migrate_to", "host"),
    (
        "address ip ip_address ipaddress ipv4 ip_addr",
        [
            "management_ip",
            "snmp_address",
            "static_ip",
            "ip",
            "networks: [{l3_network: l3-1, static_ip: 10.0.0.5}]",
        ],
    ),
    (
        "mac mac_address macaddr",
        ["custom_mac", "mac", "networks: [{l3_network: l3-1, custom_mac: '52:54:00:12:34:56'}]"],
    ),
    ("model device_type driver nic_type adapter_type interface", ["driver_type", "physical_interface"]),
    ("delete_disks terminate_volume detach_disks with_disks", "data_volumes"),
    ("networks.name networks.network networks.uuid", "l3_network"),
    ("networks.type networks.device_type", "driver_type"),
    ("vm_from_snapshot_group.vm vm_from_snapshot_group.source", [("name", "snapshot_group")]),
    # Properties of kinds
    ("cidr subnet_cidr", ["network_cidr", "allowed_cidr"]),
    ("start first_ip range_start", "start_ip"),
    ("end last_ip range_end", "end_ip"),
    ("gateway_ip", "gateway"),
    ("nic_name physical_nic uplink", "physical_interface"),
    ("location source_url file", "url"),
    ("disk_format image_format", "format"),
    ("guest_os operating_system os_type ostype", "guest_os_type"),
    ("pubkey", "public_key"),
    ("scheduler_trigger.interval scheduler_trigger.period", "scheduler_interval"),
    ("vip.address vip.ip vip.ip_address", "required_ip"),
    ("l3_network.network l3_network.net l3_network.vlan l3_network.bridge", "l2_network"),
    ("port_forwarding.port port_forwarding.ports", [("vip_port_start", "private_port_start")]),
    ("port_forwarding.protocol", "protocol_type"),
    ("load_balancer_listener.port load_balancer_listener.ports", [("load_balancer_port", "instance_port")]),
    ("cluster.hypervisor", "hypervisor_type"),
    # Volumes
    ("volume.type volume.offering", "disk_offering"),
    ("volume.new_size", "size"),
    ("attach_to attached_to", "vm"),
    # Hosts
    ("kvm_host.ssh_host kvm_host.fqdn", "management_ip"),
    ("kvm_host.power_state kvm_host.powerstate", "power"),
    ("kvm_host.shutdown kvm_host.poweroff kvm_host.power_off", "power: off"),
    ("kvm_host.poweron kvm_host.power_on", "power: on"),
    ("kvm_host.port", [("ssh_port", "ipmi_port")]),
    ("port", "snmp_port"),
    ("bmc bmc_address bmc_host bmc_ip idrac idrac_ip ilo ilo_ip ipmi ipmi_host ipmi_ip", "ipmi_address"),
    ("bmc_user bmc_username ipmi_user", "ipmi_username"),
    ("bmc_pass bmc_password ipmi_pass", "ipmi_password"),
    ("maintenance_mode maintain", "state: maintenance"),
    ("activate", "state: enabled"),
    (
        "kvm_host.absent.drain kvm_host.absent.evacuate_vms kvm_host.absent.migrate_vms kvm_host.absent.move_vms",
        "evacuate",
    ),
    # NICs of hosts and of VMs
    ("vlan vlan_id vlans", ["vlan_ids", "vlans", "vlan"]),
    ("service services service_type", "service_types"),
    ("host_nic_service.nic host_nic_service.nics", "interfaces"),
    (
        "host_onboarding_services.nic host_onboarding_services.nics host_onboarding_services.interfaces",
        "interface",
    ),
    ("host_nic_candidate_info.type", "interface_type"),
    ("cbt_task.type", "task_type"),
    ("cbt_task.bitmap cbt_task.checkpoint cbt_task.checkpoint_name", "bitmap_name"),
    ("bandwidth qos rate rate_limit", [("outbound_bandwidth", "inbound_bandwidth"), "rate_limit"]),
    ("vm_nic_qos.nic vm_nic_qos.nic_uuid vm_nic_qos.vm_nic", "uuid"),
    (
        "vm_nic_qos.kbps vm_nic_qos.limit vm_nic_qos.max_kbps vm_nic_qos.mbps vm_nic_qos.speed",
        [("outbound_bandwidth", "inbound_bandwidth")],
    ),
    ("egress out outbound tx upload", "outbound_bandwidth"),
    ("ingress in inbound rx download", "inbound_bandwidth"),
    # Snapshots and notifications
    ("revert rollback", "state: reverted"),
    (
        "vm_snapshot_group.children vm_snapshot_group.remove_children vm_snapshot_group.with_children",
        "scope: chain",
    ),
    ("webhook hook", ["url", "webhook_url"]),
    ("lang language", "locale"),
    ("sns_endpoint.host sns_endpoint.address", "platform"),
    ("at_users mention mentions users", "at_person_user_ids"),
    ("sns_snmp_platform.server", "snmp_address"),
    ("sns_snmp_test.address sns_snmp_test.host sns_snmp_test.ip sns_snmp_test.snmp_address", "platform"),
    ("sns_topic_subscriber_info.name", [("topic", "endpoint")]),
    ("service_info.host service_info.address", "base_url"),
    ("sns_endpoint.kind sns_endpoint.endpoint_type", "type"),
    ("sns_endpoint.subscribe sns_endpoint.subscribed sns_endpoint.subscriptions", "topics"),
    ("sns_endpoint.members sns_endpoint.persons", "at_person_list"),
    ("job_wait.job_uuids job_wait.results job_wait.uuids", "jobs"),
    ("host_info.uuids vm_info.uuids resource_info.uuids", "query: ['uuid?=...']"),
    ("sns_endpoint.webhook", "url"),
    ("remark_name", "remark"),
    # Modules for several types
    ("type", ["resource_type", "kind"]),
    ("resource_type", "kind"),
    ("kind resource", "resource_type"),
    ("body data payload json args arguments parameters parameter", ["params", "properties"]),
    ("spec config values params", "properties"),
    ("api.endpoint api.route", "path"),
    ("api.action api.call api.command api.api", "operation"),
    ("api.query api.q api.condition api.conditions", "params: {q: ['name=web-1']}"),
    ("verb http_method", "method"),
    ("items list instances tasks", "objects"),
    ("forks parallel workers throttle serial max_parallel", "concurrency"),
    ("batch.action batch.task", "module"),
    ("batch.args batch.defaults batch.options batch.params", "common"),
    ("batch.tags", "common: {tags: [web]}"),
    ("batch.fail_fast batch.any_errors_fatal batch.stop_on_error", "on_failure: stop"),
    ("batch.continue_on_error batch.ignore_errors batch.keep_going", "on_failure: continue"),
    ("repo backup_dir backup_path dest directory path", ["repository", "folder"]),
    ("file filename output page", "path"),
    ("threshold", "warn_percent"),
    ("vm_power.vms site_shutdown.vms", "groups: [{name: web, vms: [web-1, web-2]}]"),
    (
        "vm_restore.vm vm_restore.name vm_restore.snapshot vm_restore.snapshot_group",
        "vms: [{name: web-1, snapshot_group: before}]",
    ),
    ("vm_backup_restore.snapshot vm_backup_restore.take_snapshot vm_backup_restore.snapshot_before", "snapshot_first"),
    ("notifications.webhook notifications.url notifications.endpoint", "endpoints"),
    ("retention keep_last", "keep"),
    # Data movers
    ("backup_point.name", "vm"),
    ("backup_point.disks backup_restore.disks", "volumes"),
    ("backup_restore.name", "vm_uuid"),
    ("backup_restore.dest backup_restore.destination backup_restore.path", [("directory", "repository")]),
    ("backup_restore.date backup_restore.time backup_restore.timestamp backup_restore.backup", "point"),
    ("backup_point_info.name backup_run.name", "vm_uuids"),
    ("backup_run.uuid backup_run.id", "run"),
)

_KEYWORDS = (
    "async become become_user changed_when check_mode delay delegate_to failed_when ignore_errors loop loop_control"
    " no_log notify poll register retries run_once until vars when with_items"
)

# The keywords of tasks that users indent too far.
KEYWORDS = frozenset(_KEYWORDS.split())

# Words for states that no role has.
_RESTARTS = "reboot rebooted reset restart restarted"
_REVERTS = "revert reverted rollback rolledback"

_REVERTED = "virtinfra.manager.vm_snapshot_group with state: reverted sets a VM back to a snapshot group."


def _remark(role: str, words: str, remark: str) -> dict[str, str]:
    """Return a remark by each of some words, separated by blanks, that are neither states nor variables of a role."""
    return {f"{role}.{word}": remark for word in words.split()}


_SUBSCRIBES = "The member topics of an entry of notifications_endpoints subscribes the endpoint."

# What to do about words that no option means, also by their nouns.
REMARKS: Mapping[str, str] = {
    **dict.fromkeys(
        f"{_SSH_LOGINS} {_SSH_PASSWORDS}".split(),
        "virtinfra.manager.kvm_host has the SSH login of a host, as username and password. That of the service is"
        " account and account_password.",
    ),
    **dict.fromkeys(
        (f"connection.{word}" for word in f"{_SSH_LOGINS} {_SSH_PASSWORDS}".split()),
        "It has the login of the service, account and account_password. The SSH login of a host is an option of the"
        " task that adds it.",
    ),
    "connection.profile": "A profile refers to no other one.",
    **dict.fromkeys(
        ("vm_backup.mover", "vm_backup.movers", "vm_backup.data_mover"),
        "The data movers of the role are the hosts of the play. Of the playbook back_up_vms, they are those of"
        " back_up_vms_pattern.",
    ),
    **{
        f"{role}.{word}": f"The hosts of the role are those of the play. Of the playbook {playbook}, they are those of"
        f" {playbook}_pattern."
        for role, playbook in (
            ("host_maintenance", "maintenance_walk"),
            ("host_onboarding", "onboard_hosts"),
            ("host_removal", "remove_hosts"),
        )
        for word in ("host", "hostnames", "hosts", "limit", "nodes", "targets")
    },
    **_remark(
        "host_removal",
        "drain evacuate maintenance migrate_vms move_vms",
        "The role drains the host itself. host_removal_running_vms says what it may do to the VMs on it.",
    ),
    # The states of roles
    **_remark(
        "vm_power",
        _RESTARTS,
        "No state restarts VMs: run the role with vm_power_state: stopped, and then with restored. Or run"
        " virtinfra.manager.vm with state: restarted, for many VMs in virtinfra.manager.batch.",
    ),
    **_remark(
        "site_shutdown",
        _RESTARTS,
        "No state restarts a site: run the role with site_shutdown_state: stopped, and then with running.",
    ),
    **_remark("host_evacuation", _RESTARTS, "The role only migrates VMs. virtinfra.manager.vm restarts them."),
    **_remark(
        "host_maintenance",
        "unmarked",
        "No state only takes marks off. absent puts back what they say, and takes them off.",
    ),
    **_remark("host_onboarding", "absent deleted removed", "The role virtinfra.manager.host_removal removes hosts."),
    **_remark(
        "vm_backup",
        "absent deleted removed",
        "ended ends what earlier runs left open. virtinfra.manager.backup_point removes points.",
    ),
    **_remark(
        "vm_backup",
        "restored reverted",
        "The role virtinfra.manager.vm_backup_restore writes points back.",
    ),
    **_remark(
        "vm_backup",
        "backup_mode backup_type full incremental mode type",
        "The role itself chooses full or incremental. vm_backup_full_every says each which point of a VM is full: with"
        " 1 all are, with 0 only the first.",
    ),
    **_remark("vm_snapshots", f"restored {_REVERTS}", _REVERTED),
    **_remark("vm_restore", _REVERTS, _REVERTED),
    **_remark(
        "inventory",
        "limit count max max_items max_results",
        "A source has no such option: query or include select hosts, and --limit selects some of a run.",
    ),
    **_remark(
        "inventory",
        "want_facts gather_facts facts expand_hostvars hostvars_full",
        "All fields of the records are variables of the hosts. variables selects some of them.",
    ),
    # Options of which a task may have one
    "disks|clone_from": "A clone has the disks of its source. virtinfra.manager.volume adds others afterwards",
    "page_size": "Results are complete: all pages are read. limit returns no more than so many objects.",
    "api.name": "operation names the operation, and params has those of the call, such as params: {uuid: vm-1}.",
    **dict.fromkeys(
        ("api.body_format", "api.headers"), "The module sends JSON, and the headers with which the connection signs."
    ),
    **_remark(
        "sns_snmp_platform",
        "community snmp_community snmp_version version",
        "A platform has the address and the port of a receiver, and no version or community.",
    ),
    **_remark(
        "vm_snapshot_group",
        "disk disks volume volume_uuid volumes",
        "A snapshot group has the snapshots of all volumes of a VM.",
    ),
    "auth": "The credentials are options of their own: account and account_password, for example.",
    **dict.fromkeys(("detailed", "details", "full"), "Results contain all fields."),
    **dict.fromkeys(("order_by", "sort", "sort_by"), "Sort the results in a template, such as sort(attribute='name')."),
    **dict.fromkeys(
        ("ansible_job_id", "jid"), "It is the id of a task with async. Wait for it with ansible.builtin.async_status."
    ),
    **dict.fromkeys(
        ("sns_topic.endpoint", "sns_topic.endpoints", "sns_topic.subscribers", "sns_topic.subscriptions"),
        "virtinfra.manager.sns_endpoint subscribes an endpoint to topics.",
    ),
    **_remark("notifications_topics", "endpoint endpoints subscribers subscriptions", _SUBSCRIBES),
    **_remark("notifications", "subscribers subscription subscriptions", _SUBSCRIBES),
    **dict.fromkeys(
        ("connection.region", "service_info.region", "source.region"),
        "The service has no regions. base_url is its address.",
    ),
    "names": "virtinfra.manager.batch runs a module for many objects.",
    "vm.names": "virtinfra.manager.batch runs a module for many objects.",
    **dict.fromkeys(
        ("vm.force", "vm.force_delete"),
        "state: absent destroys a running VM, too: omit it. stop_type: cold stops a VM at once.",
    ),
    **dict.fromkeys(
        tuple(
            f"{module}.{word}"
            for module in ("vm", "volume")
            for word in ("delete_permanently", "expunged", "purge", "purged")
        ),
        "state: absent removes an object that can be recovered. With expunge: true, it is removed for good.",
    ),
    "delete_from_inventory": "state: absent destroys a VM, which can be recovered, unless expunge is true.",
    **dict.fromkeys(
        ("boot_from_volume", "boot_volume"), "The root volume of a VM is made of its image, or of the VM of clone_from."
    ),
    **dict.fromkeys(
        ("networks.gateway", "networks.netmask", "networks.dns_servers", "networks.prefix"),
        "It is that of the IP range of the L3 network.",
    ),
    "disks.*": "Data volumes of a new VM have a size only. virtinfra.manager.volume creates others.",
    **dict.fromkeys(
        ("kvm_host.disconnect", "kvm_host.disconnected"),
        "The service has no operation that disconnects a host. With state: disabled, no VM is started on it, and with"
        " state: maintenance, it is empty.",
    ),
    **dict.fromkeys(
        tuple(
            f"kvm_host.{word}" for word in ("drain", "drained", "evacuated", "evacuate_vms", "migrate_vms", "move_vms")
        ),
        "state: maintenance moves the VMs of a host to others. The role virtinfra.manager.host_evacuation moves them"
        " without a maintenance.",
    ),
    **dict.fromkeys(("kvm_host.private_key", "kvm_host.ssh_key"), "A host is added with username and password."),
    **dict.fromkeys(
        ("boot", "boot_device", "boot_devices", "boot_order"),
        "virtinfra.manager.resource sets it, with kind vm_boot_order.",
    ),
    **dict.fromkeys(
        ("autostart", "ha", "ha_level", "high_availability", "onboot"),
        "virtinfra.manager.resource sets it, with kind vm_ha.",
    ),
    **dict.fromkeys(
        tuple(f"volume.{word}" for word in ("extend", "extended", "grow", "grown", "resize", "resized")),
        "Give the size that the volume shall have as size, such as 20G.",
    ),
    "volume.unit": "Write the unit in size, such as 20G.",
    "volume.device": "The service chooses the device in the guest.",
    **dict.fromkeys(
        tuple(f"{module}.{word}" for module in ("vm_nic", "vm_nic_qos") for word in ("interface", "label", "name")),
        "A NIC is selected by vm and l3_network, or by uuid.",
    ),
    **dict.fromkeys(
        tuple(
            f"{scope}.{word}"
            for scope in ("networks", "vm_nic")
            for word in ("bandwidth", "inbound_bandwidth", "outbound_bandwidth", "qos", "rate", "rate_limit")
        ),
        "virtinfra.manager.vm_nic_qos limits the bandwidth of a NIC.",
    ),
    "vm_nic.tag": "The VLAN of a NIC is that of the L2 network. User tags of a new NIC are user_tags.",
    **dict.fromkeys(
        ("sns_endpoint.port", "sns_endpoint.snmp_address", "sns_endpoint.snmp_port"),
        "The address and the port are those of the platform, which virtinfra.manager.sns_snmp_platform manages.",
    ),
    **dict.fromkeys(
        ("sns_endpoint.key", "sns_endpoint.secret", "sns_endpoint.token"),
        "The key of a chat room is a part of its url.",
    ),
    "host_nic_service.absent": "An empty list of service_types removes all of them.",
    **{
        f"{kind}.{name}": f"Give the NIC as properties.vm_nic, or attach it with kind {kind}_attachment and nic."
        " virtinfra.manager.vm_nic_info lists the NICs of a VM."
        for kind in ("eip", "port_forwarding")
        for name in ("vm", "nic")
    },
    **dict.fromkeys(("tag.vm", "tag.volume"), "Modules attach tags to objects, with their options tags and user_tags."),
    "sns_endpoint.email": "Create it with virtinfra.manager.api and CreateSNSEmailEndpoint, and select it with"
    " type: any.",
    **{
        f"sns_endpoint.{word}": f"Create it with virtinfra.manager.api and CreateSNS{name}Endpoint, and select it with"
        " type: any."
        for name, words in {
            "DingTalk": ("dingtalk", "dingding"),
            "FeiShu": ("feishu", "lark"),
            "Http": ("http", "https", "webhook"),
            "MicrosoftTeams": ("microsoft_teams", "microsoftteams", "msteams", "teams"),
        }.items()
        for word in words
    },
    **dict.fromkeys(
        ("sns_endpoint.sms", "sns_endpoint.teamchat"),
        "type: any selects an existing endpoint of this type, which no module creates.",
    ),
    **dict.fromkeys(
        ("cbt_task.cron", "cbt_task.schedule"),
        "The role virtinfra.manager.vm_backup makes backups, and virtinfra.manager.resource manages schedules, with"
        " kind scheduler_job.",
    ),
    **dict.fromkeys(
        tuple(f"cbt_task.{word}" for word in ("incremental", "keep", "repository", "retention")),
        "The role virtinfra.manager.vm_backup makes incremental backups, and removes old ones.",
    ),
    **dict.fromkeys(
        tuple(f"vm_snapshot_group.{word}" for word in ("keep", "keep_last", "retention")),
        "The role virtinfra.manager.vm_snapshots takes snapshots of many VMs, and removes old ones.",
    ),
    **dict.fromkeys(
        tuple(f"vm_snapshot_group.{word}" for word in ("shutdown", "stop", "stop_vm", "stopped")),
        "virtinfra.manager.vm stops the VM, with state: stopped, in a task before.",
    ),
    # Properties of kinds
    **dict.fromkeys(
        tuple(f"l3_network.{name}" for name in ("cidr", "end_ip", "gateway", "netmask", "start_ip", "subnet")),
        "virtinfra.manager.resource manages the addresses of L3 networks, with kind ip_range.",
    ),
    **dict.fromkeys(
        tuple(f"l3_network.{name}" for name in ("dns", "dns_server", "dns_servers", "nameserver", "nameservers")),
        "virtinfra.manager.api adds DNS servers to an L3 network, with the operation AddDnsToL3Network.",
    ),
    **dict.fromkeys(
        tuple(
            f"scheduler_job.{word}"
            for word in ("cron", "interval", "schedule", "scheduler_trigger", "trigger", "triggers")
        ),
        "virtinfra.manager.resource manages times, with kind scheduler_trigger, and assigns jobs to them, with kind"
        " scheduler_job_trigger.",
    ),
    **dict.fromkeys(
        ("as_template", "convert_to_template", "is_template", "mark_as_template"),
        "virtinfra.manager.api makes a template of a VM, with the operation ConvertVmInstanceToTemplatedVmInstance.",
    ),
    "volume.vm": (
        "virtinfra.manager.volume attaches volumes to VMs, and so does kind volume_attachment, with volume and vm."
    ),
    "fields": "Results contain all fields. Choose some in a template, such as map(attribute='name').",
    **dict.fromkeys(
        ("vm.password", "vm.passwd", "vm.user", "vm.username"),
        "The login of the guest is set by its user_data, and that of the service is account and account_password.",
    ),
    **dict.fromkeys(
        ("vm.restore", "vm.restored"),
        "recover: true recovers a destroyed VM, and virtinfra.manager.vm_snapshot_group sets a VM back to snapshots.",
    ),
    **dict.fromkeys(("vm.migrate", "vm.migrated"), "To migrate a running VM, give the other host as host."),
    "vm.strategy": "To create a VM without starting it, give state: stopped.",
    **dict.fromkeys(("vm.count", "vm.exact_count"), "virtinfra.manager.batch runs a module for many objects."),
    **dict.fromkeys(
        ("vm.volume", "vm.volumes"),
        "disks are the data volumes of a new VM. virtinfra.manager.volume attaches a volume that exists, with vm.",
    ),
    **_remark(
        "vm_from_snapshot_group",
        "power power_on power_state poweron running start started state stopped",
        "With strategy: CreateStopped, the new VM is not started.",
    ),
    **_remark(
        "volume",
        "multiattach shareable shared",
        "virtinfra.manager.api creates a volume that several VMs share, with the operation CreateDataVolume and the"
        " system tag ephemeral::shareable, as params: {systemTags: ['ephemeral::shareable']}.",
    ),
    "vm.cloned": "To clone a VM, give the name of the other VM as clone_from.",
    "vm.resized": "Give the size that the VM shall have as cpu_num and memory_size, or as instance_offering.",
    "vm.console": "virtinfra.manager.vm_info returns the address of a console, with console: true.",
    "vm.hostname": (
        "The address of the service is base_url. The host name of the guest is set by its user_data, and the host that"
        " runs it by host."
    ),
    **dict.fromkeys(
        ("folder", "resource_pool", "vm.pool", "vm_from_snapshot_group.pool"),
        "There are no folders and pools. Objects are in clusters, and tags group them.",
    ),
    **dict.fromkeys(
        ("guest_id", "guest_os", "operating_system", "os_type", "ostype"),
        "The operating system of a guest is that of its image.",
    ),
    **dict.fromkeys(
        ("wait_for_ip", "wait_for_ip_address", "wait_ip"),
        "virtinfra.manager.vm_info waits for the value of a field, with wait_for.",
    ),
    **dict.fromkeys(
        ("name_new", "new_name", "new_snapshot_name", "newname", "rename"),
        "To rename an object, give its uuid, and the new name as name.",
    ),
    **dict.fromkeys(
        ("cd_iso", "cdrom", "iso"), "virtinfra.manager.resource attaches ISOs to VMs, with kind iso_attachment."
    ),
    **dict.fromkeys(
        ("security_group", "security_groups"),
        "virtinfra.manager.resource attaches security groups to NICs, with kind security_group_attachment.",
    ),
    **dict.fromkeys(
        ("auto_ip", "floating_ip", "floating_ips", "public_ip"),
        "virtinfra.manager.resource attaches EIPs to NICs, with kind eip_attachment.",
    ),
    "affinity_group": "virtinfra.manager.resource puts VMs into affinity groups, with kind affinity_group_member.",
    "port": "The port is a part of base_url, such as https://manager.example.com:8443.",
    "l2_network": "A VLAN belongs to an L2 network, which virtinfra.manager.resource manages, with kind l2_network.",
    "zone": "The zone of an object is that of its cluster.",
    **dict.fromkeys(("nic", "nics", "l3_network", "networks"), "virtinfra.manager.vm_nic manages NICs."),
    **dict.fromkeys(("snapshot_group", "snapshots"), "virtinfra.manager.vm_snapshot_group takes snapshots."),
    **dict.fromkeys(("project", "tenant"), "The objects of a project are those of its account, with which you log in."),
}

# The options, and the values of options, that remove or lose what no later task brings back, or that skip a check. The
# user has to write such an option: no other word means it.
IRREVERSIBLE = frozenset({"data_volumes: delete", "delete_mode", "destroy_local_storage", "expunge", "force"})

# What a word with the value false means, if true means the other.
OPPOSITES: Mapping[str, str] = {
    "power: off": "power: on",
    "power: on": "power: off",
    "state: absent": "state: present",
    "state: disabled": "state: enabled",
    "state: enabled": "state: disabled",
    "state: maintenance": "state: enabled",
    "state: present": "state: absent",
    "state: running": "state: stopped",
    "state: stopped": "state: running",
}

# Words for kinds and types of resources, with the kinds.
KINDS: Mapping[str, list[Meaning]] = map_words(
    ("network net portgroup port_group vnet", [("l3_network", "l2_network")]),
    ("vlan vswitch dvswitch switch bridge", "l2_network"),
    ("subnet iprange", "ip_range"),
    ("template iso", "image"),
    ("flavor flavour instance_type offering service_offering", "instance_offering"),
    ("volume_type", "disk_offering"),
    ("keypair key_pair ssh_key key sshkey", "ssh_key_pair"),
    ("user users project tenant", "account"),
    ("datacenter data_center region availability_zone", "zone"),
    ("disk", "volume"),
    ("floating_ip public_ip", "eip"),
    ("loadbalancer lb", "load_balancer"),
    ("listener", "load_balancer_listener"),
    ("firewall", "security_group"),
    ("firewall_rule rule security_rule", "security_group_rule"),
    ("ha high_availability", "vm_ha"),
    ("boot boot_order bootorder", "vm_boot_order"),
    ("cron schedule scheduler trigger", [("scheduler_trigger", "scheduler_job")]),
    ("imagestore image_store", "backup_storage"),
    ("server_group", "affinity_group"),
    ("instance server guest domain virtual_machine virtualmachine machine", "vm"),
    ("node hypervisor kvm_host esxi esxi_host", "host"),
    ("datastore storage storage_domain storage_pool", "primary_storage"),
    ("nic interface port vnic", "vm_nic"),
    ("snapshot snap", "snapshot_group"),
    ("usertag", "user_tag"),
    ("accesskey api_key", "access_key"),
    ("cert ssl_certificate tls_certificate", "certificate"),
    ("dns dns_server nameserver name_server", "dns"),
)

# What manages the objects that are no kinds.
OTHER_KINDS: Mapping[str, str] = {
    "access_key": "virtinfra.manager.api creates these, with the operation CreateAccessKey",
    "backup_storage": (
        "virtinfra.manager.resource_info lists these, with resource_type backup_storage, and virtinfra.manager.api adds"
        " them, such as with the operation AddSftpBackupStorage"
    ),
    "certificate": "virtinfra.manager.api creates these, with the operation CreateCertificate",
    "dns": "virtinfra.manager.api adds DNS servers to an L3 network, with the operation AddDnsToL3Network",
    "endpoint": "virtinfra.manager.sns_endpoint manages these",
    "host": "virtinfra.manager.kvm_host manages these",
    "primary_storage": (
        "Kind storage_attachment attaches primary storages to clusters, virtinfra.manager.primary_storage_info lists"
        " them, and virtinfra.manager.api adds them, such as with the operation AddNfsPrimaryStorage"
    ),
    "security_group_rule": "Kind security_group has the rules of a group, as properties.rules",
    "snapshot_group": "virtinfra.manager.vm_snapshot_group manages these",
    "topic": "virtinfra.manager.sns_topic manages these",
    "user_tag": "The option tags of each kind has the user tags of its objects, and kind tag their patterns",
    "vm": "virtinfra.manager.vm manages these",
    "vm_nic": "virtinfra.manager.vm_nic manages these",
}

# How to write the variables of roles that are mappings or lists of mappings. The command line takes these as JSON.
_GROUPS = "[{name: web, vms: [web-1, web-2]}]"
_KEEP = "{last: 7, daily: 14}"
VARIABLES: Mapping[str, str] = {
    "host_onboarding_services": "[{interface: eth1, vlans: [100, 200], service_types: [StorageNetwork]}]",
    "notifications_endpoints": "[{type: snmp, name: monitoring, platform: snmp-1}]",
    "notifications_persons": "[{endpoint: teamchat-1, user_id: user-1, remark: on call}]",
    "notifications_platforms": "[{name: snmp-1, snmp_address: 192.0.2.50}]",
    "notifications_topics": "[{name: storage-alarms, state: enabled}]",
    "site_shutdown_groups": _GROUPS,
    **dict.fromkeys(("vm_backup_before", "vm_backup_after"), "{command: [/usr/local/sbin/freeze, web-1]}"),
    **dict.fromkeys(("vm_backup_keep", "vm_backup_report_keep"), _KEEP),
    **dict.fromkeys(
        (f"{role}_host_address" for role in ("vm_backup", "vm_backup_drill", "vm_backup_restore")),
        "{192.0.2.11: 198.51.100.11}",
    ),
    "vm_backup_restore_map": "{a0000007000040008000000000000001: a0000007000040008000000000000009}",
    "vm_power_groups": _GROUPS,
    "vm_restore_vms": "[{name: web-1, snapshot_group: before}]",
}

# The variables of these that differ from host to host, as an inventory has them.
_OF_HOSTS = ("host_onboarding_services",)

# The variables of roles of which each entry has the options of a module.
MODULES_OF_ENTRIES: Mapping[str, str] = {
    "notifications_endpoints": "sns_endpoint",
    "notifications_persons": "sns_teamchat_person",
    "notifications_platforms": "sns_snmp_platform",
    "notifications_topics": "sns_topic",
}

# How to write the options that are often written in another form.
EXAMPLES: Mapping[str, str] = {
    "at_person_list": "{user-1: on call}, and at_person_user_ids is a list without remarks",
    "common": "{cluster: cluster-1}",
    "properties": "{description: Made by Ansible}",
    "compose": "{ansible_host: virtinfra_management_ip}",
    "data_volume_system_tags": "{a0000008000040008000000000000001: ['env::prod']}",
    "filters": "['name=web-1'], which need api_token. For query: ['name=web-1'], an account is enough",
    "wait": "true, with wait_timeout for the seconds",
    "decisions": "{a0000004000040008000000000000001: true}",
    "disks": "[{size: 20G}]",
    "host_maintenance_tasks": "firmware.yml, a file with the tasks",
    "site_shutdown_hosts": "true, with site_shutdown_host_query or site_shutdown_exclude_hosts to choose hosts",
    "vm_backup_report_names": "true, with vm_backup_report_query to choose VMs",
    "vm_backup_stopped": "true, with vm_backup_vms or vm_backup_query to choose VMs",
    **dict.fromkeys(("vm_backup_drill_mover", "vm_backup_restore_mover"), "mover-1"),
    "vm_backup_drill_count": "0, which chooses all",
    "vm_backup_rate_limit": "50, in MiB per second",
    **dict.fromkeys(("inbound_bandwidth", "outbound_bandwidth"), "104857600, without a unit"),
    "groups": "{web: virtinfra_name is match('web')}",
    "keyed_groups": "[{key: virtinfra_state, prefix: state}]",
    "jobs": "['{{ started.job }}'], or of a loop '{{ started.results }}'",
    "l3_networks": "[l3-1]",
    **dict.fromkeys(("networks", "nics"), "[{l3_network: l3-1}]"),
    "objects": "[{name: vm-2}, {name: vm-4}]",
    "owner": "{host: controller-1}",
    "params": "{name: web-1}",
    "query": "['name=web-1', 'state=Running']",
    "services": "[{base_url: https://manager.example.com}]",
    "tags": "['env::prod']",
    **dict.fromkeys(("below", "rearm"), "10, in percent"),
    "thresholds": "[{field: available_capacity, below: 10}]",
    "user_data": '"#cloud-config\\nhostname: web-1", or lines after |',
    "user_tags": "['env::prod']",
    **VARIABLES,
    "vm": "{uuid: ..., name: web-1}, as vm_info returns it",
    "volume_snapshot_encryptions": "[{uuid: ..., encrypted: true}]",
    "volumes": (
        "[{volume: {volume_uuid: ...}, nbd_server: ..., nbd_port: ...}], as cbt_task and cbt_volume_export return them"
    ),
    "wait_for": "{field: state, values: [Running]}",
}


# The same options where a list has names in place of mappings.
EXAMPLES_OF_NAMES: Mapping[str, str] = {"networks": "[l3-1]"}

# The endings of the names of numbers of seconds.
_SECONDS = ("timeout", "interval", "time_limit", "host_time", "_watch", "_seconds")


def is_in_seconds(name: str, spec: Mapping[str, Any]) -> bool:
    """Return whether an option is a number of seconds."""
    return name.endswith(_SECONDS) and spec.get("type") in ("int", "float")


def find_example(name: str, spec: Mapping[str, Any]) -> str:
    """Return the example for an option. It is empty without one, or if the options of the module have another form."""
    example = EXAMPLES.get(name, "")
    if example.startswith("[{") and spec.get("elements") == "str":
        example = EXAMPLES_OF_NAMES.get(name, "")
    form = {"{": "dict", "[": "list"}.get(example[:1])
    return example if form in (None, spec.get("type", form)) else ""


def show_argument(name: str) -> str:
    """Return the argument of the command line that gives a variable that is a mapping or a list of mappings."""
    return f"-e '{json.dumps({name: _read_example(name)})}'"


def show_text(name: str) -> str:
    """Return how a text gives a variable that is a mapping or a list of mappings: on the command line, or for a host.

    The command line would set the variable of one host for all hosts.
    """
    if name not in _OF_HOSTS:
        return show_argument(name)
    return f"{name}='{json.dumps(_read_example(name))}' in an INI inventory, or {show_argument(name)} for all hosts"


def _read_example(name: str) -> Any:
    # Only failures need it.
    from ansible.module_utils.common.yaml import yaml_load

    return yaml_load(VARIABLES[name])


def find_meaning(word: str, names: Collection[str], kind: str = "") -> str:
    """Return the name that a word means, or several, empty if none has its meaning. ``kind`` is that of the object."""
    for meaning in (*MEANINGS.get(f"{kind}.{word}", ()), *MEANINGS.get(word, ())):
        meanings = [meaning] if isinstance(meaning, str) else meaning
        if all(each in names for each in meanings):
            return " or ".join(meanings)
    return ""


def suggest_kind(word: str, known: Collection[str]) -> str:
    """Return a sentence, and a space before it, with the kind, or the module, for a word; empty if none is likely."""
    word = word.casefold().replace("-", "_")
    names = (word, word.removesuffix("s"), word.removesuffix("es"))
    noun = next((KINDS[name][0] for name in names if name in KINDS), names[1])
    meant = [each for each in ([noun] if isinstance(noun, str) else noun) if each in known]
    if meant and meant != [word]:
        return f" Did you mean {' or '.join(meant)}?"
    if noun in OTHER_KINDS:
        return f" {OTHER_KINDS[str(noun)]}."
    return suggest_name(word, known, is_misspelling=True)
