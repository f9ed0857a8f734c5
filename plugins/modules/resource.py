# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: resource
short_description: Manage objects of any kind
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Creates, changes, enables, disables and removes images, offerings, networks, groups, accounts, schedules and other
    objects, attaches two objects to each other, and sets the HA level and the boot order of a VM.
  - "Create an offering for data volumes - C(virtinfra.manager.resource: {kind: disk_offering, name: data-100,
    properties: {disk_size: 100G}})"
  - The guide R(Kinds of objects, ansible_collections.virtinfra.manager.docsite.guide_kinds) has the properties of each
    kind, their types and choices, and those that cannot be changed. A wrong property is refused before anything is
    sent.
  - Most of its operations are not in the API document. If a server does not offer one, the module fails with the code
    V(UNSUPPORTED), and changes nothing.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
  - virtinfra.manager._creation
  - virtinfra.manager._kinds
  - virtinfra.manager._references
  - virtinfra.manager._removal
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.actiongroup_api
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details:
      - Properties that no record shows, such as passwords, are set when the object is created, and not compared.
      - When the service cannot list the objects of a kind, the module fails unless O(uuid) is given.
options:
  state:
    description:
      - V(present) creates the object if it does not exist, and changes it if it differs. It attaches two objects, and
        sets the value of a setting.
      - V(enabled) and V(disabled) also change the state of the object. Not all kinds have these states.
      - V(absent) removes the object, detaches the two objects, or leaves the default of a setting. If others are lost,
        or use the object, O(force) is required.
    type: str
    choices: [present, absent, enabled, disabled]
    default: present
  name:
    description:
      - The name of the object. It selects the object when O(uuid) is not given, within O(parent) if that is given. The
        module fails when several objects have it.
      - Required to create an object. Quotas have fixed names, such as V(vm.num).
    type: str
  uuid:
    description: The uuid of the object. With O(uuid) and O(name), the object is renamed.
    type: str
  parent:
    description:
      - The object to which the object belongs, by name or uuid, for example the L2 network of an L3 network. The guide
        R(Kinds of objects, ansible_collections.virtinfra.manager.docsite.guide_kinds) says for which kinds it exists.
      - Required to create an object of such a kind. It cannot be changed.
    type: str
    aliases: [parent_uuid]
  recover:
    description: Whether to recover a deleted image or volume.
    type: bool
    default: false
    version_added: 1.0.0
  expunge:
    description:
      - Whether O(state=absent) removes an image or a volume for good, also a deleted one. This cannot be undone.
    type: bool
    default: false
    version_added: 1.0.0
  force:
    description:
      - Whether to remove the object although others are lost with it or use it. They are listed in RV(also_removed) and
        RV(affected).
    type: bool
    default: false
seealso:
  - module: virtinfra.manager.resource_info
  - module: virtinfra.manager.batch
  - module: virtinfra.manager.api
"""

EXAMPLES = r"""
- name: Create an offering for data volumes
  virtinfra.manager.resource:
    kind: disk_offering
    name: data-100
    properties:
      disk_size: 100G

- name: Open the ports of a web server
  virtinfra.manager.resource:
    kind: security_group
    name: web
    properties:
      rules:
        - {type: Ingress, protocol: TCP, dst_port_range: "80,443"}

- name: Detach a volume from its VM
  virtinfra.manager.resource: {kind: volume_attachment, volume: data-of-vm-1, vm: vm-1, state: absent}

- name: Attach it to another one
  virtinfra.manager.resource: {kind: volume_attachment, volume: data-of-vm-1, vm: vm-2}

- name: Start a VM again when its host fails
  virtinfra.manager.resource: {kind: vm_ha, vm: vm-1, properties: {level: NeverStop}}

- name: Delete an image, so that it can be recovered for some days
  virtinfra.manager.resource: {kind: image, name: iso-2, state: absent}

- name: Recover it
  virtinfra.manager.resource: {kind: image, name: iso-2, recover: true}

- name: Remove a network and all that belongs to it
  virtinfra.manager.resource: {kind: l3_network, name: l3-3, state: absent, force: true}
"""

RETURN = r"""
resource:
  description:
    - The object; null when it is absent. In check mode and with O(wait=false), the predicted one. Of an attachment, the
      uuids of its objects. Of a setting, the uuid of its object, and its value.
    - It has the fields of its kind, in snake case.
  returned: success
  type: dict
  sample:
    uuid: 5a2f3f0f8a774e0c9a0b4f5d3c2b1a00
    name: data-100
    description: null
    disk_size: 107374182400
    state: Enabled
also_removed:
  description: The objects that are removed with the object.
  returned: with O(state=absent), for kinds on which other objects depend
  type: list
  elements: dict
  contains:
    type: {description: The type., type: str, sample: vm_nic}
    uuid: {description: The uuid., type: str, sample: a0000006000040008000000000000001}
    name: {description: "The name, or what identifies it otherwise.", type: str, sample: 10.101.0.11}
affected:
  description: The objects that used the object and remain without it.
  returned: with O(state=absent), for kinds on which other objects depend
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid., type: str, sample: a0000004000040008000000000000001}
    name: {description: "The name, or what identifies it otherwise.", type: str, sample: vm-1}
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  sample: >-
    {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, job_uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c,
    location: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: StartVmInstance, object: vm vm-1,
    state: running}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.kinds import kind_module
from ..module_utils._modules.options import CREATE_OPTIONS, IDENTITY_OPTIONS, REMOVAL_OPTIONS

MODULE = kind_module(
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent", "enabled", "disabled"]},
        **IDENTITY_OPTIONS,
        **REMOVAL_OPTIONS,
        **CREATE_OPTIONS,
        "recover": {"type": "bool", "default": False},
        "expunge": {"type": "bool", "default": False},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
