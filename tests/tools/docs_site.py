"""Arrange the pages that antsibull-docs has written, before Sphinx makes the documentation site of them.

antsibull-docs sorts everything by name. The site has an index with sections, a page for each subject of modules, and on
the pages of modules and inventories the examples before the options, and the plugin's own options before those of the
connection. A page begins with the
short name of the plugin and what it does. The page of a role says what its README says about check mode, failures and
undo.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "virtinfra.manager"

SUBJECTS = {
    "Hosts": "kvm_host host_info host_network_info host_nic_service host_nic_candidate_info",
    "Virtual machines": "vm vm_info vm_nic vm_nic_info vm_nic_qos vm_from_snapshot_group vm_snapshot_group"
    " vm_snapshot_group_info volume",
    "Backups and storage": "backup_point backup_point_info backup_restore backup_run cbt_task cbt_task_info"
    " cbt_volume_export primary_storage_info",
    "Notifications": "sns_endpoint sns_endpoint_info sns_topic sns_topic_subscriber_info sns_snmp_platform"
    " sns_snmp_test sns_teamchat_person",
    "Jobs, sessions and any resource": "resource api resource_info batch job_wait job_info session"
    " service_info workflow",
}
"""The modules of each subject, those that are needed most first. A module without a subject is refused."""

ROLE_SECTIONS = ("Idempotence and check mode", "When something fails", "Undo")
"""The sections of the README of a role that its page lacks."""

PLUGIN_TYPES = {
    "inventory": "Inventory plugins",
    "lookup": "Lookup plugins",
    "filter": "Filters",
    "test": "Tests",
}

INTRODUCTION = f"""\
.. _plugins_in_{COLLECTION}:
.. _plugin_index_for_{COLLECTION}:

{COLLECTION}
{"=" * len(COLLECTION)}

This collection manages a virtualization infrastructure through the REST API of its management service: KVM hosts,
virtual machines and their networks, CBT backups, snapshots, storages and notifications. A playbook describes the
objects; a task changes what differs, waits for the service's jobs, and says exactly what it changed:

.. code-block:: yaml+jinja

    - name: Add a KVM host, and wait until it is connected
      {COLLECTION}.kvm_host:
        name: host-9
        management_ip: 10.0.0.9
        cluster: cluster-1
        username: root
        password: "{{{{ vault_host_password }}}}"

