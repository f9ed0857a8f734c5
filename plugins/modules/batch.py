# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: batch
short_description: Run a module for many objects at the same time
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Does for each object of a list what a task of another module would do, for many of them at the same time. It
    replaces a loop with O(wait=false) and a M(virtinfra.manager.job_wait).
  - "Start VMs without waiting - C(virtinfra.manager.batch: {module: vm, common: {state: running}, objects: [{name:
    vm-3}, {name: vm-4}], wait: false})"
  - The options of all objects are validated before anything is sent, and targets read, if needed, to compare them.
  - The task fails if an object has failed. RV(results) contains the results of all objects in this case too. A task
    that is interrupted or reaches the keyword C(timeout) names the calls that may still be running.
options:
  module:
    description:
      - The name of a module of this collection that changes or calls something, such as V(kvm_host).
      - Defaults of this module and of the action group in C(module_defaults) apply to each object.
    type: str
    required: true
  common:
    description:
      - Options of the module that all objects have, unless an object replaces them. Values of secret options, such as
        C(password) and C(url), are masked in all output, also those of O(objects).
      - A name of another object, such as that of a cluster, is looked up once for all objects of the task.
    type: dict
  objects:
    description:
      - The options of the module for each object, which replace O(common). The filter
        P(virtinfra.manager.columns_to_rows#filter) makes them of lists.
      - The options of this module for the connection, for waiting and for tags apply to each object, too.
      - Two objects with the same target, such as a host by its name and its uuid, are both invalid. If the first one
        has to create the target, the second one fails when it finds it.
    type: list
    elements: dict
    required: true
  concurrency:
    description: How many objects are processed at the same time.
    type: int
    default: 20
  on_failure:
    description:
      - What to do when an object has failed. V(continue) processes the others, V(stop) starts no further object.
    type: str
    choices:
      - continue
      - stop
    default: continue
  on_invalid:
    description:
      - What to do when an object is invalid. With V(fail), nothing is changed at all. With V(continue), nothing is
        changed for this one, and O(on_failure) decides about the others.
    type: str
    choices:
      - continue
      - fail
    default: fail
  user_tags:
    description:
      - User tags to send. For a module with the option C(tags), set it in O(common) or O(objects).
    type: list
    elements: str
  job_uuid:
    description:
      - Not supported. Set it for each of O(objects).
    type: str
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.actiongroup_api
attributes:
  check_mode:
    support: full
    details:
      - Predicts the result of each object, as if the others did not exist.
  diff_mode:
    support: full
    details:
      - Returns the difference of each object that changes.
  idempotent:
    support: partial
    details:
      - It is idempotent if the module is.
  connection:
    details:
      - It runs only inside the controller's process. With another connection, or the keyword C(async) or
        C(become), it fails.
seealso:
  - module: virtinfra.manager.job_wait
  - plugin: virtinfra.manager.columns_to_rows
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Add the hosts of a rack
  virtinfra.manager.batch:
    module: kvm_host
    common:
      cluster: cluster-1
      username: root
      password: "{{ ssh_password }}"
      state: enabled
    objects:
      - {name: host-11, management_ip: 10.0.1.11}
      - {name: host-12, management_ip: 10.0.1.12}
    concurrency: 50
  register: added

- name: Set a service type of an interface of each host
  virtinfra.manager.batch:
    module: host_nic_service
    common:
      interfaces: [eth1]
      service_types: [StorageNetwork]
    objects: [{host: host-1}, {host: host-2}]

- name: Start VMs without waiting
  virtinfra.manager.batch:
    module: vm
    common: {state: running}
    objects: [{name: vm-3}, {name: vm-4}]
    wait: false
  register: started

- name: Wait for them later
  virtinfra.manager.job_wait:
    jobs: "{{ started.results | selectattr('job', 'defined') | map(attribute='job') }}"
"""

RETURN = r"""
results:
  description:
    - What the module returns for each object, in the order of O(objects). It reads like the results of a loop, but
      contains differences only with C(--diff).
    - "An object that was not started, because of O(on_failure=stop), has C(skipped: true)."
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    item:
      description: The object as it was given, with secrets masked.
      type: dict
      sample: {name: host-11, management_ip: 10.0.1.11}
    changed: {description: Whether the object has changed., type: bool, sample: true}
    failed: {description: Whether the object has failed., type: bool, sample: false}
    outcome:
      description: >-
        The member of RV(counts) that counts the object: V(changed), V(unchanged), V(failed) or V(not_started).
      type: str
      sample: changed
    msg:
      description: What failed.
      returned: when the object has failed
      type: str
      sample: "host host-11: AddKVMHost failed (HOST.1010): host is not reachable."
    error:
      description: The error of the object, as a failed task returns it.
      returned: when the object has failed
      type: dict
      sample: {code: HOST.1010, description: host is not reachable, details: "", causes: []}
    job:
      description:
        - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
      returned: when O(wait=false) starts a call, and in a failure when a job may still be running
      type: dict
      sample: >-
        {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, job_uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c,
        location: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: StartVmInstance, object: vm vm-1,
        state: running}
counts:
  description: How many objects have which outcome.
  returned: when the options are valid
  type: dict
  contains:
    changed: {description: "Objects that have changed, or would change.", type: int, sample: 118}
    unchanged: {description: Objects that were in the requested state., type: int, sample: 380}
    failed: {description: Objects that have failed., type: int, sample: 2}
    not_started: {description: Objects that were not started., type: int, sample: 0}
msg:
  description: The number of objects with each outcome, or the failures of the first five objects that have failed.
  returned: always
  type: str
  sample: 118 changed, 382 unchanged
jobs:
  description:
    - The handles of all jobs that may still be running, for M(virtinfra.manager.job_wait).
  returned: when the keyword C(timeout) has ended the task
  type: list
  elements: dict
  sample:
    [{uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, job_uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c,
      location: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: StartVmInstance, object: vm vm-1,
      state: running}]
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.in_controller import batch_module

MODULE = batch_module(
    options={
        "module": {"type": "str", "required": True},
        "common": {"type": "dict"},
        "objects": {"type": "list", "elements": "dict", "required": True},
        "concurrency": {"type": "int", "default": 20},
        "on_failure": {"type": "str", "choices": ["continue", "stop"], "default": "continue"},
        "on_invalid": {"type": "str", "choices": ["continue", "fail"], "default": "fail"},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
