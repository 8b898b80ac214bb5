# SPDX-License-Identifier: Apache-2.0
"""Configuration of the documentation site. `bash dev/docs.sh` builds it."""

import html
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes

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
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
# The source folder is the root of the repository, so that the links of README.md work.
root_doc = "docs/index"
include_patterns = ["*.md", "csrc/tests/sim/*.md", "docs/**"]
include_patterns += ["examples/data/*.md", "tests/README.md"]
exclude_patterns = [".venv", "build", "docs/_templates"]
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

highlight_language = "none"  # of blocks that name no language
default_role = "autolink"
autosummary_generate = True
autosummary_context = {"names_of_builtins": {*dir(int), *dir(tuple)}}
autodoc_typehints = "none"  # numpydoc shows the types of the docstrings
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

DOXYGEN = ROOT / "build" / "doxygen" / "xml"
breathe_projects = {project: str(DOXYGEN)}
breathe_default_project = project
breathe_show_include = False

icon = "docs/_static/icon.svg"  # from the root of the sources, unlike other static files
templates_path = [str(ROOT / "docs" / "_templates")]
html_additional_pages = {"index": "redirect.html"}
html_theme = "pydata_sphinx_theme"
html_title = f"{project} {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_search_scorer = str(ROOT / "docs" / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": project, "image_light": icon, "image_dark": icon},
    "collapse_navigation": True,
    "navbar_align": "left",
    "navbar_end": ["version-switcher", "theme-switcher"],
    # dev/publish_docs.py replaces the file in all versions when it adds one.
    "switcher": {"json_url": "_static/switcher.json", "version_match": folder},
    "check_switcher": False,
    "show_version_warning_banner": True,
}

# Words for which the search shows a page first, in addition to those of its title.
search_keywords = {
    "README": ["pip install"],
    "docs/api/python": ["api", "export", "import"],
    "docs/async": ["async for", "asyncio", "await", "event loop"],
    "docs/consumers": ["zero copy", "zero-copy"],
    "docs/how-to/tensors": ["cuda array interface", "ndarray"],
    "docs/how-to/torch": ["dataloader", "tensor"],
    "docs/ordering": [
        "cuda stream",
        "gil",
        "race condition",
        "stream=",
        "synchronize",
        "thread safe",
    ],
    "docs/ownership": ["lifetime", "memory leak", "use after free"],
    "docs/performance": ["copy=false", "zero copy", "zero-copy"],
    "docs/pickle": ["multiprocessing", "processes", "serialize"],
    "docs/speed": ["benchmark"],
    "docs/types": [
        "cast",
        "decimal",
        "dictionary",
        "requested_schema",
        "string",
        "timezone",
        "zero copy",
        "zero-copy",
    ],
    "docs/versions": ["cpu only", "install without gpu", "no gpu"],
}


def add_keywords(app, doctree):
    """Make the keywords of the page main entries of the index, which the search shows first."""
    keywords = search_keywords.get(app.env.docname, ())
    entries = [("single", keyword, "", "main", None) for keyword in keywords]
    doctree.append(addnodes.index(entries=entries))


def check_keywords(app, env):
    if unknown := search_keywords.keys() - env.found_docs:
        raise ValueError(f"search_keywords: there are no pages {sorted(unknown)}")


CPP_TABLE = """\
.. list-table::
   :class: autosummary
   :widths: auto

"""
CPP_ROW = """\
   * - :cpp:any:`{name} <cudf_arrow_bridge::{name}>`
     - {summary}
"""
CPP_PAGE = """\
{title}
{line}

.. code-block:: cpp

   #include <cudf_arrow_bridge/{header}>

{content}
"""


def write_cpp_pages(app):
    """Write the C++ reference: a table and a page for each group of Doxygen, and for each class."""
    folder = ROOT / "docs" / "api" / "cpp"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def write(stem, title, items, *content):
        [header] = {Path(item.find("location").get("file")).name for item in items}
        text = CPP_PAGE.format(
            title=title, line="=" * len(title), header=header, content="\n\n".join(content)
        )
        (folder / f"{stem}.rst").write_text(text)

    for path in sorted(DOXYGEN.glob("group__*.xml")):
        group = compound(path.stem)
        classes = [compound(inner.get("refid")) for inner in group.iter("innerclass")]
        members = list(group.iter("memberdef"))
        rows = {}
        for item in sorted([*classes, *members], key=lambda item: item.get("kind") != "function"):
            name = name_of(item)
            rows.setdefault(name, CPP_ROW.format(name=name, summary=summary(item)))
        stem = group.findtext("compoundname")
        (folder / f"{stem}.inc").write_text(CPP_TABLE + "".join(rows.values()))

        names = [name_of(item) for item in classes]
        for name, item in zip(names, classes, strict=True):
            directive = f".. doxygen{item.get('kind')}:: cudf_arrow_bridge::{name}\n   :members:"
            write(name, name, [item], directive)
        directives = [
            f".. doxygen{item.get('kind')}:: cudf_arrow_bridge::{name_of(item)}"
            + item.findtext("argsstring", "")
            for item in members
        ]
        if classes:
            directives.append("\n   ".join([".. toctree::", ":hidden:", "", *names]))
        table = f".. include:: {stem}.inc"
        write(stem, group.findtext("title"), [*members, *classes], table, *directives)


def compound(name):
    return ElementTree.parse(DOXYGEN / f"{name}.xml").find("compounddef")


def name_of(item):
    return (item.findtext("compoundname") or item.findtext("name")).rpartition("::")[2]


def summary(item):
    """Return the first sentence of the description as reStructuredText."""
    paragraph = item.find("briefdescription/para")
    if paragraph is None:
        paragraph = item.find("detaileddescription/para")
    if paragraph is None:
        raise ValueError(f"{name_of(item)} has no description")
    for code in paragraph.iter("computeroutput"):
        code.text = f"``{''.join(code.itertext())}``"
        code[:] = []
    return " ".join("".join(paragraph.itertext()).split()).partition(". ")[0].rstrip(".;") + "."


def add_description(app, pagename, templatename, context, doctree):
    """Describe the page for search engines and previews of links, with its first paragraph."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        if isinstance(paragraph.parent, nodes.entry):
            continue
        text = html.escape(" ".join(paragraph.astext().split()))
        context["metatags"] += f'<meta name="description" content="{text}" />\n'
        return


def setup(app):
    app.connect("builder-inited", write_cpp_pages)
    app.connect("doctree-read", add_keywords)
    app.connect("env-updated", check_keywords)
    app.connect("html-page-context", add_description)
