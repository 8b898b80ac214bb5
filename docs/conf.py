# SPDX-License-Identifier: Apache-2.0
"""Configuration of the documentation site. `bash dev/docs.sh` builds it."""

import os
from pathlib import Path

import cudf_arrow_bridge

ROOT = Path(__file__).resolve().parent.parent

project = "cudf-arrow-bridge"
author = "The developers of cudf-arrow-bridge"
copyright = f"2026, {author}. Apache License 2.0"  # noqa: A001
# The folder of the published site: "dev", or a release, for which the workflow sets the tag.
folder = os.environ.get("DOCS_VERSION", "dev").removeprefix("v")
version = release = cudf_arrow_bridge.__version__ + (".dev" if folder == "dev" else "")
if folder not in ("dev", version):
    raise ValueError(f"DOCS_VERSION: expected dev or {version}, got {folder}")

extensions = [
    "breathe",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
# The source folder is the root of the repository, so that the links of README.md work.
root_doc = "docs/index"
include_patterns = ["*.md", "csrc/tests/sim/*.md", "docs/**"]
include_patterns += ["examples/data/*.md", "tests/README.md"]
exclude_patterns = [".venv", "build"]
nitpicky = True
nitpick_ignore_regex = [
    # Types in C++ signatures, most of which belong to other libraries.
    ("cpp:identifier", ".*"),
    # Names that the modules of these docstrings import, but that the reference lists elsewhere.
    ("py:obj", "DeviceArray|rmm.*|to_arrow_device_stream"),
]

# Pages are written for GitHub, too: anchors as there.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
myst_links_external_new_tab = False

default_role = "autolink"
autosummary_generate = False
autodoc_typehints = "none"  # numpydoc shows the types of the docstrings
autodoc_member_order = "groupwise"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

breathe_projects = {project: str(ROOT / "build" / "doxygen" / "xml")}
breathe_default_project = project
breathe_show_include = False

templates_path = ["_templates"]
html_additional_pages = {"index": "redirect.html"}
html_theme = "pydata_sphinx_theme"
html_title = f"{project} {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": project},
    "navbar_align": "left",
    "navbar_end": ["version-switcher", "theme-switcher"],
    # dev/publish_docs.py replaces the file in all versions when it adds one.
    "switcher": {"json_url": "_static/switcher.json", "version_match": folder},
    "check_switcher": False,
    "show_version_warning_banner": True,
}
