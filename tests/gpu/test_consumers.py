# SPDX-License-Identifier: Apache-2.0
"""Other libraries read our exports, and we export data of other libraries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.device import GPU, as_cupy, on_device, pylibcudf_rows, side_stream
from testing.peers.arrays import DeviceOnly, column_from

pytestmark = GPU


def test_export_shares_the_memory_of_a_torch_tensor():
    torch = pytest.importorskip("torch")
    stream, consumer = torch.cuda.Stream(), side_stream()
    with torch.cuda.stream(stream):
        tensor = torch.arange(1000, dtype=torch.int64, device="cuda") * 3
        column = plc.Column.from_cuda_array_interface(tensor)
    exported = cab.to_arrow_device(column, stream=stream)
    assert exported.buffers()[-1].address == tensor.data_ptr()
    column = column_from(exported, stream=consumer)
    consumer.synchronize()
    assert as_cupy(column.data(), "int64").get().tolist() == list(range(0, 3000, 3))


EXPORTS = {
    "array": cab.to_arrow_device,
    "stream": lambda frame: cab.to_arrow_device_stream(frame, max_rows=2),
    "generator": lambda frame: cab.to_arrow_device_stream(one for one in [frame]),
    "accessor": lambda frame: frame.arrow_device,
}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_consumers_of_host_memory_read_a_copy(export):
    table = pa.table({"a": [1, None, 3], "b": ["x", None, "zz"]})
    assert pa.table(export(cab.from_arrow_device(table))).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("export", [cab.to_arrow_device, cab.to_arrow_device_stream])
def test_export_that_forbids_copies_is_not_copied_for_consumers_of_host_memory(export):
    exported = export(cab.from_arrow_device(pa.table({"a": [1, 2, 3]})), copy=False)
    with pytest.raises(ValueError, match=r"copy=False: .* CUDA memory: to_host\(\)"):
        exported.__arrow_c_stream__()


def test_nanoarrow_passes_device_memory_through():
    import nanoarrow.device

    exported = cab.to_arrow_device(on_device(pa.array(["a", None, "c"])))
    passed = nanoarrow.device.c_device_array(DeviceOnly(exported))
    assert pylibcudf_rows(column_from(passed)) == ["a", None, "c"]


def test_device_arrays_of_vortex_are_imported():
    pytest.importorskip("vortex_cuda")
    import vortex

    table = pa.table({"number": [1, None, 3], "text": ["a", None, "b" * 20]})
    theirs = vortex.array(table)
    assert hasattr(theirs, "__arrow_c_device_array__")
    frame = cab.from_arrow_device(DeviceOnly(theirs))
    assert cab.to_arrow_device(frame).to_host().to_pylist() == table.to_pylist()


def test_cuml_fits_an_exported_table():
    neighbors = pytest.importorskip("cuml.neighbors")
    cupy = pytest.importorskip("cupy")
    table = pa.table({name: pa.array(np.arange(100, dtype="float32")) for name in "ab"})
    matrix = cupy.from_dlpack(cab.to_arrow_device(cab.from_arrow_device(table)))
    model = neighbors.NearestNeighbors(n_neighbors=1, algorithm="brute").fit(matrix)
    _, found = model.kneighbors(matrix)
    frame = cab.from_cuda_array_interface(cupy.asarray(found))
    assert frame[0].to_arrow().to_pylist() == list(range(100))


def test_cuvs_searches_exported_lists():
    brute_force = pytest.importorskip("cuvs.neighbors.brute_force")
    cupy = pytest.importorskip("cupy")
    numbers = pa.array(np.arange(400, dtype="float32"))
    lists = pa.FixedSizeListArray.from_arrays(numbers, 4)
    column = cab.to_arrow_device(column_from(lists))
    rows = cupy.from_dlpack(column)
    assert rows.shape == (100, 4)
    assert rows.data.ptr == column.children[0].buffers()[-1].address
    _, found = brute_force.search(brute_force.build(rows), rows, 1)
    series = cab.from_cuda_array_interface(found, kind="column")
    assert series.to_arrow().to_pylist() == [[row] for row in range(100)]
