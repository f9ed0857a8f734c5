"""The way of a call through the rooms: from those that know more to those that know less, and seldom back."""

from __future__ import annotations

import re
import sys
import threading
from functools import partial
from types import FrameType
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects

from simulator.launch import Simulator
from support.module_runner import run_module

# The rooms through which an object of a batch goes. Each knows those before it.
ROOMS = ("_masking", "_api", "_http", "_client", "_engine", "_resources", "_modules", "_batch")
FILE = re.compile(rf"/(?:module|plugin)_utils/({'|'.join(ROOMS)})/")

# The calls from a room to one that knows more, by the names of the functions: the engine asks what a module describes,
# and which object of the batch has its target.
RETURNS = {
    ("combine_finders.<locals>.read", "read_records.<locals>.<lambda>"),
    ("plan", "plan_host"),
    ("find_ignored", "find_ignored_login"),
    ("ObjectReader._find", "find_host"),
    ("ObjectReader.find_matches", "find_host"),
    ("_claim", "Targets.build_claim.<locals>.claim"),
}


def find_rank(frame: FrameType | None) -> int:
    """Return the place of the room with the code of a frame, -1 if it is in none."""
    found = FILE.search(frame.f_code.co_filename) if frame else None
    return ROOMS.index(found[1]) if found else -1


def name_code(frame: FrameType) -> str:
    """Return the qualified name of a function, which Python 3.10 does not know."""
    return str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))


class Walk:
    """The calls of the threads of a batch that go from a room to one that knows more."""

    def __init__(self) -> None:
        self.returns: set[tuple[str, str]] = set()

    def note(self, frame: FrameType, event: str, dummy: Any) -> None:
        """Note a call, as a profile function. Code that is in no room belongs to the room that has called it."""
        caller = frame.f_back
        while caller and find_rank(caller) < 0:
            caller = caller.f_back
        if event == "call" and caller and find_rank(frame) > find_rank(caller):
            self.returns.add((name_code(caller), name_code(frame)))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no qualified name")
def test_an_object_of_a_batch_seldom_returns_to_a_room_that_knows_more(sim: Simulator) -> None:
    walk = Walk()
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
    host = {"name": "new-1", "management_ip": "10.9.0.1", "cluster": "cluster-1", "username": "root", "password": "x"}
    threading.setprofile(walk.note)
    try:
        options = {**connection, "module": "kvm_host", "objects": [host]}
        ran = run_module("batch", options, run=partial(run_objects, lambda name: {}))
    finally:
        threading.setprofile(None)
    assert ran.result["msg"] == "1 changed"
    assert walk.returns <= RETURNS
    assert len(RETURNS) <= 6
