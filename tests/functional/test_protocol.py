"""The guarantees of every module, tested with its own EXAMPLES: check, run, run again, check again.

Two services are used: one like real servers, and one that follows the document literally and offers only the documented
operations. How Ansible runs a task depends neither on the service nor on the module, so Ansible runs one module of each
kind with the first service, and the others at night; the rest runs in the process of the tests. The first example of
one module of each kind also runs in a module process.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import MemoryStore
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions

from simulator.launch import Simulator
from support.collection import COMMON_MEMBERS, MODULES, Module, module, shape_differences
from support.inventory_sources import trust
from support.module_runner import ModuleRunner
from support.playbook_runner import PlaybookRunner, Played, Run
from support.return_docs import load_returns

SESSION, TOKEN = "c81e728d9d4c2f636f067f89cc14862c", "eccbc87e4b5ce2fe28308fd9f2a7baf3"

# The variables of the examples; all of them are secret.
VARIABLES = {"ipmi_password": "Tr0ub4dor&3/ipmi", "ssh_password": "Tr0ub4dor&3/ssh", "chat_key": "8f14e45f-ceea-chat"}

AS_SERVERS_ARE, LITERAL = "as servers are", "literally"
SERVICES: dict[str, dict[str, Any]] = {AS_SERVERS_ARE: {}, LITERAL: {"literal": True}}

# Options that replace those of EXAMPLES in literal mode.
INSTEAD: dict[tuple[str, str], dict[str, Any]] = {
    (LITERAL, "vm"): {
        "task_type": "VmInstance",
        "vms": ["a0000004000040008000000000000001"],
    }
}
REPLACED_IN = {"cbt_task"}

# The document lists no operation that reads SNMP endpoints, platforms, persons or snapshot groups, and no query of
# hosts and VMs, which could check conditions on related objects. With a service that offers only the documented
# operations, the tasks of these examples fail and say why; the documentation of the modules says so too.
NEEDING_A_QUERY = {
    "host_info": {
        "List at most ten enabled hosts of a cluster": "only the service can check the condition 'cluster.name=",
        "List all hosts with their user tags": "the service does not offer QueryUserTag",
    },
    "vm_info": {
        "Find the console of a VM": "the service does not offer GetVmConsoleAddress",
        "List the running VMs of a host": "only the service can check the condition 'host.name=host-1'",
        "List the VMs that the role vm_power has stopped": "only the service can check the condition '__userTag__=",
    },
    "sns_endpoint": dict.fromkeys(
        (
            "Notify by SNMP",
            "Send the alarms of a topic by SNMP",
            "Stop the messages of an endpoint",
            "Give an existing endpoint of any type another address",
            "Remove an endpoint",
        ),
        "the service does not offer QuerySNSApplicationEndpoint",
    ),
    "sns_snmp_platform": dict.fromkeys(
        (
            "Send traps to another receiver",
            "Create a platform",
            "Stop its traps",
            "Remove a platform and its endpoints",
        ),
        "the service does not offer QuerySNSSnmpPlatform",
    ),
    "sns_topic": dict.fromkeys(
        ("Create a topic", "Stop its messages", "Remove a topic to which endpoints subscribe"),
        "the service does not offer QuerySNSTopic",
    ),
    "sns_teamchat_person": {
        "Replace the person on call": "the service cannot list persons, so it is not known whether user_id changes",
        "Change the remark of a person": "the service does not offer QuerySNSTeamchatAtPerson",
        "Mention another person": "the service does not offer QuerySNSTeamchatAtPerson",
        "Mention a person no longer": "the service does not offer QuerySNSTeamchatAtPerson",
    },
    "vm_snapshot_group": dict.fromkeys(
        (
            "Take snapshots of all volumes of a VM",
            "Set the stopped VM back to the snapshots",
            "Remove a snapshot group, and keep the later ones",
            "Remove a snapshot group and all later ones",
        ),
        "the service does not offer QueryVolumeSnapshotGroup",
    )
    | {"Rename a snapshot group": "the service does not offer UpdateVolumeSnapshotGroup"},
    "resource": {
        "Create an offering for data volumes": "the service does not offer QueryDiskOffering",
        "Open the ports of a web server": "the service does not offer QuerySecurityGroup",
        "Detach a volume from its VM": "the service does not offer QueryVolume",
        "Attach it to another one": "the service does not offer QueryVolume",
        "Start a VM again when its host fails": "the service does not offer GetVmInstanceHaLevel",
        "Delete an image, so that it can be recovered for some days": "the service does not offer QueryImage",
        "Recover it": "the service does not offer QueryImage",
        "Remove a network and all that belongs to it": "the service does not offer QueryL3Network",
    },
    "vm_nic_info": dict.fromkeys(
        ("List the NICs of a VM", "Find the VM that has an address", "List the disabled NICs of a network"),
        "the service does not offer QueryVmNic",
    ),
    "vm_snapshot_group_info": {
        "List the snapshot groups of a VM": "the service does not offer QueryVolumeSnapshotGroup",
        "Find a snapshot group by its name": "the service does not offer QueryVolumeSnapshotGroup",
        "List the snapshot groups whose names begin with nightly": (
            "the service does not offer QueryVolumeSnapshotGroup"
        ),
    },
}
# The document has no operation that removes these objects. Only the call shows that a service lacks it, so check mode
# predicts the change until an earlier task of the run has failed.
NEEDING_A_COMPANION = {
    "cbt_volume_export": {"End the export of a volume": "the service does not offer UnexportNbdVolumes"},
    "kvm_host": {
        "Switch a host off after its VMs have moved to other hosts": "the service does not offer ShutdownHost",
        "Remove a host after its VMs have moved to other hosts, unless VMs or volumes lie on its local storage": (
            "the service does not offer DeleteHost"
        ),
    },
    "vm": {
        "Create a VM of an image": "the service does not offer QueryUserTag",
        "Create a VM to be installed from an ISO": "the service does not offer CreateVmInstance",
        "Clone a VM": "the service does not offer",
        "Start a VM": "the service does not offer StartVmInstance",
        "Stop a VM and change its size": "the service does not offer",
        "Migrate a running VM to another host": "the service does not offer MigrateVm",
        "Rename a VM": "the service does not offer UpdateVmInstance",
        "Give a VM exactly these tags": "the service does not offer QueryUserTag",
        "Remove a VM and its data volumes for good": "the service does not offer",
    },
    "volume": {
        "Give a VM another disk": "the service does not offer",
        "Let a disk grow": "the service does not offer ResizeDataVolume",
        "Detach a disk": "the service does not offer DetachDataVolumeFromVm",
        "Delete a disk, so that it can be recovered for some days": "the service does not offer QueryVmInstance",
        "Remove a disk for good, although a VM has it": "the service does not offer",
    },
    "vm_nic": {"Remove a NIC": "the service does not offer DetachL3NetworkFromVm"},
    "vm_nic_qos": {
        "Limit the traffic in both directions": "the service does not offer GetNicQos",
        "Remove the limit of incoming traffic": "the service does not offer GetNicQos",
    },
}

# In literal mode, the query of workchat endpoints returns an empty object.
NO_RESULT = "the response to QuerySNSWorkchatEndpoint has no inventories"
REFUSED: dict[str, dict[str, dict[str, str]]] = {
    AS_SERVERS_ARE: {},
    LITERAL: {
        **NEEDING_A_QUERY,
        **NEEDING_A_COMPANION,
        "sns_endpoint": {**NEEDING_A_QUERY["sns_endpoint"], "Notify a chat room": NO_RESULT},
        "sns_endpoint_info": {"List endpoints of all types": NO_RESULT, "Find an endpoint by its name": NO_RESULT},
    },
}

# The test of an SNMP platform sends a trap, and changes nothing.
CALLS_WITHOUT_CHANGE = {"sns_snmp_test"}

# No record shows whether a VM was set back.
CHANGES_EACH_TIME = {"Set the stopped VM back to the snapshots"}

# The fields that the service itself sets.
UNPREDICTABLE = {"last_op_date", "create_date"}

# The VMs and the scratch volumes of a CBT task, which the document does not show.
HIDDEN = (".resource_uuids", ".vm_instance_uuid", ".scratch_volumes")
TIMESTAMP = re.compile(r"[A-Z][a-z]{2} \d{1,2}, \d{4},? \d{1,2}:\d\d:\d\d\s[AP]M")


@dataclass(frozen=True)
class ExampleRun:
    """An example of a module, run in steps: check, run, again, check again; only two steps if the module reads."""

    name: str
    steps: Mapping[str, Played]

    def result(self, step: str) -> dict[str, Any]:
        """Return the result of a step."""
        return self.steps[step].result

    @property
    def refused(self) -> bool:
        """Whether the module failed."""
        return self.steps["run"].status == "failed"

    @property
    def called_missing_operation(self) -> bool:
        """Whether the module failed because it called an operation that the service lacks."""
        return self.refused and len(self.steps["run"].written) == 1 and "operation" in self.result("run")

    @property
    def acted_without_comparing(self) -> bool:
        """Whether the module acted without knowing the state of the object, and warned about it."""
        return any("is not known" in warning for warning in self.result("run").get("warnings", ()))


def steps_of(tested: Module, as_module: bool) -> tuple[str, ...]:
    """Return the steps for a module; fewer for a module process, which is slow."""
    if as_module:
        return ("check", "run", "again") if tested.kind == "state" else ("run",)
    return ("check", "run") if tested.kind == "reader" else ("check", "run", "again", "check again")


def tasks_of(tested: Module, service: str, as_module: bool) -> Iterator[dict[str, Any]]:
    """Yield the tasks to run: all steps for each example of the module, one for preparations."""
    for example in tested.examples[: 1 if as_module else None]:
        for step in steps_of(tested, as_module) if tested.fqcn in example else ("once",):
            yield {
                **{key: fitting(service, tested, options) for key, options in example.items()},
                "name": f"{example['name']} ({step})",
                "check_mode": step.startswith("check"),
                "diff": True,
            }


def fitting(service: str, tested: Module, options: Any) -> Any:
    """Return the options of an example in the form that the service accepts."""
    if tested.name not in REPLACED_IN or not isinstance(options, dict):
        return options
    found = [INSTEAD.get((service, name), {name: value}) for name, value in options.items()]
    return {name: value for each in found for name, value in each.items()}


def play_all(
    sim: Simulator, playbook_runner: PlaybookRunner, names: Iterable[str], as_module: bool = False
) -> dict[str, list[ExampleRun]]:
    """Run the examples of modules in one playbook, each with its own simulator; return the runs by module."""
    playbook_runner.defaults = {"base_url": sim.url, "session_id": SESSION, "api_token": TOKEN}
    tasks = {name: list(tasks_of(module(name), AS_SERVERS_ARE, as_module)) for name in names}
    plays = [playbook_runner.build_play(*tasks[name], name=name, as_module=as_module, vars=VARIABLES) for name in names]
    reset = json.dumps({"session": SESSION, "token": TOKEN, **SERVICES[AS_SERVERS_ARE]})
    run = playbook_runner.playbook(plays, ["-vvvv"], {"RECORDER_RESET": reset})
    assert_no_secrets(run)
    assert [played.task for played in run] == [task["name"] for name in names for task in tasks[name]], run.output
    assert [(played.task, played.result) for played in run if played.status == "failed"] == []
    return {name: tried(module(name), [played for played in run if played.play == name]) for name in names}


def play_in_process(sim: Simulator, names: Iterable[str], service: str) -> dict[str, list[ExampleRun]]:
    """Run the examples of modules with a service in the process of the tests; return the runs by module."""
    runs = {}
    for name in names:
        sim.reset(session=SESSION, token=TOKEN, **SERVICES[service])
        variables: dict[str, Any] = dict(VARIABLES)
        # The tasks of a run share what they know of the service.
        store = MemoryStore(ConnectionOptions(sim.url))
        run = ModuleRunner(sim, partial(keep_store, store))
        played = [
            each
            for task in tasks_of(module(name), service, as_module=False)
            if module(name).fqcn in task or "register" in task
            for each in play_here(run, task, variables)
        ]
        shown = json.dumps([each.result for each in played])
        assert [secret for secret in (SESSION, TOKEN, *VARIABLES.values()) if secret in shown] == []
        runs[name] = tried(module(name), played)
    return runs


def keep_store(store: MemoryStore, dummy: ConnectionOptions) -> MemoryStore:
    """Return the same store for each task."""
    return store


def play_here(run: ModuleRunner, task: Mapping[str, Any], variables: dict[str, Any]) -> Iterator[Played]:
    """Run a task in this process, once for each item of its loop, and register its result."""
    (action,) = (name for name in task if name.startswith("virtinfra.manager."))
    results = []
    for item in task.get("loop", [None]):
        options = Templar(DataLoader(), variables={**variables, "item": item}).template(trust(task[action] or {}))
        connection = {"session_id": SESSION, "api_token": TOKEN}
        ran = run(action.rpartition(".")[2], {**connection, **options}, task["check_mode"])
        results.append({**ran.result, "warnings": ran.warnings})
        status = "failed" if ran.failed else "ok"
        yield Played("", task["name"], action, status, results[-1], ran.log)
    if "register" in task:
        variables[task["register"]] = {"results": results} if "loop" in task else results[0]


def tried(tested: Module, played: list[Played]) -> list[ExampleRun]:
    """Group the runs of a module by example."""
    found: dict[str, dict[str, Played]] = {}
    for each in played:
        example, dummy, step = each.task.removesuffix(")").rpartition(" (")
        if each.action == tested.fqcn:
            found.setdefault(example, {})[step] = each
    return [ExampleRun(example, steps) for example, steps in found.items()]


def assert_no_secrets(run: Run) -> None:
    """Check that no output and no result contains a secret, plain or encoded for URLs and JSON."""
    shown = run.output + json.dumps([played.result for played in run])
    for secret in (SESSION, TOKEN, *VARIABLES.values(), "Tr0ub4dor%263%2Fssh", "Tr0ub4dor&3\\/ssh"):
        assert secret not in shown


# Ansible hides the result of the module session, so there is nothing to compare. The module batch has the results of
# other modules; test_batch_tasks.py runs its examples. The module workflow runs only inside the controller, too.
COMPARABLE = [name for name in MODULES if name not in ("batch", "session", "workflow")]

# A module with a state, one that reads, one that is not idempotent, and the module for all operations.
EACH_KIND, OTHERS, OTHERS_BY_ANSIBLE = "each_kind", "other_modules", "other_modules_by_ansible"
REPRESENTATIVES = ("api", "host_info", "kvm_host", "vm_nic_qos")
SELECTIONS = {
    EACH_KIND: REPRESENTATIVES,
    **dict.fromkeys((OTHERS, OTHERS_BY_ANSIBLE), tuple(name for name in COMPARABLE if name not in REPRESENTATIVES)),
}

Runs = Mapping[str, list[ExampleRun]]
RunExamples = Callable[..., Runs]


@pytest.fixture(scope="module")
def run_examples(running_simulator: Simulator, tmp_path_factory: pytest.TempPathFactory) -> RunExamples:
    """Return a function that runs the examples of a selection of modules with a service, once."""

    @functools.cache
    def run(selection: str, service: str, as_module: bool = False) -> Runs:
        if service == LITERAL or selection == OTHERS:
            return play_in_process(running_simulator, SELECTIONS[selection], service)
        playbook_runner = PlaybookRunner(tmp_path_factory.mktemp("play"), running_simulator.url, {})
        return play_all(running_simulator, playbook_runner, SELECTIONS[selection], as_module)

    return run


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[EACH_KIND, OTHERS, pytest.param(OTHERS_BY_ANSIBLE, marks=pytest.mark.nightly)])
def runs(run_examples: RunExamples, request: pytest.FixtureRequest, service: str) -> Runs:
    """The runs of the examples of several modules, by module."""
    return run_examples(request.param, service)


# ---------------------------------------------------------------------------------------------------------- the modules


def test_every_module_has_a_place_and_examples(subtests: pytest.Subtests) -> None:
    for name in COMPARABLE:
        with subtests.test(name):
            tested = module(name)
            assert tested.kind
            assert [example for example in tested.examples if tested.fqcn in example]
            assert all(example.get("name") for example in tested.examples)
            assert len({example["name"] for example in tested.examples}) == len(tested.examples)


def test_examples_have_states_of_the_module(subtests: pytest.Subtests) -> None:
    for tested in (module(name) for name in COMPARABLE if module(name).kind == "state"):
        with subtests.test(tested.name):
            tasks = [example[tested.fqcn] for example in tested.examples if tested.fqcn in example]
            shown = {options.get("state", "present") for options in tasks}
            assert shown <= set(tested.options["state"]["choices"])
            assert ("absent" in shown) == ("absent" in tested.options["state"]["choices"])


# ------------------------------------------------------------------------------------------------------------ the steps


def test_check_mode_only_reads(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            for example in examples:
                for step, played in example.steps.items():
                    assert not step.startswith("check") or played.written == [], (example.name, step)


def test_results_say_that_they_are_of_check_mode(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            for example in examples:
                for step, played in example.steps.items():
                    assert played.result.get("check_mode", False) is step.startswith("check"), (example.name, step)


def test_readers_only_read(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            if module(name).kind == "reader":
                assert [played.written for example in examples for played in example.steps.values()] == [[], []] * len(
                    examples
                )
                assert not any(played.result["changed"] for example in examples for played in example.steps.values())


def test_check_mode_predicts_the_outcome(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            for example in examples:
                check, run = example.steps["check"], example.steps["run"]
                if example.called_missing_operation:
                    assert check.result["changed"] == (check.status == "ok")
                    assert not run.result["changed"]
                    assert example.result("check again")["msg"] == run.result["msg"]
                    continue
                assert (check.status, check.result["changed"]) == (run.status, run.result["changed"]), example.name
                if example.refused:
                    assert check.result["msg"] == run.result["msg"]
                    assert run.written == []
                else:
                    members = [member for member in check.result if member not in COMMON_MEMBERS]
                    assert list(differences({member: check.result[member] for member in members}, run.result, "")) == []


def test_change_is_reported_when_something_was_written(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            for example in examples:
                for step in ("run", "again"):
                    played = example.steps.get(step)
                    if played and played.status == "ok" and name not in CALLS_WITHOUT_CHANGE:
                        assert played.result["changed"] == bool(played.written), (example.name, step)


def test_diff_shows_the_change(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            for example in examples:
                if module(name).kind != "state" or module(name).idempotent == "none" or example.refused:
                    continue
                for step, played in example.steps.items():
                    if played.status == "ok" and not example.acted_without_comparing:
                        diff = played.result["diff"]
                        assert (diff["before"] != diff["after"]) == played.result["changed"], (example.name, step)
                check, run = example.result("check")["diff"], example.result("run")["diff"]
                assert check["before"] == run["before"]
                assert list(differences(check["after"], run["after"], "")) == []


def test_second_run_changes_nothing_unless_documented(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            tested = module(name)
            for example in examples:
                if "again" not in example.steps or example.refused:
                    continue
                again = example.steps["again"]
                if tested.idempotent == "none":
                    assert again.result["changed"] == example.result("run")["changed"]
                elif example.name in CHANGES_EACH_TIME:
                    assert again.result["changed"], example.name
                elif example.acted_without_comparing:
                    assert again.result["changed"] or "error" in again.result, (
                        "it acts again, or the service refuses that"
                    )
                else:
                    assert not again.result["changed"], example.name
                    assert not example.result("check again")["changed"], example.name
                    assert tested.kind == "action" or {**again.result, "check_mode": True} == example.result(
                        "check again"
                    )


def test_acting_without_a_comparison_is_only_for_unreadable_objects(
    runs: Runs, subtests: pytest.Subtests, service: str
) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            assert service != AS_SERVERS_ARE or not any(example.acted_without_comparing for example in examples)
            assert module(name).idempotent == "partial" or not any(
                example.acted_without_comparing for example in examples
            )


def test_every_example_runs_unless_the_service_cannot_read_its_object(
    runs: Runs, subtests: pytest.Subtests, service: str
) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            reasons = REFUSED[service].get(name, {})
            refused = {example.name: example.result("run") for example in examples if example.refused}
            assert refused.keys() == reasons.keys(), [result["msg"] for result in refused.values()]
            for example, result in refused.items():
                assert result["error"]["code"] == "UNSUPPORTED"
                assert reasons[example] in result["msg"]


# The messages of examples if the service lacks an operation: they say what is missing, or what to pass instead.
LACKING = re.compile(
    r"the service does not offer|the response to \w+ has no|needs api_token|the service cannot list|is required"
)
TAKES_UP_JOBS = {"job_info", "job_wait"}


def test_every_example_runs_or_says_what_is_lacking_without_a_token(sim: Simulator, subtests: pytest.Subtests) -> None:
    """Run without Ansible, with the names of variables in place of their values."""
    run = ModuleRunner(sim)
    for name in COMPARABLE:
        tested = module(name)
        with subtests.test(name):
            sim.reset(literal=True)
            for example in tested.examples:
                if tested.fqcn not in example or name in TAKES_UP_JOBS:
                    continue
                options = json.loads(re.sub(r"\{\{ (\w+) \}\}", r"\1", json.dumps(example[tested.fqcn] or {})))
                ran = run(name, fitting(LITERAL, tested, options), api_token=None)
                if ran.failed:
                    assert ran["error"]["code"] in ("UNSUPPORTED", "INVALID"), (example["name"], ran.message)
                    assert LACKING.search(ran.message), (example["name"], ran.message)
                    assert ran.calls in ([], ["None"])


# ---------------------------------------------------------------------------------------------------------- the results


def test_results_are_as_documented(runs: Runs, subtests: pytest.Subtests) -> None:
    for name, examples in runs.items():
        with subtests.test(name):
            tested = module(name)
            for example in examples:
                for step, played in example.steps.items():
                    if played.status == "ok":
                        assert list(undocumented(tested, played.result)) == [], (example.name, step)


def undocumented(tested: Module, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between a successful result and the RETURN documentation."""
    own = {member: value for member, value in result.items() if member not in COMMON_MEMBERS}
    yield from (f"{member} is not documented" for member in own.keys() - tested.returns.keys())
    for member, spec in load_returns(tested.name).items():
        if member in own:
            yield from shape_differences(own[member], spec, member)
        elif spec["returned"] in ("success", "always"):
            yield f"{member} is missing"


