# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document the connection options that the inventory plugins and the lookup share."""

from __future__ import annotations


class ModuleDocFragment:
    """The connection to the service, by options and environment variables."""

    DOCUMENTATION = r"""
options:
  profile:
    description:
      - The name of a profile in C(~/.config/virtinfra/profiles.yml), or in that folder of E(XDG_CONFIG_HOME). It can
        have all options of the connection, and commands that print its secrets.
      - An option that is given takes precedence over the profile, and the profile over the environment. A given
        credential replaces all credentials of the profile. An empty string means no profile.
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_PROFILE
  base_url:
    description:
      - Scheme, host and port of the service, for example V(https://manager.example.com:8443).
      - Required, as this option, in the O(profile), as the environment variable or, in an inventory, for each of its
        services.
    type: str
    env:
      - name: VIRTINFRA_BASE_URL
  path_prefix:
    description:
      - The part of the path before V(/v1/). The two cursor operations do not use it.
    type: str
    default: service
    env:
      - name: VIRTINFRA_PATH_PREFIX
  account:
    description:
      - The name of the account to log in with.
      - All inventory sources, tasks and lookups of a run share one session, which ends with the run.
    type: str
    env:
      - name: VIRTINFRA_ACCOUNT
  account_password:
    description:
      - The password of O(account). It is sent as a SHA-512 hash, as the service expects it.
    type: str
    env:
      - name: VIRTINFRA_ACCOUNT_PASSWORD
  access_key_id:
    description:
      - The id of an access key of an account, with which each request is signed instead of logging in. It takes
        precedence over a session and O(account). A credential that is given as an option takes precedence over all
        credentials in the environment.
      - The lookup P(virtinfra.manager.session#lookup) refuses an access key, because a key has no session.
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_ACCESS_KEY_ID
  access_key_secret:
    description:
      - The secret of the access key O(access_key_id). It is not sent.
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_ACCESS_KEY_SECRET
  access_key_time_zone:
    description:
      - The time zone of the service, as an offset such as V(+08:00) or as a name such as V(Asia/Shanghai), which this
        machine must know. By default it is the zone of this machine. Services compare the local time in a signature
        with their own.
      - If the service refuses the time, the others are tried, and the rest of the run uses the zone that it accepts.
        With this option no request is refused.
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_ACCESS_KEY_TIME_ZONE
  validate_certs:
    description:
      - Whether to verify the TLS certificate of the service.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_VALIDATE_CERTS
  ca_path:
    description:
      - A file or a folder with CA certificates to trust instead of those of the system.
    type: path
    env:
      - name: VIRTINFRA_CA_PATH
  client_cert:
    description:
      - A file with the TLS client certificate, and its key unless O(client_key) names another file.
    type: path
    env:
      - name: VIRTINFRA_CLIENT_CERT
  client_key:
    description:
      - A file with the unencrypted key of O(client_cert).
    type: path
    env:
      - name: VIRTINFRA_CLIENT_KEY
  proxy_url:
    description:
      - The proxy for the connection to the service, for example V(http://proxy.example.com:3128), instead of those of
        the environment. The schemes are C(http), C(https), C(socks5h), whose proxy resolves the name of the service,
        and C(socks5). E(NO_PROXY) does not apply to it.
      - It may contain a user name and a password, as in V(http://user:password@proxy.example.com:3128), in which V(/),
        V(@), V(#) and V(%) are written as V(%2F), V(%40), V(%23) and V(%25).
      - O(validate_certs) and O(ca_path) also apply to the certificate of an https proxy. A SOCKS proxy needs the Python
        library PySocks.
    type: str
    version_added: 1.0.0
    env:
      - name: VIRTINFRA_PROXY_URL
  use_proxy:
    description:
      - Whether to use the proxies of the environment (E(HTTPS_PROXY) and so on). V(false) and O(proxy_url) are mutually
        exclusive.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_USE_PROXY
  request_timeout:
    description:
      - The timeout of a single request, in seconds. Connecting may take at most 10 seconds of it.
    type: float
    default: 30
    env:
      - name: VIRTINFRA_REQUEST_TIMEOUT
  request_retries:
    description:
      - How often a request is retried when the service is overloaded (HTTP status 429), when no connection can be
        established, or when no usable response arrives. The waits between retries grow up to 30 seconds. With the
        default, a service that cannot be reached is tried for 36 to 45 seconds.
    type: int
    default: 8
    env:
      - name: VIRTINFRA_REQUEST_RETRIES
  service_version:
    description:
      - The version of the service as a quoted string, for example V('4.10.10'). Operations and parameters that need a
        newer version are refused before anything is sent. By default no version is checked.
      - Missing parts are 0, so V('4.10') means V('4.10.0'). A number without quotes is refused, because YAML
        reads 4.10 as 4.1.
    type: raw
    env:
      - name: VIRTINFRA_SERVICE_VERSION
requirements:
  - Python 3.10 or newer
  - requests 2.28 or newer
  - PySocks, for a SOCKS proxy only
"""
