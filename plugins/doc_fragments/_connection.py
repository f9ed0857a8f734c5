# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document ``CONNECTION`` in ``_modules/options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for the connection to the service."""

    DOCUMENTATION = r"""
options:
  profile:
    description: A profile of C(~/.config/virtinfra/profiles.yml).
    type: str
    version_added: 1.0.0
  base_url:
    description: Scheme, host and port of the service.
    type: str
  path_prefix:
    description: The part of the path before V(/v1/).
    type: str
    default: service
  session_id:
    description: A session to use, instead of logging in.
    type: str
  account:
    description: The name of the account to log in with.
    type: str
  account_password:
    description: The password of O(account).
    type: str
  access_key_id:
    description: An access key, with which requests are signed.
    type: str
    version_added: 1.0.0
  access_key_secret:
    description: The secret of O(access_key_id).
    type: str
    version_added: 1.0.0
  access_key_time_zone:
    description: The time zone of the service, as V(+08:00).
    type: str
    version_added: 1.0.0
  api_token:
    description: The token for the cursor operations.
    type: str
  validate_certs:
    description: Whether to verify the TLS certificate.
    type: bool
    default: true
  ca_path:
    description: CA certificates to trust, a file or a folder.
    type: path
  client_cert:
    description: A file with the TLS client certificate.
    type: path
  client_key:
    description: A file with the key of O(client_cert).
    type: path
  proxy_url:
    description: A proxy, as V(http://proxy.example.com:3128).
    type: str
    version_added: 1.0.0
  use_proxy:
    description: Whether to use the proxies of the environment.
    type: bool
    default: true
  request_timeout:
    description: The timeout of a single request, in seconds.
    type: float
    default: 30
  request_retries:
    description: How often a failed request is retried.
    type: int
    default: 8
  service_version:
    description: The version of the service, in quotes.
    type: raw
notes:
  - R(Options that modules share, ansible_collections.virtinfra.manager.docsite.guide_options) has the connection,
    waiting and tags in full.
requirements:
  - Python 3.10 or newer
  - requests 2.28 or newer
  - PySocks for a SOCKS proxy only
"""
