# SPDX-License-Identifier: Apache-2.0
"""Columns and arrays for which pylibcudf's interop and this package differ.

As a script with `tests/project/stub_device.cpp` preloaded, it exports and imports them with
pylibcudf in host memory, and prints the results as JSON.
"""

from __future__ import annotations

import ctypes
import gc
import json
from decimal import Decimal

import pyarrow as pa
import pylibcudf as plc

from testing.host import to_plc
from testing.peers.arrays import (
    ArrowArray,
    ArrowDeviceArray,
    DeviceOnly,
    Producer,
    forget_null_counts,
    nodes,
    struct_of,
)
from testing.reading import read

# An array, and the offset and size of the slice that is exported.
EXPORTS = {
    "E1 mask": (pa.array([1, None, 3, 4]), 1, 3),
    "E1 bool": (pa.array([True, None, False, True]), 1, 3),
    "E2 string": (pa.array(["a", "b", "c"]), 1, 2),
    "E2 string with nulls": (pa.array(["a", None, "c", "d"]), 1, 3),
    "E2 list": (pa.array([[1], [2, 3], [4]]), 1, 2),
    "E2 struct": (pa.array([{"0": 1}, {"0": 2}, {"0": 3}]), 1, 2),
    "E2 empty": (pa.array(["a", "b", "c"]), 2, 0),
}
# pylibcudf runs kernels for bools, and reads the end of strings from the device.
HOST_EXPORTS = [
    name for name, (array, *_) in EXPORTS.items() if array.type not in (pa.bool_(), pa.string())
]
EMPTY_DICTIONARY = pa.array([], pa.dictionary(pa.int8(), pa.string()))


def slice_the_parent(schema, array):
    array.array.offset, array.array.length = 1, 3


def far_inside(schema, array):
    array.array.offset = 2**32 + 1


def slice_the_children(schema, array):
    array.array.length = 4
    for child in nodes(array.array)[1:]:
        child.offset, child.length = 2, 4


STRUCT = pa.array([{"0": i, "1": i * i} for i in range(6)])
NULLS = pa.array([{"0": 1, "1": 1}, None, {"0": 3, "1": 3}])

# The kind of the import, the array, an edit of its structs, and the expected rows.
IMPORTS = {
    "I1": ("column", pa.array([1, None, 3]), forget_null_counts, [1, None, 3]),
    "I2 offset": ("table", STRUCT, slice_the_parent, STRUCT.to_pylist()[1:4]),
    "I2 nulls": ("table", NULLS, None, NULLS.to_pylist()),
    "I3": ("column", STRUCT, slice_the_children, STRUCT.to_pylist()[2:]),
}
NULL_VALUE = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([5, None]))
# Arrays of each type that pylibcudf rejects and this package imports.
REFUSED = [
    pa.array([[1]], pa.large_list(pa.int64())),
    pa.array([[1]], pa.list_view(pa.int64())),
    pa.array([[1, 2]], pa.list_(pa.int64(), 2)),
    pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())),
    pa.array([b"a"]),
    pa.array([b"a"], pa.large_binary()),
    pa.array([b"a"], pa.binary(1)),
    pa.array([b"a"], pa.binary_view()),
    pa.array([1.5], pa.float16()),
    pa.array([0], pa.date64()),
    pa.array([1], pa.time32("s")),
    pa.array([1], pa.time64("us")),
    pa.RunEndEncodedArray.from_arrays([2], [1]),
    pa.DictionaryArray.from_arrays(pa.array([0], pa.uint32()), pa.array([5])),
]
# Arrays of types that both import, and that pylibcudf imports without a device.
TAKEN = [
    pa.array([1, None]),
    pa.array([0], pa.date32()),
    pa.array([0], pa.timestamp("ms", "UTC")),
    pa.array([1], pa.duration("ns")),
    pa.array([Decimal(1)], pa.decimal32(5)),
    pa.array([{"0": 1}]),
    pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array([5])),
    pa.nulls(2),
]


