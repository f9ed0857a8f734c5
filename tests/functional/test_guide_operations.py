"""The playbook of the guide about operations creates each object once."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import yaml

from support.collection import ROOT
from support.other_service import OtherService
from support.playbook_runner import PlaybookRunner


def read_playbook() -> dict[str, Any]:
    """Return the play in the guide."""
    text = (ROOT / "docs" / "docsite" / "rst" / "guide_operations.rst").read_text(encoding="utf-8")
    blocks = re.findall(r"code-block:: yaml\n\n((?:   .*\n|\n)+)", text)
    (play,) = (block for block in blocks if "hosts:" in block)
    ((loaded,),) = [yaml.safe_load(textwrap.dedent(play))]
    return dict(loaded)


def test_second_run_creates_nothing(playbook_runner: PlaybookRunner) -> None:
    play = read_playbook()
    given = {"l2_network_uuid": "1" * 32, "primary_storage_uuid": "2" * 32, "image_uuid": "3" * 32}
    with OtherService() as other:
        for collection in ("l3-networks", "volumes", "vm-instances"):
            other.records[collection] = {}
        defaults = {"group/virtinfra.manager.api": {**playbook_runner.defaults, "base_url": other.url}}
        for expected in (3, 3):
            run = playbook_runner.play(*play["tasks"], vars={**play["vars"], **given}, module_defaults=defaults)
            assert {played.status for played in run} <= {"ok", "skipped"}, run.output
            assert len(other.performed) == expected
        assert sorted(other.records) == ["l3-networks", "vm-instances", "volumes"]
        (vm,) = other.records["vm-instances"].values()
        assert vm["l3NetworkUuids"] == list(other.records["l3-networks"])
