# SPDX-License-Identifier: Apache-2.0
"""Streams to import: arrays of one schema, taken over one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from .._core.import_ import ArrayImporter, importer_of
from .._core.schema import Schema, check_same, is_struct
from .._core.stream.stream_import import StreamReader
from .copies import quoted
from .options import Kind, check_kind
from .refusals import ANY_PROTOCOL, is_of_cudf, refusal
from .schemas import empty
from .sources import STREAM_PROTOCOLS, SourceArray, has_array_protocol, open_array

__all__ = [
    "SourceStream",
    "concatenate_on_host",
    "has_stream_protocol",
    "join_on_host",
    "open_stream",
]


class SourceStream:
    """Arrays of one schema, each of them taken over when it is asked for.

    Parameters
    ----------
    schema
        The schema of all arrays.
    arrays
        Gives ``arrow_device_array`` PyCapsules, which an import consumes.
    labels
        Labels without a JSON form, of a stream that this process exports.
    reader
        Released when this object is.
    known_column
        Whether arrays of structs are columns.
    """

    def __init__(
        self,
        schema: Schema,
        arrays: Iterator[object],
        labels: tuple[Any, ...],
        reader: StreamReader | None = None,
        known_column: bool = False,
    ) -> None:
        self.schema = schema
        self.arrays = arrays
        self.labels = labels
        self._reader = reader
        self._known_column = known_column

    @property
    def importer(self) -> ArrayImporter:
        """What imports arrays of this schema."""
        return importer_of(self.schema.__arrow_c_schema__())

    def source_arrays(self) -> Iterator[SourceArray]:
        """Give each array with a schema of its own."""
        known_table = self.kind(None) == "table"
        first_row = 0
        for array in self.arrays:
            schema = self.schema.__arrow_c_schema__()
            source = SourceArray(schema, array, known_table, self.labels, first_row)
            # A suspended generator must not keep an array alive that its consumer has released.
            del array
            first_row += source.length()
            yield source
            del source

    def mapped(self, schema: Schema, function: Callable[[object], object]) -> SourceStream:
        """Return a stream of what a function makes of each array, in place of this one."""
        arrays = map(function, self.arrays)
        return SourceStream(schema, arrays, self.labels, self._reader, self._known_column)

    def kind(self, requested: Kind | None) -> Kind:
        """Return what the caller says the arrays are, else a table for any stream of structs.

        The chunks of a pyarrow column are columns.
        """
        if (kind := check_kind(requested)) is not None:
            return kind
        if self._known_column:
            return "column"
        return "table" if is_struct(self.schema.__arrow_c_schema__()) else "column"

    def release(self) -> None:
        """Release what was not pulled."""
        self.arrays = iter(())
        if self._reader is not None:
            self._reader.release()


def has_stream_protocol(obj: Any) -> bool:
    """Say whether an object has one of the protocols of streams.

    cuDF's own, which copies to host memory, does not count.
    """
    if isinstance(obj, type) or (is_of_cudf(obj) and not has_array_protocol(obj)):
        return False
    return any(hasattr(obj, name) for name in STREAM_PROTOCOLS)


def open_stream(obj: Any) -> SourceStream:
    """Ask an object for its stream of arrays.

    Parameters
    ----------
    obj
        Anything with ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``, or an iterable of
        such objects, or of those with ``__arrow_c_device_array__`` or ``__arrow_c_array__``.

    Raises
    ------
    TypeError
        If the object is none of these.
    ValueError
        If an iterable is empty, so that there is no schema.
    """
    if has_stream_protocol(obj):
        name = next(name for name in STREAM_PROTOCOLS if hasattr(obj, name))
        reader = StreamReader(getattr(obj, name)())
        schema = reader.schema()
        labels = () if reader.state is None else reader.state.labels
        arrays = iter(reader.next, None)
        return SourceStream(schema, arrays, labels, reader, isinstance(obj, pa.ChunkedArray))
    if has_array_protocol(obj):
        return _stream_of_arrays(iter((obj,)))
    is_iterable = isinstance(obj, Iterable) and not isinstance(obj, str | bytes | dict)
    if is_iterable and not is_of_cudf(obj):
        return _stream_of_arrays(iter(obj))
    raise refusal(obj, f"one with {ANY_PROTOCOL}, or an iterable of arrays,")


def join_on_host(sources: Sequence[SourceArray]) -> SourceArray:
    """Concatenate arrays of one schema in host memory; see `concatenate_on_host`."""
    hint = "export the stream with to_arrow_device_stream"
    is_table = sources[0].kind == "table"
    joined: pa.Array | pa.RecordBatch
    if is_table:
        batches = [pa.record_batch(source) for source in sources]
        schema = batches[0].schema
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
    return SourceArray(schema_capsule, array_capsule, is_table, sources[0].labels, None)


def concatenate_on_host(arrays: Sequence[pa.Array], path: str, hint: str) -> pa.Array:
    """Concatenate arrays of one type in host memory.

    Strings of 2 GiB or more in total become large strings.

    Parameters
    ----------
    arrays
        The arrays, at least one.
    path
        The path of the column, for errors.
    hint
        What to do instead, for errors.

    Raises
    ------
    OverflowError
        If the result does not fit into one array.
    ValueError
        If an index is not one of its dictionary.
    """
    arrow_type = arrays[0].type
    if _has_dictionary(arrow_type):
        # pyarrow looks up new indices by the old ones without a check.
        for array in arrays:
            try:
                array.validate(full=True)
            except pa.ArrowInvalid as error:
                raise ValueError(f"column {quoted(path)}: {error}") from error
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid as error:
        large_type = _with_large_strings(arrow_type)
        if large_type == arrow_type:
            raise OverflowError(f"column {quoted(path)}: {error}: {hint}") from error
    return concatenate_on_host([array.cast(large_type) for array in arrays], path, hint)


def _sources_of(obj: Any) -> Iterator[SourceArray]:
    """Give the array of an object, or those of a stream: an empty one if it has none."""
    if has_array_protocol(obj) or not has_stream_protocol(obj):
        yield open_array(obj)
        return
    stream = open_stream(obj)
    is_empty = True
    for source in stream.source_arrays():
        is_empty = False
        yield source
        del source
    if is_empty:
        yield open_array(empty(stream.schema))


def _stream_of_arrays(objects: Iterator[Any]) -> SourceStream:
    sources = chain.from_iterable(map(_sources_of, objects))
    try:
        first = next(sources)
    except StopIteration:
        raise ValueError("no array found, at least one expected in an iterable") from None
    schema = Schema.copy_of(first.schema_capsule)

    def rest() -> Iterator[object]:
        for source in sources:
            check_same(first.schema_capsule, source.schema_capsule)
            yield source.array_capsule
            del source

    return SourceStream(schema, chain([first.array_capsule], rest()), first.labels)


def _has_dictionary(arrow_type: pa.DataType) -> bool:
    arrow_type = getattr(arrow_type, "storage_type", arrow_type)
    return pa.types.is_dictionary(arrow_type) or any(
        _has_dictionary(arrow_type.field(i).type) for i in range(arrow_type.num_fields)
    )


def _with_large_strings(arrow_type: pa.DataType) -> pa.DataType:
    if pa.types.is_string(arrow_type):
        return pa.large_string()
    if pa.types.is_struct(arrow_type):
        return pa.struct([field.with_type(_with_large_strings(field.type)) for field in arrow_type])
    if pa.types.is_list(arrow_type):
        field = arrow_type.value_field
        return pa.list_(field.with_type(_with_large_strings(field.type)))
    return arrow_type
