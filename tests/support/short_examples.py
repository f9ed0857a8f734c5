"""The short example in the description of each module: a task of its EXAMPLES, in one line.

``ansible-doc`` shows EXAMPLES after all options. The session ``format`` writes the first of them into the
description, so that it is on the first screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from support.collection import MODULES, ROOT
from support.return_docs import format_descriptions

LONGEST = 190


def list_short_examples(name: str, text: str) -> list[str]:
    """Return the first example in the text of a module that is short, as a sentence of its description."""
    (examples,) = re.findall(r'\nEXAMPLES = r"""(.*?)"""', text, re.DOTALL)
    found = _format_examples(f"virtinfra.manager.{name}", yaml.safe_load(examples))
    return [example for example in found if len(example) <= LONGEST][:1]


def _format_examples(fqcn: str, tasks: list[dict[str, Any]]) -> Iterator[str]:
    for task in tasks:
        # With another keyword, such as a loop, the options alone would do something else.
        if fqcn in task and task.keys() <= {"name", "register", fqcn}:
            yield f"{task['name']} - C({fqcn}:{' ' + _flow(task[fqcn]) if task[fqcn] else ''})"


def _flow(options: Mapping[str, Any]) -> str:
    """Return options as a mapping in one line."""
    text = yaml.safe_dump(options, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return str(text).strip()


def is_example(text: str) -> bool:
    """Whether a sentence of a description is a short example."""
    return bool(re.search(r" - C\(virtinfra\.manager\.\w+:.*\)$", text))


def with_short_examples(name: str, text: str) -> str:
    """Return the text of a module with its short example after the first sentence of its description."""
    found = re.search(r"(?<=\n)description:.*?\n(?=\w)", text, re.DOTALL)
    if found is None:
        raise ValueError("the module has no description")
    written = yaml.safe_load(found.group())["description"]
    first, *others = [line for line in ([written] if isinstance(written, str) else written) if not is_example(line)]
    lines = format_descriptions([first, *list_short_examples(name, text), *others], 0)
    return text[: found.start()] + "\n".join(lines) + "\n" + text[found.end() :]


def main() -> None:
    """Write the short example into the modules."""
    for name in MODULES:
        path = ROOT / "plugins" / "modules" / f"{name}.py"
        path.write_text(with_short_examples(name, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
