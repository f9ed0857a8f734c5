# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: api
short_description: Call any operation of the service
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Calls one operation by its name, or by its method and path, waits for its job and returns its reply unchanged.
  - "Read the network interfaces of a host - C(virtinfra.manager.api: {operation: GetHostNetworkFacts, params:
    {hostUuid: a0000003000040008000000000000001}})"
  - It builds the request, authenticates, waits and reports errors. It knows the names, paths and parameters of 1427
    operations, but not what they do to an object, so it neither compares nor predicts. If a module for the object
    exists, use that module.
  - The call fails if the operation failed for some of its objects, though its job succeeded. RV(ignore:changed) is then
    false if it failed for all of them.
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
      - Operations that only read are called in check mode too, also those whose method is not C(GET). Others are
        validated, but not sent.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - An operation that changes something is called each time.
options:
  operation:
    description:
      - The name of the operation, for example V(GetHostNetworkFacts). Method, path and body follow from it. The guide
        R(Names of operations, ansible_collections.virtinfra.manager.docsite.guide_catalogue) has all names.
      - The operations that log in and out are refused. Use M(virtinfra.manager.session), which keeps the session
        secret.
      - Either this option or O(path) is required.
    type: str
  path:
    description:
      - The path of the operation below the path prefix, for example V(v1/volumes/data). It contains the uuids that are
        part of it, and no query string. A name in place of a uuid is refused.
      - Use it for operations of the service that O(operation) does not know. Their calls are authenticated, sent once,
        awaited and masked in the same way. What they need is not checked before they are sent.
      - Services ignore the method of a path with one operation, so a C(GET) may delete something. A C(GET) is only sent
        if it is known to read at this path, and another method is refused if the path is known without it. See
        O(trust_path).
    type: str
  method:
    description:
      - The HTTP method of O(path).
    type: str
    choices: [GET, POST, PUT, DELETE]
  body_key:
    description:
      - The member of the request's body that contains O(params). By default it is C(params), as in operations that
        create. C(PUT) needs it. In actions it is the name of the operation with a small first letter, for example
        V(resizeDataVolume).
    type: str
  trust_path:
    description:
      - Says that the service has the operation at O(path), although the collection does not know it there, that what
        O(path) has in place of uuids is right, and that a C(GET) of it only reads. In the same way, it permits a read
        with O(operation) whose path another server uses for a change.
      - It never permits a C(GET) where all known servers have a change, nor an unknown one in check mode.
    type: bool
    default: false
    version_added: 1.0.0
  params:
    description:
      - The parameters of the operation, by the API's own names, including those of the path. Parameters that do not
        exist or are missing, and values that they cannot have, are refused before anything is sent.
      - With O(operation), a reference is the uuid or the name of an object, if it is known to which objects the
        parameter refers, as those of C(imageUuid) and C(l3NetworkUuids). References to objects of any type, as those of
        C(resourceUuids) in C(AttachTagToResources), must be uuids, and so must all with O(path).
      - The conditions in C(q) of a query are sent unchanged. Services fail on an apostrophe in a value and drop C(=) at
        its beginning. Replace both by C(_), with the operator C(~=), and compare the records in the reply.
      - The values of C(url) and of parameters named like a password, secret or token are masked in all output. Set
        C(no_log) on the task if other values are secret, or if a later task needs secrets of the reply.
    type: dict
    default: {}
seealso:
  - module: virtinfra.manager.resource
  - module: virtinfra.manager.resource_info
  - module: virtinfra.manager.job_wait
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Read the network interfaces of a host
  virtinfra.manager.api:
    operation: GetHostNetworkFacts
    params:
      hostUuid: a0000003000040008000000000000001

- name: Disable a host
  virtinfra.manager.api:
    operation: ChangeHostState
    params:
      uuid: a0000003000040008000000000000002
      stateEvent: disable

# Operations that have no name here are called in this way. The guide "Calling any operation" has more examples.
- name: Enable it by the path of the operation
  virtinfra.manager.api:
    method: PUT
    path: v1/hosts/a0000003000040008000000000000002/actions
    body_key: changeHostState
    params:
      stateEvent: enable
"""

RETURN = r"""
reply:
  description:
    - The reply of the operation, with the API's own names. Empty in check mode when the request was not sent, and with
      O(wait=false) while the job is running.
    - Webhook URLs are masked except for scheme and host. Members named like a password, secret or key are masked,
      except in a task with C(no_log) that runs inside the controller. There, a later task can use the secret that the
      operation has made, such as an access key or the password of a console.
  returned: success
  type: dict
  sample:
    inventory:
      uuid: a0000003000040008000000000000002
      state: Disabled
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
from ..module_utils._api.unlisted import METHODS
from ..module_utils._modules.generic import generic_module

MODULE = generic_module(
    options={
        "operation": {"type": "str"},
        "path": {"type": "str"},
        "method": {"type": "str", "choices": list(METHODS)},
        "body_key": {"type": "str", "no_log": False},
        "trust_path": {"type": "bool", "default": False},
        "params": {"type": "dict", "default": {}},
    },
    required_one_of=[("operation", "path")],
    mutually_exclusive=[("operation", "path"), ("operation", "method"), ("operation", "body_key")],
    required_together=[("path", "method")],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
