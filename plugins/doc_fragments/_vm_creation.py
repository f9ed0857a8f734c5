# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document ``VM_CREATION`` in ``_modules/vm_options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of the module vm that new VMs have, too. Here, they are no part of the payload of its process."""

    DOCUMENTATION = r"""
options:
  image:
    description:
      - The image of the root volume, by name or uuid. An ISO, from which the guest is installed, needs
        O(root_disk_size). That of an existing VM cannot be changed. M(virtinfra.manager.resource) attaches other ISOs
        and ejects them, with the kind V(iso_attachment).
    type: str
    aliases: [image_uuid, iso]
  clone_from:
    description:
      - The VM or the template, by name or uuid, of which the VM becomes a clone with a copy of the root volume. It is
        used when the VM is created.
    type: str
    aliases: [clone_from_uuid]
  root_disk_size:
    description:
      - The size of the root volume in bytes, or with a unit of 1024, if it is not that of the O(image). A smaller
        volume grows, also while the VM runs. A larger one is left as it is, with a warning. The guest has to extend its
        file systems.
    type: bytes
    aliases: [disk_size]
  disks:
    description:
      - The data volumes of a new VM. The VM must have them later, in this order, and of this size at least. Add, grow
        and remove others with M(virtinfra.manager.volume).
    type: list
    elements: dict
    suboptions:
      size:
        description: The size in bytes, or with a unit of 1024, such as V(100G).
        type: bytes
        required: true
  networks:
    description:
      - The NICs of a new VM, the first one with the default route, which it must have later, too. It may have others,
        see M(virtinfra.manager.vm_nic). With none, it warns.
    type: list
    elements: dict
    suboptions:
      l3_network:
        description: The network, by name or uuid.
        type: str
      static_ip:
        description: The address of the NIC. The service chooses one if it is omitted.
        type: str
      custom_mac:
        description: The MAC address of the NIC.
        type: str
      driver_type:
        description: The driver of the NIC.
        type: str
  user_data:
    description:
      - The user data of cloud-init for a new VM, which begins with a line such as V(#cloud-config). It may contain
        passwords, so no result, diff or log shows it or one of its lines.
    type: str
  user_data_file:
    description: A file with the user data, on the machine where the module runs, which is usually the controller.
    type: path
  ssh_key_pairs:
    description: The SSH key pairs, by name or uuid, that may log in to a new VM.
    type: list
    elements: str
    aliases: [ssh_key_pair_uuids, ssh_keys]
  instance_offering:
    description: The instance offering, by name or uuid, which sets the size of a new VM.
    type: str
    aliases: [instance_offering_uuid]
  primary_storage:
    description:
      - The primary storage for the volumes of a new VM, by name or uuid. The module only warns if the root volume of an
        existing VM is on another one.
    type: str
    aliases: [primary_storage_uuid_for_root_volume, storage]
  cpu_num:
    description:
      - The number of CPUs, from 1 to 1024. Those of a running VM can only grow, and only if its setting C(numa)
        (hot-plug) is on. Otherwise, the module fails, and nothing is changed. With O(state=stopped) they can be changed
        in any case.
    type: int
    aliases: [cpu]
  memory_size:
    description:
      - The memory in bytes, or with a unit of 1024, such as V(16G), at least 16 MiB. The memory of a running VM can be
        changed as O(cpu_num) can.
    type: bytes
    aliases: [memory]
  host:
    description:
      - The host on which the VM runs or is created, by name or uuid. A running VM migrates to it, and so does a paused
        one, which stays paused. The module fails, also in check mode, if the service does not permit this host. A VM
        that does not run stays as it is.
    type: str
    aliases: [host_uuid]
  cluster:
    description:
      - The cluster in which a VM is created or started, by name or uuid. The module only warns if an existing VM is in
        another one. A new VM fails if O(host) is in another one.
    type: str
    aliases: [cluster_uuid]
"""
