# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document the connection options of inventory plugins and the lookup. The session ``format`` writes this file."""

from __future__ import annotations


class ModuleDocFragment:
    """The connection to the service, by options and environment variables."""

    DOCUMENTATION = r"""
options:
  profile:
    description: A profile of C(~/.config/virtinfra/profiles.yml).
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_PROFILE
  base_url:
    description: Scheme, host and port of the service.
    type: str
    env:
      - name: VIRTINFRA_BASE_URL
  path_prefix:
    description: The part of the path before V(/v1/).
    type: str
    default: service
    env:
      - name: VIRTINFRA_PATH_PREFIX
  account:
    description: The name of the account to log in with.
    type: str
    env:
      - name: VIRTINFRA_ACCOUNT
  account_password:
    description: The password of O(account).
    type: str
    env:
      - name: VIRTINFRA_ACCOUNT_PASSWORD
  access_key_id:
    description: An access key, with which requests are signed.
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_ACCESS_KEY_ID
  access_key_secret:
    description: The secret of O(access_key_id).
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_ACCESS_KEY_SECRET
  access_key_time_zone:
    description: The time zone of the service, as V(+08:00).
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_ACCESS_KEY_TIME_ZONE
  validate_certs:
    description: Whether to verify the TLS certificate.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_VALIDATE_CERTS
  ca_path:
    description: CA certificates to trust, a file or a folder.
    type: path
    env:
      - name: VIRTINFRA_CA_PATH
  client_cert:
    description: A file with the TLS client certificate.
    type: path
    env:
      - name: VIRTINFRA_CLIENT_CERT
  client_key:
    description: A file with the key of O(client_cert).
    type: path
    env:
      - name: VIRTINFRA_CLIENT_KEY
  proxy_url:
    description: A proxy, as V(http://proxy.example.com:3128).
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_PROXY_URL
  use_proxy:
    description: Whether to use the proxies of the environment.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_USE_PROXY
  request_timeout:
    description: The timeout of a single request, in seconds.
    type: float
    default: 30
    env:
      - name: VIRTINFRA_REQUEST_TIMEOUT
  request_retries:
    description: How often a failed request is retried.
    type: int
    default: 8
    env:
      - name: VIRTINFRA_REQUEST_RETRIES
  service_version:
    description: The version of the service, in quotes.
    type: raw
    env:
      - name: VIRTINFRA_SERVICE_VERSION
notes:
  - The guide R(Options that modules share, ansible_collections.virtinfra.manager.docsite.guide_options) describes the
    options of the connection in full.
requirements:
  - Python 3.10 or newer
  - requests 2.28 or newer
  - PySocks for a SOCKS proxy only
"""
