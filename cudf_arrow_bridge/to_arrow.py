# SPDX-License-Identifier: Apache-2.0
"""cuDF data as Arrow device arrays: `to_arrow_device`, `to_arrow_device_stream`."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from ._core.schema import Schema, as_capsule
from ._core.stream_export import ExportedStream, StreamState
from .arrow.device_array import DeviceArray
from .arrow.device_array_stream import DeviceArrayStream
from .arrow.options import export_arguments
from .export.exporter import ArrayExporter, export_object
from .export.stream_sources import exportable_objects
from .export.streams import StreamExporter

__all__ = ["to_arrow_device", "to_arrow_device_stream"]


def to_arrow_device(
    obj: Any,
    *,
    stream: Any = None,
    requested_schema: Any = None,
    preserve_index: bool | None = None,
    compact: bool = False,
    device_type: Literal["cuda"] | None = None,
) -> DeviceArray:
    """Export cuDF data through Arrow's C device data interface, without copying it.

    Every buffer whose layout Arrow shares is shared; only bools and durations in days are
    converted. Slices are zero-copy, too.

    Parameters
    ----------
    obj : cudf.DataFrame, cudf.Series, cudf.Index, pylibcudf.Table, pylibcudf.Column or Any
        The data; anything else with ``__arrow_c_device_array__`` is imported first, also a
        `DeviceArray` if `compact` or `device_type` asks for another. The result shares ownership of
        the buffers: `obj` may be dropped first.
    stream : optional
        The stream that made the data, as an object with ``__cuda_stream__``, a stream of cupy,
        torch or numba, or a handle; None for cuDF's default stream. With
        ``CUDF_PER_THREAD_STREAM=1`` that is the stream of the calling thread; for data of several
        threads pass 1, the legacy default stream, which comes after the streams of all threads. The
        host waits for the stream where the data is pageable CPU memory that a GPU's kernels may be
        writing to.
    requested_schema : optional
        The schema that a consumer asks for: a schema, field or type of Arrow (anything with
        ``__arrow_c_schema__``, or a capsule of one). Each field is met as far as possible and else
        keeps its own type; the notes list what is possible.
    preserve_index : bool, optional
        None: a RangeIndex goes into the metadata, any other index becomes columns, or is dropped
        where a series becomes an array. True: always columns, for which a series becomes a table.
        False: dropped.
    compact : bool
        Whether to copy the masks of slices that begin within a byte, so that no array has an
        offset, for consumers that take none.
    device_type : {"cuda"}, optional
        None: the array is labelled with the kind of memory it is in. ``"cuda"``: managed memory is
        labelled as plain CUDA memory, for consumers that know no other.

    Returns
    -------
    DeviceArray
        A table for frames and tables, else a column.

    Raises
    ------
    TypeError
        If `obj` holds nothing that can be exported, or a column has a type that Arrow lacks.
    ValueError
        If `requested_schema` has another number of fields, moves names to other fields, or the data
        contradicts it: nulls where it says none, values that do not fit. Also if buffers live in
        different places.
    OverflowError
        If offsets or codes do not fit the width that `requested_schema` asks for.

    Notes
    -----
    A `requested_schema` changes, at any depth: string to large_string and back, list to large_list
    and fixed_size_list; bytes in lists to binary, large_binary or fixed_size_binary, lists of pairs
    to map; durations to
    time32 and time64, timestamps without a time zone to date32 and date64, where the values allow
    it; dictionaries to their values, flat columns to dictionaries, the type of a dictionary's
    codes; decimals to another width or precision of the same scale; time zones to other ones;
    names, nullability and metadata. In CPU memory also string_view and binary_view, for which
    libcudf has no algorithm. Anything else is ignored. The schema of the result depends only on the
    types and the request, so that the batches of a stream agree; a batch whose values do not fit is
    refused.

    Fields are paired by position. An empty name, and a schema without metadata, keep what there is.
    An extension type is kept only with the storage type that it was given for.

    Source: Arrow specification, "The Arrow PyCapsule Interface", Schema Requests.
    """
    arguments = export_arguments(stream, compact, device_type)
    return export_object(obj, preserve_index, arguments, as_capsule(requested_schema))


def to_arrow_device_stream(
    source: Any,
    *,
    max_rows: int | None = None,
    schema: Any = None,
    stream: Any = None,
    preserve_index: bool | None = None,
    compact: bool = False,
    device_type: Literal["cuda"] | None = None,
) -> DeviceArrayStream:
    """Export cuDF data as a stream of batches through Arrow's C device stream interface.

    Batches are made when the consumer asks for them, one at a time, and each has an event of its
    own. Frames are split without copying.

    Parameters
    ----------
    source
        What `to_arrow_device` takes; a list, generator or other iterable of such objects; a
        collection of dask-cudf, whose partitions are computed one by one; the path of a Parquet
        file, which is read row group by row group; or anything with ``__arrow_c_device_stream__``
        or ``__arrow_c_stream__``, such as a pyarrow table.
    max_rows : int, optional
        The maximum number of rows of a batch. None: each object is one batch.
    schema : optional
        The Arrow schema that all batches must have; needed for a stream that may have no batches.
        None: that of the first batch.
    stream : optional
        The stream that made the data, named as in `to_arrow_device`. It waits for what is computed
        or read here, on cuDF's default stream.
    preserve_index, compact, device_type : optional
        For each object; see `to_arrow_device`.

    Returns
    -------
    DeviceArrayStream
        A stream that can be consumed once.

    Raises
    ------
    TypeError
        If `source` is none of these.
    ValueError
        If `max_rows` is not positive.

    Notes
    -----
    What goes wrong later reaches the consumer as an error of the stream: an exception of the
    source, or a batch whose types, names or kind of memory are not those of the batches before.
    """
    arguments = export_arguments(stream, compact, device_type)
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows={max_rows} found, at least 1 expected")
    expected = None if schema is None else Schema.copy_of(as_capsule(schema))
    state = StreamState()
    exporter = StreamExporter(arguments, state, max_rows, preserve_index)
    sources = exporter.batch_sources(exportable_objects(source, arguments.stream))
    exporter_of = partial(ArrayExporter, arguments)
    return DeviceArrayStream(ExportedStream(sources, state, expected), exporter_of)
