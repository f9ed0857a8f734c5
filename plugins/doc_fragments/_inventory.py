# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Documentation of the options that the inventory plugins share."""

from __future__ import annotations


class ModuleDocFragment:
    """How the service is reached, which records are listed and what becomes of them."""

    DOCUMENTATION = r"""
options:
  base_url:
    description:
      - Scheme, host and port of the service, for example V(https://manager.example.com:8443).
      - Required, by this option, by the environment variable or in O(services).
    type: str
    env:
      - name: VIRTINFRA_BASE_URL
  path_prefix:
    description:
      - What stands in the path before V(/v1/). The two cursor operations do not have it.
    type: str
    default: service
    env:
      - name: VIRTINFRA_PATH_PREFIX
  session_id:
    description:
      - The session identifier, for O(source=query) and for what is read beside the records.
    type: str
    env:
      - name: VIRTINFRA_SESSION_ID
  account:
    description:
      - The name of the account to log in with, an alternative to O(session_id), which wins. An account in the source
        wins over a session in the environment.
      - All sources and all tasks of a run share its session, which is ended with the run.
    type: str
    env:
      - name: VIRTINFRA_ACCOUNT
  account_password:
    description:
      - The password of O(account). It is sent as a SHA-512 hash, as the service expects it.
    type: str
    env:
      - name: VIRTINFRA_ACCOUNT_PASSWORD
  api_token:
    description:
      - The token, for O(source=cursor).
    type: str
    env:
      - name: VIRTINFRA_API_TOKEN
  validate_certs:
    description:
      - Whether the service must show a certificate that is valid for its name.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_VALIDATE_CERTS
  ca_path:
    description:
      - A file or a folder of certificates of authorities to trust instead of those of the system.
    type: path
    env:
      - name: VIRTINFRA_CA_PATH
  client_cert:
    description:
      - A file with the certificate that this client shows, and its key unless O(client_key) names another.
    type: path
    env:
      - name: VIRTINFRA_CLIENT_CERT
  client_key:
    description:
      - A file with the key of O(client_cert), without a password.
    type: path
    env:
      - name: VIRTINFRA_CLIENT_KEY
  use_proxy:
    description:
      - Whether the proxies that the environment names (E(HTTPS_PROXY) and so on) are used.
    type: bool
    default: true
    env:
      - name: VIRTINFRA_USE_PROXY
  request_timeout:
    description:
      - How long a single request may take, in seconds.
    type: float
    default: 30
    env:
      - name: VIRTINFRA_REQUEST_TIMEOUT
  request_retries:
    description:
      - How often a request is sent again when the service is overloaded (HTTP status 429), not reachable, or answers
        nothing that makes sense. The pauses grow, up to 30 seconds.
    type: int
    default: 8
    env:
      - name: VIRTINFRA_REQUEST_RETRIES
  service_version:
    description:
      - The version of the service as a quoted text, for example V('4.10.10'). What is newer is refused before anything
        is sent. Nothing is checked without it.
      - Parts that are missing count as 0, so V('4.10') is V('4.10.0'). A number without quotes is refused, because YAML
        reads 4.10 as 4.1.
    type: raw
    env:
      - name: VIRTINFRA_SERVICE_VERSION
  source:
    description:
      - How the records are read, V(query) by a query on the collection, which needs O(session_id) or O(account),
        V(cursor) by a cursor query, which needs O(api_token).
      - When it is not given, O(query) or O(filters) decide, or else what credentials there are, a session first. A
        service that does not offer the query is then read by a cursor, if there is a token.
    type: str
    choices:
      - query
      - cursor
  query:
    description:
      - Conditions that the service checks, each C(FIELD OPERATOR VALUE) with the service's own field names, for example
        V(state=Enabled). Blanks around the operator are removed. All conditions must hold.
      - Operators are V(=), V(!=), V(>), V(<), V(>=), V(<=), V(?=) (one of a list with commas), V(!?=), V(~=) (like,
        with V(%)), V(!~=), V(is null) and V(not null).
      - What comes back is checked again. A value that holds an operator is only checked here, as the service would
        misunderstand it.
    type: list
    elements: str
  filters:
    description:
      - Filters for O(source=cursor), in the service's own syntax, handed on as they are. Those that read like a
        condition of O(query) are checked again.
    type: list
    elements: str
  page_size:
    description:
      - How many records are asked for at a time. All pages are read, whatever their size.
    type: int
    default: 1000
  services:
    description:
      - Several services, each a mapping with any of the options O(base_url), O(session_id), O(api_token) and the
        others of the connection, O(source), O(query), O(filters), and V(name), which the variable C(service) tells.
      - What an entry does not give is taken from the options of the same name beside this one. One with a
        session, an account or a token takes none of them from there.
    type: list
    elements: dict
  hostnames:
    description:
      - What a host is named by, the first that it has counts. Each is an attribute such as V(name), V(uuid) or
        V(management_ip), an expression over the variables such as V(virtinfra_name | lower), or a template such as
        V({{ virtinfra_name }}.example.com).
      - A host name is made of letters and digits of any script, V(.), V(_), V(-) and blanks inside, or is an IPv6
        address. It has at most 253 characters, does not begin with V(-) or V(.), is not V(all) or V(ungrouped), and
        does not mean the control node unless O(allow_localhost=true). Other values are ignored with a warning, and the
        uuid is used when nothing is left.
    type: list
    elements: str
    default:
      - name
  duplicates:
    description:
      - What becomes of a name that several records have. V(rename) appends the uuid to each of them, V(first) keeps the
        first by uuid, both with a warning, and V(error) is a failure.
    type: str
    choices:
      - rename
      - first
      - error
    default: rename
  allow_localhost:
    description:
      - Whether host names and C(ansible_host) may mean the control node itself, for example V(localhost),
        V(127.0.0.1), V(0.0.0.0) or V(::1), in any spelling.
      - By default such values are ignored with a warning, because whoever names a virtual machine could otherwise have
        tasks run on the control node.
    type: bool
    default: false
  hostvars_prefix:
    description:
      - What the names of variables begin with. Names that Ansible reserves are left out, with a warning, when this
        makes some.
    type: str
    default: virtinfra_
  hostvars_suffix:
    description:
      - What the names of variables end with.
    type: str
    default: ""
  include:
    description:
      - Conditions in Jinja, over the variables of a record. Only records that meet one of them are used.
      - A condition that cannot be evaluated does not hold, or is a failure with O(strict=true).
    type: list
    elements: raw
    default: []
  exclude:
    description:
      - Conditions like those of O(include). Records that meet one of them are not used.
    type: list
    elements: raw
    default: []
notes:
  - All options may be templates, with lookups, encrypted values and extra variables. In O(compose), O(groups),
    O(keyed_groups), O(hostnames), O(include) and O(exclude) they are evaluated for every host instead.
  - Values of the service are never taken for templates.
  - An unknown option is a failure, and so is a list that is not complete. In neither case anything is added to the
    inventory.
requirements:
  - Python 3.10 or newer
"""
