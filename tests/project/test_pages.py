# SPDX-License-Identifier: Apache-2.0
"""The examples of README and of docs/ run, and print the output that the pages show."""

import ast
import asyncio
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Pages whose examples a reader pastes to the prompt, one after the other.
PASTED = ("README.md", "index.md", "tutorial.md")

#: A marker, the code, and its output.
EXAMPLE = re.compile(
    r"^<!-- (gpu )?example: ([\w-]+) -->\n```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
#: Ray reports no usage statistics, and writes no token into the home folder.
QUIET_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_TOKEN": "0" * 32}

#: The prompt does not print the values of expressions.
QUIET = "import sys; sys.displayhook = lambda value: None\n"


@dataclass(frozen=True)
class Example:
    """An example of a page; `printed` is None if the page does not show the output."""

    page: Path
    name: str
    needs_gpu: bool
    code: str
    printed: str | None

    @property
    def imported(self) -> set[str]:
        """The packages that the example imports."""
        names = []
        for node in ast.walk(ast.parse(self.code)):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names.append(node.module)
        return {name.partition(".")[0] for name in names}

    @property
    def missing(self) -> list[str]:
        """The packages that the example imports and that are not installed here."""
        return [name for name in sorted(self.imported) if importlib.util.find_spec(name) is None]


def examples_of(page):
    """Yield the examples. Later examples of a page begin with the code of the example `recipes`."""
    beginning = ""
    for needs_gpu, name, code, printed in EXAMPLE.findall(page.read_text()):
        if name == "recipes":
            beginning = code
            continue
        yield Example(page, name, bool(needs_gpu), beginning + code, printed or None)


def examples():
    """Yield the examples. The pasted examples of a page are one, without those that cannot run."""
    for page in PAGES:
        if page.name in PASTED:
            pasted = []
            for example in examples_of(page):
                if example.missing:
                    yield example  # and is skipped, with the reason
                else:
                    pasted.append(example)
            code = "".join(example.code for example in pasted)
            printed = "".join(example.printed or "" for example in pasted)
            yield Example(page, "pasted", False, code, printed)
        else:
            yield from examples_of(page)


def parametrized():
    for example in examples():
        marks = [pytest.mark.gpu] if example.needs_gpu or cab.has_gpu() else []
        if example.page.name not in PASTED:
            marks.append(pytest.mark.exhaustive)
        # The lack of a GPU is the reason that counts for the GPU suite.
        if example.missing and (cab.has_gpu() or not example.needs_gpu):
            reason = f"{', '.join(example.missing)} not installed"
            marks.append(pytest.mark.skip(reason=reason))
        yield pytest.param(example, id=f"{example.page.stem}-{example.name}", marks=marks)


def lines_printed_by(example, tmp_path, before=""):
    """Start Python in a clone, and run the statements `before` and the example."""
    for name in ("cudf_arrow_bridge", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    is_pasted = example.page.name in PASTED
    code = before + example.code
    done = subprocess.run(
        [sys.executable, "-W", "error", *(["-i"] if is_pasted else ["-c", code])],
        input=f"{QUIET}{code}",
        cwd=tmp_path,
        env=os.environ | QUIET_RAY | {"PYTHONSAFEPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not re.search("Traceback|Error", done.stderr), done.stderr
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("example", list(parametrized()))
def test_example_runs_and_prints_the_documented_output(example, tmp_path):
    lines = lines_printed_by(example, tmp_path)
    # The pages show the output in host memory.
    if example.printed is not None and (example.needs_gpu or not cab.has_gpu()):
        assert lines == example.printed.splitlines()


@pytest.mark.skipif(cab.has_gpu(), reason="the examples themselves run on the GPU")
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            example,
            id=f"{example.page.stem}-{example.name}",
            marks=[] if example.page.name in PASTED else pytest.mark.exhaustive,
        )
        for example in examples()
        if not (example.needs_gpu or example.missing)
        and "to_arrow_device(" in example.code  # which device_stand_in changes
    ],
)
def test_example_runs_where_arrays_report_device_memory(example, tmp_path):
    """Libraries that read host memory then need the copies that they need on a GPU."""
    folder = str(Path(__file__).parent)
    before = f"import sys; sys.path.append({folder!r}); import device_stand_in\n"
    lines = lines_printed_by(example, tmp_path, before)
    if example.page.name in PASTED:
        assert lines == example.printed.replace(" on CPU", " on CUDA").splitlines()


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_first_examples_import_only_what_the_installation_installs(name):
    for example in examples_of(ROOT / name):
        assert example.imported <= {"cudf_arrow_bridge", "pyarrow"}


def test_every_python_block_is_an_example():
    for page in PAGES:
        text = page.read_text()
        names = [name for _, name, *_ in EXAMPLE.findall(text)]
        assert len(set(names)) == len(names) == text.count("```python"), page


@pytest.mark.skipif(cab.has_gpu(), reason="numpy reads the tensor in host memory")
def test_calls_in_the_table_of_the_readme_run(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    table = pa.table({"distance": [1, 2, 3]})
    pq.write_table(table, "flights.parquet")
    frame = cab.from_arrow_device(table)
    names = {"cab": cab, "pickle": pickle, "torch": np, "frame": frame, "buffers": []}
    names["array"] = cab.to_arrow_device(frame)
    calls = re.findall(r"^\| \[.*\) \| `(.*)` \|$", README, re.MULTILINE)
    lines = "\n    ".join(["async def run():", *calls, "return locals()"])
    exec(lines, names)
    results = asyncio.run(names["run"]())
    assert cab.from_arrow_device_stream(results["stream"]).to_arrow() == table
    assert [frame.to_arrow() for frame in results["frames"]] == [table]
    assert pa.ipc.open_file("flights.arrow").read_all() == table
    assert pa.table(pickle.loads(results["header"], buffers=names["buffers"])) == table
    assert results["collection"].compute()["distance"].tolist() == [1, 2, 3]
    assert results["tensor"].tolist() == [1, 2, 3]


#: The overview pages, whose tables lead to the other pages.
OVERVIEWS = ["start.md", "guides.md", "concepts.md", "reference.md", "development.md"]
LINK = re.compile(r"\]\((?!http)([^)#]+)[^)]*\)")


@pytest.mark.parametrize("name", OVERVIEWS)
def test_overview_page_links_each_page_of_its_toctree(name):
    """GitHub shows the tables, and the site the toctrees."""
    text = (ROOT / "docs" / name).read_text()
    entries = re.findall(r"^.*<(.*)>$", text, re.MULTILINE)
    linked = [path.rpartition(".")[0] for path in LINK.findall(text)]
    assert set(entries) - set(linked) == set()
    assert len(entries) > 1


def guides():
    """Return the hand-written pages of the guides and concepts."""
    folder = ROOT / "docs"
    names = [n for page in OVERVIEWS[1:3] for n in LINK.findall((folder / page).read_text())]
    return [folder / name for name in names if name not in ("speed.md", "glossary.md")]


def prose_of(page):
    text = re.sub(r"^```.*?^```$|`[^`\n]*`|<!--.*?-->", "", page.read_text(), flags=re.M | re.S)
    return re.sub(r"^(#|\||    ).*$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("term", ["batch", "borrow", "fence"])
def test_guides_link_the_terms_of_the_glossary_at_their_first_use(term):
    for page in guides():
        word = re.search(rf"\[?\b{term}(s|es|ed)?\b(\]\(\S*\))?", prose_of(page), re.IGNORECASE)
        if word is not None and page.stem != "torch":  # a batch of a DataLoader
            assert f"#{term}" in word[0], (page, word[0])


def test_guides_open_with_a_short_answer():
    for page in guides():
        answer = page.read_text().partition("# ")[2].split("\n\n")[1]
        assert answer[0].isalnum() or answer[0] == "`", page
        assert len(answer.split()) < 80, page


#: Arguments that several functions have.
ARGUMENTS = ["stream", "copy", "requested_schema", "validate", "max_bytes", "columns", "filter"]


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_headings_name_the_arguments_that_users_search(argument):
    headings = "".join("".join(re.findall("^#+ .*$", p.read_text(), re.M)) for p in PAGES)
    assert re.search(rf"\b{argument}(=|`)", headings)
