# SPDX-License-Identifier: Apache-2.0
"""The statements of docs/pylibcudf.md on the installed release, as far as they need no GPU.

If a test fails here after a new release of cuDF, a row of the page is out of date.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cudf
import pyarrow as pa
import pylibcudf as plc
import pytest
import rmm

import cudf_arrow_bridge as bridge
from testing.host import to_plc
from testing.peers.arrays import DeviceOnly, Producer, column_from, read, struct_of
from testing.peers.pylibcudf_interop import (
    EMPTY_DICTIONARY,
    EXPORTS,
    HOST_EXPORTS,
    IMPORTS,
    NULL_VALUE,
    REFUSED,
    TAKEN,
    empty_lists,
    null_column,
    part_of,
    rows,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "pylibcudf.md").read_text()


def table(heading):
    """Return the cells of the rows of the first table below a heading, without backticks."""
    found = re.search(rf"^## {heading}\n.*?^\| -.*?\n(.*?)\n\n", PAGE, re.M | re.S)
    assert found, heading
    return [
        [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        for line in found[1].splitlines()
    ]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """Return the results of pylibcudf's own interop for the cases, in host memory."""
    if bridge.has_gpu():
        pytest.skip("tests/gpu/test_pylibcudf_interop.py compares them on a GPU")
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    stub = tmp_path_factory.mktemp("device") / "libcuda.so.1"
    year, month = rmm.__version__.split(".")[:2]
    command = [compiler, "-std=c++20", f"-DRMM_NAMESPACE=_RMM_{year}_{month}", "-shared", "-fPIC"]
    source = Path(__file__).with_name("stub_device.cpp")
    subprocess.run([*command, f"-Wl,-soname,{stub.name}", source, "-ldl", "-o", stub], check=True)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "testing.peers.pylibcudf_interop"],
        env=os.environ | {"LD_PRELOAD": str(stub), "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_page_names_the_installed_release():
    release = ".".join(str(int(part)) for part in cudf.__version__.split("."))
    if not release.startswith("26.10"):
        pytest.skip("the page describes RAPIDS 26.10")
    for subject in ("in cuDF", "| | pylibcudf", "in November 2026, the wheels of cuDF"):
        assert f"{subject} {release} " in PAGE


def protocols(kind):
    return {name for name in dir(kind) if name.startswith("__arrow_c_")}


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        (0, (plc.Table, plc.Column)),
        (1, (cudf.DataFrame,)),
        (2, (cudf.Series, cudf.Index, cudf.MultiIndex)),
    ],
)
def test_page_lists_the_arrow_methods_of_each_class(row, kinds):
    said = table("Interfaces of cuDF and pylibcudf")[row]
    names = [f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in kinds]
    assert said[0] == ", ".join(names)
    for kind in kinds:
        assert set(re.findall(r"__arrow_c_\w+__", said[1])) == protocols(kind)


def test_pylibcudf_export_does_not_support_a_stream():
    for kind in (plc.Table, plc.Column):
        assert "stream" not in inspect.signature(kind.__arrow_c_device_array__).parameters
        with pytest.raises(NotImplementedError):
            kind.__arrow_c_device_array__(a_table() if kind is plc.Table else a_column(), stream=1)


def a_column(nulls=False):
    return to_plc(pa.array([1, None if nulls else 2]))


def a_table(nulls=False):
    return plc.Table([a_column(nulls)])


@pytest.mark.skipif(bridge.has_gpu(), reason="about machines without a GPU")
def test_pylibcudf_export_needs_a_gpu():
    with pytest.raises(RuntimeError, match="cudaErrorInsufficientDriver"):
        a_column().__arrow_c_device_array__()


def test_pylibcudf_schema_depends_on_the_nulls_and_has_no_names():
    theirs = [pa.Schema._import_from_c_capsule(a_table(nulls)._to_schema()) for nulls in (0, 1)]
    assert [schema.field(0).nullable for schema in theirs] == [False, True]
    assert theirs[0].names == [""]
    ours = [pa.record_batch(bridge.to_arrow_device(a_table(nulls))).schema for nulls in (0, 1)]
    assert ours[0] == ours[1]


def test_pylibcudf_export_rejects_a_requested_schema():
    schema = pa.schema([]).__arrow_c_schema__()
    for there in (a_table(), a_column()):
        with pytest.raises(ValueError, match="does not support alternative schema"):
            there.__arrow_c_device_array__(schema)


