# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document kinds of objects, their properties, and objects of attachments. The session ``format`` writes this file."""

from __future__ import annotations


class ModuleDocFragment:
    """The options with the kind, with its properties, and with the two objects of an attachment."""

    DOCUMENTATION = r"""
options:
  kind:
    description:
      - The kind of object, of an attachment of two objects, or of a setting of a VM.
      - V(tag) is a tag pattern. The user tags of an object of any kind are those of O(tags).
    type: str
    required: true
    choices:
      - account
      - affinity_group
      - affinity_group_member
      - cluster
      - disk_offering
      - eip
      - eip_attachment
      - image
      - instance_offering
      - ip_range
      - iso_attachment
      - l2_network
      - l2_network_attachment
      - l3_network
      - load_balancer
      - load_balancer_listener
      - load_balancer_member
      - port_forwarding
      - port_forwarding_attachment
      - quota
      - scheduler_job
      - scheduler_job_trigger
      - scheduler_trigger
      - security_group
      - security_group_attachment
      - security_group_network
      - ssh_key_pair
      - storage_attachment
      - tag
      - vip
      - vm_boot_order
      - vm_ha
      - volume
      - volume_attachment
      - zone
  properties:
    description:
      - "The properties of the object, in snake case. Those that are not given are neither compared nor changed."
      - "A property that refers to another object takes its uuid, or its name if objects of its type have names."
      - "A size in bytes can have a unit, as in V(100G)."
      - "The values of C(url) and of properties named like a password, secret or token are masked in all output."
      - "These are those of each kind, strings unless something else is said. Those with an exclamation mark are
        required to create an object, and those after the semicolon cannot be changed."
      - "V(account) - description, old_password, password!; type (SystemAdmin, Normal)"
      - "V(affinity_group) - description; policy (antiSoft, antiHard), sub_type, type (host), zone"
      - "V(cluster) - description; architecture (x86_64, aarch64, mips64el, loongarch64), hypervisor_type! (KVM,
        Simulator, baremetal, baremetal2, xdragon), type (zstack, baremetal, baremetal2)"
      - "V(disk_offering) - description; allocation_strategy, disk_size! (size), sort_key (int), type (zstack)"
      - "V(eip) - description; used_ip (uuid), vm_nic (NIC)"
      - "V(image) - architecture (x86_64, aarch64, mips64el, loongarch64), description, format (raw, qcow2, iso),
        guest_os_type, media_type (RootVolumeTemplate, DataVolumeTemplate, ISO), platform (Linux, Windows, Other,
        Paravirtualization, WindowsVirtio), system (bool), virtio (bool); backup_storages! (list of backup storages),
        type, url!"
      - "V(instance_offering) - allocator_strategy, description; cpu_num! (int), memory_size! (size),
        reserved_memory_size (size), sort_key (int), type"
      - "V(ip_range) - description; end_ip, gateway, ip_range_type (Normal, AddressPool), netmask, network_cidr,
        start_ip"
      - "V(l2_network) - description; physical_interface!, v_switch_type, vlan (int)"
      - "V(l3_network) - category (Public, Private, System), description, dns_domain, network_services (list), system
        (bool); enable_ipam (bool), ip_version (4, 6), type"
      - "V(load_balancer) - description; type"
      - "V(load_balancer_listener) - description; acl_status (enable, disable), acl_type (white, black), acls (list of
        access control lists), certificate, health_check_http_code, health_check_method (GET, HEAD),
        health_check_protocol, health_check_uri, instance_port (int), load_balancer_port! (int), protocol (tcp, udp,
        http, https), security_policy_type"
      - "V(port_forwarding) - description; allowed_cidr, private_port_end (int), private_port_start (int),
        protocol_type! (TCP, UDP), vip_port_end (int), vip_port_start! (int), vm_nic (NIC)"
      - "V(quota) - value (int)"
      - "V(scheduler_job) - description, parameters (dict); target_resource! (uuid), type! (startVm, stopVm, rebootVm,
        volumeSnapshot, volumeSnapshotGroup, volumeBackup, rootVolumeBackup, vmBackup, databaseBackup,
        localRaidSelfTest, runAutoScalingGroup, cancelIAM2ProjectLoginExpired, takeIAM2ProjectLoginExpired)"
      - "V(scheduler_trigger) - cron, description, repeat_count (int), scheduler_interval (int), scheduler_type! (cron,
        simple), start_time (int), stop_time (int)"
      - "V(security_group) - description, rules (list); ip_version (4, 6)"
      - "V(ssh_key_pair) - description; public_key!"
      - "V(tag) - color, description, value!; type (simple, withToken)"
      - "V(vip) - description; allocator_strategy, ip_range (IP range), required_ip"
      - "V(volume) - description, disk_size (size); disk_offering, primary_storage"
      - "V(zone) - description, is_default (bool); type (zstack)"
      - "V(vm_boot_order) - boot_order! (CdRom, HardDisk, Network)"
      - "V(vm_ha) - level! (NeverStop, OnHostFailure, FaultTolerance)"
    type: dict
    default: {}
  affinity_group:
    description:
      - The affinity group, by name or uuid, for O(kind) V(affinity_group_member).
    type: str
    aliases: [affinity_group_uuid]
  vm:
    description:
      - The VM, by name or uuid, for O(kind) V(affinity_group_member), V(iso_attachment), V(volume_attachment),
        V(vm_boot_order) and V(vm_ha).
    type: str
    aliases: [vm_instance_uuid]
  eip:
    description:
      - The EIP, by name or uuid, for O(kind) V(eip_attachment).
    type: str
    aliases: [eip_uuid]
  nic:
    description:
      - The NIC of a VM, by uuid, for O(kind) V(eip_attachment), V(load_balancer_member), V(port_forwarding_attachment)
        and V(security_group_attachment).
    type: str
    aliases: [vm_nic_uuid]
  iso:
    description:
      - The ISO image, by name or uuid, for O(kind) V(iso_attachment).
    type: str
    aliases: [iso_uuid]
  l2_network:
    description:
      - The L2 network, by name or uuid, for O(kind) V(l2_network_attachment).
    type: str
    aliases: [l2_network_uuid]
  cluster:
    description:
      - The cluster, by name or uuid, for O(kind) V(l2_network_attachment) and V(storage_attachment).
    type: str
    aliases: [cluster_uuid]
  listener:
    description:
      - The listener of a load balancer, by name or uuid, for O(kind) V(load_balancer_member).
    type: str
    aliases: [listener_uuid]
  port_forwarding:
    description:
      - The port forwarding rule, by name or uuid, for O(kind) V(port_forwarding_attachment).
    type: str
    aliases: [rule_uuid]
  scheduler_job:
    description:
      - The scheduler job, by name or uuid, for O(kind) V(scheduler_job_trigger).
    type: str
    aliases: [scheduler_job_uuid]
  scheduler_trigger:
    description:
      - The scheduler trigger, by name or uuid, for O(kind) V(scheduler_job_trigger).
    type: str
    aliases: [scheduler_trigger_uuid]
  security_group:
    description:
      - The security group, by name or uuid, for O(kind) V(security_group_attachment) and V(security_group_network).
    type: str
    aliases: [security_group_uuid]
  l3_network:
    description:
      - The L3 network, by name or uuid, for O(kind) V(security_group_network).
    type: str
    aliases: [l3_network_uuid]
  primary_storage:
    description:
      - The primary storage, by name or uuid, for O(kind) V(storage_attachment).
    type: str
    aliases: [primary_storage_uuid]
  volume:
    description:
      - The volume, by name or uuid, for O(kind) V(volume_attachment).
    type: str
    aliases: [volume_uuid]
"""
