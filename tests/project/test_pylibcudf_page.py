# SPDX-License-Identifier: Apache-2.0
"""The statements of docs/pylibcudf.md on the installed release, as far as they need no GPU.

If a test fails here after a new release of cuDF, a row of the page is out of date.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pylibcudf as plc
import pytest
import rmm

import cudf_arrow_bridge as cab
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


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """Return the results of pylibcudf's own interop for the cases, in host memory."""
    if cab.has_gpu():
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


def a_table(nulls):
    return plc.Table([to_plc(pa.array([1, None if nulls else 2]))])


def test_pylibcudf_schema_depends_on_the_nulls_and_has_no_names():
    theirs = [pa.Schema._import_from_c_capsule(a_table(nulls)._to_schema()) for nulls in (0, 1)]
    assert [schema.field(0).nullable for schema in theirs] == [False, True]
    assert theirs[0].names == [""]
    ours = [pa.record_batch(cab.to_arrow_device(a_table(nulls))).schema for nulls in (0, 1)]
    assert ours[0] == ours[1]


def test_pylibcudf_export_rejects_a_requested_schema_and_needs_a_gpu():
    with pytest.raises(ValueError, match="does not support alternative schema"):
        a_table(False).__arrow_c_device_array__(pa.schema([]).__arrow_c_schema__())
    if not cab.has_gpu():
        with pytest.raises(RuntimeError, match="cudaErrorInsufficientDriver"):
            a_table(False).__arrow_c_device_array__()


@pytest.mark.parametrize("name", HOST_EXPORTS)
def test_pylibcudf_exports_wrong_rows_of_a_slice(name, theirs):
    right = EXPORTS[name][0].slice(*EXPORTS[name][1:]).to_pylist()
    assert read(cab.to_arrow_device(part_of(*EXPORTS[name]))).to_pylist() == right
    assert theirs["exports"][name] != right


def test_pylibcudf_exports_null_and_empty_columns_wrongly(theirs):
    assert "Invalid type_id" in theirs["nulls"]
    assert read(cab.to_arrow_device(null_column())).to_pylist() == [None] * 3

    assert theirs["dictionary"] == "dictionary<values=int64, indices=int32, ordered=0>"
    kept = read(cab.to_arrow_device(to_plc(EMPTY_DICTIONARY)))
    assert kept.type == EMPTY_DICTIONARY.type

    assert theirs["offsets"] is None
    _, capsule = cab.to_arrow_device(empty_lists()).__arrow_c_device_array__()
    assert struct_of(capsule).array.buffers[1]


@pytest.mark.parametrize("name", IMPORTS)
def test_pylibcudf_imports_wrong_rows(name, theirs):
    kind, array, edit, right = IMPORTS[name]
    assert theirs["imports"][name] != right
    producer = DeviceOnly(Producer(array, edit))
    if name == "I2 nulls":
        with pytest.raises(ValueError, match='kind="column"'):
            cab.from_arrow_device(producer, to="pylibcudf", kind=kind)
        return
    ours = cab.from_arrow_device(producer, to="pylibcudf", kind=kind)
    assert rows(ours, array.type) == right


def test_pylibcudf_truncates_offsets_to_32_bits(theirs):
    assert theirs["offset"] == 1  # tests/import/test_sizes.py tests ours


def test_pylibcudf_export_rejects_a_dictionary_with_a_null_value(theirs):
    assert "Invalid null mask" in theirs["null value"]
    ours = cab.to_arrow_device(column_from(NULL_VALUE))
    assert read(ours).dictionary_decode().to_pylist() == [5, None]


def test_pylibcudf_rejects_types_that_this_package_imports(theirs):
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
