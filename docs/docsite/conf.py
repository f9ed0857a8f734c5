"""Configure Sphinx for the documentation site, which the nox session docs-site builds."""

from __future__ import annotations

project = "virtinfra.manager"
project_copyright = "2026, Contributors to the virtinfra.manager project"
title = "virtinfra.manager"
html_short_title = "virtinfra.manager"

extensions = ["sphinx.ext.intersphinx", "sphinx_antsibull_ext"]
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
nitpicky = True

html_theme = "sphinx_ansible_theme"
html_theme_options = {
    "topbar_links": {
        "Repository": "https://git.example.com/virtinfra/manager",
        "Issues": "https://git.example.com/virtinfra/manager/issues",
    },
    "documentation_home_url": "index.html",
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_use_index = False
html_copy_source = False

# Where the documentation of Ansible cannot be reached, its labels are those of a file that the session writes.
intersphinx_mapping = {"ansible": ("https://docs.ansible.com/projects/ansible/latest/", (None, "ansible.inv"))}
intersphinx_timeout = 5
