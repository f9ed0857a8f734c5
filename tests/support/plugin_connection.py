"""The connection options of inventory plugins and the lookup: those of modules, with their environment variables.

The session ``format`` writes them into a doc fragment of their own, because only plugins document variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from ansible_collections.virtinfra.manager.plugins.doc_fragments import _connection
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION

from support.collection import ROOT

FRAGMENT = ROOT / "plugins" / "doc_fragments" / "_plugin_connection.py"

# The credentials that the lookup does not take. The fragment of the inventory plugins describes them.
OF_INVENTORIES = ("session_id", "api_token")

TEMPLATE = '''\
# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document the connection options of inventory plugins and the lookup. The session ``format`` writes this file."""

from __future__ import annotations


class ModuleDocFragment:
    """The connection to the service, by options and environment variables."""

    DOCUMENTATION = r"""
options:
{options}
notes:
  - The guide R(Options that modules share, ansible_collections.virtinfra.manager.docsite.guide_options) describes the
    options of the connection in full.
requirements:
{requirements}
"""
'''


def format_plugin_connection() -> str:
    """Return the text of the doc fragment."""
    documented = yaml.safe_load(_connection.ModuleDocFragment.DOCUMENTATION)
    options = {name: each for name, each in documented["options"].items() if name not in OF_INVENTORIES}
    lines = [line for name, option in options.items() for line in _format_option(name, option)]
    requirements = [f"  - {text}" for text in documented["requirements"]]
    return TEMPLATE.format(options="\n".join(lines), requirements="\n".join(requirements))


def _format_option(name: str, option: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {name}:"
    for key, value in option.items():
        yield f"    {key}: {str(value).lower() if isinstance(value, bool) else value}"
    dummy, variables = CONNECTION[name]["fallback"]
    yield "    env:"
    yield from (f"      - name: {variable}" for variable in variables)


def main() -> None:
    """Write the doc fragment."""
    FRAGMENT.write_text(format_plugin_connection(), encoding="utf-8")


if __name__ == "__main__":
    main()
