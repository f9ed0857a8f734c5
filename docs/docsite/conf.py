"""Configure Sphinx for the documentation site, which the nox session docs-site builds."""

from __future__ import annotations

project = "virtinfra.manager"
project_copyright = "2026, Contributors to the virtinfra.manager project"
html_title = "virtinfra.manager"

extensions = ["sphinx.ext.intersphinx", "sphinx_antsibull_ext"]
highlight_language = "YAML+Jinja"
nitpicky = True

# It has a light and a dark scheme, and lines of at most 80 characters.
html_theme = "furo"
html_theme_options = {
    "light_css_variables": {
        # A smaller one would make lines longer.
        "admonition-font-size": "1rem",
        "admonition-title-font-size": "1rem",
        "antsibull-table-background-header": "#e3eaf2",
        "antsibull-table-background-even": "#f8f9fb",
        "antsibull-narrowtable-background": "#eef2f7",
        "antsibull-table-border": "#c3cad3",
        "antsibull-option-type": "#6f2da8",
        "antsibull-option-elements": "#6f2da8",
        "antsibull-option-required": "#b3261e",
        "antsibull-attribute-support-none": "#b3261e",
        "antsibull-attribute-support-partial": "#7a6000",
        "antsibull-attribute-support-full": "#1a6b34",
        "antsibull-links-background": "#1f6f73",
        "antsibull-links-background-active": "#14575a",
    },
    "dark_css_variables": {
        "antsibull-table-background-header": "#2b3440",
        "antsibull-table-background-even": "#1d232b",
        "antsibull-table-background-odd": "#14181e",
        "antsibull-narrowtable-background": "#1d232b",
        "antsibull-table-border": "#46505c",
        "antsibull-option-type": "#c792ea",
        "antsibull-option-elements": "#c792ea",
        "antsibull-option-required": "#ff7b72",
        "antsibull-option-version-added": "#7ee2a8",
        "antsibull-option-aliases": "#7ee2a8",
        "antsibull-option-default": "#79b8ff",
        "antsibull-option-sample": "#79b8ff",
        "antsibull-option-sample-header": "#e6edf3",
        "antsibull-attribute-support-none": "#ff7b72",
        "antsibull-attribute-support-partial": "#e3c341",
        "antsibull-attribute-support-full": "#7ee2a8",
        "antsibull-links-background": "#1f6f73",
        "antsibull-links-background-active": "#2a8d92",
        "antsibull-deprecation-border": "#e6edf3",
        "antsibull-deprecation-background": "#2b3440",
        "antsibull-deprecation-color": "#e6edf3",
    },
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_use_index = False
html_copy_source = False

# Where the documentation of Ansible cannot be reached, its labels are those of a file that the session writes.
intersphinx_mapping = {"ansible": ("https://docs.ansible.com/projects/ansible/latest/", (None, "ansible.inv"))}
intersphinx_timeout = 5
