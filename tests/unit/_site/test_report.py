"""Outcomes of objects, and what is said about them."""

from __future__ import annotations

from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.report import Entry, Outcome, Report


def build_report(*outcomes: Outcome) -> Report:
    """Return a report of VMs."""
    return Report(
        "VMs",
        [Entry(outcome, f"vm-{number} (u{number})", {"vm": f"vm-{number}"}) for number, outcome in enumerate(outcomes)],
    )


def test_an_object_can_have_changed_and_failed() -> None:
    outcome = Outcome()
    outcome.note({"changed": True, "failed": False})
    outcome.note({"changed": False, "failed": True, "msg": "first"})
    outcome.fail("second")
    assert (outcome.name, outcome.is_changed, outcome.error) == ("failed", True, "first")
    result = build_report(outcome).build_result()
    assert (result["changed"], result["failed_count"]) == (True, 1)


def test_each_failure_is_named_once() -> None:
    report = build_report(Outcome(error="full"), Outcome(error="gone\x1b[2J"), Outcome(), Outcome(error="full"))
    assert report.describe() == "3 of 4 VMs failed: vm-0, vm-3: full; vm-1: gone\\x1b[2J"
    assert report.list_failures() == ["vm-0 (u0), vm-3 (u3): full", "vm-1 (u1): gone\\x1b[2J"]


def test_what_was_done_to_how_many() -> None:
    assert build_report(Outcome(is_changed=True), Outcome(), Outcome()).describe() == "3 VMs, 1 changed, 2 unchanged"
    assert build_report().describe() == "0 VMs"


def test_the_message_has_the_first_reasons() -> None:
    """Notifications, JUnit files and log collectors show nothing else of a failed role."""
    failed = [Outcome(error=f"reason {number}.") for number in range(4)]
    assert build_report(*failed, Outcome(error="vm-4 is locked")).describe() == (
        "5 of 5 VMs failed: vm-0: reason 0; vm-1: reason 1; vm-2: reason 2; and 2 more reasons"
    )
    assert build_report(Outcome(error="vm-0 is locked")).describe() == "1 of 1 VMs failed: vm-0 is locked"
