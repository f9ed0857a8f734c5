# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: job_info
short_description: Get the status of asynchronous jobs
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns whether each of the given jobs is running, has succeeded or has failed, without waiting.
  - "Get the status of the job - C(virtinfra.manager.job_info: {jobs: '{{ [started.job] if started.job is defined else
    [] }}'})"
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._job_handles
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
seealso:
  - module: virtinfra.manager.job_wait
"""

EXAMPLES = r"""
- name: Disable a host without waiting
  virtinfra.manager.kvm_host:
    name: host-1
    state: disabled
    wait: false
  register: started

- name: Get the status of the job
  virtinfra.manager.job_info:
    jobs: "{{ [started.job] if started.job is defined else [] }}"
"""

RETURN = r"""
jobs:
  description: The jobs in the order given.
  returned: success
  type: list
  elements: dict
  contains:
    uuid:
      description: The job's uuid.
      type: str
    job_uuid:
      description: The id that was sent with the call as X-Job-UUID, if the handle contains it.
      type: str
    location:
      description: The path at which the job is polled.
      type: str
    operation:
      description: The operation, if the handle contains it.
      type: str
    object:
      description: The object of the call, if the handle contains it.
      type: str
    state:
      description: One of V(running), V(succeeded), V(failed), and V(unknown) when the service does not know the job.
      type: str
    result:
      description: The reply of the operation, with the service's own names, once it has succeeded.
      type: dict
    msg:
      description: The error as a sentence.
      type: str
      returned: when the job has failed or is unknown
    error:
      description: The error as in every failed result (see the guide Errors).
      type: dict
      returned: when the job has failed or is unknown
      contains:
        code:
          description: The service's own code, or V(JOB_NOT_FOUND) when it does not know the job.
          type: str
        description:
          description: What the code means.
          type: str
        details:
          description: What happened.
          type: str
        causes:
          description: The errors that led to this one, each with the same members.
          type: list
          elements: dict
  sample:
    - uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
      job_uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
      location: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
      operation: ChangeHostState
      object: host host-1
      state: succeeded
      result: {}
summary:
  description: How many of the jobs are in each state.
  returned: success
  type: dict
  contains:
    succeeded:
      description: The number of jobs that have succeeded.
      type: int
    failed:
      description: The number of jobs that have failed.
      type: int
    running:
      description: The number of jobs that have not ended.
      type: int
    unknown:
      description: The number of jobs that the service does not know.
      type: int
  sample:
    succeeded: 1
    failed: 0
    running: 0
    unknown: 0
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.jobs import job_module

MODULE = job_module(wait=False)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
