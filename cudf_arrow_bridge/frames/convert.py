# SPDX-License-Identifier: Apache-2.0
"""Conversions for cuDF frames: on the GPU, or without one on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pylibcudf as plc

from .._core.export.array_exporter import ExportArguments, ExportInput, InputExporter
from .._core.import_.array_importer import ImportArguments
from .._core.import_.columns import rebuild
from .._core.protocols import ColumnMetadata
from .._core.schema import SchemaSpec
from ..arrow.device_array import DeviceArray
from ..arrow.errors import quoted
from ..arrow.sources import open_array
from ..cuda.residency import has_gpu
from ..cuda.streams import resolve_stream

DICTIONARY = plc.DataType(plc.TypeId.DICTIONARY32)
_INT32 = plc.DataType(plc.TypeId.INT32)
_STRING = plc.DataType(plc.TypeId.STRING)


def to_arrow(column: plc.Column, field: ColumnMetadata | None = None) -> pa.Array:
    """Return a column in host memory as a pyarrow array that shares its memory."""
    spec = SchemaSpec([field or ColumnMetadata()], {})
    export_input = ExportInput("column", [column], column.size(), spec)
    exporter = InputExporter(export_input, ExportArguments(resolve_stream(None)))
    return pa.array(exporter.export(None, DeviceArray))


def from_arrow(array: pa.Array) -> plc.Column:
    """Return a pyarrow array as a column that shares its memory."""
    source = open_array(array)
    arguments = ImportArguments(resolve_stream(None), None, None, None)
    (column,), *_ = source.importer.import_array(source.array_capsule, False, arguments)
    return column


def cast(column: plc.Column, dtype: plc.DataType, stream: Any) -> plc.Column:
    """Cast integers to other integers, or days to seconds.

    Values under nulls can be out of range.
    """
    if has_gpu():
        return plc.unary.cast(column, dtype, stream)
    return from_arrow(to_arrow(column).cast(dtype.to_arrow(), safe=False))


def with_children(column: plc.Column, children: list[plc.Column]) -> plc.Column:
    """Return the column with new children, or the same column if they are unchanged."""
    if all(map(is_, children, column.children())):
        return column
    return rebuild(column, lambda span: span, children)


def codes_of(dictionary: plc.Column) -> plc.Column:
    """Return the indices of a dictionary column, with its mask, size and offset."""
    indices = dictionary.children()[0]
    return with_rows_of(dictionary, indices.type(), indices.data())


def check_codes(dictionary: plc.Column, path: str, stream: Any) -> None:
    """Check that each valid index of a dictionary column is in the bounds of its dictionary.

    Synchronizes the stream if there is a GPU.

    Raises
    ------
    ValueError
        If an index is out of bounds.
    """
    if dictionary.size() == dictionary.null_count():
        return
    codes, values = codes_of(dictionary), dictionary.children()[1]
    if has_gpu():
        minmax = plc.reduce.minmax(codes, stream)
        bounds = [scalar.to_py(stream) for scalar in minmax]
    else:
        bounds = pc.min_max(to_arrow(codes)).as_py().values()
    for code in bounds:
        if not 0 <= code < values.size():
            raise ValueError(
                f"column {quoted(path)}: expected indices of {values.size()} dictionary values, "
                f"got {code}"
            )


def with_rows_of(
    column: plc.Column, dtype: plc.DataType, data: Any, children: Sequence[plc.Column] = ()
) -> plc.Column:
    """Return a column of a buffer and children, with the mask, size and offset of another."""
    mask, null_count, offset = column.null_mask(), column.null_count(), column.offset()
    return plc.Column(dtype, column.size(), data, mask, null_count, offset, list(children))


def cast_codes(column: plc.Column, dtype: np.dtype[Any], stream: Any) -> plc.Column:
    """Return the codes of a categorical in the unsigned type in which cuDF stores them.

    Codes of the same width are shared, since valid codes are not negative.
    """
    stored = plc.DataType.from_arrow(pa.from_numpy_dtype(dtype))
    if plc.types.size_of(column.type()) == dtype.itemsize:
        return with_rows_of(column, stored, column.data())
    return cast(column, stored, stream)


def all_null_strings(size: int, stream: Any) -> plc.Column:
    """Return a string column with only nulls."""
    if not has_gpu():
        # Pages of zeros that are never written take no memory.
        offsets, mask = np.zeros(size + 1, "int32"), np.zeros(-(-size // 512) * 64, "uint8")
        buffers = map(pa.py_buffer, (offsets, b"", mask))
        return from_arrow(pa.StringArray.from_buffers(size, *buffers, size))
    null = plc.Scalar.from_py(None, _STRING, stream)
    return plc.Column.from_scalar(null, size, stream)


def sequence(values: range, dtype: np.dtype[Any], stream: Any) -> plc.Column:
    """Return a range as a column of an integer dtype, which can store its start, step and end."""
    if not has_gpu():
        numbers = np.arange(values.start, values.stop, values.step, dtype="int64")
        return from_arrow(pa.array(numbers.astype(dtype)))
    stored = plc.DataType.from_arrow(pa.from_numpy_dtype(dtype))
    start, step = (
        plc.Scalar.from_py(number, stored, stream) for number in (values.start, values.step)
    )
    return plc.filling.sequence(len(values), start, step, stream)


def decode(column: plc.Column, values: plc.Column, stream: Any) -> plc.Column:
    """Return the value of each code, of any integer type. Codes under nulls can be out of range."""
    if not has_gpu():
        return from_arrow(to_arrow(values).take(to_arrow(column)))
    # A gather map cannot have nulls. Gather all rows and set the mask afterwards.
    gather_map = plc.unary.cast(column.with_mask(None, 0), _INT32, stream)
    (gathered,) = plc.copying.gather(
        plc.Table([values]), gather_map, plc.copying.OutOfBoundsPolicy.NULLIFY, stream
    ).columns()
    mask, null_count = plc.null_mask.bitmask_and([gathered, column], stream)
    return gathered.with_mask(mask if null_count else None, null_count)
