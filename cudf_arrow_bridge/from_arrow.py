# SPDX-License-Identifier: Apache-2.0
"""Import of Arrow arrays as cuDF data: `from_arrow_device`, `from_arrow_device_stream`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from .arrow.device_array import DeviceArray
from .arrow.errors import ANY_PROTOCOL, object_error
from .arrow.foreign_streams import SourceStream, find_stream, stream_of_arrays
from .arrow.options import Kind, Validation, check_kind, check_option
from .arrow.sources import SourceArray, find_array, is_of_rapids, open_array
from .export.inputs import unwrapped
from .export.sources.registry import (
    ITERABLE,
    UNKNOWN,
    Source,
    open_source,
    type_of_source,
)
from .frames.proxies import is_pandas
from .import_.importer import Importer
from .import_.selection import select_of_array, select_of_stream
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
    with_index = kind is None and importer.makes_frames
    shares = with_index and columns is None and importer.shares_columns
    if shares and is_of_rapids(obj) and hasattr(obj, "index"):
        return importer.share_frame(obj)
    obj = _with_labels(obj, with_index)
    source = find_array(obj)
    if source is None:
        source_stream = _open_stream(obj, kind, columns, importer, takes_several=False)
        return import_concatenated(source_stream, kind, importer)
    if kind is None:
        # The schema of a column of structs that are not nullable is that of a table.
        kind = obj._kind if isinstance(obj, DeviceArray) else source.kind
    check_kind(kind)
    if columns is not None:
        source = select_of_array(source, columns, kind, importer.makes_frames)
    parsed = source.importer
    columns, num_rows = importer.import_array(parsed, source.array, kind)
    return importer.result_maker(parsed, kind, source.labels)(columns, num_rows, source.first_row)


@overload
def from_arrow_device_stream(
    obj: Any,
    *,
    stream: Any = None,
    concat: Literal[True] = True,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    copy: bool | None = None,
    validate: Validation = "minimal",
    sanitize: bool = True,
) -> Any: ...
@overload
def from_arrow_device_stream(
    obj: Any,
    *,
    stream: Any = None,
    concat: Literal[False],
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    copy: bool | None = None,
    validate: Validation = "minimal",
    sanitize: bool = True,
) -> Iterator[Any]: ...
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
    obj = _with_labels(unwrapped(obj), kind is None and importer.makes_frames)
    source = _open_stream(obj, kind, columns, importer, takes_several=True)
    if concat:
        return import_concatenated(source, kind, importer)
    return import_batches(source, source.kind(kind), importer)


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
    return from_arrow_device_stream(
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


def _with_labels(obj: Any, with_index: bool) -> Any:
    """Return Arrow data with the labels of a pandas or cuDF object, and with the index of a series.

    Objects of other libraries, and objects whose Arrow data has the labels, are returned unchanged.
    """
    if not hasattr(obj, "ndim"):
        return obj
    is_cudf = is_of_rapids(obj)
    if not is_cudf and not is_pandas(obj):
        return obj
    if obj.ndim == 2 and not is_cudf:
        # Imported here because it imports cuDF.
        from .export.pandas_objects import table_of_pandas

        return table_of_pandas(obj)
    if obj.ndim == 2 or not with_index or not hasattr(obj, "index"):
        return obj
    is_range = type(obj.index).__name__ == "RangeIndex"
    if is_range and is_cudf:
        return obj  # its array has the range
    return to_arrow_device(obj, preserve_index=None if is_range else True)


def _open_stream(
    obj: Any,
    kind: Kind | None,
    columns: Sequence[str] | None,
    importer: Importer,
    takes_several: bool,
) -> SourceStream:
    """Return the stream of a source or, if `takes_several`, of an iterable of sources."""
    stream = find_stream(obj)
    if stream is None:
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
        stream = stream_of_arrays(chain.from_iterable(arrays))
    if columns is None:
        return stream
    return select_of_stream(stream, columns, stream.kind(kind), importer.makes_frames)


def _arrays_of(obj: Any, importer: Importer) -> Iterator[SourceArray]:
    """Iterate over the arrays of an object of a source."""
    obj = unwrapped(obj)
    if (array := find_array(obj)) is not None:
        return iter((array,))
    if (stream := find_stream(_with_labels(obj, with_index=False))) is not None:
        return stream.source_arrays()
    return iter((open_array(to_arrow_device(obj, stream=importer.importing)),))
