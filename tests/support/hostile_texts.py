"""Texts that create a file when they are evaluated."""

from __future__ import annotations

from pathlib import Path

# A template, a statement, braces that remain when one is removed, other delimiters, and Python literals of a template,
# which ansible-rulebook and older versions of core evaluate.
FORMS = (
    "{{ CODE }}",
    "{% if CODE %}{% endif %}",
    "{{{'a': CODE}}}",
    "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n[[ CODE ]]",
    "'\\x7b\\x7b CODE \\x7d\\x7d'",
    "'{' '{ CODE }' '}'",
    "['\\173\\u007b CODE }}', '#' 'jinja2: variable_start_string:\"[[\", variable_end_string:\"]]\"\\n[[ CODE ]]']",
)


def hostile_texts(folder: Path) -> list[str]:
    """Return a text in each form; evaluated, it creates ``evaluated-<number>`` in the folder."""
    return [
        form.replace("CODE", f'lookup("pipe", "touch {folder}/evaluated-{number}")')
        for number, form in enumerate(FORMS)
    ]


def evaluated(folder: Path) -> list[str]:
    """Return the names of the files that evaluated texts have created."""
    return sorted(path.name for path in folder.glob("evaluated-*"))
