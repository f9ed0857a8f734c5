"""Run ansible-playbook in forks of this process, which has imported Ansible and the collection.

The forks share the archives of modules, which also contain the compiled files. Without that, each playbook would build
the archive of each module again, and each module process would compile it.

Import this module only with the environment in which Ansible is to be imported.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import importlib.util
import inspect
import marshal
import os
import pkgutil
import signal
import sys
import tempfile
import types
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ansible.constants
from ansible.cli.playbook import PlaybookCLI
from ansible.executor import module_common
from ansible.parsing.dataloader import DataLoader
from ansible.plugins import loader
from ansible.template import Templar

loader.init_plugin_loader()

COLLECTION = "ansible_collections.virtinfra.manager.plugins"
RUN_FILES = f"{COLLECTION}.plugin_utils._run.files"
LONGEST_PLAY = 900

# The folder of ansible-core in which it caches the archives of modules.
ARCHIVES = "ansiballz_cache"

# The actions of Ansible that the roles and the tests use.
ACTIONS = (
    *("assert", "command", "copy", "debug", "fail", "include_vars", "normal", "set_fact", "template"),
    "validate_argument_spec",
)

# The kinds of plugins that each ansible-playbook looks for, except those of variables: Ansible would not use them then.
PLUGINS = (
    *(loader.become_loader, loader.cache_loader, loader.callback_loader, loader.connection_loader),
    *(loader.inventory_loader, loader.shell_loader, loader.strategy_loader),
)

# The header of a compiled file that is used whatever its source is; another version of Python ignores the file.
UNCHECKED = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)


class CompiledArchive(zipfile.ZipFile):
    """An archive of a module that also contains its compiled files."""

    def writestr(self, member: Any, data: Any, *arguments: Any) -> None:
        """Write a file, and the compiled one beside it."""
        super().writestr(member, data, *arguments)
        name = member.filename if isinstance(member, zipfile.ZipInfo) else member
        if name.endswith(".py"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                code = compile(data, name, "exec", dont_inherit=True)
            super().writestr(f"{name}c", UNCHECKED + marshal.dumps(code))


vars(module_common)["zipfile"] = types.SimpleNamespace(**{**vars(zipfile), "ZipFile": CompiledArchive})


@functools.cache
def preload() -> None:
    """Import what most playbooks use, and exclude it from the garbage collection, which would copy its pages.

    Ansible compiles the files of a collection whenever it imports them.
    """
    for folder in ("module_utils", "plugin_utils", "modules", "action", "filter"):
        package = importlib.import_module(f"{COLLECTION}.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for plugins in (loader.filter_loader, loader.test_loader):
        list(plugins.all())
    for action in ACTIONS:
        loader.action_loader.get(f"ansible.builtin.{action}", class_only=True)
    for plugins in PLUGINS:
        list(plugins.all(class_only=True))
    _fill_caches()
    gc.collect()
    gc.freeze()


def _fill_caches() -> None:
    """Fill caches of Ansible and of libraries, which each worker would fill again."""
    # Core looks for the caller of a deprecated function, as in a loop with skipped items. The first
    # look reads the paths of all modules.
    inspect.stack()
    # The first template compiles the patterns of Jinja.
    Templar(loader=DataLoader()).is_template("{{ known }}")
    # Only core 2.21 and newer have this class.
    task_result: Any = getattr(sys.modules.get("ansible._internal._task"), "UnifiedTaskResult", None)
    for is_module in (False, True) if task_result else ():
        task_result.get_result_key_to_resolved_field_mapping(source_is_module=is_module)


def run_ansible_playbook(
    arguments: Sequence[str], environment: Mapping[str, str], stdout: Path, stderr: Path | None = None
) -> int:
    """Run ansible-playbook in a fork with its output in files, by default in one, and return the exit code."""
    preload()
    with warnings.catch_warnings():
        # The threads of a test's own servers wait for requests in the meantime and hold no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.environ.update(environment)
        _become_ansible_playbook(arguments, stdout, stderr)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _forget_secrets() -> None:
    """Let core 2.22 mask no secrets of modules that tests have run in this process: each ansible-playbook has its own.

    Most are short, and all of their letters would be masked.
    """
    with contextlib.suppress(ImportError):
        importlib.import_module("ansible.module_utils._internal._secrets")._secret_masker.__init__()


def _become_ansible_playbook(arguments: Sequence[str], stdout: Path, stderr: Path | None) -> None:
    """Turn this process into ansible-playbook. Does not return."""
    code = 250
    # Test playbooks are too short to need it, and their workers would copy the pages that it marks.
    gc.disable()
    # Each ansible-playbook has a folder of its own, which contains what its tasks share.
    shared = Path(ansible.constants.DEFAULT_LOCAL_TMP, ARCHIVES)
    shared.mkdir(exist_ok=True)
    ansible.constants.DEFAULT_LOCAL_TMP = tempfile.mkdtemp(dir=ansible.constants.DEFAULT_LOCAL_TMP)
    Path(ansible.constants.DEFAULT_LOCAL_TMP, ARCHIVES).symlink_to(shared)
    # Ansible looks for results a thousand times a second, which takes a tenth of the processor.
    ansible.constants.DEFAULT_INTERNAL_POLL_INTERVAL = 0.01
    # This process would own the sessions of all playbooks.
    vars(sys.modules[RUN_FILES])["OWNER"] = os.getpid()
    _forget_secrets()
    try:
        signal.alarm(LONGEST_PLAY)
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(stdout.open("w", encoding="utf-8"))
            errors = stack.enter_context(stderr.open("w", encoding="utf-8")) if stderr else output
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        PlaybookCLI.cli_executor(["ansible-playbook", *arguments])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 251
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
