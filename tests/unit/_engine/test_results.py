# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a task returns about its object."""

from __future__ import annotations

from ansible_collections.virtinfra.manager.plugins.module_utils._engine.plan import PlannedCall
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.results import (
    find_unmet_expectations,
    format_diff,
)
from ansible_collections.virtinfra.manager.plugins.modules.host_nic_service import SERVICES
from ansible_collections.virtinfra.manager.plugins.modules.kvm_host import KVM_HOST


def test_diff_of_a_created_object_has_no_empty_fields() -> None:
    record = {"uuid": "a" * 32, "name": "host-1", "description": None}
    renamed = {**record, "name": "host-2"}
    assert format_diff(KVM_HOST, None, record) == {"before": {}, "after": {"uuid": "a" * 32, "name": "host-1"}}
    assert format_diff(KVM_HOST, record, None) == {"before": {"uuid": "a" * 32, "name": "host-1"}, "after": {}}
    both = format_diff(KVM_HOST, record, renamed)
    assert both["before"]["description"] is both["after"]["description"] is None


def test_diff_of_a_result_that_is_a_list() -> None:
    services = [{"interfaceUuid": "a" * 32, "vlanId": 0, "serviceType": "StorageNetwork"}]
    shown = {"services": [{"interface_uuid": "a" * 32, "vlan_id": 0, "service_type": "StorageNetwork"}]}
    diff = format_diff(SERVICES, {"services": services}, {"services": []})
    assert diff == {"before": shown, "after": {}}


def test_values_that_a_successful_call_did_not_set_are_named() -> None:
    record = {"uuid": "a" * 32, "name": "host-1", "description": "old", "state": "Disabled"}
    update = PlannedCall("UpdateHost", {}, {**record, "name": "host-2", "description": "new"})
    enable = PlannedCall("ChangeHostState", {}, {**record, "state": "Enabled"})
    done = PlannedCall("UpdateHost", {}, dict(record))
    assert list(find_unmet_expectations(KVM_HOST, "enabled", record, [update, enable, done])) == [
        (
            "UpdateHost succeeded, but name is 'host-1' (expected 'host-2'), description is 'old' (expected 'new')",
            False,
        ),
        ("ChangeHostState succeeded, but state is 'Disabled' (expected 'Enabled')", True),
    ]
