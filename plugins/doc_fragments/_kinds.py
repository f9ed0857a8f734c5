# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document the kinds of objects, and the objects of attachments. The session ``format`` writes this file."""

from __future__ import annotations


class ModuleDocFragment:
    """The option with the kind, and the options with the two objects of an attachment."""

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
