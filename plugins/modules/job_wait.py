# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: job_wait
short_description: Wait for jobs to end
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Waits until all of the given jobs have ended, or one of them. Modules return the handle of a job with
    O(ignore:wait=false) and after a timeout.
  - "Wait for both jobs - C(virtinfra.manager.job_wait: {jobs: '{{ started.results }}', wait_timeout: 600})"
  - The module fails when a job has failed, when the service no longer knows a job, and when O(wait_timeout) is
    exceeded. The result contains the outcome of each job in these cases too.
options:
  wait_for:
    description:
      - What to wait for.
      - With V(all), the module waits until all jobs have ended. With V(any), it returns when one of them has ended;
        the others continue, and a later task can wait for them.
      - Waiting for ten or more jobs that take a few seconds needs at most four polls per job. With V(any), the end of
        the first job is noticed later than with V(all), because the jobs are polled in turn.
    type: str
    choices:
      - all
      - any
    default: all
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait.times
  - virtinfra.manager._job_handles
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
seealso:
  - module: virtinfra.manager.job_info
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Disable two hosts without waiting
  virtinfra.manager.kvm_host:
    name: "{{ item }}"
    state: disabled
    wait: false
  loop: [host-1, host-2]
  register: started

- name: Wait for both jobs
  virtinfra.manager.job_wait:
    jobs: "{{ started.results }}"
    wait_timeout: 600

- name: Wait until one of the jobs has ended
  virtinfra.manager.job_wait:
    jobs: "{{ started.results }}"
    wait_for: any
  register: first

- name: Show the jobs that still run
  ansible.builtin.debug:
    msg: "{{ first.jobs | selectattr('state', 'equalto', 'running') | map(attribute='uuid') }}"
"""

RETURN = r"""
jobs:
  description: The jobs in the order given.
  returned: success, and when jobs have failed or the timeout was exceeded
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
  returned: success, and when jobs have failed or the timeout was exceeded
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

MODULE = job_module(wait=True)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
