# SPDX-License-Identifier: Apache-2.0
"""Other libraries read our exports, and we export data of other libraries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import samples
from testing.device import GPU, as_cupy, on_device, pylibcudf_rows, side_stream, sliced, unnamed
from testing.peers.arrays import DeviceOnly, column_from, read

pytestmark = GPU

#: The exported types that pylibcudf imports.
TYPES = [
    type_
    for type_ in samples.TYPES
    if not (pa.types.is_null(type_) or pa.types.is_dictionary(type_))
]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_pylibcudf_imports_exported_columns(type_):
    """Use `compact`: pylibcudf replaces the offsets of a struct's children by the parent's."""
    array = samples.values(type_, samples.MANY, "some")
    column = on_device(array)
    for offset, size in [(0, samples.MANY), (9, 65), (64, 64)]:
        part = sliced(column, offset, size)
        exported = bridge.to_arrow_device(part, compact=True)
        theirs = plc.Column.from_arrow(DeviceOnly(exported))
        assert pylibcudf_rows(theirs) == unnamed(array.slice(offset, size).to_pylist())


def test_pylibcudf_imports_exported_tables():
    table = pa.table({"a": [1, None, 3], "b": ["x", None, "zz"]})
    exported = bridge.to_arrow_device(plc.Table.from_arrow(table))
    theirs = plc.Table.from_arrow(DeviceOnly(exported))
    assert [pylibcudf_rows(c) for c in theirs.columns()] == [
        [1, None, 3],
        ["x", None, "zz"],
    ]


def test_pylibcudf_computes_on_imported_columns():
    from pylibcudf import aggregation

    column = column_from(bridge.to_arrow_device(on_device(pa.array([1, None, 3]))))
    total = plc.reduce.reduce(column, aggregation.sum(), plc.DataType(plc.TypeId.INT64))
    assert total.to_py() == 4


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
def test_cupy_shares_the_memory_of_imported_columns(dtype):
    cupy = pytest.importorskip("cupy")
    array = pa.array(np.arange(100, dtype=dtype))
    column = column_from(bridge.to_arrow_device(on_device(array)))
    values = as_cupy(column.data(), dtype)
    assert values.data.ptr == column.data().ptr
    assert values[:100].get().tolist() == list(range(100))
    values += 1
    cupy.cuda.Device().synchronize()
    assert read(bridge.to_arrow_device(column).to_host()).to_pylist() == list(range(1, 101))


def test_cupy_array_keeps_the_memory_of_a_column_alive():
    column = column_from(bridge.to_arrow_device(on_device(pa.array(range(1000), pa.int32()))))
    values = as_cupy(column.data())
    del column
    assert values[:1000].get().tolist() == list(range(1000))


@pytest.mark.parametrize("way", ["as_tensor", "from_dlpack"])
def test_torch_shares_the_memory_of_imported_columns(way):
    torch = pytest.importorskip("torch")
    column = column_from(bridge.to_arrow_device(on_device(pa.array(range(1000), pa.int32()))))
    address = column.data().ptr
    if way == "as_tensor":
        tensor = torch.as_tensor(column.data(), device="cuda").view(torch.int32)
    else:
        tensor = torch.from_dlpack(as_cupy(column.data()))
    del column
    assert tensor.is_cuda
    assert tensor.data_ptr() == address
    assert tensor[:1000].tolist() == list(range(1000))


def test_export_shares_the_memory_of_a_torch_tensor():
    torch = pytest.importorskip("torch")
    stream, consumer = torch.cuda.Stream(), side_stream()
    with torch.cuda.stream(stream):
        tensor = torch.arange(1000, dtype=torch.int64, device="cuda") * 3
        column = plc.Column.from_cuda_array_interface(tensor)
    exported = bridge.to_arrow_device(column, stream=stream)
    assert exported.buffers()[-1].address == tensor.data_ptr()
    column = column_from(exported, stream=consumer)
    consumer.synchronize()
    assert as_cupy(column.data(), "int64").get().tolist() == list(range(0, 3000, 3))


@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_pyarrow_reads_exports_that_are_copied_to_the_host(type_):
    array = samples.values(type_, samples.MANY, "some")
    exported = bridge.to_arrow_device(column_from(array))
    assert exported.device_type == bridge.DeviceType.CUDA
    on_host = exported.to_host()
    assert on_host.device_type == bridge.DeviceType.CPU
    found = read(on_host)
    assert found.type == array.type
    assert found.equals(array)


#: Modules, a function of each that reads a table, and one that returns its rows.
HOST_CONSUMERS = {
    "pyarrow": (lambda module, obj: module.table(obj), lambda table: table.to_pylist()),
    "polars": (lambda module, obj: module.DataFrame(obj), lambda frame: frame.to_dicts()),
    "duckdb": (
        lambda module, obj: module.from_arrow(obj),
        lambda relation: pa.table(relation).to_pylist(),
    ),
}
EXPORTS = {
    "array": bridge.to_arrow_device,
    "stream": lambda frame: bridge.to_arrow_device_stream(frame, max_rows=2),
    "generator": lambda frame: bridge.to_arrow_device_stream(one for one in [frame]),
    "accessor": lambda frame: frame.arrow_device,
}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
@pytest.mark.parametrize("name", HOST_CONSUMERS)
def test_consumers_of_host_memory_read_a_copy(name, export):
    take, rows = HOST_CONSUMERS[name]
    table = pa.table({"a": [1, None, 3], "b": ["x", None, "zz"]})
    exported = export(bridge.from_arrow_device(table))
    assert rows(take(pytest.importorskip(name), exported)) == table.to_pylist()


@pytest.mark.parametrize("export", [bridge.to_arrow_device, bridge.to_arrow_device_stream])
def test_export_that_forbids_copies_is_not_copied_for_consumers_of_host_memory(export):
    exported = export(bridge.from_arrow_device(pa.table({"a": [1, 2, 3]})), copy=False)
    with pytest.raises(ValueError, match=r"copy=False: .* CUDA memory: to_host\(\)"):
        exported.__arrow_c_stream__()


def test_export_stays_valid_after_pyarrow_rejects_device_memory():
    """The wheels of pyarrow do not support CUDA."""
    exported = bridge.to_arrow_device(on_device(pa.array([1, 2, 3])))
    with pytest.raises((NotImplementedError, pa.ArrowException, ValueError)):
        pa.array(DeviceOnly(exported))
    assert read(exported.to_host()).to_pylist() == [1, 2, 3]


def test_nanoarrow_passes_device_memory_through():
    import nanoarrow.device

    exported = bridge.to_arrow_device(on_device(pa.array(["a", None, "c"])))
    passed = nanoarrow.device.c_device_array(DeviceOnly(exported))
    assert pylibcudf_rows(column_from(passed)) == ["a", None, "c"]


def test_device_arrays_of_vortex_are_imported():
    pytest.importorskip("vortex_cuda")
    import vortex

    table = pa.table({"number": [1, None, 3], "text": ["a", None, "b" * 20]})
    theirs = vortex.array(table)
    assert hasattr(theirs, "__arrow_c_device_array__")
    frame = bridge.from_arrow_device(DeviceOnly(theirs))
    assert bridge.to_arrow_device(frame).to_host().to_pylist() == table.to_pylist()


def test_cuml_fits_an_exported_table():
    neighbors = pytest.importorskip("cuml.neighbors")
    cupy = pytest.importorskip("cupy")
    table = pa.table({name: pa.array(np.arange(100, dtype="float32")) for name in "ab"})
    matrix = cupy.from_dlpack(bridge.to_arrow_device(bridge.from_arrow_device(table)))
    model = neighbors.NearestNeighbors(n_neighbors=1, algorithm="brute").fit(matrix)
    _, found = model.kneighbors(matrix)
    frame = bridge.from_cuda_array_interface(cupy.asarray(found))
    assert frame[0].to_arrow().to_pylist() == list(range(100))


def test_cuvs_searches_exported_lists():
    brute_force = pytest.importorskip("cuvs.neighbors.brute_force")
    cupy = pytest.importorskip("cupy")
    numbers = pa.array(np.arange(400, dtype="float32"))
    lists = pa.FixedSizeListArray.from_arrays(numbers, 4)
    column = bridge.to_arrow_device(column_from(lists))
    rows = cupy.from_dlpack(column)
    assert rows.shape == (100, 4)
    assert rows.data.ptr == column.children[0].buffers()[-1].address
    _, found = brute_force.search(brute_force.build(rows), rows, 1)
    series = bridge.from_cuda_array_interface(found, kind="column")
    assert series.to_arrow().to_pylist() == [[row] for row in range(100)]