def null_column():
    return plc.Column(plc.DataType(plc.TypeId.EMPTY), 3, None, None, 3, 0, [])


def empty_lists():
    """Return a column like `cudf::make_empty_lists_column`: without the one offset."""

    def empty(kind, *children):
        return plc.Column(plc.DataType(kind), 0, None, None, 0, 0, list(children))

    kind = plc.TypeId
    return empty(kind.LIST, empty(kind.INT32), empty(kind.INT32))


def part_of(array, offset, size):
    """Slice a column in host memory like `cudf::slice`."""
    return to_plc(array.slice(offset, size))


def rows(imported, type_):
    """Return the rows of a column or table in host memory, read like libcudf reads them."""
    if isinstance(imported, plc.Column):
        return read(imported, type_)
    columns = [read(c, field.type) for c, field in zip(imported.columns(), type_, strict=True)]
    names = [field.name for field in type_]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def outcome(call):
    """Return the result of a call, or its error as text."""
    try:
        return call()
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def theirs_out(column):
    """Return the array that pylibcudf exports. The stub keeps it and makes the export fail."""
    kept = ArrowArray.in_dll(ctypes.CDLL("libcuda.so.1"), "exported")
    kept.release = None
    try:
        column.__arrow_c_device_array__()
    except RuntimeError:
        if not kept.release:
            raise
    return kept


def arrow(column):
    """Return the array that pylibcudf exports, imported by pyarrow."""
    kept, type_ = theirs_out(column), pa.DataType._import_from_c_capsule(column._to_schema())
    array = ArrowDeviceArray(array=kept, device_id=-1, device_type=1)
    return pa.Array._import_from_c_device(ctypes.addressof(array), type_)


def as_cuda(schema, array):
    array.device_type, array.device_id, array.sync_event = 2, 0, None


class OnCuda:
    """An array of pyarrow that claims to be in device memory."""

    def __init__(self, array, edit=None):
        self._array, self._edit = array, edit

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        pair = self._array.__arrow_c_device_array__()
        for edit in filter(None, (as_cuda, self._edit)):
            edit(*map(struct_of, pair))
        return pair


def main():
    from rmm.mr import CallbackMemoryResource
    from rmm.pylibrmm.stream import DEFAULT_STREAM

    # The imports allocate nothing, but looking up the current resource would call CUDA.
    no_memory = CallbackMemoryResource(lambda *_: None, lambda *_: None)

    def theirs_in(kind, producer):
        taker = {"column": plc.Column, "table": plc.Table}[kind]
        return taker.from_arrow(DeviceOnly(producer), stream=DEFAULT_STREAM, mr=no_memory)

    def column(array):
        return outcome(lambda: rows(theirs_in("column", OnCuda(array)), array.type))

    def releases():
        producer = Producer(pa.array([1]), as_cuda)
        imported = theirs_in("column", producer)
        before = producer.releases
        del imported
        gc.collect()
        return [before, producer.releases, producer.schema_releases]

    found = {
        "exports": {name: arrow(part_of(*EXPORTS[name])).to_pylist() for name in HOST_EXPORTS},
        "nulls": outcome(lambda: arrow(null_column()).to_pylist()),
        "dictionary": str(arrow(to_plc(EMPTY_DICTIONARY)).type),
        "offsets": theirs_out(empty_lists()).buffers[1],
        "imports": {
            name: rows(theirs_in(kind, OnCuda(array, edit)), array.type)
            for name, (kind, array, edit, _) in IMPORTS.items()
        },
        "offset": theirs_in("column", OnCuda(pa.array([1]), far_inside)).offset(),
        "null value": column(NULL_VALUE),
        "refused": [column(array) for array in REFUSED],
        "taken": [column(array) for array in TAKEN],
        "releases": releases(),
    }
    print(json.dumps(found, default=str))
    # pylibcudf never releases the schema.
    Producer.alive.clear()


if __name__ == "__main__":
    main()
