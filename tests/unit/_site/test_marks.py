"""How roles mark objects, on services of both kinds, and how they find actions that are in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions, VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import ModuleContext
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import Task
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site import marks as marks_module
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.marks import JobIds, Mark, Marks, derive_job
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.collection import load_spec
from support.module_runner import ModuleRunner

VMS = [seeded_uuid("vm", number) for number in range(1, 5)]
TEXT = "virtinfra.manager vm_power default 01 Running"

# How services of the two kinds differ: one adds user tags, the other attaches tag patterns.
SERVICES = {"adds tags": [], "attaches patterns": ["CreateUserTag"]}

NewMarks = Callable[..., Marks]


@pytest.fixture(params=[*SERVICES.values()], ids=[*SERVICES])
def service(request: pytest.FixtureRequest, sim: Simulator) -> Simulator:
    """A simulator of each kind, without user tags."""
    sim.reset(user_tags=0, missing_operations=request.param)
    return sim


@pytest.fixture
def new_marks(sim: Simulator) -> Iterator[NewMarks]:
    """Return a function that begins a run and returns its marks: each is another controller with an empty home."""
    tasks = []

    def begin(label: str = "default", check_mode: bool = False, role: str = "vm_power") -> Marks:
        spec = load_spec("workflow")
        defaults = {name: rules.get("default") for name, rules in spec.argument_spec.items()}
        given = {**defaults, "base_url": sim.url, "session_id": sim.session, "role": role}
        task = Task(spec, given, check_mode=check_mode)
        opened = task.open_client(Hooks(Masker()))
        tasks.append(opened)
        site = Site(
            ModuleContext(task.params, {}, opened.__enter__(), check_mode), partial(run_objects, lambda dummy: {})
        )
        return Marks(site, role, label, "VmInstanceVO", 10)

    yield begin
    for opened in tasks:
        opened.__exit__(None, None, None)


def tags_of(sim: Simulator) -> list[tuple[int, str]]:
    """Return the user tags of VMs, each as the number of the VM and the text."""
    return sorted((VMS.index(tag["resourceUuid"]) + 1, tag["tag"]) for tag in sim.records("usertag"))


def list_calls(sim: Simulator) -> list[str]:
    """Return the operations that were called with another method than GET."""
    return [str(entry["operation"]) for entry in sim.log() if entry["method"] != "GET"]


def mark_all(new_marks: NewMarks, *numbers: int, note: str = "01 Running") -> list[Mark]:
    """Mark VMs, and return their marks."""
    marks = new_marks()
    return list(marks.set({VMS[number - 1]: note for number in numbers}, marks.find()).marks.values())


def test_marks_are_set_found_and_taken_off(service: Simulator, new_marks: NewMarks) -> None:
    first = new_marks("patch-night")
    marking = first.set(dict(zip(VMS, ["01 Running", "01 Running", "12 Paused"], strict=False)), first.find())
    assert (list(marking.marks), marking.problems) == (VMS[:3], {})
    text = "virtinfra.manager vm_power patch-night"
    assert tags_of(service) == [(1, f"{text} 01 Running"), (2, f"{text} 01 Running"), (3, f"{text} 12 Paused")]
    other = new_marks()
    found = other.find()
    assert sorted((mark.label, mark.place, mark.was) for mark in found) == [
        ("patch-night", 1, "Running"),
        ("patch-night", 1, "Running"),
        ("patch-night", 12, "Paused"),
    ]
    assert other.list_own(found) == []
    assert other.take_off([mark for mark in found if mark.object_uuid != VMS[0]]) == {}
    assert tags_of(service) == [(1, f"{text} 01 Running")]
    # Roles that stop VMs see the marks of each other, and no others.
    shutdown = new_marks(role="site_shutdown")
    assert [mark.object_uuid for mark in shutdown.find()] == [VMS[0]]
    assert shutdown.list_own(shutdown.find()) == []
    assert new_marks(role="host_evacuation").find() == []


def test_tag_patterns_need_few_requests(sim: Simulator, new_marks: NewMarks) -> None:
    sim.reset(vms=230, user_tags=0, missing_operations=["CreateUserTag"])
    marks = new_marks()
    uuids = [record["uuid"] for record in sim.records("vm")]
    sim.clear_log()
    found = marks.set(dict.fromkeys(uuids, "01 Running"), []).marks.values()
    assert list_calls(sim)[-4:] == ["CreateTag", *["AttachTagToResources"] * 3]
    sim.clear_log()
    assert marks.take_off([*found]) == {}
    assert list_calls(sim) == ["DetachTagFromResources"] * 3
    sim.clear_log()
    new_marks().set(dict.fromkeys(uuids[:2], "01 Running"), [])
    assert "CreateTag" not in list_calls(sim)


def test_an_object_has_one_mark(service: Simulator, new_marks: NewMarks) -> None:
    """The mark is that of the last run that acts on the object, which replaces a stale mark. A right mark remains."""
    mark_all(new_marks, 1, 2)
    service.clear_log()
    mark_all(new_marks, 1, 2)
    assert list_calls(service) == []
    again = new_marks()
    marking = again.set({VMS[0]: "02 Running"}, again.find())
    assert marking.marks[VMS[0]].place == 2
    other = new_marks("other")
    assert other.set({VMS[1]: "01 Running"}, other.find()).problems == {}
    assert tags_of(service) == [
        (1, TEXT.replace("01", "02")),
        (2, TEXT.replace("default", "other")),
    ]


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (["CreateUserTag", "CreateTag"], "does not offer CreateTag"),
        (["CreateUserTag", "AttachTagToResources"], "does not offer"),
        ("ID.1002", "not permitted"),
        ("SYS.1019", "not permitted"),
    ],
)
def test_a_service_that_permits_no_marks(
    sim: Simulator, new_marks: NewMarks, refused: list[str] | str, reason: str
) -> None:
    if isinstance(refused, str):
        sim.fault("fail", operation="CreateUserTag", count=None, error={"code": refused, "details": "not permitted"})
    else:
        sim.reset(missing_operations=refused)
    marks = new_marks()
    with pytest.raises(
        VirtinfraError, match=r"(?s)Nothing was changed, because no object could be marked\..*" + reason
    ):
        marks.set(dict.fromkeys(VMS[:2], "01 Running"), marks.find())


def test_an_object_that_cannot_be_marked(service: Simulator, new_marks: NewMarks) -> None:
    """For example because it has too many tags."""
    refusal = {"code": "SYS.1006", "details": "the limit of tags"}
    if "CreateUserTag" in service.health()["switches"]["missing_operations"]:
        service.configure(tags_per_object=1)
        ModuleRunner(service)("vm", {"uuid": VMS[1], "tags": ["mine"]})
    else:
        service.fault("fail", operation="CreateUserTag", skip=1, error=refusal)
    marks = new_marks()
    marking = marks.set(dict.fromkeys(VMS[:3], "01 Running"), [])
    ((failed, reason),) = marking.problems.items()
    assert "limit" in reason
    assert sorted([failed, *marking.marks]) == VMS[:3]


def test_marks_that_cannot_be_read_are_not_absent(service: Simulator, new_marks: NewMarks) -> None:
    service.fault("fail", operation="QueryUserTag", count=None, error={"code": "SYS.1000", "details": "no"})
    with pytest.raises(VirtinfraError):
        new_marks().find()


def test_a_mark_that_cannot_be_taken_off(service: Simulator, new_marks: NewMarks) -> None:
    found = mark_all(new_marks, 1, 2)
    for operation in ("DeleteTag", "DetachTagFromResources"):
        service.fault("fail", operation=operation, count=None)
    problems = new_marks().take_off(found)
    assert sorted(problems) == VMS[:2]
    assert "failed on demand" in problems[VMS[0]]


def test_check_mode_marks_nothing(service: Simulator, new_marks: NewMarks) -> None:
    found = mark_all(new_marks, 1)
    service.clear_log()
    marks = new_marks(check_mode=True)
    assert marks.set({VMS[1]: "01 Running"}, marks.find()).problems == {}
    assert marks.take_off(found) == marks.settle(found, 10) == {}
    assert list_calls(service) == []


@pytest.mark.parametrize("label", ["", "Night", "a b", "-a", "a=b", "x" * 41])
def test_labels(new_marks: NewMarks, label: str) -> None:
    with pytest.raises(InvalidOptions, match="vm_power_label must have at most 40 of the characters"):
        new_marks(label)


def test_tags_of_a_person_are_no_marks(sim: Simulator, new_marks: NewMarks) -> None:
    """The service ignores case, and takes the underscore for any character."""
    tags = ["Virtinfra.manager vm_power default 01 Running", "virtinfra.manager vmXpower default 01 Running"]
    sim.reset(user_tags=0)
    ModuleRunner(sim)("vm", {"uuid": VMS[0], "tags": [*tags, "virtinfra.manager vm_power default"]})
    assert new_marks().find() == []


def test_a_service_without_user_tags_has_no_marks(sim: Simulator, new_marks: NewMarks) -> None:
    sim.reset(missing_operations=["QueryUserTag", "CreateUserTag"])
    assert new_marks().find_if_possible() == []


# ---------------------------------------------------------------------------------------------------------------- tags


@pytest.mark.parametrize("mode", ["exact", "add"])
def test_the_tags_of_a_user_leave_marks_alone(service: Simulator, new_marks: NewMarks, mode: str) -> None:
    mark_all(new_marks, 1)
    ran = ModuleRunner(service).twice("vm", {"uuid": VMS[0], "tags": ["mine"], "tags_mode": mode})
    assert ran["vm"]["tags"] == ["mine", TEXT]
    assert len(new_marks().find()) == 1


def test_a_mark_is_removed_by_its_name(service: Simulator, new_marks: NewMarks) -> None:
    mark_all(new_marks, 1)
    ModuleRunner(service).twice("vm", {"uuid": VMS[0], "tags": [TEXT], "tags_mode": "remove"})
    assert new_marks().find() == []


# ------------------------------------------------------------------------------------------------------------- actions


def act(marks: Marks, found: list[Mark], jobs: dict[str, JobIds] | None = None) -> list[dict[str, Any]]:
    """Stop marked VMs, with the ids of their marks for the calls."""
    objects = [{"uuid": mark.object_uuid, "state": "stopped", "wait_timeout": 1} for mark in found]
    return list(marks._site.batch("vm", objects, 10, jobs or marks.choose_jobs(found)))


def test_an_action_in_flight_is_found_by_another_run(sim: Simulator, new_marks: NewMarks) -> None:
    """Until the action has ended, the present state of the object does not show the state that it will have."""
    first = new_marks()
    found = [*first.set(dict.fromkeys(VMS[:2], "01 Running"), []).marks.values()]
    sim.configure(latency=1000.0)
    assert [result["error"]["code"] for result in act(first, found[:1])] == ["TIMEOUT"]
    problems = new_marks().settle(found, 5)
    assert problems == {
        VMS[0]: f"an action of an earlier run is still in flight (job {derive_job(found[0], 0)})",
    }
    sim.advance()
    assert new_marks().settle(found, 5) == {}


def test_an_action_in_flight_is_awaited(sim: Simulator, new_marks: NewMarks) -> None:
    first = new_marks()
    found = [*first.set({VMS[0]: "01 Running"}, []).marks.values()]
    sim.configure(latency=0.2)
    sim.fault("slow", operation="StopVmInstance", seconds=0.0)
    assert act(first, found)[0]["failed"] in (True, False)
    assert new_marks().settle(found, 10000) == {}
    assert next(vm["state"] for vm in sim.records("vm") if vm["uuid"] == VMS[0]) == "Stopped"


def test_each_call_has_the_next_id(sim: Simulator, new_marks: NewMarks) -> None:
    """Calls of another run have it, too, and so have calls after one that the service refused without a job."""
    first = new_marks()
    found = [*first.set({VMS[0]: "01 Running"}, []).marks.values()]
    refusal = {"code": "SYS.1006", "details": "the guest is busy"}
    sim.fault("fail", operation="StopVmInstance", count=3, error=refusal)
    act(first, found)
    act(first, found)
    act(new_marks(), found)
    sim.configure(latency=1000.0)
    jobs = new_marks().choose_jobs(found)
    # A call that begins no job.
    jobs[VMS[0]]()
    act(first, found, jobs)
    ids = [entry["headers"]["x-job-uuid"] for entry in sim.log() if entry["operation"] == "StopVmInstance"]
    assert ids == [derive_job(found[0], number) for number in (0, 1, 2, 4)]
    assert {UUID(hex=each).version for each in ids} == {4}
    assert list(new_marks().settle(found, 1)) == [VMS[0]]


def test_a_job_that_cannot_be_read_may_be_in_flight(sim: Simulator, new_marks: NewMarks) -> None:
    found = mark_all(new_marks, 1)
    sim.fault("status", operation="poll", count=None, status=500)
    problems = new_marks().settle(found, 5)
    assert "it is not known whether an action of an earlier run has ended" in problems[VMS[0]]


def test_a_service_forgets_jobs(sim: Simulator, new_marks: NewMarks) -> None:
    """A job that the service does not know any more does not run."""
    first = new_marks()
    found = [*first.set({VMS[0]: "01 Running"}, []).marks.values()]
    sim.configure(latency=1000.0)
    act(first, found)
    sim.configure(job_lifetime=0.0)
    assert new_marks().settle(found, 5) == {}


def test_notes_have_no_operators(new_marks: NewMarks) -> None:
    for note in ("a=b", "a  b", "", "x" * 128):
        with pytest.raises(InvalidOptions, match="has characters that a mark cannot have"):
            new_marks().set({VMS[0]: note}, [])
    assert marks_module.format_place(3, "Running") == "03 Running"
