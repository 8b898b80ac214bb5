# SPDX-License-Identifier: Apache-2.0
"""Imported types that cuDF stores differently, or does not have."""

import cudf
import numpy as np
import pyarrow as pa
import pytest

from testing.host import addresses, to_plc
from testing.host_frames import content, series_of_column, shape_of_dtype


def imported(array, field=None):
    """Import an array as a series; return the series and its values."""
    found = series_of_column(to_plc(array), field or pa.field("x", array.type))
    return found, content(found)[0]


SLICES = [(0, 70), (1, 60), (33, 33), (64, 70)]


def test_conversion_of_extreme_days_does_not_overflow():
    days = pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32())
    found = series_of_column(to_plc(days), pa.field("d", days.type))
    buffer = found._column.data
    seconds = np.frombuffer(pa.foreign_buffer(buffer.ptr, 16, buffer), "int64")
    assert seconds.tolist() == [(2**31 - 1) * 86400, -(2**31) * 86400]


@pytest.mark.parametrize("width", [pa.int8(), pa.int64(), pa.uint8(), pa.uint16()], ids=str)
@pytest.mark.parametrize("size", [3, 255, 256, 70_000])
def test_import_converts_dictionary_indices_to_the_width_of_cudf(width, size):
    most = 2 ** (8 * width.bit_width // 8 - 1)
    # The indices of null rows belong to no category.
    codes = pa.array([i % min(size, most) for i in range(70)], width)
    valid = pa.array([i % 5 != 0 for i in range(70)])
    junk = np.where(np.arange(70) % 5 == 0, most - 1, codes.to_numpy()).astype(str(width))
    masked = pa.Array.from_buffers(width, 70, [valid.buffers()[1], pa.py_buffer(junk)])
    source = pa.DictionaryArray.from_arrays(masked, pa.array(range(size)), safe=False)
    bits = 8 if size < 256 else 16 if size < 65_536 else 32
    for begin, end in SLICES:
        found, values = imported(source[begin:end])
        assert found.dtype.categories.dtype == np.dtype("int64")
        assert values == source[begin:end].to_pylist()
        assert found._column.plc_column.type().id().name == f"UINT{bits}"
        if bits == width.bit_width:
            assert addresses(found._column.plc_column)[0] == junk.ctypes.data


def test_import_reads_the_interval_extension_from_field_metadata():
    edges = pa.array([{"left": 1, "right": 2}])
    metadata = {
        "ARROW:extension:name": "pandas.interval",
        "ARROW:extension:metadata": '{"subtype": "int64", "closed": "both"}',
    }
    found, _ = imported(edges, pa.field("i", edges.type, metadata=metadata))
    assert shape_of_dtype(found.dtype)[:2] == ("interval", "both")
    for damaged in ("{", '{"closed": "ajar"}', "[]"):
        metadata["ARROW:extension:metadata"] = damaged
        found, _ = imported(edges, pa.field("i", edges.type, metadata=metadata))
        assert isinstance(found.dtype, cudf.StructDtype)


@pytest.mark.parametrize(
    ("array", "path"),
    [
        (
            pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["price", "price"]),
            r"^column 'orders': cuDF frames do not support a struct with two fields named 'price'",
        ),
        (
            pa.StructArray.from_arrays([pa.array([1], pa.timestamp("s", "No/Where"))], ["when"]),
            r"^column.*the time zone of timestamp\[s, tz=No/Where\]",
        ),
        (
            pa.array([[100]], pa.list_(pa.decimal64(3, -2))).cast(pa.list_(pa.decimal64(1, -2))),
            r"^column 'orders\[\]': .* do not support decimal64\(1, -2\), whose scale",
        ),
    ],
)
def test_import_error_names_the_column_that_cudf_does_not_support(array, path):
    with pytest.raises(TypeError, match=path + ".*pylibcudf"):
        imported(array, pa.field("orders", array.type))
