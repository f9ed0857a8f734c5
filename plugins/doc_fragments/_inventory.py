# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document the options that the inventory plugins share, in addition to those of ``_plugin_connection``."""

from __future__ import annotations


class ModuleDocFragment:
    """The credentials of sources, the records to list, and their conversion to hosts."""

    DOCUMENTATION = r"""
options:
  session_id:
    description:
      - The session identifier, for O(source=query).
      - It takes precedence over O(account). A credential in the source takes precedence over all credentials in the
        environment.
    type: str
    env:
      - name: VIRTINFRA_SESSION_ID
  api_token:
    description:
      - The token, for O(source=cursor).
    type: str
    env:
      - name: VIRTINFRA_API_TOKEN
  source:
    description:
      - How to read the records. V(query) uses a query, which needs O(access_key_id), O(session_id) or O(account).
        V(cursor) uses a cursor query, which needs O(api_token).
      - By default the plugin uses the query with O(query), and the cursor query with O(filters). If neither is given,
        it uses the query if there is an access key, a session or an account, and the cursor query if there is none or
        if the service does not offer the query.
    type: str
    choices:
      - query
      - cursor
  query:
    description:
      - Conditions that the service checks, each C(FIELD OPERATOR VALUE), for example V(state=Enabled). The notes below
        list the fields, which have the API's own names, and their known values. Spaces around the operator are removed.
        A record must meet all conditions.
      - Operators are V(=), V(!=), V(>), V(<), V(>=), V(<=), V(?=) (one of a list with commas), V(!?=), V(~=) (like,
        with V(%)), V(!~=), V(is null) and V(not null).
      - A field can be a tag, V(__userTag__=TAG) or V(__systemTag__=TAG).
      - Dates are given in the local time of the service, for example V(createDate>=2024-01-06). Dates in other forms
        than ISO 8601 and that of the records are refused, and so is a string for a field with numbers.
      - The plugin checks the records again. Services compare without regard to case, accents and spaces at the end.
      - Services misread a value that contains an apostrophe or an operator or begins with V(=), for example
        V(name=Bob's VM), V(name=a>=b) and V(name= =x). The plugin sends V(name~=Bob_s VM) instead, or nothing with a
        negation or a list, and compares the records exactly. It refuses such a value of a field of another resource,
        a time or a tag.
    type: list
    elements: str
  filters:
    description:
      - Filters for O(source=cursor) in the service's own syntax, sent unchanged. The plugin checks filters that have
        the form of a condition of O(query) again.
    type: list
    elements: str
  page_size:
    description:
      - How many records to request per page. The plugin always reads all pages.
    type: int
    default: 1000
  services:
    description:
      - Several services to read. Each is a mapping with any of the options O(base_url), O(session_id), O(api_token) and
        the other connection options, O(source), O(query), O(filters), and V(name), the value of the variable
        C(service).
      - The default of each is the plugin's option of the same name. An entry with a session, an account or a token uses
        none of the plugin's credentials. An entry can have a O(profile) of its own.
    type: list
    elements: dict
  on_failure:
    description:
      - What to do if a service cannot be read. In an entry of O(services), it applies to that service only.
      - With V(fail) the source fails, and none of its hosts are added.
      - With V(skip) the source contains the hosts of the other services, with a warning for each one that is skipped.
        It fails if none of its services can be read.
      - With V(last_known) the records of the service come from the cache, however old they are, with their age in a
        warning. If the cache has none, the source fails. This needs O(cache=true) and a O(cache_plugin) that keeps its
        entries, such as P(ansible.builtin.jsonfile#cache). The plugin then checks O(cache_timeout) itself and keeps
        the entries in the cache without a timeout.
      - A service cannot be read if there is no connection or no response in time, if it answers with an HTTP status of
        500 or more, 408 or 429 without a code of its own, with the page of a server in which the service does not run
        yet, with an internal error, a timeout, or because a part of it is not available (C(SYS.1000), C(SYS.1001),
        C(SYS.1010), C(SYS.1012), C(SYS.2111)), or if its list is incomplete. A query that fails with C(SYS.1000) is no
        such case, because services answer with it if they do not know a field. All other errors make the source fail
        whatever the value is, for example invalid options, a wrong password, a missing permission and a certificate
        that is not trusted.
    type: str
    choices:
      - fail
      - skip
      - last_known
    default: fail
  hostnames:
    description:
      - Where the name of a host comes from. The first item that yields a name is used. An item is an attribute such as
        V(name), V(uuid) or V(management_ip), an expression such as V(virtinfra_name | lower), or a template such as
        V({{ virtinfra_name }}.example.com).
      - A host name consists of letters and digits of any script, V(.), V(_), V(-) and spaces between them, or is an
        IPv6 address. It has at most 253 characters, does not begin with V(-) or V(.), is not V(all) or V(ungrouped),
        and does not refer to the control node unless O(allow_localhost=true). Other values are ignored with a warning.
        If no valid name is left, the uuid is used.
    type: list
    elements: str
    default:
      - name
  related_names:
    description:
      - Whether to list the clusters and zones of the service, once each, and set C(virtinfra_cluster_name) and
        C(virtinfra_zone_name) beside the uuids, or to null when a record has no such uuid. A list is not read when no
        record has such a uuid.
      - By default they are listed. If the service lacks a list or the account may not read it, the plugin warns and
        does not set the variable. With V(true) the source fails instead.
    type: bool
  user_tags:
    description:
      - Whether to list the user tags of the service, once, and set C(virtinfra_user_tags) to the sorted list of the
        tags of a record, which is empty if it has none.
      - If the service lacks the list or the account may not read it, the plugin warns and does not set the variable.
    type: bool
    default: false
    version_added: 1.0.0
  duplicates:
    description:
      - What to do when several records have the same name. V(rename) appends the uuid to each name, and V(first) keeps
        the record with the lowest uuid, both with a warning. V(error) fails.
    type: str
    choices:
      - rename
      - first
      - error
    default: rename
  allow_localhost:
    description:
      - Whether host names and C(ansible_host) can refer to the control node itself, for example V(localhost),
        V(127.0.0.1), V(0.0.0.0) or V(::1), in any spelling.
      - By default such values are ignored with a warning. Without this protection, anyone who can name a virtual
        machine could make tasks run on the control node.
    type: bool
    default: false
  hostvars_prefix:
    description:
      - The prefix of variable names. Variables whose names Ansible reserves are skipped with a warning.
    type: str
    default: virtinfra_
  hostvars_suffix:
    description:
      - The suffix of variable names.
    type: str
    default: ""
  variables:
    description:
      - The variables to set, each by its name without prefix and suffix, for example V(name), V(management_ip) or
        V(cluster_name). The default is all. Hosts get no other variables, except for those of O(compose). Without
        V(ansible_host) in the list, Ansible connects to the name of a host.
      - The plugin requests only the fields that these variables need, and those that O(compose), O(groups),
        O(keyed_groups), O(hostnames), O(include), O(exclude) and O(query) use, and reads no list of other objects that
        none of them needs. Expressions can use every variable, as without this option.
      - All fields are read with O(source=cursor), from a service that cannot select fields, and if an expression
        contains a lookup or a name that is not documented. The hosts still get the listed variables only.
    type: list
    elements: str
  include:
    description:
      - Jinja conditions on the variables of a record. Only records that meet at least one of them become hosts.
      - A condition that cannot be evaluated is treated as false, or fails with O(strict=true).
    type: list
    elements: raw
    default: []
  exclude:
    description:
      - Conditions like those of O(include). Records that meet at least one of them do not become hosts.
    type: list
    elements: raw
    default: []
notes:
  - All options can be templates, with lookups, encrypted values and extra variables. Templates in O(compose),
    O(groups), O(keyed_groups), O(hostnames), O(include) and O(exclude) are evaluated for every host.
  - An expression with a syntax error in one of them is an error, also with O(strict=false).
  - A condition in O(query) or O(filters) whose value is not documented for its field gives a warning.
  - Values of the service are never evaluated as templates.
  - The plugin fails on an unknown option and on an incomplete list. It then adds nothing to the inventory.
  - By default Ansible continues when a source fails, with the hosts of the other sources or with no hosts at all, and
    ends with the exit code 0. To stop instead, set C(any_unparsed_is_failed=true) in the section C([inventory]) of
    C(ansible.cfg), or E(ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED). With C(unparsed_is_failed=true)
    (E(ANSIBLE_INVENTORY_UNPARSED_FAILED)) Ansible stops only if all sources fail.
"""
