# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that were once in the collection: each reverts a repair in the present code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A fault: in ``file``, ``old`` is replaced by ``new``, and ``broken`` is what users would see.

    ``tests`` are those that find it, for the session ``session``; they are tried first.
    """

    name: str
    broken: str
    file: str
    old: str
    new: str
    tests: str
    session: str = "unit"


_API = "plugins/module_utils/_api"
_CLIENT = "plugins/module_utils/_client"
_ENGINE = "plugins/module_utils/_engine"
_HTTP = "plugins/module_utils/_http"
_MASKING = "plugins/module_utils/_masking"
_RESOURCES = "plugins/module_utils/_resources"

FAULTS = (
    # How an object is changed.
    Fault(
        "vms-stopped-without-permission",
        "a maintenance stops VMs although running_vms does not permit it",
        f"{_ENGINE}/reconciler.py",
        "    has_read = dependents.require_permission(calls, current.record)\n",
        "    has_read = False\n",
        "modules/test_modules_hosts.py",
    ),
    Fault(
        "destroys-a-different-object",
        "state absent removes an object whose other options differ from those of the task",
        f"{_ENGINE}/plan.py",
        "    if current is not None and (row.is_destructive",
        "    if current is None and (row.is_destructive",
        "_engine/test_destroying.py",
    ),
    Fault(
        "null-reference-predicts-no-change",
        "check mode predicts no change for a reference to an object that an earlier task would create",
        f"{_ENGINE}/plan.py",
        "(name in changeable if holds_null_reference(value) else not",
        "(False if holds_null_reference(value) else not",
        "_api/test_references.py",
    ),
    Fault(
        "waits-for-all-fields",
        "a task that disables a host waits until the host is connected",
        f"{_ENGINE}/plan.py",
        "    return (transition.record_field, *transition.settles) if transition else ()",
        "    return tuple({**resource.transitional_values, **resource.failed_values})",
        "_engine/test_planner.py",
    ),
    Fault(
        "created-twice-in-a-play",
        "several hosts of a play that ask for the same object create it several times",
        f"{_ENGINE}/calls.py",
        "        return is_creation and self._new_lock is not None and",
        "        return not is_creation and self._new_lock is not None and",
        "_engine/test_creation_turns.py",
    ),
    Fault(
        "trusts-the-response-to-another-call",
        "a call that was accepted is reported as refused, because a proxy mixed up two responses",
        f"{_ENGINE}/calls.py",
        "        if not (is_sent and _is_of_another_call(call, client, error)):",
        "        if is_sent or not is_sent:",
        "_engine/test_other_calls.py _engine/test_exactly_once.py",
    ),
    Fault(
        "believes-a-bare-success",
        "a reply of a proxy that says only success counts as the performed call",
        f"{_ENGINE}/calls.py",
        "    if isinstance(outcome, Done) and _is_bare_success(outcome.job):",
        "    if isinstance(outcome, Done) and not outcome.job:",
        "_engine/test_exactly_once.py::test_success_without_a_result_is_confirmed",
    ),
    Fault(
        "second-delivery-fails-the-task",
        "a call that a proxy delivered twice fails the task, although it was performed",
        f"{_ENGINE}/acceptance.py",
        "    may_be_reached = can_answer_second_delivery(error)",
        "    may_be_reached = not can_answer_second_delivery(error)",
        "_engine/test_other_calls.py::test_second_delivery_refused_in_the_state_reached",
    ),
    Fault(
        "null-members-in-the-diff",
        "the diff of an object that is created shows all of its empty fields",
        f"{_ENGINE}/results.py",
        "    if before and after:\n        return diff",
        "    if before or after:\n        return diff",
        "_engine/test_results.py",
    ),
    Fault(
        "dependents-without-deadline",
        "a task reads the VMs of a host for longer than its wait_timeout",
        f"{_ENGINE}/reconciler.py",
        "(deadline, RESPONSE_TIME)",
        '(float("inf"), RESPONSE_TIME)',
        "modules/test_modules_hosts.py _modules/test_resilience.py",
    ),
    # Calls, jobs, sessions and lists.
    Fault(
        "failed-login-for-minutes",
        "a login whose response is lost is retried for longer than a service is out of order",
        f"{_CLIENT}/sessions.py",
        "            if attempt == retries or client.hooks.clock.monotonic() - begin > MAX_OUTAGE:",
        "            if attempt == retries:",
        "_client/test_sessions.py",
    ),
    Fault(
        "repeats-a-refused-login",
        "each task of a run repeats a login that the service refused, which locks the account",
        f"{_CLIENT}/sessions.py",
        "            if is_shared or failed.is_final:",
        "            if is_shared:",
        "_client/test_sessions.py",
    ),
    Fault(
        "expired-session-fails-the-task",
        "a read whose session has expired fails instead of logging in again",
        f"{_CLIENT}/client.py",
        "            if not self.renew_session(failure, auth):\n                raise\n        return self._read(",
        "            raise\n        return self._read(",
        "_client/test_sessions.py",
    ),
    Fault(
        "ended-jobs-count-as-late",
        "jobs that ended shortly before the deadline are reported as running",
        f"{_CLIENT}/waiting.py",
        "            self._poll(self._running if self._waits_for_any else self._running[1:])",
        "            self._poll(self._running[:0])",
        "_client/test_jobs.py",
    ),
    Fault(
        "gateway-error-fails-a-job",
        "an error of a gateway during a poll counts as the failure of the job",
        f"{_CLIENT}/replies.py",
        "        return response.status not in INCONCLUSIVE_STATUSES\n",
        "        return True\n",
        "_client/test_jobs.py _client/test_client.py",
    ),
    Fault(
        "page-of-a-proxy-is-unsupported",
        "an error page of a proxy is reported as an operation that the service lacks",
        f"{_CLIENT}/replies.py",
        "    if not response.is_plain_text:\n        return False\n    text = _NO_OPERATION",
        "    text = _NO_OPERATION",
        "_client/test_unsupported.py _client/test_client.py",
    ),
    Fault(
        "record-of-another-uuid",
        "a service that ignores the uuid of a read makes a task change another object",
        f"{_CLIENT}/lists.py",
        '    matches = [record for record in records if record.get("uuid") == uuid]',
        "    matches = records",
        "_client/test_lists.py _client/test_safe_reads.py",
    ),
    Fault(
        "moving-list-is-incomplete",
        "a list to which objects are added while it is read lacks some of them",
        f"{_CLIENT}/lists.py",
        "        if not completeness.is_steady:\n            continue\n",
        "",
        "_client/test_lists.py",
    ),
    Fault(
        "used-cursor-is-read-again",
        "a cursor that the service has sent before is read again",
        f"{_CLIENT}/lists.py",
        "        if not new or not _is_usable_cursor(cursor, cursors):",
        "        if not new or not isinstance(cursor, str):",
        "_client/test_lists.py",
    ),
    Fault(
        "no-substitute-for-workchat",
        "endpoints cannot be created on servers that have we-com in place of workchat",
        f"{_CLIENT}/substitutes.py",
        "            job = send(operation.substitute)\n",
        "            raise refusal\n",
        "modules/test_modules_sns.py _client/test_client.py _client/test_unsupported.py",
    ),
    Fault(
        "interfaces-without-a-query",
        "an interface cannot be given by its name on servers without a query for interfaces",
        f"{_CLIENT}/names.py",
        '    if resource_type.name == "host_nic" and owner:',
        '    if resource_type.name == "host_nic" and not owner:',
        "_client/test_name_lookup.py",
    ),
    # One request.
    Fault(
        "overload-backoff-too-short",
        "among a hundred tasks, one uses up its retries after 429 before the others have finished",
        f"{_HTTP}/transport.py",
        "(0.5 + 0.5 * float(self._clock.random()))",
        "float(self._clock.random())",
        "_http/test_transport.py _modules/test_resilience.py",
    ),
    Fault(
        "retries-after-the-deadline",
        "a task retries a request after its wait_timeout has passed",
        f"{_HTTP}/transport.py",
        "        is_in_time = wait > 0 and now + wait <= self._limits.deadline",
        "        is_in_time = wait > 0",
        "_http/test_transport.py",
    ),
    Fault(
        "attempts-are-not-counted",
        "a message about a connection does not say how often it was tried",
        f"{_HTTP}/transport.py",
        "        if self.attempts > 1:",
        "        if self.attempts > 1000:",
        "_http/test_transport.py",
    ),
    Fault(
        "slow-response-without-deadline",
        "a response that arrives byte by byte occupies a task for hours",
        f"{_HTTP}/adapter.py",
        "        if (seconds := self._deadline - time.monotonic()) <= 0:",
        "        if (seconds := 5.0) <= 0:",
        "_modules/test_resilience.py::test_responses_that_arrive_slowly",
    ),
    Fault(
        "alert-about-the-certificate-is-hidden",
        "a required client certificate is reported as a broken connection",
        f"{_HTTP}/adapter.py",
        "(error.__cause__, error.__context__, *error.args)",
        "(error.__cause__, error.__context__)",
        "_http/test_tls.py",
    ),
    Fault(
        "every-alert-ends-a-read",
        "a read fails at once after a passing TLS alert",
        f"{_HTTP}/failures.py",
        're.compile("ALERT_.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)")',
        're.compile("ALERT_")',
        "_http/test_tls.py _http/test_transport.py",
    ),
    Fault(
        "reserved-keys-reach-ansible",
        "a key of the service makes Ansible treat a text as a trusted template",
        f"{_HTTP}/response.py",
        "        value = rename_reserved_keys(value)\n",
        "        value = dict(value)\n",
        "_http/test_json.py _api/test_records.py",
    ),
    # The service as data.
    Fault(
        "management-node-becomes-a-host",
        "kvm_host with the address localhost makes the management node a hypervisor",
        f"{_API}/limits.py",
        "    if is_localhost(value):",
        "    if not value:",
        "modules/test_management_addresses.py",
    ),
    Fault(
        "apostrophe-in-a-name",
        "an object whose name has an apostrophe is not found",
        f"{_API}/conditions.py",
        """        return "services fail on an apostrophe" if "'" in value else None""",
        "        return None",
        "_api/test_conditions.py _client/test_name_lookup.py",
    ),
    Fault(
        "uuids-in-several-forms",
        "a condition on a uuid with hyphens finds nothing",
        f"{_API}/conditions.py",
        "    unify = unify_uuid if is_reference(field.rpartition",
        "    unify = str.strip if is_reference(field.rpartition",
        "_api/test_conditions.py",
    ),
    Fault(
        "addresses-in-capitals-differ",
        "a MAC address in capitals is a change in each run",
        f"{_API}/records.py",
        "    text = text.strip().lower()\n",
        "    text = text.strip()\n",
        "modules/test_modules_vms.py",
    ),
    # Secrets and texts of the service.
    Fault(
        "short-secret-masks-every-text",
        "a password of two characters masks parts of unrelated words",
        f"{_MASKING}/masker.py",
        "            if len(secret) >= MIN_SECRET_LENGTH or _is_whole_word(text, *span)",
        "            if secret",
        "_masking/test_masking.py",
    ),
    Fault(
        "password-in-a-form-is-shown",
        "a password that a service repeats in the form of a URL is shown",
        f"{_MASKING}/masker.py",
        '        quote_plus(secret, errors="replace"),\n',
        "",
        "_masking/test_masking.py",
    ),
    Fault(
        "escapes-reach-the-terminal",
        "the name of an object can clear the terminal",
        "plugins/module_utils/_modules/run.py",
        'result["msg"] = escape_controls(result["msg"])',
        'result["msg"] = str(result["msg"])',
        "modules/test_modules_errors.py::test_texts_of_the_service_do_not_control_the_terminal",
    ),
    Fault(
        "events-hold-templates",
        "a text in an event is evaluated as a template by a playbook",
        "plugins/plugin_utils/_eda/texts.py",
        '        return _BEGINNINGS.sub(r"\\g<0> ", value)',
        "        return value",
        "_eda/test_event_texts.py",
    ),
    # Whole runs.
    Fault(
        "keyed-groups-without-earlier-groups",
        "a keyed group that refers to the groups of its host does not see those of other expressions",
        "plugins/plugin_utils/_jinja/compose.py",
        'may_reference(later, ["group_names"])',
        'may_reference([], ["group_names"])',
        "_inventory/test_inventory_constructing.py",
    ),
    Fault(
        "deleted-vms-in-the-inventory",
        "VMs that were deleted are hosts of the inventory",
        "plugins/plugin_utils/_inventory/services.py",
        "            usable = list(filter(resource_type.is_usable, page)) if skips_deleted else page",
        "            usable = page",
        "inventory",
    ),
    Fault(
        "session-survives-sigterm",
        "a run that is ended by SIGTERM leaves its session in the service",
        "plugins/plugin_utils/_run/signals.py",
        "        for number in (signal.SIGTERM, signal.SIGHUP):",
        "        for number in (signal.SIGHUP,):",
        "tests/functional/test_sessions_of_runs.py",
        "functional-2.21",
    ),
    Fault(
        "unconfirmed-results-are-believed",
        "anyone who knows the URL of the receiver can forge the end of a job",
        "plugins/plugin_utils/_eda/receiver.py",
        "        if self._client and not self._spool.knows(post.job.uuid):",
        "        if self._client is None and not self._spool.knows(post.job.uuid):",
        "tests/eda/test_job_results.py",
        "eda",
    ),
)
