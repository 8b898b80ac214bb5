# SPDX-License-Identifier: Apache-2.0
"""README and the pages of docs/: examples run, links have targets, quoted errors are raised."""

import ast
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from packaging.requirements import Requirement

import cudf_arrow_bridge as cab
from cudf_arrow_bridge import _load
from cudf_arrow_bridge._load import build_info
from cudf_arrow_bridge.arrow.errors import check_host_copy
from testing.peers.arrays import struct_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: The pages quote numbers and messages of this release.
OF_DOCUMENTED_RELEASE = pytest.mark.skipif(
    not build_info.LIBCUDF_VERSION.startswith("26.10"), reason="pages describe RAPIDS 26.10"
)

#: A marker, the code, and its output.
EXAMPLE = re.compile(
    r"^<!-- (gpu )?example: ([\w-]+) -->\n```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
#: Ray reports no usage statistics, and writes no token into the home folder.
QUIET_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_TOKEN": "0" * 32}

#: The interpreter does not print the values of expressions.
QUIET = "import sys; sys.displayhook = lambda value: None\n"

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
        marks = [pytest.mark.gpu] if example.needs_gpu or cab.has_gpu() else []
        if example.page.name != "README.md":
            marks.append(pytest.mark.exhaustive)
        # The lack of a GPU is the reason that counts for the GPU suite.
        if example.missing and (cab.has_gpu() or not example.needs_gpu):
            reason = f"{', '.join(example.missing)} not installed"
            marks.append(pytest.mark.skip(reason=reason))
        yield pytest.param(example, id=f"{example.page.stem}-{example.name}", marks=marks)


@pytest.mark.parametrize("example", list(parametrized()))
def test_example_runs_and_prints_the_documented_output(example, tmp_path):
    """Start Python in a clone. Examples of README and of the tutorial are pasted to its prompt."""
    for name in ("cudf_arrow_bridge", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    is_pasted = example.page.name in ("README.md", "tutorial.md")
    done = subprocess.run(
        [sys.executable, "-W", "error", *(["-i"] if is_pasted else ["-c", example.code])],
        input=f"{QUIET}{example.code}",
        cwd=tmp_path,
        env=os.environ | QUIET_RAY | {"PYTHONSAFEPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not re.search("Traceback|Error", done.stderr), done.stderr
    # The pages show the output in host memory.
    if example.printed is not None and (example.needs_gpu or not cab.has_gpu()):
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page):
    """Paths of the core begin below csrc/src, as in `cuda/fences/fence_set.cpp`."""
    places = (ROOT, ROOT / "csrc/src", ROOT / "cudf_arrow_bridge")
    folders = {"benchmarks", "csrc", "cudf_arrow_bridge", "dev", "docs", "examples", "tests"}
    folders |= {path.name for path in places[1].iterdir()}
    for name in re.findall(r"`([\w.-]+/[\w./-]*\w)/?`", page.read_text()):
        if name.partition("/")[0] in folders:
            # Some names omit the suffix, as in `cuda/ordering/events`.
            assert any([*place.glob(f"{name}*")] for place in places), name


TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text()
ERRORS = TROUBLESHOOTING.partition("## Errors\n")[2].partition("\n## ")[0]


def import_table(data, **options):
    return cab.from_arrow_device(pa.table(data), **options)


def import_descending_offsets():
    offsets = pa.py_buffer(np.array([0, 5, 3], np.int32))
    strings = pa.Array.from_buffers(pa.utf8(), 2, [None, offsets, pa.py_buffer(b"abcde")])
    return import_table({"s": strings}, validate="full")


def import_list_view_beyond_the_elements():
    offset, size = (pa.py_buffer(np.array([number], np.int32)) for number in (1, 2))
    elements = pa.array([1, 2], pa.int32())
    buffers = [None, offset, size]
    lists = pa.Array.from_buffers(pa.list_view(pa.int32()), 1, buffers, children=[elements])
    return import_table({"l": lists})


def read_device_memory_with_pyarrow():
    class OnGpu:
        def __arrow_c_device_array__(self, requested_schema=None):
            schema, array = pa.array([1]).__arrow_c_device_array__()
            struct_of(array).device_type = cab.DeviceType.CUDA
            return schema, array

    pa.array(OnGpu())


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


def import_array_of_another_schema():
    class Contradiction:
        def __arrow_c_array__(self, requested_schema=None):
            schema, _ = pa.record_batch({"a": [1]}).__arrow_c_array__()
            _, array = pa.array([1]).__arrow_c_array__()
            return schema, array

    cab.from_arrow_device(Contradiction())


def export_nulls_to_a_field_that_is_not_nullable():
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    cab.to_arrow_device(import_table({"x": [None, 1]}), requested_schema=schema)


def read_from_a_failing_producer():
    def batches():
        yield import_table({"x": [1]})
        raise OSError("disk full")

    pa.table(cab.to_arrow_device_stream(batches()))


CAUSES = [
    lambda: import_table({"d": pa.array([1], pa.decimal256(50, 2))}),
    lambda: cab.from_arrow_device(pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"])),
    lambda: import_table({"b": [True]}, copy=False),
    lambda: check_host_copy(cab.DeviceType.CUDA, False),
    read_device_memory_with_pyarrow,
    consume_generator_twice,
    export_released_array,
    import_column_with_nulls_to_numpy,
    lambda: import_table({"x": [1]}, columns=["y"]),
    import_descending_offsets,
    lambda: _load.check_release("26.10.02", "26.08.00"),
    lambda: import_table({"x": [1]})["x"].sum(),
]


@pytest.mark.skipif(cab.has_gpu(), reason="computes on frames in host memory")
@OF_DOCUMENTED_RELEASE
@pytest.mark.parametrize(
    ("message", "cause"),
    list(zip(re.findall("^### (.*)$", ERRORS, re.MULTILINE), CAUSES, strict=True)),
)
def test_troubleshooting_quotes_the_message(message, cause):
    with pytest.raises(Exception, match=re.escape(message)):
        cause()


#: The causes of the rows of the table in docs/errors.md.
EXCEPTIONS = [
    (TypeError, lambda: cab.from_arrow_device(object())),
    (TypeError, CAUSES[0]),
    (TypeError, CAUSES[1]),
    (TypeError, lambda: pickle.dumps(cab.to_arrow_device_stream(import_table({"x": [1]})))),
    (ValueError, lambda: cab.to_arrow_device_stream(import_table({"x": [1]}), max_rows=0)),
    (ValueError, import_array_of_another_schema),
    (ValueError, import_descending_offsets),
    (ValueError, import_list_view_beyond_the_elements),
    (ValueError, lambda: import_table({"b": [True]}, copy=False)),
    (ValueError, export_nulls_to_a_field_that_is_not_nullable),
    (ValueError, export_released_array),
    (ValueError, lambda: cab.ipc.open_file(b"not an Arrow file")),
    (KeyError, lambda: import_table({"x": [1]}, columns=["y"])),
    (IndexError, lambda: cab.to_arrow_device(import_table({"x": [1], "y": [2]}))[5]),
    (OverflowError, lambda: cab.from_arrow_device(pa.nulls(2**31))),
    (BufferError, import_column_with_nulls_to_numpy),
    (FileNotFoundError, lambda: cab.to_arrow_device_stream("missing.parquet")),
    (OSError, read_from_a_failing_producer),
    (RuntimeError, None),  # tests/cuda/test_driver.py
    (ImportError, lambda: _load.check_release("26.10.02", "26.08.00")),
]


def rows_of(page: str, header: str) -> list[list[str]]:
    """Return the cells of the tables that begin with a header."""
    text = (ROOT / "docs" / page).read_text()
    tables = re.findall(rf"^\| {re.escape(header)} \|.*\n\| -.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert tables
    return [
        [cell.strip() for cell in row.strip("|").split(" | ")]
        for table in tables
        for row in table.splitlines()
    ]


@pytest.mark.skipif(cab.has_gpu(), reason="exports to consumers in host memory")
@pytest.mark.parametrize(
    ("row", "case"),
    list(zip(rows_of("errors.md", "exception"), EXCEPTIONS, strict=True)),
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
def test_errors_page_names_the_exception(row, case):
    expected, cause = case
    assert row[0].strip() == f"`{expected.__name__}`"
    if cause is not None:
        with pytest.raises(Exception) as raised:  # noqa: PT011
            cause()
        assert type(raised.value) is expected


def sources() -> Iterator[str]:
    """Yield the sources that may read environment variables."""
    yield (ROOT / "setup.py").read_text()
    for folder in ("cudf_arrow_bridge", "csrc", "dev", "cmake", "tests", "benchmarks", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".pyx", ".cpp", ".hpp", ".sh", ".cmake", ".txt"):
                yield path.read_text()


def test_environment_page_lists_the_variables_that_are_read():
    reads = [
        r"getenv\(\"(\w+)\"",
        r"environ(?:\.get\(|\.setdefault\(|\[)\"(\w+)\"",
        r"\$\{([A-Z_]+):-",
        r"constexpr auto \w+ += \"([A-Z_]+)\";\n",
    ]
    read = {name for text in sources() for pattern in reads for name in re.findall(pattern, text)}
    # Paths of the interpreter and the loader that tests extend, and a variable of a test's script.
    read -= {"PYTHONPATH", "LD_LIBRARY_PATH", "PYTHONSAFEPATH", "LOST"}
    # Read by libraries: CUDA, cuDF, UCX, rich and CMake.
    by_libraries = {
        "CUDF_SPILL",
        "CUDF_PER_THREAD_STREAM",
        "UCX_TLS",
        "COLUMNS",
        "NO_COLOR",
        "CMAKE_ARGS",
    }
    rows = rows_of("environment.md", "variable")
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert listed == read | by_libraries


def test_environment_page_lists_the_options_of_cmake():
    text = (ROOT / "CMakeLists.txt").read_text()
    options = re.findall(r"^(?:option|set)\((\w+) .*\"", text, re.MULTILINE)
    assert [row[0].strip("` ") for row in rows_of("environment.md", "option")] == options


SETUP_PY = (ROOT / "setup.py").read_text()


def test_versions_page_shows_the_versions_of_the_package():
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    rows = {row[0]: row[1:] for row in rows_of("versions.md", "cudf-arrow-bridge")}
    needed = {
        requirement.name: str(requirement.specifier)
        for requirement in map(Requirement, requires("cudf-arrow-bridge-cu12") or [])
        if requirement.marker is None
    }
    rapids = ".".join(cab.__version__.split(".")[:2])
    assert needed["cudf-cu12"] == f"=={rapids}.*"
    [accepted] = re.findall(r"^CRT = ({.*})", SETUP_PY, re.MULTILINE)
    assert rows[cab.__version__] == [
        rapids,
        " or ".join(ast.literal_eval(accepted)),
        f"{setup['options']['python_requires'].removeprefix('>=')} and newer",
        f"{needed['pyarrow'].removeprefix('>=')} and newer",
    ]


def test_versions_page_shows_the_extras():
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    rows = rows_of("versions.md", "extra")
    listed = {name: row[1] for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert {*listed, "gpu"} == {*extras, "polars", "ucx", "gpu"}
    for name in ("dask", "ray"):
        assert listed[name].strip("`") == extras[name].strip()
    [pinned] = re.findall(r'UCXX = {"26.10": "([\d.]+)"', SETUP_PY)
    assert set(re.findall("==[0-9.*]+", listed["ucx"])) == {f"=={pinned}.*"}


SECTIONS = ["start", "guides", "concepts", "reference", "development"]


@pytest.mark.parametrize("section", SECTIONS)
def test_section_of_the_site_describes_each_of_its_pages(section):
    text = (ROOT / "docs" / f"{section}.rst").read_text()
    described = re.findall(r"^:doc:`(.*)`\n    \w.*\.\n", text, re.MULTILINE)
    assert described == re.findall(r"^   (\w.* <.*>)$", text, re.MULTILINE)


def test_site_has_every_page_in_one_section():
    pages = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    pages += [page for page in PAGES if page.name != "index.md"]
    targets = [
        (ROOT / "docs" / f"{target}.md").resolve()
        for section in SECTIONS
        for target in re.findall(r"<(.*)>`", (ROOT / "docs" / f"{section}.rst").read_text())
    ]
    assert len(targets) == len(set(targets))
    assert set(pages) <= set(targets)


#: Prints how many Python functions of the package are called, without comprehensions, when the
#: schema is cached.
COUNT_CALLS = """
import sys
import pyarrow as pa
import cudf_arrow_bridge as cab

table = pa.table({"a": [1, 2, 3]})
frame = cab.from_arrow_device(table)
exchanges = [
    lambda: cab.to_arrow_device(frame).__arrow_c_device_array__(),
    lambda: cab.from_arrow_device(table, to="pylibcudf"),
    lambda: cab.from_arrow_device(table, to="cudf"),
]

def count(frame, event, argument):
    module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
    called[-1] += event == "call" and module.startswith("cudf_arrow_bridge.") and name[0] != "<"

for exchange in exchanges:
    called = []
    for _ in range(2):
        called.append(0)
        sys.setprofile(count)
        exchange()
        sys.setprofile(None)
    print(called[-1])
"""


@pytest.mark.skipif(cab.has_gpu(), reason="counts the calls for host memory")
@OF_DOCUMENTED_RELEASE
def test_architecture_page_counts_the_calls_of_an_export_and_of_imports():
    page = (ROOT / "docs/architecture.md").read_text()
    exported = re.findall(r"with (\d+) calls of our functions for a frame of one column", page)
    imported = re.findall(
        r'with (\d+) calls for .* of one column with `to="pylibcudf"`, and (\d+) with `to="cudf"`',
        page,
    )
    command = [sys.executable, "-P", "-c", COUNT_CALLS]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.split() == [*exported, *imported[0]]


def test_profiling_page_lists_the_ranges_of_the_core():
    function = r"^[\w:<>*& ]*?(\w+)\([^;{}]*\{\n *detail::nvtx_range const range\{__func__\};"
    names = r"detail::nvtx_range const range\{\"(\w+)\"\}"
    texts = [path.read_text() for path in (ROOT / "csrc/src").rglob("*.cpp")]
    used = [name for text in texts for name in re.findall(function, text, re.MULTILINE)]
    used += [name for text in texts for name in re.findall(names, text)]
    assert len(used) == sum(text.count("detail::nvtx_range const") for text in texts)
    rows = rows_of("profiling.md", "range")
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(listed) == sorted(set(used))
