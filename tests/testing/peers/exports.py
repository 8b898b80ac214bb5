# SPDX-License-Identifier: Apache-2.0
"""Checks of the rules that consumers such as libcudf rely on, for exports in host memory.

docs/invariants.md lists the rules and where libcudf relies on each.
``csrc/tests/testing/exports.hpp`` checks them for every struct that the C++ tests export.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cudf_arrow_bridge import to_arrow
from cudf_arrow_bridge._core.export.array_exporter import InputExporter
from cudf_arrow_bridge.arrow.device_array import DeviceArray
from cudf_arrow_bridge.arrow.device_array_stream import DeviceArrayStream
from cudf_arrow_bridge.arrow.schemas import as_field
from cudf_arrow_bridge.export import inputs
from cudf_arrow_bridge.export.streams import ObjectStreamSource
from testing.peers.arrays import struct_of

CPU = 1


def watch(monkeypatch, note):
    """Check every export in host memory, and call `note` with its violations."""
    wrap = DeviceArrayStream._wrap

    class CheckedExporter(InputExporter):
        def export(self, *args):
            array = super().export(*args)
            note(violations(array, compact=self.arguments.compact))
            return array

    def wrap_checked(self, *args):
        array = wrap(self, *args)
        note(violations(array, compact=_is_compact(self._source)))
        return array

    for module in (to_arrow, inputs):
        monkeypatch.setattr(module, "InputExporter", CheckedExporter)
    monkeypatch.setattr(DeviceArrayStream, "_wrap", wrap_checked)


def violations(exported: DeviceArray, *, compact=False):
    """Return what `find_violations` finds in an export, or nothing for device memory."""
    capsule = exported._array.device_array_capsule()
    struct = struct_of(capsule)
    if struct.device_type != CPU:
        return []
    type_ = as_field(exported._arrow_schema).type
    return find_violations(struct, type_, is_table=exported._kind == "table", compact=compact)


def find_violations(struct, type_, *, is_table=False, compact=False):
    """Return the violations of an array, one sentence each with the path and the rule.

    Parameters
    ----------
    struct
        The ``ArrowDeviceArray`` in host memory, as a ctypes struct.
    type_
        The type of the array.
    is_table
        Whether the array is a record batch.
    compact
        Whether slices may have an offset of 0, so that the first offset of strings and lists may
        have any value.
    """
    found = []
    array = struct.array
    if struct.device_id != -1 or struct.sync_event or any(struct.reserved):
        found.append("array: host_memory_is_plain: a device, an event or reserved bits")
    if not is_table:
        _visit(array, type_, "array", compact, 0, found)
        return found
    # libcudf does not treat the columns of a record batch as fields: each has its own offset.
    if array.offset or array.null_count or array.buffers[0]:
        found.append("array: batch_is_plain: a record batch with an offset or nulls")
    for index, field in enumerate(type_):
        column = array.children[index].contents
        _visit(column, field.type, f"array.{index}", compact, 0, found)
    return found


def _is_compact(source):
    return isinstance(source, ObjectStreamSource) and source._arguments.compact


def _integers(address, kind, count):
    if not address or count == 0:
        return np.empty(0, kind)
    return np.frombuffer(pa.foreign_buffer(address, count * np.dtype(kind).itemsize), kind)


def _visit(array, type_, path, compact, before, found):
    """Check an array and its children. `before` is the sum of the parent structs' offsets."""
    if isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    rows = array.offset + array.length

    def expect(holds, name, what):
        if not holds:
            found.append(f"{path}: {name}: {what}")
        return holds

    if pa.types.is_null(type_):
        expect(array.null_count == array.length, "null_count_is_exact", array.null_count)
        return
    nulls = np.zeros(array.length, "bool")
    if array.n_buffers and (mask := array.buffers[0]):
        expect(mask % 4 == 0, "mask_is_on_word", hex(mask))
        bits = np.unpackbits(_integers(mask, "uint8", -(-rows // 8)), bitorder="little")
        nulls = bits[array.offset : rows] == 0
    count = int(nulls.sum())
    expect(array.null_count == count, "null_count_is_exact", f"{array.null_count} for {count}")
    if array.dictionary:
        _visit(array.dictionary.contents, type_.value_type, path + ".keys", compact, 0, found)
        _check_indices(array, type_, nulls, expect)
        return
    wide = (pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_large_list)
    narrow = (pa.types.is_string, pa.types.is_binary, pa.types.is_list, pa.types.is_map)
    if any(is_(type_) for is_ in wide + narrow):
        kind = "int64" if any(is_(type_) for is_ in wide) else "int32"
        child = array.children[0].contents.length if array.n_children else None
        may_begin_anywhere = compact or before > 0
        _check_offsets(array, kind, child, may_begin_anywhere, expect)
    elif array.n_buffers == 2 and array.buffers[1]:
        width = type_.bit_width // 8 if not pa.types.is_fixed_size_binary(type_) else 1
        alignment = 4 if width == 0 else min(width, 8)
        address = array.buffers[1]
        expect(address % alignment == 0, "data_is_aligned", f"{address:#x} for {type_}")
    for index in range(array.n_children):
        child = array.children[index].contents
        below = f"{path}.{index}"
        rows_before = 0
        if pa.types.is_struct(type_):
            rows_before = before + array.offset
            if child.offset or child.length < rows:
                what = f"{child.length} rows from {child.offset} on for {rows}"
                found.append(f"{below}: field_begins_with_struct: {what}")
        child_type = type_.field(index).type
        _visit(child, child_type, below, compact, rows_before, found)


def _check_offsets(array, kind, child, may_begin_anywhere, expect):
    address, width = array.buffers[1], np.dtype(kind).itemsize
    if not expect(address, "offsets_are_there", "no offsets"):
        return
    if not expect(address % width == 0, "data_is_aligned", hex(address)):
        return
    if array.length == 0:
        return  # libcudf does not read the one offset, which may have any value in messages
    offsets = _integers(address, kind, array.offset + array.length + 1)
    expect(
        offsets[0] == 0 or array.offset > 0 or may_begin_anywhere,
        "first_offset_is_zero",
        f"{offsets[0]} without an offset of the array",
    )
    rising = offsets[0] >= 0 and bool((np.diff(offsets) >= 0).all())
    if expect(rising, "offsets_ascend", "offsets that do not ascend") and child is not None:
        expect(offsets[-1] <= child, "offsets_stay_within", f"{offsets[-1]} of {child} elements")


def _check_indices(array, type_, nulls, expect):
    kind = str(type_.index_type)
    width = np.dtype(kind).itemsize
    address = array.buffers[1]
    if array.length == 0:
        return
    if not expect(address and address % width == 0, "data_is_aligned", f"{address} for {kind}"):
        return
    indices = _integers(address, kind, array.offset + array.length)[array.offset :][~nulls]
    size = array.dictionary.contents.length
    within = bool(((indices >= 0) & (indices < size)).all())
    expect(within, "indices_are_within_keys", f"indices outside of {size} keys")
