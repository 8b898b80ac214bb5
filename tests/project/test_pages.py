# SPDX-License-Identifier: Apache-2.0
"""README and the pages of docs/: examples run, links have targets, quoted errors are raised."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge import _load

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: A marker, the code, and its output.
EXAMPLE = re.compile(
    r"^<!-- (gpu )?example: ([\w-]+) -->\n```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
#: Ray reports no usage statistics, and writes no token into the home folder.
QUIET_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_TOKEN": "0" * 32}

#: The name of the example whose code all later examples of a page begin with.
BEGINNING = "recipes"


@dataclass(frozen=True)
class Example:
    """An example of a page; `printed` is None if the page does not show the output."""

    page: Path
    name: str
    needs_gpu: bool
    code: str
    printed: str | None

    @property
    def missing(self) -> list[str]:
        """The modules that the example imports and that are not installed here."""
        imports = [node for node in ast.walk(ast.parse(self.code)) if isinstance(node, ast.Import)]
        names = [alias.name.partition(".")[0] for node in imports for alias in node.names]
        return [name for name in names if importlib.util.find_spec(name) is None]


def examples():
    for page in PAGES:
        beginning = ""
        for needs_gpu, name, code, printed in EXAMPLE.findall(page.read_text()):
            if name == BEGINNING:
                beginning = code
                continue
            yield Example(page, name, bool(needs_gpu), beginning + code, printed or None)


def parametrized():
    for example in examples():
        marks = [pytest.mark.gpu] if example.needs_gpu else []
        if example.missing:
            reason = f"{', '.join(example.missing)} not installed"
            marks.append(pytest.mark.skip(reason=reason))
        yield pytest.param(example, id=f"{example.page.stem}-{example.name}", marks=marks)


@pytest.mark.parametrize("example", list(parametrized()))
def test_example_runs_and_prints_the_documented_output(example, tmp_path):
    # Not in the root: the workers of clusters would import the package from the sources there.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    command = [sys.executable, "-W", "error", "-c", example.code]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | QUIET_RAY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if example.printed is not None:
        assert [line.rstrip() for line in done.stdout.splitlines()] == example.printed.splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_python_block_is_an_example_that_runs(page):
    text = page.read_text()
    assert text.count("```python") == len(EXAMPLE.findall(text))
    names = [name for _, name, *_ in EXAMPLE.findall(text)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "examples" / "data" / "README.md"], ids=lambda page: str(page.stem)
)
def test_targets_of_links_exist(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not target.startswith("https://"):
            path = target.partition("#")[0]  # the build of the site checks anchors
            assert (page.parent / path).exists(), target


def test_readme_links_to_every_page():
    readme = (ROOT / "README.md").read_text()
    for page in PAGES[1:]:
        assert f"(docs/{page.name})" in readme, page.name


TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text()
ERRORS = TROUBLESHOOTING.partition("## Errors\n")[2].partition("\n## ")[0]


def import_table(data, **options):
    return cab.from_arrow_device(pa.table(data), **options)


def import_descending_offsets():
    offsets = pa.py_buffer(np.array([0, 5, 3], np.int32))
    strings = pa.Array.from_buffers(pa.utf8(), 2, [None, offsets, pa.py_buffer(b"abcde")])
    return import_table({"s": strings}, validate="full")


def consume_generator_twice():
    stream = cab.to_arrow_device_stream(batch for batch in [import_table({"x": [1]})])
    pa.table(stream)
    pa.table(stream)


def export_released_array():
    array = cab.to_arrow_device(import_table({"x": [1]}))
    array.release()
    array.to_arrow()


def import_column_with_nulls_to_numpy():
    np.from_dlpack(cab.to_arrow_device(import_table({"x": [1, None]}))["x"])


CAUSES = [
    lambda: import_table({"d": pa.array([1], pa.decimal256(50, 2))}),
    lambda: cab.from_arrow_device(pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"])),
    lambda: import_table({"b": [True]}, copy=False),
    consume_generator_twice,
    export_released_array,
    import_column_with_nulls_to_numpy,
    lambda: import_table({"x": [1]}, columns=["y"]),
    import_descending_offsets,
    lambda: _load.check_release("26.10.02", "26.08.00"),
    lambda: import_table({"x": [1]})["x"].sum(),
]


@pytest.mark.skipif(cab.has_gpu(), reason="computes on frames in host memory")
@pytest.mark.parametrize(
    ("message", "cause"),
    list(zip(re.findall("^### (.*)$", ERRORS, re.MULTILINE), CAUSES, strict=True)),
)
def test_troubleshooting_quotes_the_message(message, cause):
    with pytest.raises(Exception, match=re.escape(message)):
        cause()
