# SPDX-License-Identifier: Apache-2.0
"""cuDF data as Arrow device arrays: `to_arrow_device`, `to_arrow_device_stream`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._core.schema import Schema, as_capsule
from .arrow.device_array import DeviceArray
from .arrow.device_array_stream import DeviceArrayStream
from .arrow.options import check_max_rows, export_arguments
from .cuda.residency import DeviceType
from .export.exporter import ArrayExporter, export_object
from .export.stream_sources import open_source
from .export.streams import StreamPasses

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

__all__ = ["to_arrow_device", "to_arrow_device_stream"]


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
    """Export cuDF data through Arrow's C device data interface, without copying it.

    Every buffer whose layout Arrow shares is shared; only bools and durations in days are
    converted. Slices are zero-copy, too.

    Parameters
    ----------
    obj : cudf.DataFrame, cudf.Series, cudf.Index, pylibcudf.Table, pylibcudf.Column or Any
        The data. Anything else that `from_arrow_device` takes is imported first: frames and series
        of pandas and polars, tables, batches and arrays of pyarrow, a `DeviceArray` if `compact` or
        `device_type` asks for another. The batches of a stream, or the chunks of a table, are
        concatenated unless there is one: in host memory by pyarrow. A pandas object while
        cudf.pandas is active is exported from where it is: without copying if that is the GPU.
        The result shares ownership of the buffers: `obj` may be dropped first.
    stream : optional
        The CUDA stream that made the data, as an object with ``__cuda_stream__``, a stream of cupy,
        torch or numba, or a handle; None for cuDF's default stream. With
        ``CUDF_PER_THREAD_STREAM=1`` that is the stream of the calling thread; for data of several
        threads pass 1, the legacy default stream, which comes after the streams of all threads. The
        host waits for the stream where the data is pageable CPU memory that a GPU's kernels may be
        writing to.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource of the buffers that the export itself makes, which lives as long as
        they; None for rmm's current one. Where there is no GPU it gives out host memory. libcudf
        makes some of a frame's columns first, such as a range index, with rmm's current one.
    requested_schema : optional
        The schema that a consumer asks for: a schema, field or type of Arrow (anything with
        ``__arrow_c_schema__``, or a capsule of one). Each field is met as far as possible and else
        keeps its own type; the notes list what is possible.
    preserve_index : bool, optional
        For cuDF's objects; what others export keeps its columns. None: a RangeIndex goes into the
        metadata, any other index becomes columns, or is dropped where a series becomes an array.
        True: always columns, for which a series becomes a table. False: dropped.
    compact : bool
        Whether to copy the masks of slices that do not begin at a multiple of 512 rows, so that no
        array has an offset, for consumers that take none. libcudf's own import reads a slice of
        strings or lists wrong without one.
    copy : bool, optional
        None: what cannot be shared is copied. False: never, an error names the columns that would
        have to be, and why. True: everything, so that the result shares no memory with `obj` and
        does not keep it.
    device_type : {"cuda", DeviceType.CUDA}, optional
        None: the array is labelled with the kind of memory it is in. ``"cuda"``: managed memory is
        labelled as plain CUDA memory, for consumers that know no other. ``"cpu"`` is taken where
        there is no GPU, so that all memory is the CPU's; elsewhere `DeviceArray.to_host` copies.

    Returns
    -------
    DeviceArray
        A table for frames and tables, else a column.

    Raises
    ------
    TypeError
        If `obj` holds nothing that can be exported, a column has a type that Arrow lacks, or an
        argument is of another type.
    ValueError
        If an argument has another value; if `requested_schema` has another number of fields, moves
        names to other fields, or the data contradicts it: nulls where it says none, values that do
        not fit. Also if buffers live in different places, or columns cannot be shared with
        ``copy=False``.
    OverflowError
        If offsets or codes do not fit the width that `requested_schema` asks for.

    Notes
    -----
    A `requested_schema` changes, at any depth: string to large_string and back, list to large_list
    and fixed_size_list; bytes in lists to binary, large_binary or fixed_size_binary, lists of pairs
    to map; durations to time32 and time64, timestamps without a time zone to date32 and date64,
    where the values allow it; dictionaries to their values, flat columns to dictionaries, the type
    of a dictionary's codes; decimals to another width or precision of the same scale; time zones to
    other ones; names, nullability and metadata. In CPU memory also string_view and binary_view, for
    which libcudf has no algorithm. Anything else is ignored. The schema of the result depends only
    on the types and the request, so that the batches of a stream agree; a batch whose values do not
    fit is refused.

    Fields are paired by position. An empty name, and a schema without metadata, keep what there is.
    An extension type is kept only with the storage type that it was given for.

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
    return export_object(obj, preserve_index, arguments, as_capsule(requested_schema))


