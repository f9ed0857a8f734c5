# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look up the session of an account, and log in if there is none."""

from __future__ import annotations

DOCUMENTATION = r"""
name: session
short_description: Get a session of the service
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns a valid session of an account, and logs in if there is none.
  - It is the same session that the modules and the inventory plugins of this collection use with these options. The
    controller logs out when the run ends. It refuses an access key, because a key has no session.
  - The modules and the inventory plugins do not need it. They log in themselves with the options O(account) and
    O(account_password).
extends_documentation_fragment:
  - virtinfra.manager._plugin_connection
options:
  _terms:
    description: The lookup takes no terms.
notes:
  - If no module or inventory plugin of this collection has been used in the run before, the session ends with the task,
    which runs in a process of its own. Use the module M(virtinfra.manager.session) for a session that has to outlive
    the task.
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

from ..module_utils._python import check_python

check_python()

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display

from ..module_utils._api.errors import InvalidOptions, VirtinfraError
from ..module_utils._client.client import Hooks
from ..module_utils._client.sessions import AccountSession
from ..module_utils._http.connection import ConnectionOptions
from ..module_utils._masking.terminal import escape_controls
from ..module_utils._modules.forms import check_names
from ..module_utils._modules.options import CONNECTION
from ..module_utils._modules.sessions import build_missing_account_error, refuse_access_key
from ..plugin_utils._run.encrypted import decrypt_values
from ..plugin_utils._run.profiles import Profiles
from ..plugin_utils._run.sessions import FileStore

display = Display()

_EXAMPLE = (
    "lookup('virtinfra.manager.session', base_url='https://manager.example.com', account='admin',"
    " account_password=vault_account_password), or profile= with the name of a profile"
)


class LookupModule(LookupBase):
    """Returns the session of an account."""

    def run(self, terms: list[Any], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """Return the session."""
        try:
            if terms:
                first = "base_url" if "://" in str(terms[0]) else "account"
                raise InvalidOptions(f"the options have names: write {first}= before the first value, as in {_EXAMPLE}")
            check_names(CONNECTION, kwargs, module="connection")
            options = Profiles.from_loader(self._loader).complete(decrypt_values(kwargs), self.option_definitions)
            self.set_options(var_options=variables, direct=options)
            connection = ConnectionOptions.from_params(self.get_options())
            refuse_access_key(connection)
            if not connection.account:
                raise build_missing_account_error()
            hooks = Hooks(connection.create_masker(), on_request=display.vvv)
            return [AccountSession(connection, hooks, FileStore(connection)).get_valid_session()]
        except VirtinfraError as failure:
            raise AnsibleError(escape_controls(str(failure))) from None
