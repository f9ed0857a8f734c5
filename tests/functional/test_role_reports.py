"""The report of a role is never that of an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.collection import ROOT
from support.playbook_runner import PlaybookRunner

ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())


def fail_early(role: str) -> dict[str, Any]:
    """Return a block with a role that fails before it begins, after an earlier run that has left a report."""
    report = f"{role}_report"
    return {
        "block": [
            {"ansible.builtin.set_fact": {report: [{"vm": "vm-1", "outcome": "failed"}]}},
            {
                "ansible.builtin.include_role": {"name": f"virtinfra.manager.{role}", "rolespec_validate": False},
                "vars": {f"{role}_no_such_variable": True},
            },
        ],
        "rescue": [{"name": report, "ansible.builtin.debug": {"msg": f"{{{{ {report} }}}}"}}],
    }


def test_a_role_that_fails_early_has_an_empty_report(playbook_runner: PlaybookRunner) -> None:
    """The report of host_onboarding has the reason of each host."""
    run = playbook_runner.play(*map(fail_early, ROLES), ignore_errors=False)
    names = [f"{role}_report" for role in ROLES]
    reports = {played.task: played.result["msg"] for played in run if played.task in names}
    assert reports.pop("host_onboarding_report")["outcome"] == "failed"
    assert [*reports, "host_onboarding_report"] == sorted(names, key=lambda name: name == "host_onboarding_report")
    assert {name: report for name, report in reports.items() if report not in ([], {})} == {}


@pytest.mark.parametrize("role", ["site_description", "capacity_report"])
def test_a_default_for_become_does_not_write_the_files(
    playbook_runner: PlaybookRunner, tmp_path: Path, role: str
) -> None:
    """The files are those of the user of the controller, also if hosts of the inventory need become."""
    inventory = tmp_path / "hosts.ini"
    become = "ansible_become=true ansible_become_exe=/nonexistent/sudo"
    inventory.write_text(f"localhost ansible_connection=local {become}\n", encoding="utf-8")
    paths = {"site_description_folder": str(tmp_path / "site"), "capacity_report_path": str(tmp_path / "page.html")}
    include = {"ansible.builtin.include_role": {"name": f"virtinfra.manager.{role}"}}
    run = playbook_runner.play(
        {**include, "vars": {name: path for name, path in paths.items() if name.startswith(role)}},
        arguments=["-i", str(inventory)],
        ignore_errors=False,
    )
    assert run.code == 0, run.output
    assert sorted(path.name for path in tmp_path.glob("*")) >= ["hosts.ini"]
    written = tmp_path / ("site" if role == "site_description" else "page.html")
    assert written.exists()
