# SPDX-License-Identifier: Apache-2.0
"""Streams to import: arrays of one schema, imported one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from .._core.schema import Schema, check_same, is_struct
from .._core.stream.stream_import import StreamReader
from .errors import quoted
from .metadata import has_type
from .options import Kind
from .schemas import as_schema, empty, fields_of, or_default, with_fields
from .sources import STREAM_PROTOCOLS, SourceArray, has_protocol, open_array


class SourceStream:
    """A stream of arrays of one schema, each read from the producer when it is requested.

    Parameters
    ----------
    schema_capsule
        The ``arrow_schema`` capsule of the schema of all arrays.
    arrays
        Yields arrays, which an import consumes; see `SourceArray`.
    labels
        Labels that JSON cannot represent, for a stream that this process exports.
    reader
        The reader of the stream, released together with this object.
    kind
        The kind of the arrays. None: arrays of structs are tables, others are columns.
    first_row
        The number of rows before the first array, where its part of a range index starts; see
        `SourceArray`.
    """

    def __init__(
        self,
        schema_capsule: object,
        arrays: Iterator[object],
        labels: tuple[Any, ...],
        reader: StreamReader | None = None,
        kind: Kind | None = None,
        first_row: int | None = None,
    ) -> None:
        self.schema_capsule = schema_capsule
        self.arrays = arrays
        self.labels = labels
        self._reader = reader
        self.kind: Kind = kind or ("table" if is_struct(schema_capsule) else "column")
        self.first_row = first_row

    def source_arrays(self) -> Iterator[SourceArray]:
        """Yield each array with its own schema, or an empty array if there are none."""
        first_row = self.first_row or 0
        schema = Schema.copy_of(self.schema_capsule)
        for array in or_default(self.arrays, lambda: empty_array(self.schema_capsule)):
            capsule = schema.__arrow_c_schema__()
            source = SourceArray(capsule, array, self.kind, self.labels, first_row)
            # A suspended generator must not keep an array alive that its consumer has released.
            del array
            first_row += source.length()
            yield source
            del source

    def map(self, schema_capsule: object, function: Callable[[object], object]) -> None:
        """Replace the schema, and each array by the result of a function."""
        self.schema_capsule, self.arrays = schema_capsule, map(function, self.arrays)

    def release(self) -> None:
        """Release the rest of the stream."""
        self.arrays = iter(())
        if self._reader is not None:
            self._reader.release()


def empty_array(schema_capsule: object) -> object:
    """Return the capsule of a device array without rows. The schema is not consumed."""
    return open_array(empty(Schema.copy_of(schema_capsule))).array_capsule


def has_stream_protocol(obj: Any) -> bool:
    """Return whether an object, which is not an array, implements one of the stream protocols."""
    return not isinstance(obj, type) and has_protocol(obj, STREAM_PROTOCOLS)


def find_stream(obj: Any) -> SourceStream | None:
    """Return the stream of an object, or None if it implements none of the stream protocols.

    The object is not an array. cuDF's objects have a stream protocol that copies to host memory.
    """
    device, host = STREAM_PROTOCOLS
    export = getattr(obj, device, None) or getattr(obj, host, None)
    if export is None or isinstance(obj, type):
        return None
    reader = StreamReader(export())
    schema = reader.schema()
    state = reader.state
    labels, first_row = ((), None) if state is None else (state.labels, state.first_row or None)
    if state is None:
        # Series and chunked arrays have these attributes. Tables and readers do not.
        is_column = hasattr(type(obj), "dtype") or hasattr(type(obj), "chunks")
    else:
        is_column = not schema.is_table
    kind: Kind | None = "column" if is_column else None
    arrays = iter(reader.next, None)
    return SourceStream(schema.__arrow_c_schema__(), arrays, labels, reader, kind, first_row)


def open_stream(obj: Any) -> SourceStream:
    """Return the stream of an object, which must implement one of the stream protocols."""
    stream = find_stream(obj)
    assert stream is not None
    return stream


def stream_of_arrays(sources: Iterator[SourceArray]) -> SourceStream:
    """Return a stream of arrays, whose schema is that of the first one.

    Raise ValueError if there is none. The stream raises ValueError if the schemas differ.
    """
    try:
        first = next(sources)
    except StopIteration:
        raise ValueError("the iterable has no arrays: their schema is unknown") from None

    def rest() -> Iterator[object]:
        for source in sources:
            check_same(first.schema_capsule, source.schema_capsule)
            yield source.array
            del source

    arrays = chain([first.array], rest())
    return SourceStream(
        first.schema_capsule, arrays, first.labels, None, first.kind, first.first_row
    )


def join_on_host(sources: Sequence[SourceArray]) -> SourceArray:
    """Concatenate arrays of one schema in host memory; see `concatenate_on_host`."""
    hint = "export the stream with to_arrow_device_stream"
    kind = sources[0].kind
    for source in sources:
        # pyarrow follows pointers that are null, and reads by negative lengths and offsets.
        source.importer.check(source.array_capsule, kind == "table")
    joined: pa.Array | pa.RecordBatch
    if kind == "table":
        schema = as_schema(sources[0].schema_capsule)
        # Unlike pa.record_batch, this supports offsets, and columns longer than the batch.
        batches = [pa.RecordBatch.from_struct_array(pa.array(source)) for source in sources]
        columns = [
            concatenate_on_host(columns, field.name, hint)
            for field, *columns in zip(schema, *batches, strict=True)
        ]
        fields = [
            field.with_type(column.type) for field, column in zip(schema, columns, strict=True)
        ]
        joined = pa.record_batch(columns, schema=pa.schema(fields, schema.metadata))
    else:
        joined = concatenate_on_host([pa.array(source) for source in sources], "", hint)
    schema_capsule, array_capsule = joined.__arrow_c_device_array__()
    return SourceArray(schema_capsule, array_capsule, kind, sources[0].labels, None)


def concatenate_on_host(arrays: Sequence[pa.Array], path: str, hint: str) -> pa.Array:
    """Concatenate arrays of one type in host memory.

    Strings of 2 GiB or more in total become large strings. Raise OverflowError, with the path of
    the column and `hint`, if the result does not fit into one array, and ValueError for dictionary
    indices, run ends or positions of list views that are out of bounds.
    """
    arrow_type = arrays[0].type
    if has_type(arrow_type, _has_unchecked_positions):
        for array in arrays:
            try:
                array.validate(full=True)
            except pa.ArrowInvalid as error:
                raise ValueError(f"column {quoted(path)}: {error}") from error
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid as error:
        large_type = _with_large_strings(pa.field("", arrow_type)).type
        if large_type == arrow_type:
            raise OverflowError(f"column {quoted(path)}: {error}: {hint}") from error
    return concatenate_on_host([array.cast(large_type) for array in arrays], path, hint)


def _has_unchecked_positions(arrow_type: pa.DataType) -> bool:
    types = pa.types
    # pyarrow uses dictionary indices, run ends and the positions of list views without checks.
    unchecked = types.is_dictionary, types.is_run_end_encoded, types.is_list_view
    return any(is_type(arrow_type) for is_type in (*unchecked, types.is_large_list_view))


def _with_large_strings(field: pa.Field) -> pa.Field:
    if pa.types.is_string(field.type):
        return field.with_type(pa.large_string())
    if pa.types.is_struct(field.type) or pa.types.is_list(field.type):
        fields = list(map(_with_large_strings, fields_of(field.type)))
        return field.with_type(with_fields(field.type, fields))
    return field
