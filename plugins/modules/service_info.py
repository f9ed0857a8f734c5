# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: service_info
short_description: Check the connection to the service
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Shows in one task whether the service is reached, whether it accepts the credentials, and which queries it offers,
    with the remedy of each problem. Use it before the first playbook, and when other tasks fail.
  - Check the connection - C(virtinfra.manager.service_info:)
  - It sends only reads. With O(account) it also logs in, and the session ends with the run.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  fail_on_problems:
    description:
      - Whether the task fails if there is a problem. By default it fails, with the messages of all problems.
      - With V(false) it succeeds, also if the service is not reached, and RV(problems) lists them.
    type: bool
    default: true
seealso:
  - module: virtinfra.manager.session
  - module: virtinfra.manager.resource_info
"""

EXAMPLES = r"""
- name: Check the connection
  virtinfra.manager.service_info:

- name: Show the problems without failing
  virtinfra.manager.service_info:
    fail_on_problems: false
"""

RETURN = r"""
base_url:
  description: The address of the service.
  returned: always
  type: str
  sample: https://manager.example.com:8443
path_prefix:
  description: The path prefix.
  returned: always
  type: str
  sample: service
reached:
  description: Whether the service has answered.
  returned: always
  type: bool
  sample: true
tls:
  description: >-
    The TLS connection; null if O(base_url) does not begin with https, if the service is not reached, and if it is
    reached only through a proxy.
  returned: always
  type: dict
  contains:
    version: {description: The version of TLS., type: str, sample: TLSv1.3}
    certificate_names:
      description: >-
        The names and addresses for which the certificate is valid; null if no authority in O(ca_path) or of the system
        confirms the certificate.
      type: list
      elements: str
      sample: [manager.example.com]
    certificate_end:
      description: The end of the validity, in UTC; null like RV(tls.certificate_names).
      type: str
      sample: "2027-01-06T00:00:00Z"
credential:
  description: >-
    The credential for all operations except cursor queries: V(session_id), V(account) or V(access_key); null without
    one.
  returned: always
  type: str
  sample: account
credential_valid:
  description: Whether the service accepts RV(credential); null if that cannot be checked.
  returned: always
  type: bool
  sample: true
api_token_valid:
  description: Whether the service accepts O(api_token); null without one and if that cannot be checked.
  returned: always
  type: bool
  sample: true
least_version:
  description: >-
    The version that the service has at least, as the documented queries in RV(offered_operations) show; null if none of
    them needs a version. The service does not tell its version.
  returned: always
  type: str
  sample: 4.10.10
offered_operations:
  description: The queries that the service offers; null if RV(credential_valid) is not true.
  returned: always
  type: list
  elements: str
  sample: [QueryHost, QueryVmInstance]
missing_operations:
  description: >-
    The queries that the service does not offer. Modules read such objects with O(api_token) if it is given. Names of
    such objects cannot be looked up without it.
  returned: always
  type: list
  elements: str
  sample: []
problems:
  description: The problems, with their remedies. The task fails with them unless O(fail_on_problems=false).
  returned: always
  type: list
  elements: dict
  contains:
    subject:
      description: >-
        What the problem is about: V(connection), V(path_prefix), V(credential), V(api_token) or V(operation), a query
        that each service should offer.
      type: str
      sample: credential
    msg: {description: The message of the problem., type: str, sample: "the session is invalid or has expired"}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.diagnosis import service_module

MODULE = service_module()


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
