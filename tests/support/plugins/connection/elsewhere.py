"""A local connection by another name, so that a task runs in a module process."""

from __future__ import annotations

from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = r"""
name: elsewhere
short_description: Run modules on this machine as on another
description: Does what the local connection does under another name.
author: Contributors to the virtinfra.manager project (@virtinfra)
version_added: 1.0.0
extends_documentation_fragment:
  - connection_pipelining
options:
  become_success_timeout:
    description: As for the local connection.
    type: int
    default: 10
  become_strip_preamble:
    description: As for the local connection.
    type: bool
    default: true
"""


class Connection(LocalConnection):
    """The local connection under another name."""

    transport = "elsewhere"