@pytest.mark.parametrize("name", HOST_EXPORTS)
def test_pylibcudf_exports_wrong_rows_of_a_slice(name, theirs):
    right = EXPORTS[name][0].slice(*EXPORTS[name][1:]).to_pylist()
    assert read(bridge.to_arrow_device(part_of(*EXPORTS[name]))).to_pylist() == right
    assert theirs["exports"][name] != right


def test_pylibcudf_slices_have_wrong_nulls_or_begin_at_the_first_row(theirs):
    assert theirs["exports"] == {
        "E1 mask": [0, None, 4],
        "E2 list": [[1], [2, 3]],
        "E2 struct": [{"": 1}, {"": 2}],
    }


def test_pylibcudf_exports_null_and_empty_columns_wrongly(theirs):
    assert "Invalid type_id" in theirs["nulls"]
    assert read(bridge.to_arrow_device(null_column())).to_pylist() == [None] * 3

    assert theirs["dictionary"] == "dictionary<values=int64, indices=int32, ordered=0>"
    kept = read(bridge.to_arrow_device(to_plc(EMPTY_DICTIONARY)))
    assert kept.type == EMPTY_DICTIONARY.type

    assert theirs["offsets"] is None
    _, capsule = bridge.to_arrow_device(empty_lists()).__arrow_c_device_array__()
    assert struct_of(capsule).array.buffers[1]


@pytest.mark.parametrize("name", IMPORTS)
def test_pylibcudf_imports_wrong_rows(name, theirs):
    kind, array, edit, right = IMPORTS[name]
    assert theirs["imports"][name] != right
    producer = DeviceOnly(Producer(array, edit))
    if name == "I2 nulls":
        with pytest.raises(ValueError, match='kind="column"'):
            bridge.from_arrow_device(producer, to="pylibcudf", kind=kind)
        return
    ours = bridge.from_arrow_device(producer, to="pylibcudf", kind=kind)
    assert rows(ours, array.type) == right


def test_pylibcudf_truncates_offsets_to_32_bits(theirs):
    assert theirs["offset"] == 1  # tests/import/test_sizes.py tests the bridge


def test_pylibcudf_export_rejects_a_dictionary_with_a_null_value(theirs):
    assert "Invalid null mask" in theirs["null value"]
    ours = bridge.to_arrow_device(column_from(NULL_VALUE))
    assert read(ours).dictionary_decode().to_pylist() == [5, None]


def test_pylibcudf_rejects_types_that_the_bridge_imports(theirs):
    for array, found in zip(REFUSED, theirs["refused"], strict=True):
        assert re.match(r"ValueError: CUDF failure at.*(not supported|Unsupported type_id)", found)
        assert column_from(array).size() == len(array)
    for array, found in zip(TAKEN, theirs["taken"], strict=True):
        assert found == json.loads(json.dumps(array.to_pylist(), default=str))


def test_the_schema_that_pylibcudf_imports_is_never_released(theirs):
    before, after, schemas = theirs["releases"]
    assert (before, after, schemas) == (0, 1, 0)
    producer = Producer(pa.array([1]))
    column_from(producer)
    assert (producer.releases, producer.schema_releases) == (1, 1)


def test_cudf_loses_time_zones_and_categories_through_pylibcudf():
    """cuDF's conversion to pylibcudf and back loses them; the bridge keeps them."""
    zoned = pa.array([0], pa.timestamp("ms", "Europe/Paris"))
    batch = pa.record_batch({"z": zoned, "c": pa.array(["x"]).dictionary_encode()})
    frame = bridge.from_arrow_device(batch)
    back = cudf.DataFrame.from_pylibcudf(*frame.to_pylibcudf())
    assert [str(dtype) for dtype in back.dtypes] == ["datetime64[ms]", "uint8"]
    ours = bridge.from_arrow_device(bridge.to_arrow_device(frame))
    assert [str(dtype) for dtype in ours.dtypes] == ["datetime64[ms, Europe/Paris]", "category"]


def test_cudf_from_arrow_accepts_only_pyarrow_objects():
    batch = pa.record_batch({"a": [1]})
    with pytest.raises(TypeError, match=r"must be a pyarrow\.Table"):
        cudf.DataFrame.from_arrow(batch)
    with pytest.raises(TypeError, match="should be PyArrow array"):
        cudf.Series.from_arrow(bridge.to_arrow_device(a_column()))


def test_files_that_the_page_names_exist():
    named = re.findall(r"`((?:tests|csrc|docs)/[\w./]+)`", PAGE)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
