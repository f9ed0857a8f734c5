"""A task that runs once for all hosts of a play: it must not run for each of them, and they must have one service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible.errors import AnsibleError

from ...module_utils._api.errors import InvalidOptions, join_first
from ...module_utils._api.records import Record
from ...module_utils._modules.options import CONNECTION

# How the names of strategies end that run a task with run_once for each host.
STRATEGIES_WITHOUT_RUN_ONCE = ("free", "host_pinned")

# The options that say which service a task uses, and as whom. The others, such as passwords, follow from them.
IDENTIFYING = ("profile", "base_url", "path_prefix", "account", "access_key_id")
VARIABLES = {option: f"VIRTINFRA_{option.upper()}" for option in IDENTIFYING}

# The tasks that were checked. A loop and the attempts of until run in the same process.
CHECKED: set[str] = set()


def refuse_repeated_run(task: Any, task_vars: Mapping[str, Any]) -> None:
    """Raise InvalidOptions if the strategy ignores run_once, so that each host would process all objects."""
    if task.run_once and len(task_vars.get("ansible_play_batch", ())) > 1 and _ignores_run_once(task):
        raise InvalidOptions(
            f"strategy {task.get_play().strategy} ignores run_once, so each host of the play would process all objects."
            " Use the strategy linear"
        )


def _ignores_run_once(task: Any) -> bool:
    """Return whether the strategy of the play runs the task for each host all the same."""
    return str(task.get_play().strategy).endswith(STRATEGIES_WITHOUT_RUN_ONCE)


def require_one_service(task: Any, groups: Iterable[str], templar: Any, task_vars: Mapping[str, Any]) -> None:
    """Raise InvalidOptions if the hosts for which a task runs once have different connections.

    Ansible evaluates the options of the task for the first host only, so the objects of all hosts would be those of its
    service. ``groups`` are the names in C(module_defaults) whose defaults the task has.
    """
    hosts = task_vars.get("ansible_play_batch", ())
    if not task.run_once or len(hosts) < 2 or task._uuid in CHECKED or _ignores_run_once(task):
        return
    CHECKED.add(task._uuid)
    sources = [*_list_sources(task, groups)]
    if not any(map(_has_template, sources)):
        return
    services: dict[str, list[str]] = {}
    for host in hosts:
        services.setdefault(_describe(sources, _create_templar(task, templar, task_vars, host)), []).append(host)
    if len(services) > 1:
        found = ", ".join(f"{service} ({join_first(names, 1)})" for service, names in services.items())
        raise InvalidOptions(
            f"the task runs once, with the connection of the first host, but the hosts have different connections:"
            f" {found}. Run the play for the hosts of one service at a time, for example with --limit"
        )


def _list_sources(task: Any, groups: Iterable[str]) -> Iterator[Any]:
    """Yield the mappings, or their templates, that can contain options of the connection, the weakest first."""
    written = task.get_ds() if isinstance(task.get_ds(), Mapping) else {}
    for environment in _list_written(task, written, "environment"):
        yield _choose(environment, VARIABLES.values())
    for defaults in _list_written(task, written, "module_defaults"):
        for group in groups:
            yield _choose(defaults.get(group), IDENTIFYING)
    for name, options in written.items():
        if name == "args" or str(name).rpartition(".")[2] == task.action.rpartition(".")[2]:
            yield _choose(options, IDENTIFYING)


def _list_written(task: Any, written: Mapping[str, Any], keyword: str) -> Iterator[Any]:
    """Yield the mappings in a keyword of the play, the blocks and the task, as they are written.

    Ansible has evaluated the attribute of the task for the first host.
    """
    for value in (task._get_parent_attribute(keyword, omit=True), written.get(keyword)):
        yield from filter(None, value if isinstance(value, list) else [value])


def _choose(options: Any, names: Iterable[str]) -> Any:
    """Return those of some options that are given; a template of all of them as it is."""
    if isinstance(options, Mapping):
        return {name: options[name] for name in names if name in options}
    return options if isinstance(options, str) else {}


def _has_template(value: Any) -> bool:
    """Return whether a value, or one in it, may differ between hosts."""
    values = value.values() if isinstance(value, Mapping) else [value]
    return any(isinstance(each, str) and "{" in each for each in values)


def _create_templar(task: Any, templar: Any, task_vars: Mapping[str, Any], host: str) -> Any:
    """Return what evaluates templates with the variables that the task has for a host."""
    hostvars = task_vars["hostvars"]
    variables = hostvars._variable_manager.get_vars(
        play=task.get_play(), host=hostvars._inventory.get_host(host), task=task
    )
    return templar.copy_with_new_env(available_variables=variables)


def _describe(sources: Iterable[Any], templar: Any) -> str:
    """Return the connection of a host."""
    options: Record = {}
    try:
        for source in sources:
            evaluated = templar.template(source)
            options.update(_choose(evaluated, (*IDENTIFYING, *VARIABLES.values())))
    except AnsibleError:
        return "one that cannot be evaluated"
    given = {name: options.get(name) or options.get(variable) for name, variable in VARIABLES.items()}
    return ", ".join(
        f"{name}: {value}" for name, value in given.items() if value and value != CONNECTION[name].get("default")
    )
