# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: chat_refusal
short_description: Say which entries a chat has not accepted, and why
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Names the entries of the messages that a chat has refused, with the reason, in which all parts of the address of the
    chat that can be a key are masked. The playbook C(send_to_chat) uses it.
positional: _input
options:
  _input:
    description:
      - The result of a loop of M(ansible.builtin.uri) over messages, whose loop variable C(chat_batch) is a list of
        entries.
    type: dict
    required: true
  entries:
    description: The entries of all messages, each with a C(name).
    type: list
    elements: dict
    required: true
  url:
    description: The address of the chat.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Send a message about VMs
  vars:
    entries: [{name: vm-1, text: vm-1 is not protected}]
    url: "{{ lookup('ansible.builtin.env', 'CHAT_URL') }}"
  block:
    - name: Send the message
      ansible.builtin.uri:
        url: "{{ url }}"
        method: POST
        body_format: json
        body:
          text: "{{ chat_batch | map(attribute='text') | join }}"
        return_content: true
      loop: "{{ [entries] }}"
      loop_control:
        loop_var: chat_batch
      register: sent
      no_log: true
  rescue:
    - name: Show why the chat did not accept it
      ansible.builtin.fail:
        msg: "These VMs were not reported: {{ sent | virtinfra.manager.chat_refusal(entries, url) }}"
"""

RETURN = r"""
_value:
  description: The names of the entries, and the reason for the first of them.
  type: str
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from ..module_utils._masking.masker import Masker
from ..plugin_utils._jinja.filters import name_arguments

# The longest part of a chat's response, in characters.
LONGEST = 200

TAKES = "the result of ansible.builtin.uri, a list of entries with names, and the address of the chat"

Result = Mapping[str, Any]


def explain_refusal(response: Result, entries: Sequence[Result], url: str) -> str:
    """Return the names of the entries that were refused, and why."""
    refused = [result for result in response.get("results", [response]) if result.get("failed")]
    names = [str(entry["name"]) for result in refused for entry in result.get("chat_batch", entries)]
    reason = f"{refused[0]['msg']}. {str(refused[0].get('content') or '')[:LONGEST]}".strip()
    return f"{', '.join(names)}. {Masker(_list_keys(url)).mask_text(reason)}"


def _list_keys(url: str) -> list[str]:
    """Return the parts of an address that can be a key: all behind the host name, and a user name and password."""
    parts = urlsplit(url)
    places = (parts.username, parts.password, parts.path, parts.query, parts.fragment)
    keys = [key for place in places for key in re.findall("[^/?&=#:]{4,}", place or "")]
    return [*keys, *map(unquote, keys)]


class FilterModule:
    """The filter chat_refusal."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"chat_refusal": name_arguments("chat_refusal", explain_refusal, TAKES)}
