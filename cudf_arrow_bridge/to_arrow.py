# SPDX-License-Identifier: Apache-2.0
"""Export of cuDF data as Arrow device arrays: `to_arrow_device`, `to_arrow_device_stream`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ._core.export.array_exporter import InputExporter
from ._core.schema import Schema, as_capsule
from .arrow.device_array import DeviceArray
from .arrow.device_array_stream import DeviceArrayStream
from .arrow.options import check_max_rows, export_arguments
from .cuda.residency import DeviceType
from .export.inputs import can_reuse_export, export_input_of
from .export.sources.registry import open_source
from .export.streams import ObjectStreamSource

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds


def to_arrow_device(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    requested_schema: Any = None,
    preserve_index: bool | None = None,
    compact: bool = False,
    copy: bool | None = None,
    device_type: Literal["cuda"] | DeviceType | None = None,
) -> DeviceArray:
    """Export cuDF data through the Arrow C device data interface without copying.

    Buffers whose layout is the same in libcudf and Arrow are shared, also those of slices. Other
    buffers are converted, such as those of bools, of range indexes, and of columns that were
    imported with another layout, which keep their Arrow type. `DeviceArray.report` lists them.

    Parameters
    ----------
    obj : cudf.DataFrame, cudf.Series, cudf.Index, pylibcudf.Table, pylibcudf.Column or Any
        The data. Objects of pandas and objects with an Arrow protocol are imported first: frames
        and series of polars, tables, batches and arrays of pyarrow, and a `DeviceArray` if
        `compact` or `device_type` requires a different one. The batches of a stream and the chunks
        of a table are concatenated if there is more than one; pyarrow concatenates those in host
        memory. Files, datasets, lazy frames and lists are sources of `to_arrow_device_stream`.
        Frames and query results of cudf-polars are exported as they are. While cudf.pandas is
        active, a pandas object is exported from its current memory, without a copy if that is
        device memory. The result shares ownership of the buffers, so `obj` may be deleted before
        the result.
    stream : optional
        The CUDA stream that produced the data: an object with ``__cuda_stream__``, a stream of
        cupy, torch or numba, or a handle. None: cuDF's default stream. With
        ``CUDF_PER_THREAD_STREAM=1`` this is the stream of the calling thread; for data of several
        threads pass 1, the legacy default stream, which synchronizes with the streams of all
        threads. The host synchronizes with the stream if the data is pageable host memory that
        kernels of a GPU can write to.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource for the buffers that the export allocates. It stays alive as long as
        these buffers. None: rmm's current resource. Without a GPU the resource allocates host
        memory. libcudf creates some columns of a frame before the export, for example those of a
        range index, with rmm's current resource.
    requested_schema : optional
        The schema that a consumer requests: an Arrow schema, field or type (any object with
        ``__arrow_c_schema__``, or its capsule). Each field is converted to the requested type if
        possible and keeps its own type otherwise. The notes list the possible conversions.
    preserve_index : bool, optional
        Whether to export the index of cuDF objects. Objects of other libraries keep their columns.
        None: a RangeIndex is stored in the metadata; any other index is exported as columns, except
        that the index of a series exported as an array is dropped. True: the index is always
        exported as columns, and a series becomes a table. False: the index is dropped.
    compact : bool
        Whether to copy the validity bitmaps of slices that do not start at a multiple of 512 rows,
        so that no array has an offset. Use it for consumers that do not support offsets. The import
        of libcudf itself reads slices of strings or lists with an offset incorrectly.
    copy : bool, optional
        None: copy only the buffers that cannot be shared. False: never copy; raise an error that
        names the columns that require a copy and the reason. True: copy all buffers, so that the
        result neither shares memory with `obj` nor keeps a reference to it.
    device_type : {"cuda", DeviceType.CUDA}, optional
        None: the device type of the array is the type of its memory. ``"cuda"``: managed memory is
        exported as plain CUDA memory, for consumers that support only that type. ``"cpu"`` is
        accepted only without a GPU, where all memory is host memory. To copy from a GPU use
        `DeviceArray.to_host`.

    Returns
    -------
    DeviceArray
        A table for frames, tables and a MultiIndex, otherwise a column.

    Raises
    ------
    TypeError
        If `obj` cannot be exported, a column has a type that Arrow does not have, or an argument
        has the wrong type.
    ValueError
        If an argument has an invalid value. If `requested_schema` has a different number of fields,
        has the names at different positions, has a struct, list or flat type for a column that is
        another of these, or does not fit the data: nulls in a field that is not nullable, or values
        out of range. If the buffers are on different devices, or if columns
        cannot be shared with ``copy=False``.
    OverflowError
        If offsets or dictionary indices do not fit the width that `requested_schema` requests.

    Notes
    -----
    A `requested_schema` converts these types at any depth:

    - string to large_string and back;
    - list to large_list and fixed_size_list;
    - lists of bytes to binary, large_binary or fixed_size_binary, and lists of pairs to map;
    - durations to time32 and time64, and timestamps without a time zone to date32 and date64, if
      the values allow it;
    - dictionaries to their values, flat columns to dictionaries, and dictionary indices to another
      type;
    - decimals to another width or precision of the same scale;
    - time zones to other time zones;
    - names, nullability and metadata;
    - in host memory also to string_view and binary_view, which the CPU creates. In device memory
      this request is ignored: libcudf creates string views only while it copies a column to the
      host (``to_arrow_host_stringview``).

    Other requests for types of the same nesting are ignored, and a dictionary if its values cannot
    be converted. The schema of the result depends only on the types and the request, so all batches
    of a stream have the same schema. A batch whose values do not fit is rejected.

    Fields are matched by position. A field with an empty name keeps its name, and a schema without
    metadata keeps its metadata. An extension type is kept only if the storage type is the requested
    one.

    Source: Arrow specification, "The Arrow PyCapsule Interface", Schema Requests.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = cab.from_arrow_device(pa.table({"a": [1, 2, None], "b": [True, False, True]}))
    >>> array = cab.to_arrow_device(frame)
    >>> array.column_names
    ['a', 'b']
    >>> array["a"].to_arrow().to_pylist()
    [1, 2, None]
    >>> cab.to_arrow_device(frame[["a"]], copy=False).report()[0].copied_bytes
    0
    >>> wanted = pa.schema({"a": pa.int64(), "b": pa.bool_()}, metadata={"from": "here"})
    >>> cab.to_arrow_device(frame, requested_schema=wanted).schema.metadata
    {b'from': b'here'}
    """
    arguments = export_arguments(stream, mr, preserve_index, compact, copy, device_type)
    requested = as_capsule(requested_schema)
    is_array = isinstance(obj, DeviceArray)
    if is_array and obj.is_released:
        raise ValueError("the array is released")
    if is_array and can_reuse_export(obj, arguments, requested):
        return obj.as_requested(requested)
    export_input = export_input_of(obj, preserve_index, arguments)
    exported = InputExporter(export_input, arguments).export(requested, DeviceArray)
    return exported._described_as(obj) if is_array else exported


def to_arrow_device_stream(
    source: Any,
    *,
    max_rows: int | None = None,
    requested_schema: Any = None,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    memory_map: bool = False,
    format: ds.FileFormat | None = None,
    stream: Any = None,
    mr: Any = None,
    preserve_index: bool | None = None,
    compact: bool = False,
    copy: bool | None = None,
    device_type: Literal["cuda"] | DeviceType | None = None,
) -> DeviceArrayStream:
    """Export cuDF data as a stream of batches through the Arrow C device stream interface.

    Each batch is exported when the consumer requests it, and has its own event. Frames are split
    without copying.

    Parameters
    ----------
    source
        One of the following:

        - an object that `to_arrow_device` accepts, or a list, generator or other iterable of such
          objects;
        - an object with ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``, such as a pyarrow
          table;
        - Parquet, Arrow IPC, CSV or TSV files;
        - a ``pyarrow.dataset.Dataset`` or ``Scanner``;
        - a ``polars.LazyFrame``, which is collected;
        - a Dask collection, or a list of delayed objects;
        - a Dask future, or a list or iterator of futures;
        - a Ray dataset or its iterator, an ``ObjectRef``, or a list of references.
    max_rows : int, optional
        The maximum number of rows of a batch. None: each object is one batch. When an object is
        split, the size of every batch but the last is a multiple of 512 rows if `max_rows` is at
        least 512, of 64 if it is at least 64, and `max_rows` otherwise.
    requested_schema : optional
        The schema to export each batch with, as in `to_arrow_device`. It is the schema of the
        stream if there are no batches. A schema that the consumer requests replaces it.
    columns : sequence of str, optional
        For files and datasets: the columns to read, in this order. None: all columns. The index
        that the metadata of a frame names is read as well and placed last, as in
        `from_arrow_device`.
    filter : pyarrow.compute.Expression, optional
        For files and datasets: the rows to read, such as ``pyarrow.compute.field("a") > 0``.
    memory_map : bool
        Whether to memory-map local Arrow IPC files. The buffers of uncompressed batches are then
        memory of the file, which must not be changed or truncated while they are in use. If another
        process writes to the file, the values change. If the file is truncated, this process is
        killed with SIGBUS. Replacing a file, as `ipc.write_file` does, is safe.
    format : pyarrow.dataset.FileFormat, optional
        For files: the format and its options, such as ``pyarrow.dataset.OrcFileFormat()`` or
        ``CsvFileFormat(pyarrow.csv.ParseOptions(delimiter=";"))``. None: the format is detected.
    stream : optional
        The CUDA stream that produced the data, as in `to_arrow_device`. It waits for data that this
        function computes or reads on cuDF's default stream.
    mr, preserve_index, compact, copy, device_type : optional
        Options for the export of each object; see `to_arrow_device`.

    Returns
    -------
    DeviceArrayStream
        A stream that can be consumed repeatedly, unless `source` is or contains a generator,
        another iterator or a foreign stream of unknown length. It keeps a reference to `source`
        until it is released.

    Raises
    ------
    TypeError
        If `source` is not supported, or is a list with strings (a path is a string only outside of
        lists). If an argument has the wrong type.
    ValueError
        If an argument has an invalid value (`max_rows` is at least 1), or a file has an unknown
        format. If the types of several files have no common type. If `columns` or `filter` is given
        for a source that is not files or a dataset, or `filter` names a column that the files do
        not have.
    KeyError
        If `columns` names a column that the files do not have.
    FileNotFoundError
        If a file does not exist.

    Notes
    -----
    A file is given as a string or ``pathlib.Path``, as an object with the buffer protocol that
    holds its bytes, or as an open binary file at its start that supports seeking. An Arrow stream
    in an open file is read as a whole. A string or ``Path`` is a path, a directory or a glob; a
    string can also be an fsspec URL. Several files are given as a list of ``Path`` objects. The
    format of all files is that of the first one, detected from its first bytes, or for CSV and TSV
    from its name. Directories and globs, with all subdirectories, are read in the order of the
    paths. Names that start with ``_`` or ``.`` are skipped. If some files have the extension of
    one of these formats, all other files are skipped. Subdirectories named ``key=value`` become
    columns. The schema is the unified schema of all files: missing columns are null, and types are
    widened.

    Each Parquet row group, Arrow IPC batch and CSV block is read when it is requested. Uncompressed
    batches of memory-mapped Arrow files are not copied. On a GPU, cuDF's chunked reader reads the
    row groups of local Parquet files. pyarrow reads all other files. It also reads Parquet files
    with a `filter`, with categories, with columns from directory names, or with types that differ
    from the schema.

    Each task of a Dask collection runs once, even if several partitions depend on it. Partitions
    are yielded in order, and the next two are computed ahead. With a distributed client they stay
    on the workers until they are requested. Without one, partitions are computed one at a time, on
    the scheduler that Dask is configured for.

    The results of Dask futures are fetched in order, and the next two are fetched ahead. An
    iterator of futures, such as ``distributed.as_completed``, is advanced only when the consumer
    requests a batch. No other results are held in this process. Results stay on the workers as long
    as the futures are referenced. The exception of a task is raised at its position in the stream.

    The blocks of a Ray dataset are yielded in the order in which Ray computes them. This is the
    order of the rows if the dataset is materialized or its ``execution_options`` preserve order.
    One block is fetched ahead; for ``ObjectRef``, two objects. Data in host memory is not copied
    out of Ray's object store.

    Later errors reach the consumer as errors of the stream: an exception of the source, or a batch
    whose types, names or memory type differ from those of the previous batches.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = cab.from_arrow_device(pa.table({"a": range(5)}))
    >>> stream = cab.to_arrow_device_stream(frame, max_rows=2)
    >>> [len(batch) for batch in stream]
    [2, 2, 1]
    >>> pa.table(stream).num_rows
    5
    >>> flights = cab.to_arrow_device_stream("examples/data/*.parquet", columns=["flight", "dest"])
    >>> flights.schema.names
    ['flight', 'dest']
    """
    arguments = export_arguments(stream, mr, preserve_index, compact, copy, device_type)
    max_rows = check_max_rows(max_rows)
    source = open_source(
        source, columns=columns, filter=filter, memory_map=memory_map, format=format
    )
    requested = None if requested_schema is None else Schema.copy_of(as_capsule(requested_schema))
    batches = ObjectStreamSource(source, arguments, max_rows, preserve_index, requested)
    return DeviceArrayStream(batches, arguments)