def to_arrow_device_stream(
    source: Any,
    *,
    max_rows: int | None = None,
    max_chunksize: int | None = None,
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
    """Export cuDF data as a stream of batches through Arrow's C device stream interface.

    Batches are made when the consumer asks for them, one at a time, and each has an event of its
    own. Frames are split without copying.

    Parameters
    ----------
    source
        What `to_arrow_device` takes; a list, generator or other iterable of such objects; anything
        with ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``, such as a pyarrow table; files
        of Parquet, Arrow IPC, CSV or TSV; a ``pyarrow.dataset.Dataset`` or ``Scanner``; a
        ``polars.LazyFrame``, which is collected; a collection of Dask, or a list of delayed
        objects; a future of Dask, or a list or iterator of futures; a dataset of Ray, or its
        iterator; an ``ObjectRef``, or a list of these.
    max_rows : int, optional
        The maximum number of rows of a batch. None: each object is one batch. What is split has
        batches of a multiple of 512 rows where `max_rows` allows, else of 64, but for the last.
    max_chunksize : int, optional
        pyarrow's name of `max_rows`.
    requested_schema : optional
        The schema to export each batch with, met as far as possible, as in `to_arrow_device`; that
        of the stream if there is no batch. A consumer's own request replaces it.
    columns : sequence of str, optional
        Of files and datasets, the columns to read, in this order. None: all. The index that the
        metadata of a frame names is kept, behind them, as `from_arrow_device` keeps it.
    filter : pyarrow.compute.Expression, optional
        Of files and datasets, which rows to read, such as ``pyarrow.compute.field("a") > 0``.
    memory_map : bool
        Whether local files of Arrow IPC are mapped into memory: the buffers of uncompressed batches
        are then the file's own memory, which nobody may change or truncate while they are used.
        What another process writes to such a file changes the values; one that is truncated ends
        this process with SIGBUS. A file that is replaced, as `ipc.write_file` does, is safe.
    format : pyarrow.dataset.FileFormat, optional
        Of files, their format with its options, such as ``pyarrow.dataset.OrcFileFormat()`` or
        ``CsvFileFormat(pyarrow.csv.ParseOptions(delimiter=";"))``. None: it is detected.
    stream : optional
        The CUDA stream that made the data, named as in `to_arrow_device`. It waits for what is
        computed or read here, on cuDF's default stream.
    mr, preserve_index, compact, copy, device_type : optional
        For each object; see `to_arrow_device`.

    Returns
    -------
    DeviceArrayStream
        A stream that can be consumed as often as `source`: again and again, unless that is or holds
        a generator, another iterator or a foreign stream of unknown length. It keeps `source` alive
        until it is released.

    Raises
    ------
    TypeError
        If `source` is none of these, or has strings in a list: only a string by itself is a path;
        or if an argument is of another type.
    ValueError
        If an argument has another value (`max_rows` is at least 1), a file is in another format,
        files have types that one type cannot hold, or `columns` or `filter` are given with another
        source, or `filter` names what files lack.
    KeyError
        If `columns` has a name that the files lack.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    Files are also their bytes, in any object of the buffer protocol that bytes, memoryviews and
    pyarrow have, and open binary files that stand at their beginning and can seek; an Arrow stream
    of these is read as a whole. Else they are named by a string or a ``pathlib.Path``: a path, a
    folder, a glob, or, as a string, a URL of fsspec; several files by a list of ``Path`` objects.
    Their format is that of the first file, told by its first bytes, CSV and TSV by the name. In
    folders, in those below them and in globs, files come in the order of their paths; names that
    begin with ``_`` or ``.`` are left out, and beside files that are named after these formats all
    others. In a folder, folders below that are named ``key=value`` become columns. The schema is
    that of all files: a column that a file lacks is null there, and types are widened.

    Each row group of Parquet, batch of Arrow IPC and block of CSV is read when it is asked for.
    Uncompressed batches of mapped Arrow files are not copied. On a GPU cuDF's chunked reader reads
    the row groups of local Parquet files; pyarrow reads all else, and Parquet with a `filter`, with
    categories, with columns of folders, and files whose types are not those of the schema.

    Each task of a Dask collection runs once, also those that several partitions need. Partitions
    come in order, and the two after the one that was asked for are computed in the meantime. With a
    distributed client they stay on the workers until they are asked for; without one, partitions
    are computed one after the other, on the scheduler that Dask is configured for.

    Results of Dask's futures are fetched in order, the two after the one that was asked for in the
    meantime; an iterator of futures, such as ``distributed.as_completed``, is asked for the next
    one when the consumer is. No more of them are held here. On the workers they stay as long as
    somebody has the futures. What a task raised is raised in its turn.

    The blocks of a Ray dataset come in the order in which Ray computes them: that of the rows if it
    is materialized, or its ``execution_options`` preserve the order. One block is fetched ahead,
    two of the objects that references refer to. Host memory is not copied out of Ray's store.

    What goes wrong later reaches the consumer as an error of the stream: an exception of the
    source, or a batch whose types, names or kind of memory are not those of the batches before.

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
    max_rows = check_max_rows(max_rows, max_chunksize)
    source = open_source(source, columns, filter, memory_map, format)
    requested = None if requested_schema is None else Schema.copy_of(as_capsule(requested_schema))
    passes = StreamPasses(source, arguments, max_rows, preserve_index, requested)
    return DeviceArrayStream(passes, partial(ArrayExporter, arguments))