Run twice, the second run changes nothing. Start with
:ref:`ansible_collections.{COLLECTION}.docsite.guide_getting_started`, which needs no data centre, or first read
:ref:`what the collection is for <ansible_collections.{COLLECTION}.docsite.guide_overview>`.
"""

OPTION_ROW = re.compile(
    r"^  \* - \.\. raw:: html\n\n(?: +<div.*\n)*? +<div class=\"ansibleOptionAnchor\" id=\"parameter-(.+?)\">",
    re.MULTILINE,
)
"""The start of the row of an option, in the table of options."""


def list_pages(source: Path, suffix: str) -> list[str]:
    """Return the names of the plugins of a type that have a page."""
    return sorted(path.name.removesuffix(f"_{suffix}.rst") for path in source.glob(f"*_{suffix}.rst"))


def group_modules(modules: list[str]) -> dict[str, list[str]]:
    """Return the modules of each subject. Raise ValueError for a module without a subject."""
    subjects = {title: names.split() for title, names in SUBJECTS.items()}
    placed = [name for names in subjects.values() for name in names]
    if others := [name for name in modules if name not in placed]:
        raise ValueError(f"these modules have no subject on the site, add them to SUBJECTS: {', '.join(others)}")
    return subjects


def format_toctree(caption: str, pages: list[str]) -> str:
    """Return a table of contents for the sidebar, with a caption."""
    captions = [f"   :caption: {caption}"] if caption else []
    lines = [".. toctree::", "   :maxdepth: 1", "   :hidden:", *captions, ""]
    return "\n".join([*lines, *(f"   {page}" for page in pages), ""])


def format_plugin_page(title: str, suffix: str, names: list[str], summaries: Mapping[str, str]) -> str:
    """Return the page that lists plugins with their summaries."""
    rows = [f"* :ansplugin:`{name} <{COLLECTION}.{name}#{suffix}>`: {summaries[name]}" for name in names]
    contents = format_toctree("", [f"{name} <{name}_{suffix}>" for name in names])
    return "\n".join([title, "=" * len(title), "", *rows, "", contents])


def read_summaries(source: Path, suffix: str) -> dict[str, str]:
    """Return the short description in the title of the page of each plugin of a type."""
    summaries = {}
    for name in list_pages(source, suffix):
        text = (source / f"{name}_{suffix}.rst").read_text(encoding="utf-8")
        (summaries[name],) = re.findall(rf"^{COLLECTION}\.{name} {suffix} -- (.*)$", text, re.MULTILINE)
    return summaries


def write_sections(source: Path, suffix: str, sections: Mapping[str, list[str]]) -> list[str]:
    """Write a page for each section of plugins of a type, and return the names of the pages."""
    summaries, pages = read_summaries(source, suffix), []
    for title, names in sections.items():
        page = f"{'_'.join(re.findall('[a-z]+', title.lower()))}_index"
        text = format_plugin_page(title, suffix, names, summaries)
        (source / f"{page}.rst").write_text(text, encoding="utf-8")
        pages.append(page)
    return pages


def format_index(source: Path) -> str:
    """Return the index of the site, and write the pages of its sections."""
    guides = yaml.safe_load((ROOT / "docs" / "docsite" / "extra-docs.yml").read_text(encoding="utf-8"))["sections"]
    parts = [INTRODUCTION]
    parts += [format_toctree(part["title"], [f"docsite/{page}" for page in part["toctree"]]) for part in guides]
    modules = group_modules(list_pages(source, "module"))
    parts.append(format_toctree("Modules by subject", write_sections(source, "module", modules)))
    pages = [
        page
        for suffix, title in PLUGIN_TYPES.items()
        for page in write_sections(source, suffix, {title: list_pages(source, suffix)})
    ]
    parts.append(format_toctree("Plugins", [*pages, "Environment variables <environment_variables>"]))
    parts.append(format_toctree("Roles", [f"{name} <{name}_role>" for name in list_pages(source, "role")]))
    parts.append(format_toctree("Changes", ["Release notes <changelog>"]))
    return "\n".join(parts)


def move_shared_options(text: str, shared: list[str]) -> str:
    """Return a page whose table of options ends with those that are shared, in the order of ``shared``.

    Raise ValueError for a page without such a table.
    """
    matches = list(OPTION_ROW.finditer(text))
    if not matches:
        raise ValueError("the page has no table of options in the form of antsibull-docs")
    # The comment before the next section.
    end = text.index("\n.. ", matches[-1].end())
    bounds = [*(match.start() for match in matches), end]
    rows = [(match[1].partition("/")[0], text[bounds[n] : bounds[n + 1]]) for n, match in enumerate(matches)]
    rows.sort(key=lambda row: shared.index(row[0]) + 1 if row[0] in shared else 0)
    return text[: bounds[0]] + "".join(row for dummy, row in rows) + text[end:]


def shorten_head(text: str) -> str:
    """Return a page that begins with the short name, without what is the same on all pages.

    These are how to install, that modules run inside the controller, and the contents, which the theme shows beside the
    page. A role has one entry point, whose heading would repeat that of the page.
    """
    text = re.sub(
        rf"^{COLLECTION}\.(\w+ \w+ -- .*)\n\++$",
        lambda title: f"{title[1]}\n{'+' * len(title[1])}",
        text,
        count=1,
        flags=re.MULTILINE,
    )
    text = re.sub(
        r"^\.\. Collection note\n\n\.\. note::\n.*?(To use it in a playbook, specify: .*?)\n(?=\n\.\. )",
        r"\1\n",
        text,
        count=1,
        flags=re.MULTILINE | re.DOTALL,
    )
    for repeated in (
        r"^\.\. contents::\n(?: +:.*\n)+\n",
        r"^\.\. note::\n    This module has a corresponding .*\n\n",
        r"^\.\. Entry point title\n\nEntry point .*\n-+\n\n",
    ):
        text = re.sub(repeated, "", text, count=1, flags=re.MULTILINE)
    return text


def move_examples(text: str) -> str:
    """Return the page of a plugin with its examples before its requirements and options."""
    before, marker, rest = text.partition("\n.. Requirements\n")
    options, start, examples = rest.partition("\n.. Examples\n")
    own, end, results = examples.partition("\n.. Facts\n")
    return f"{before}{start}{own}{marker}{options}{end}{results}" if marker and start and end else text


def convert_section(markdown: str) -> str:
    """Return a section of a README, without its heading, in reStructuredText: paragraphs, tables and code."""
    blocks = re.split(r"(^```\w+\n.*?^```$)", markdown.strip(), flags=re.DOTALL | re.MULTILINE)
    return "\n\n".join(filter(None, map(_convert_block, blocks)))


def _convert_block(block: str) -> str:
    if block.startswith("```"):
        language, dummy, code = block.removeprefix("```").removesuffix("```").rstrip().partition("\n")
        lexer = "yaml+jinja" if language == "yaml" else language
        return f".. code-block:: {lexer}\n\n" + textwrap.indent(code, "    ")
    text = re.sub(r"`([^`]+)`", r"``\1``", block.strip())
    return re.sub(r"^\|.*(?:\n\|.*)*", lambda table: _convert_table(table.group()), text, flags=re.MULTILINE)


def _convert_table(table: str) -> str:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    header, dummy, *others = rows
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: auto", ""]
    for row in (header, *others):
        lines += [f"   {'* -' if number == 0 else '  -'} {cell}".rstrip() for number, cell in enumerate(row)]
    return "\n".join(lines)


def add_sections(page: str, readme: str) -> str:
    """Return the page of a role with the sections of its README about check mode, failures and undo."""
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", readme, re.DOTALL | re.MULTILINE))
    added = [f"{title}\n{'^' * len(title)}\n\n{convert_section(sections[title])}\n\n" for title in ROLE_SECTIONS]
    before, authors, after = page.rpartition("\nAuthors\n^^^^")
    return f"{before}\n{''.join(added)}{authors}{after}"


def read_options(role: str) -> list[str]:
    """Return the names of the variables of a role, in the order of its specification."""
    spec = yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    return [*spec["argument_specs"]["main"]["options"]]


def main() -> None:
    """Arrange the pages in the folder that is named on the command line."""
    from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION, TAGS, WAIT

    source = Path(sys.argv[1])
    (source / "index.rst").write_text(format_index(source), encoding="utf-8")
    for suffix in ("module", "inventory", "lookup"):
        for path in source.glob(f"*_{suffix}.rst"):
            text = path.read_text(encoding="utf-8")
            text = move_shared_options(text, [*WAIT, *TAGS, *CONNECTION])
            path.write_text(move_examples(text), encoding="utf-8")
    for name in list_pages(source, "role"):
        path = source / f"{name}_role.rst"
        # In the order of the specification, which begins with the variables that everybody needs.
        order = [f"main--{option}" for option in read_options(name)]
        page = move_shared_options(path.read_text(encoding="utf-8"), order)
        readme = (ROOT / "roles" / name / "README.md").read_text(encoding="utf-8")
        path.write_text(add_sections(page, readme), encoding="utf-8")
    for suffix in ("module", "role", *PLUGIN_TYPES):
        for path in source.glob(f"*_{suffix}.rst"):
            path.write_text(shorten_head(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
