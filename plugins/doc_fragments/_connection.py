# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document ``CONNECTION`` in ``_modules/options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for the connection to the service."""

    DOCUMENTATION = r"""
options:
  profile:
    description:
      - The name of a profile in C(~/.config/virtinfra/profiles.yml), or in that folder of E(XDG_CONFIG_HOME). It can
        have all options of the connection, and commands that print its secrets.
      - An option that is given takes precedence over the profile, and the profile over the environment. A given
        credential replaces all credentials of the profile.
      - Only the controller reads the file and runs the commands. A module process gets the options.
      - The environment variable E(VIRTINFRA_PROFILE) is used when the option is not given. An empty string means no
        profile.
    type: str
    version_added: 1.0.0
  base_url:
    description:
      - Scheme, host and port of the service, for example V(https://manager.example.com:8443).
      - Jobs are polled here too, regardless of the host in the polling address that the service returns.
      - Required, as this option, in the O(profile), or as the environment variable E(VIRTINFRA_BASE_URL).
    type: str
  path_prefix:
    description:
      - The part of the path before V(/v1/). The two cursor operations do not use it.
      - The environment variable E(VIRTINFRA_PATH_PREFIX) is used when the option is not given.
    type: str
    default: service
  session_id:
    description:
      - "The session identifier, sent as C(Authorization: OAuth). All operations except the cursor operations need it or
        an O(account) to log in with, or an O(access_key_id)."
      - It takes precedence over O(account). A credential in a playbook takes precedence over all credentials in the
        environment.
      - The environment variable E(VIRTINFRA_SESSION_ID) is used when the option is not given.
    type: str
  account:
    description:
      - The name of the account to log in with. All tasks of a run share one session, which ends with the run. When the
        service says that the session has expired, the module logs in again and repeats the call once.
      - A module process, for example of a task with C(async), C(become) or a remote connection, gets the session, not
        the password. Only if the controller cannot reach the service does the module process log in and out itself.
        A task with C(async) and C(poll=0) has a session of its own, which ends with the process.
      - The environment variable E(VIRTINFRA_ACCOUNT) is used when the option is not given.
    type: str
  account_password:
    description:
      - The password of O(account). It is sent as a SHA-512 hash, as the service expects it.
      - The environment variable E(VIRTINFRA_ACCOUNT_PASSWORD) is used when the option is not given.
    type: str
  access_key_id:
    description:
      - The id of an access key of an account. With an access key every request is signed, so it needs no login, no
        session and no renewal. The clocks of this machine and of the service must not differ by more than 15 minutes.
        See O(access_key_time_zone) if the service is in another time zone.
      - It takes precedence over O(session_id) and O(account). The cursor operations need an O(api_token) nevertheless.
      - The environment variable E(VIRTINFRA_ACCESS_KEY_ID) is used when the option is not given.
    type: str
    version_added: 1.0.0
  access_key_secret:
    description:
      - The secret of the access key O(access_key_id). It is not sent.
      - The environment variable E(VIRTINFRA_ACCESS_KEY_SECRET) is used when the option is not given.
    type: str
    version_added: 1.0.0
  access_key_time_zone:
    description:
      - The time zone of the service, as an offset such as V(+08:00) or as a name such as V(Asia/Shanghai), which this
        machine must know. By default it is the zone of this machine. Services compare the local time in a signature
        with their own.
      - If the service refuses the time, the others are tried, and the rest of the run uses the zone that it accepts.
        With this option no request is refused.
      - The environment variable E(VIRTINFRA_ACCESS_KEY_TIME_ZONE) is used when the option is not given.
    type: str
    version_added: 1.0.0
  api_token:
    description:
      - "The token for the cursor operations, sent as C(Authorization: Bearer)."
      - The environment variable E(VIRTINFRA_API_TOKEN) is used when the option is not given.
    type: str
  validate_certs:
    description:
      - Whether to verify the TLS certificate of the service.
      - The environment variable E(VIRTINFRA_VALIDATE_CERTS) is used when the option is not given.
    type: bool
    default: true
  ca_path:
    description:
      - A file or a folder with CA certificates to trust instead of those of the system.
      - The environment variable E(VIRTINFRA_CA_PATH) is used when the option is not given.
    type: path
  client_cert:
    description:
      - A file with the TLS client certificate, and its key unless O(client_key) names another file.
      - The environment variable E(VIRTINFRA_CLIENT_CERT) is used when the option is not given.
    type: path
  client_key:
    description:
      - A file with the unencrypted key of O(client_cert).
      - The environment variable E(VIRTINFRA_CLIENT_KEY) is used when the option is not given.
    type: path
  proxy_url:
    description:
      - The proxy for the connection to the service, for example V(http://proxy.example.com:3128), instead of those of
        the environment. The schemes are C(http), C(https), C(socks5h), whose proxy resolves the name of the service,
        and C(socks5). E(NO_PROXY) does not apply to it.
      - It may contain a user name and a password, as in V(http://user:password@proxy.example.com:3128), in which V(/),
        V(@), V(#) and V(%) are written as V(%2F), V(%40), V(%23) and V(%25).
      - O(validate_certs) and O(ca_path) also apply to the certificate of an https proxy. The TLS connection to the
        service leads through the proxy, which cannot read it.
      - A SOCKS proxy needs the Python library PySocks where the module runs.
      - The environment variable E(VIRTINFRA_PROXY_URL) is used when the option is not given.
    type: str
    version_added: 1.0.0
  use_proxy:
    description:
      - Whether to use the proxies of the environment (E(HTTPS_PROXY) and so on), which may have the same schemes as
        O(proxy_url). V(false) and O(proxy_url) are mutually exclusive.
      - The environment variable E(VIRTINFRA_USE_PROXY) is used when the option is not given.
    type: bool
    default: true
  request_timeout:
    description:
      - The timeout of a single request, in seconds. The whole response must arrive in this time. Connecting may take at
        most 10 seconds of it.
      - The environment variable E(VIRTINFRA_REQUEST_TIMEOUT) is used when the option is not given.
    type: float
    default: 30
  request_retries:
    description:
      - How often a request is retried when the service is overloaded (HTTP status 429), when no connection can be
        established, or, for reads, when no usable response arrives.
      - The waits between retries double. With the default, a service that cannot be reached is tried for 36 to 45
        seconds, including the time for connecting, which covers a restart; waits of 3 seconds or more are shown as
        progress. The longest wait is 20 seconds, or 30 seconds when the service is overloaded. If an overloaded service
        asks for longer waits, they may take up to five minutes.
      - A write is retried only if the service certainly did not receive it.
      - The environment variable E(VIRTINFRA_REQUEST_RETRIES) is used when the option is not given.
    type: int
    default: 8
  service_version:
    description:
      - The version of the service as a quoted string, for example V('4.10.10'). Operations and parameters that need a
        newer version are refused before anything is sent. By default no version is checked.
      - Missing parts are 0, so V('4.10') means V('4.10.0'). A number without quotes is refused, because YAML
        reads 4.10 as 4.1.
      - The environment variable E(VIRTINFRA_SERVICE_VERSION) is used when the option is not given.
    type: raw
requirements:
  - Python 3.10 or newer where the module runs
  - requests 2.28 or newer where the module runs
  - PySocks where the module runs, for a SOCKS proxy only
"""
