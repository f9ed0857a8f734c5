"""How each volume is copied, and why."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import (
    Base,
    Export,
    VolumePlan,
    Wish,
    choose_dirty_context,
    plan_volume,
)

NEW, OLD = Base("20260102T000000Z", "new", 100), Base("20260101T000000Z", "old", 90)
UNKNOWN = Base("20260102T000000Z", None, 100)
LARGER = Base("20260101T000000Z", "larger", 120)
UUID = "a" * 32


def export(is_incremental: bool = True, bitmap: str | None = None) -> Export:
    """Return the export of a session."""
    return Export(UUID, 0, "192.0.2.1", 10501, "scratch", "next", bitmap, is_incremental)


def plan(
    bases: list[Base],
    wish: Wish,
    *,
    size: int = 100,
    contexts: tuple[str, ...] = (),
    was_restored: bool = False,
    **how: Any,
) -> VolumePlan:
    """Return the plan of a volume."""
    named = {f"qemu:dirty-bitmap:{context}" for context in contexts}
    return plan_volume(export(**how), size, bases, wish, named, was_restored)


@pytest.mark.parametrize(
    ("bases", "wish", "how", "mode", "base", "reason"),
    [
        ([], Wish(), {}, "full", None, "no whole point with the volume"),
        ([], Wish("compared"), {}, "full", None, "no whole point with the volume"),
        ([NEW], Wish("full"), {}, "full", None, "the task asks"),
        ([NEW], Wish("compared"), {}, "compared", NEW, "the task asks"),
        ([NEW], Wish("compared"), {"size": 99}, "full", None, "shrank from 100 to 99"),
        ([NEW], Wish(), {"is_incremental": False}, "compared", NEW, "offers no increment"),
        ([NEW], Wish(), {"was_restored": True, "contexts": ("new",)}, "compared", NEW, "restored after"),
        ([NEW], Wish(), {"contexts": ("new",)}, "incremental", NEW, "the bitmap of the export"),
        ([NEW, OLD], Wish(sent_checkpoint="new"), {"contexts": ("new",)}, "incremental", NEW, "of the export"),
        # The increment counts from an older point: it is right above that point only.
        ([NEW, OLD], Wish(sent_checkpoint="old"), {"contexts": ("old",)}, "incremental", OLD, "of the export"),
        ([NEW, OLD], Wish(sent_checkpoint="other"), {"contexts": ("other",)}, "compared", NEW, "checkpoint other"),
        ([NEW], Wish(sent_checkpoint="new"), {"bitmap": "map"}, "incremental", NEW, "the bitmap of the reply"),
        # From where the bitmap of a reply counts is only known to the one who has sent the checkpoint.
        ([NEW], Wish(), {"bitmap": "map"}, "compared", NEW, "offers no bitmap"),
        ([NEW], Wish(sent_checkpoint="new"), {}, "compared", NEW, "offers no bitmap"),
        ([NEW], Wish(), {"size": 101, "contexts": ("new",)}, "incremental", NEW, "of the export"),
        ([UNKNOWN], Wish(), {}, "compared", UNKNOWN, "checkpoint None"),
        # The volume was larger at the point from which the increment counts, and grew again since.
        (
            [NEW, LARGER],
            Wish(sent_checkpoint="larger"),
            {"contexts": ("larger",)},
            "full",
            None,
            "shrank from 120 to 100",
        ),
    ],
)
def test_the_mode_of_a_volume(
    bases: list[Base], wish: Wish, how: dict[str, Any], mode: str, base: Base | None, reason: str
) -> None:
    planned = plan(bases, wish, **how)
    assert (planned.mode, planned.base, planned.base_size) == (mode, *((base.stamp, base.size) if base else (None, 0)))
    assert reason in planned.reason
    context = f"qemu:dirty-bitmap:{base.checkpoint}" if base and reason.endswith("of the export") else None
    assert planned.dirty_context == context


def test_the_bitmap_that_is_asked_for() -> None:
    assert choose_dirty_context(export(), [NEW, OLD], Wish()) == "qemu:dirty-bitmap:new"
    assert choose_dirty_context(export(), [NEW, OLD], Wish(sent_checkpoint="old")) == "qemu:dirty-bitmap:old"
    assert choose_dirty_context(export(), [], Wish()) is None
    assert choose_dirty_context(export(is_incremental=False), [NEW], Wish()) is None


def test_an_export_of_a_reply() -> None:
    info = {
        "volume": {"volume_uuid": UUID, "device_id": 1},
        "nbd_server": "192.0.2.1",
        # A text in the SDKs of older servers.
        "nbd_port": "10501",
        "scratch_node_name": "scratch",
        "bitmap_name": "next",
        "bitmap_base64": "map",
        "mode": "incremental",
    }
    assert Export.from_info(info) == Export(UUID, 1, "192.0.2.1", 10501, "scratch", "next", "map", True)
    by_resource = {**info, "volume": {"resource_uuid": UUID}}
    assert Export.from_info(by_resource).volume_uuid == UUID
    for wrong, message in (
        ({"nbd_port": None}, "lacks nbd_port"),
        ({"volume": {"volume_uuid": "../../etc"}}, "must have a uuid"),
        ({"volume": None}, "must have a uuid"),
    ):
        with pytest.raises(BackupFailure, match=message):
            Export.from_info({**info, **wrong})
