# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: session
short_description: Log in to the service and log out
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns a valid session for the option O(session_id) of other modules, or ends a session.
  - "Log in - C(virtinfra.manager.session: {account: admin, account_password: '{{ vault_account_password }}'})"
  - Most playbooks do not need it. With the options O(account) and O(account_password) every module of this collection
    logs in when it has to. All tasks of a run share one session, which is ended with the run. Use this module for a
    session that has to outlive a run, or that other modules use, for example C(ansible.builtin.uri).
  - Ansible does not show the result of this module, at any verbosity, because it contains the session, which is a
    secret. Later tasks can use it if it is registered.
  - The module refuses an O(access_key_id), because an access key has no session and needs none.
  - A session expires when it has not been used for some time, 2 hours on most services.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.actiongroup_api
attributes:
  check_mode:
    support: full
    details:
      - The module predicts the change, but does not log in, and RV(session_id) is null. Set C(check_mode=false) on the
        task if later tasks need the session in check mode.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - The module logs in each time, unless O(session_id) is valid.
options:
  state:
    description:
      - V(present) returns O(session_id) if it is valid. If not, or if it is not given, it logs in with O(account) and
        O(account_password).
      - V(absent) ends the session O(session_id).
    type: str
    choices: [present, absent]
    default: present
  session_id:
    description:
      - The session to return or to end. Required with O(state=absent).
      - The module ignores the environment variable E(VIRTINFRA_SESSION_ID), so that no session is ended by mistake.
    type: str
notes:
  - The module cannot be used with C(async), because Ansible would show the result.
seealso:
  - module: virtinfra.manager.service_info
  - module: virtinfra.manager.api
  - plugin: virtinfra.manager.session
    plugin_type: lookup
"""

EXAMPLES = r"""
- name: Log in
  virtinfra.manager.session:
    account: admin
    account_password: "{{ vault_account_password }}"
  register: login

- name: List the hosts with that session
  virtinfra.manager.host_info:
    session_id: "{{ login.session_id }}"

- name: Log out
  virtinfra.manager.session:
    session_id: "{{ login.session_id }}"
    state: absent
"""

RETURN = r"""
session_id:
  description: The session; null with O(state=absent), and in check mode if it would log in.
  returned: success
  type: str
  sample: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.sessions import session_module

MODULE = session_module(
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "session_id": {"type": "str", "no_log": True},
    },
    required_if=[("state", "absent", ["session_id"])],
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