def test_results_have_one_shape(runs: Runs, subtests: pytest.Subtests) -> None:
    """Created, changed, unchanged and predicted results have the same members, and records the documented ones."""
    for name, examples in runs.items():
        with subtests.test(name):
            for example in examples:
                if example.refused:
                    continue
                results = [played.result for played in example.steps.values() if played.status == "ok"]
                known = [{member for member in result if not is_conditional(member)} for result in results]
                assert all(members == known[0] for members in known), example.name
                for member in known[0] - COMMON_MEMBERS:
                    records = [result[member] for result in results if isinstance(result[member], dict)]
                    smallest = min((set(record) for record in records), key=len, default=set())
                    assert all(smallest <= set(record) for record in records), (example.name, member)


def is_conditional(member: str) -> bool:
    """Whether a member is returned only under a condition."""
    return member in ("check_mode", "invocation", "warnings", "volume_cbt_backup_infos", "records", "results", "job")


# ------------------------------------------------------------------------------------- the two ways to run a module


def test_module_process_of_each_kind_has_the_same_result(run_examples: RunExamples, subtests: pytest.Subtests) -> None:
    """Run one module of each kind: all modules start in the same way."""
    here = run_examples(EACH_KIND, AS_SERVERS_ARE)
    for name, examples in run_examples(EACH_KIND, AS_SERVERS_ARE, as_module=True).items():
        with subtests.test(name):
            (in_process,) = examples
            assert in_process.name == module(name).examples[0]["name"]
            (same_example,) = (example for example in here[name] if example.name == in_process.name)
            for step, played in in_process.steps.items():
                assert drop_times(played.result) == drop_times(same_example.result(step)), step
                assert played.written == same_example.steps[step].written


def drop_times(result: Mapping[str, Any]) -> str:
    """Return a result as a string, without the options and the timestamps."""
    return TIMESTAMP.sub("(time)", json.dumps({**result, "invocation": None}, sort_keys=True, ensure_ascii=False))


def in_order(values: list[Any]) -> list[Any]:
    """Return values sorted, because the service promises no order."""
    return sorted(values, key=lambda value: str(value.get("uuid", value) if isinstance(value, dict) else value))


def differences(predicted: Any, actual: Any, path: str) -> Iterator[str]:
    """Yield where a result contradicts its prediction; null in a prediction means unknown."""
    if isinstance(predicted, dict) and isinstance(actual, dict):
        for key in predicted.keys() - UNPREDICTABLE:
            yield from differences(predicted[key], actual.get(key), f"{path}.{key}")
    elif isinstance(predicted, list) and isinstance(actual, list) and len(predicted) == len(actual):
        for number, pair in enumerate(zip(in_order(predicted), in_order(actual), strict=True)):
            yield from differences(*pair, f"{path}[{number}]")
    elif predicted is not None and predicted != actual and not (actual is None and path.endswith(HIDDEN)):
        yield f"{path}: predicted {predicted!r}, came out {actual!r}"
