# SPDX-License-Identifier: Apache-2.0
"""Import of Arrow arrays as cuDF data: `from_arrow_device`, `from_arrow_device_stream`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from .arrow.errors import ANY_PROTOCOL, object_error
from .arrow.foreign_streams import SourceStream, find_stream, stream_of_arrays
from .arrow.options import Kind, Validation, check_kind, check_option
from .arrow.sources import SourceArray, find_array, is_of_rapids, open_array
from .export.inputs import array_of_rapids
from .export.sources.registry import (
    ITERABLE,
    UNKNOWN,
    Source,
    open_source,
    type_of_source,
)
from .frames.proxies import is_pandas, unwrapped
from .import_.importer import Importer
from .import_.selection import select_columns
from .import_.streams import import_batches, import_concatenated
from .to_arrow import to_arrow_device

if TYPE_CHECKING:
    import cudf
    import pandas as pd
    import pylibcudf as plc


class _Options(TypedDict, total=False):
    """The arguments of `from_arrow_device` that do not change the type of the result."""

    stream: Any
    mr: Any
    columns: Sequence[str] | None
    copy: bool | None
    validate: Validation
    sanitize: bool


@overload
def from_arrow_device(
    obj: Any, *, to: Literal["cudf"] = ..., kind: Literal["table"], **options: Unpack[_Options]
) -> cudf.DataFrame: ...
@overload
def from_arrow_device(
    obj: Any, *, to: Literal["cudf"] = ..., kind: Literal["column"], **options: Unpack[_Options]
) -> cudf.Series: ...
@overload
def from_arrow_device(
    obj: Any, *, to: Literal["cudf.pandas"], kind: Literal["table"], **options: Unpack[_Options]
) -> pd.DataFrame: ...
@overload
def from_arrow_device(
    obj: Any, *, to: Literal["cudf.pandas"], kind: Literal["column"], **options: Unpack[_Options]
) -> pd.Series: ...
@overload
def from_arrow_device(
    obj: Any, *, to: Literal["pylibcudf"], kind: Literal["table"], **options: Unpack[_Options]
) -> plc.Table: ...
@overload
def from_arrow_device(
    obj: Any, *, to: Literal["pylibcudf"], kind: Literal["column"], **options: Unpack[_Options]
) -> plc.Column: ...
@overload
def from_arrow_device(
    obj: Any,
    *,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = ...,
    kind: Kind | None = ...,
    **options: Unpack[_Options],
) -> Any: ...
def from_arrow_device(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    copy: bool | None = None,
    validate: Validation = "minimal",
    sanitize: bool = True,
) -> Any:
    """Import an Arrow array as cuDF data, without copying if the layouts allow it.

    The result shares the buffers of the producer. They are released when the last column that uses
    them is deleted. Without a GPU, arrays in host memory become frames in host memory.

    Parameters
    ----------
    obj : Any
        An object with ``__arrow_c_device_array__`` or ``__arrow_c_array__``, or a source whose
        arrays `from_arrow_device_stream` concatenates: a stream of arrays, files, a dataset, a lazy
        frame. Tables and columns of pylibcudf, and frames, series and indexes of cuDF, are not
        exported: the result shares their columns, bools included. The data of these objects must
        have been produced on cuDF's default stream or on `stream`.
    stream : optional
        The CUDA stream that will use the data, as in `to_arrow_device`. It waits for the producer.
        cuDF's default stream, on which cuDF operates on frames, waits for this stream. Memory is
        freed after the work on both streams.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource for converted buffers. None: rmm's current resource. Without a GPU the
        resource allocates host memory.
    to : {"cudf", "cudf.pandas", "pylibcudf"}
        The library of the result: a frame or series, the cudf.pandas proxy of a frame or series, or
        a pylibcudf table or column. The proxy behaves as an object of pandas; cudf.pandas must be
        active.
    kind : {"table", "column"}, optional
        Whether the array is a table or a column. None: the kind of a `DeviceArray`; otherwise a
        table if `obj` is known to be one, is a stream of structs other than a series or chunked
        array, or its schema is a struct that is not nullable, as Arrow libraries export record
        batches, and a column if not.
    columns : sequence of str, optional
        The names of the fields of a table to import, in the order of the result. None: all fields.
        Other fields are not imported, so they can have any type. The whole array is released with
        the last of the columns. A frame keeps the index that the metadata names. pylibcudf tables
        have no index and get only the named columns.
    copy : bool, optional
        None: copy only the buffers that cannot be shared. False: never copy; raise an error that
        names the columns that require a copy and the reason. It first names the columns that
        require a copy in libcudf, then those that require one only in frames, such as dates. True:
        copy all buffers to the current device (without a GPU, to host memory) and release the
        producer's array. Arrays on another device require True.
    validate : {"minimal", "full"}
        The checks before the import. "minimal": the Arrow structs, and in host memory the first and
        last offsets. "full": also the contents of the buffers, row by row on the CPU: offsets,
        views, run ends, dictionary indices, null counts, and whether strings and names are UTF-8.
        Device memory is copied to the host for this check, which synchronizes. The sizes of buffers
        are never checked, since no Arrow struct contains them.
    sanitize : bool
        Whether to convert nested columns to the form that libcudf expects: null wherever a parent
        struct is null, and null lists and strings empty. Validity bitmaps are rewritten, and lists
        and strings copied, only where the producer's columns differ from this form. False skips the
        check, which synchronizes on a GPU, and in device memory also the check that the bytes of
        bool8 are 0 or 1. Use False only for producers whose columns have this form.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        Depends on `to` and `kind`.

    Raises
    ------
    TypeError
        If `obj` implements none of these protocols, a column has a type that cuDF does not support,
        or an argument has the wrong type.
    KeyError
        If `columns` contains a name that no field has.
    ValueError
        If an argument has an invalid value. If `columns` is given for a column, or names a field
        twice. If the producer's array contradicts its schema or the specification, is on another
        device than the current one, or is a table with null rows. If full validation finds invalid
        rows. If columns cannot be shared with ``copy=False``. The producer's array has been
        released when this error is raised.
    OverflowError
        If a column has more rows than a cuDF column supports.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cab.from_arrow_device(pa.record_batch({"a": [1, 2], "b": ["x", "y"]}))
       a  b
    0  1  x
    1  2  y
    >>> cab.from_arrow_device(pa.array([1.5, 2.5]), to="pylibcudf").type().id().name
    'FLOAT64'
    >>> cab.from_arrow_device(pa.array([True]), copy=False)
    Traceback (most recent call last):
    ValueError: copy=False: these columns have to be copied: ...
    """
    importer = Importer.of(stream, mr, to, copy, validate, sanitize)
    obj = unwrapped(obj)
    is_whole = kind is None and columns is None
    if is_whole and importer.shares_frames and hasattr(obj, "index") and is_of_rapids(obj):
        return importer.share_frame(obj)
    source = _open(obj, kind, importer, columns, takes_several=False)
    kind = kind or source.kind
    if isinstance(source, SourceStream):
        return import_concatenated(source, kind, importer)
    imported, num_rows = importer.import_array(source.importer, source.array, kind)
    return importer.make_result(
        source.importer, kind, source.labels, imported, num_rows, source.first_row
    )


def from_arrow_device_stream(
    obj: Any,
    *,
    stream: Any = None,
    concat: bool = True,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    copy: bool | None = None,
    validate: Validation = "minimal",
    sanitize: bool = True,
) -> Any:
    """Import a stream of Arrow arrays as cuDF data.

    The buffers of each array are shared if the layouts allow it; see `from_arrow_device`.

    Parameters
    ----------
    obj
        An object with ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``; an object of cuDF or
        pylibcudf; an iterable of arrays, tables or frames with the same types and names; or files
        and other sources of `to_arrow_device_stream`, which are read as there, such as a pyarrow
        dataset, a ``polars.LazyFrame`` or a Dask collection.
    stream : optional
        The CUDA stream that will use the data; see `from_arrow_device`.
    concat : bool
        True: concatenate all batches in one pass into one object; a stream of one batch is not
        copied. False: return an iterator, as `iter_arrow_device_stream` does.
    mr, to, kind, columns, copy, validate, sanitize : optional
        See `from_arrow_device`. The structs of a stream are tables, even if the schema is nullable,
        except for those of a series or chunked array, such as ``polars.Series``, and of an iterable
        of columns. For files, only `columns` are read. With ``copy=False`` batches cannot be
        concatenated, so more than one batch is an error.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table, pylibcudf.Column, or an iterator of one of them
        Depends on `to`, `kind` and `concat`. A stream without batches becomes an empty object of
        its schema.

    Raises
    ------
    TypeError
        If `obj` implements none of these protocols, a column has a type that cuDF does not support,
        or an argument has the wrong type.
    KeyError
        If `columns` contains a name that no field has.
    ValueError
        If an argument has an invalid value. If an array contradicts the schema or the
        specification, or requires a copy with ``copy=False``. If the producer returns EINVAL.
    OverflowError
        If the total number of rows exceeds what a cuDF column supports. Use
        `iter_arrow_device_stream` instead.
    OSError, MemoryError, NotImplementedError
        For other error codes of the producer. If the producer is Python code in this process, its
        own exception is raised.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})]
    >>> len(cab.from_arrow_device_stream(pa.Table.from_batches(batches)))
    3
    """
    importer = Importer.of(stream, mr, to, copy, validate, sanitize)
    check_option("concat", concat, (True, False))
    source = _open(unwrapped(obj), kind, importer, columns, takes_several=True)
    if isinstance(source, SourceArray):
        source = stream_of_arrays(iter((source,)))
    make = import_concatenated if concat else import_batches
    return make(source, kind or source.kind, importer)


def iter_arrow_device_stream(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    copy: bool | None = None,
    validate: Validation = "minimal",
    sanitize: bool = True,
) -> Iterator[Any]:
    """Import a stream of Arrow arrays as cuDF data, one batch at a time.

    The iterator requests each batch from the producer when ``next`` is called. Closing it releases
    the stream.

    Parameters
    ----------
    obj, stream, mr, to, kind, columns, copy, validate, sanitize
        See `from_arrow_device_stream`.

    Returns
    -------
    Iterator of cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        Depends on `to` and `kind`. The range index of a frame continues from batch to batch, if it
        is in the metadata of the schema. Otherwise the index of each batch starts with 0, as does
        the default index of a series.

    Raises
    ------
    TypeError, KeyError, ValueError, OSError, MemoryError, NotImplementedError
        See `from_arrow_device_stream`. Errors of a later batch are raised when it is requested.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})]
    >>> [len(frame) for frame in cab.iter_arrow_device_stream(batches)]
    [2, 1]
    """
    batches: Iterator[Any] = from_arrow_device_stream(
        obj,
        stream=stream,
        concat=False,
        mr=mr,
        to=to,
        kind=kind,
        columns=columns,
        copy=copy,
        validate=validate,
        sanitize=sanitize,
    )
    return batches


def _open(
    obj: Any,
    kind: Kind | None,
    importer: Importer,
    columns: Sequence[str] | None,
    takes_several: bool,
) -> SourceArray | SourceStream:
    """Return the selected columns of a source, or of an iterable of sources if `takes_several`."""
    if kind is not None:
        check_kind(kind)
    source = _find_source(obj, importer, with_index=kind is None and importer.makes_frames)
    if source is None:
        found = type_of_source(obj)
        if found is UNKNOWN or (found is ITERABLE and not takes_several):
            expected = f"an object with {ANY_PROTOCOL}"
            if takes_several:
                raise object_error(obj, f"{expected}, or an iterable of arrays")
            expected = f"a path, a dataset, or {expected}"
            raise object_error(obj, expected, "from_arrow_device_stream")
        opened = open_source(obj, columns=columns) if found.options else Source(obj, found)
        objects = opened.objects(importer.importing)
        arrays = map(partial(_arrays_of, importer=importer), objects)
        source = stream_of_arrays(chain.from_iterable(arrays))
    if columns is not None:
        if isinstance(source, SourceArray):
            source = stream_of_arrays(iter((source,)))
        select_columns(source, columns, kind or source.kind, importer.makes_frames)
    return source


def _find_source(
    obj: Any, importer: Importer, with_index: bool
) -> SourceArray | SourceStream | None:
    """Return the array or stream of an object, with its labels, or None if it has no protocol.

    `with_index` is whether a series keeps its index.
    """
    is_cudf = is_of_rapids(obj)
    if is_cudf or (hasattr(obj, "ndim") and is_pandas(obj)):
        is_series = getattr(obj, "ndim", 2) == 1 and hasattr(obj, "index")
        # A range is in the metadata of the array.
        has_levels = is_series and type(obj.index).__name__ != "RangeIndex"
        preserve_index = True if with_index and has_levels else None
        if is_cudf:
            return array_of_rapids(obj, preserve_index, importer.copy)
        # Imported here because it imports cuDF.
        from .export.pandas_objects import arrow_of_pandas, table_of_pandas

        if obj.ndim == 2:
            return find_stream(table_of_pandas(obj))
        if with_index:
            return open_array(arrow_of_pandas(obj, preserve_index))
    array = find_array(obj)
    return find_stream(obj) if array is None else array


def _arrays_of(obj: Any, importer: Importer) -> Iterator[SourceArray]:
    """Iterate over the arrays of an object of a source."""
    source = _find_source(unwrapped(obj), importer, with_index=False)
    if source is None:
        source = open_array(to_arrow_device(obj, stream=importer.importing))
    return source.source_arrays() if isinstance(source, SourceStream) else iter((source,))
