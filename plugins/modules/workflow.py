# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: workflow
short_description: Do the work of a role
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Does in one task what a role of this collection describes with its variables. The roles use it; a play that uses it
    itself gets the same without the fact and the summary of the role.
  - The variables of the role are those of the task, for example of the play, the inventory and the command line. They
    are validated and converted as the role documents them, so a string such as V(db-1,db-2) is a list of two names. A
    variable with the prefix of the role that the role does not have is an error. The role
    P(virtinfra.manager.host_onboarding#role) runs once for all hosts of a play, and collects the variables of each
    before.
  - Many objects are processed at the same time, and a failure of one does not stop the others. Then the task does not
    fail, but counts the failure in RV(failed_count). It fails, with nothing changed, if the variables are invalid or
    what they select cannot be read.
options:
  role:
    description:
      - The name of the role.
    type: str
    choices:
      - capacity_report
      - host_evacuation
      - host_maintenance
      - host_onboarding
      - host_removal
      - notifications
      - site_description
      - site_drift
      - site_shutdown
      - vm_backup
      - vm_backup_drill
      - vm_backup_report
      - vm_backup_restore
      - vm_power
      - vm_restore
      - vm_snapshots
    required: true
  step:
    description:
      - The step of a role that does a part of its work on other machines, such as the role vm_backup, or that runs
        tasks of its user in between, such as the role host_maintenance.
    type: str
  given:
    description:
      - What the step needs of the steps before it, and of the other tasks of the role.
    type: dict
  user_tags:
    description:
      - User tags to send with the calls that accept them.
    type: list
    elements: str
  job_uuid:
    description:
      - Not supported, because each call needs its own.
    type: str
  wait:
    description:
      - V(false) is not supported, because a workflow needs the results of its calls. It waits also if the defaults of
        the action group in C(module_defaults) have V(false).
    type: bool
    default: true
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
      - Only reads, and predicts the report.
  diff_mode:
    support: partial
    details:
      - Returns the first 20 changes. RV(report) has what was done, or would be done, with each object.
  idempotent:
    support: partial
    details:
      - The page of each role says what a second run does.
  connection:
    details:
      - It runs only inside the controller's process. With another connection, or the keyword C(async) or
        C(become), it fails.
seealso:
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Take snapshot groups of two VMs, and keep the last three of each
  virtinfra.manager.workflow:
    role: vm_snapshots
  vars:
    vm_snapshots_vms: [vm-1, vm-2]
    vm_snapshots_keep: 3
  register: snapshots

- name: Fail if a VM has failed
  ansible.builtin.fail:
    msg: "{{ snapshots.failures | join(', ') }}"
  when: snapshots.failed_count > 0
"""

RETURN = r"""
report:
  description: An entry for each object, as the page of the role describes its report.
  returned: when the variables are valid
  type: list
  elements: dict
  sample: [{vm: vm-1, outcome: changed, error: null}]
failed_count:
  description: How many objects have failed.
  returned: when the variables are valid
  type: int
  sample: 0
failures:
  description: A line for each reason, with the names of the objects that have failed for it.
  returned: when the variables are valid
  type: list
  elements: str
  sample: ["vm-1 (a0000004000040008000000000000001): CreateVolumeSnapshotGroup failed (SYS.1006): Operation refused"]
msg:
  description:
    - How many objects have which outcome. If some have failed, how many, with the first three reasons and the objects
      that have failed for them. If the task has failed, why.
  returned: always
  type: str
  sample: 3 VMs, 2 changed, 1 unchanged
next:
  description: What later tasks of the role need beside the report.
  returned: when the workflow has something for them
  type: dict
  sample: {}
jobs:
  description: The handles of all jobs that may still be running, for M(virtinfra.manager.job_wait).
  returned: when the keyword C(timeout) has ended the task
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the job., type: str, sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"}
    job_uuid:
      description: The id that was sent with the call as X-Job-UUID, with which the service posts the result.
      type: str
      sample: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
    location:
      description: The path at which the job is polled.
      type: str
      sample: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
    operation: {description: The operation., type: str, sample: AddKVMHost}
    state: {description: "The state of the job: V(running) or V(unknown).", type: str, sample: running}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.in_controller import workflow_module

MODULE = workflow_module(
    options={
        "role": {
            "type": "str",
            "choices": [
                "capacity_report",
                "host_evacuation",
                "host_maintenance",
                "host_onboarding",
                "host_removal",
                "notifications",
                "site_description",
                "site_drift",
                "site_shutdown",
                "vm_backup",
                "vm_backup_drill",
                "vm_backup_report",
                "vm_backup_restore",
                "vm_power",
                "vm_restore",
                "vm_snapshots",
            ],
            "required": True,
        },
        "step": {"type": "str"},
        "given": {"type": "dict"},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
