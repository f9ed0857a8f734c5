# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks up the session of an account, which is made when there is none."""

from __future__ import annotations

DOCUMENTATION = r"""
name: session
short_description: Get a session of the service
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns a valid session of an account, and logs in for it if there is none.
  - It is the same session that the modules and the inventory plugins of this collection use with these options. The
    controller logs out when the run ends.
  - The modules and the inventory plugins do not need it. They log in themselves with the options O(account) and
    O(account_password).
options:
  _terms:
    description: Nothing.
  base_url:
    description: Scheme, host and port of the service, for example V(https://manager.example.com:8443).
    type: str
    required: true
    env:
      - name: VIRTINFRA_BASE_URL
  account:
    description: The name of the account.
    type: str
    required: true
    env:
      - name: VIRTINFRA_ACCOUNT
  account_password:
    description: The password of the account. It is sent as a SHA-512 hash, as the service expects it.
    type: str
    required: true
    env:
      - name: VIRTINFRA_ACCOUNT_PASSWORD
  path_prefix:
    description: What stands in the path before V(/v1/).
    type: str
    default: service
    env:
      - name: VIRTINFRA_PATH_PREFIX
  validate_certs:
    description: Whether to verify the TLS certificate.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_VALIDATE_CERTS
  ca_path:
    description: A file or a folder of certificates of authorities to trust instead of those of the system.
    type: path
    env:
      - name: VIRTINFRA_CA_PATH
  client_cert:
    description: A file with the certificate of this client, and its key unless O(client_key) names another.
    type: path
    env:
      - name: VIRTINFRA_CLIENT_CERT
  client_key:
    description: A file with the key of O(client_cert), without a password.
    type: path
    env:
      - name: VIRTINFRA_CLIENT_KEY
  use_proxy:
    description: Whether the proxies that the environment names (E(HTTPS_PROXY) and so on) are used.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_USE_PROXY
  request_timeout:
    description: How long a single request may take, in seconds.
    type: float
    default: 30
    env:
      - name: VIRTINFRA_REQUEST_TIMEOUT
  request_retries:
    description: How often a request is retried when the service is overloaded or cannot be reached.
    type: int
    default: 8
    env:
      - name: VIRTINFRA_REQUEST_RETRIES
notes:
  - A task runs in a process of its own. In a run in which no module or inventory plugin of this collection has been
    used yet, the session ends with the task. Use the module M(virtinfra.manager.session) for a session that has to be
    kept.
seealso:
  - module: virtinfra.manager.session
"""

EXAMPLES = r"""
- name: Call the service with another module
  ansible.builtin.uri:
    url: https://manager.example.com/service/v1/zones
    headers:
      Authorization: OAuth {{ lookup('virtinfra.manager.session', base_url='https://manager.example.com') }}
  no_log: true
"""

RETURN = r"""
_raw:
  description: The session.
  type: list
  elements: str
"""

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display
from ansible_collections.virtinfra.manager.plugins.module_utils._connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._secrets import Masker
from ansible_collections.virtinfra.manager.plugins.module_utils._sessions import AccountSession
from ansible_collections.virtinfra.manager.plugins.module_utils._terminal import escape_controls
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run_sessions import FileStore

display = Display()


class LookupModule(LookupBase):
    """Returns the session of an account."""

    def run(self, terms: list[Any], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """Return one session, whatever the terms are."""
        self.set_options(var_options=variables, direct=kwargs)
        try:
            connection = ConnectionOptions(
                **{name: value for name, value in self.get_options().items() if name[0] != "_"}
            )
            return [AccountSession(connection, FileStore(connection), Masker(), display.vvv).valid()]
        except VirtinfraError as failure:
            raise AnsibleError(escape_controls(str(failure))) from None
