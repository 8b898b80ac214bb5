# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays of any library as cuDF data: `from_arrow_device`, `from_arrow_device_stream`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, overload

from .arrow.options import Kind, Validation, check_kind, check_option
from .arrow.refusals import ANY_PROTOCOL, is_of_cudf, refusal
from .arrow.source_streams import SourceStream, has_stream_protocol, open_stream
from .arrow.sources import find_array
from .export.stream_sources import has_files, is_lazy
from .frames.proxies import is_pandas_series
from .import_.importer import Importer
from .import_.selection import select_of_array, select_of_stream
from .import_.streams import import_batches, import_concatenated
from .to_arrow import to_arrow_device, to_arrow_device_stream

__all__ = ["from_arrow_device", "from_arrow_device_stream", "iter_arrow_device_stream"]


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
    """Import an Arrow array as cuDF data, without copying it where the layouts allow that.

    The buffers stay the producer's memory, kept alive by the result and released when the last
    column that uses them goes. Without a GPU, arrays in host memory become frames in host memory.

    Parameters
    ----------
    obj : Any
        Anything with ``__arrow_c_device_array__`` or ``__arrow_c_array__``, or what
        `from_arrow_device_stream` concatenates: a stream of arrays, files, a dataset, a lazy frame.
    stream : optional
        The CUDA stream that will use the data, named as in `to_arrow_device`. It waits for the
        producer. cuDF's default stream, on which frames are computed, waits for it, and memory is
        freed after the work of both.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource of converted buffers; None for rmm's current one. Where there is no GPU
        it gives out host memory.
    to : {"cudf", "cudf.pandas", "pylibcudf"}
        What to make: a frame or series, or a pylibcudf table or column. "cudf.pandas": the proxy of
        a frame or series, which is pandas' to all who look at it; cudf.pandas must be active.
    kind : {"table", "column"}, optional
        What the array is. None: a table if `obj` is known to be one or its schema is a struct that
        is not nullable, as Arrow's own libraries mark record batches; else a column.
    columns : sequence of str, optional
        The names of a table's fields to import, in the order of the result; None: all. The others
        are not looked at, so they may have any type, and the whole array is released with the last
        of the columns. A frame keeps the index that the metadata names; pylibcudf's tables have no
        index, and get the named columns only.
    copy : bool, optional
        None: what cannot be adopted is copied. False: never, an error names the columns that would
        have to be, and why; first those that any column needs, then those that only frames need,
        such as dates. True: all buffers are copied to the current device (to host memory without a
        GPU), and the producer is released. Arrays of another device need that.
    validate : {"minimal", "full"}
        What to check before the array is used. "minimal": its structs, and in host memory the
        first and last offsets. "full": also what the buffers hold, row by row on the CPU: offsets,
        views, run ends, indices of dictionaries, null counts, and that strings and names are UTF-8.
        Device memory is copied to the host for that, which waits. The size of a buffer is never
        checked, since no Arrow struct says it.
    sanitize : bool
        Make nested columns as libcudf expects them: null wherever a parent struct is null, with
        null lists and strings empty. Masks are rewritten and lists and strings copied only where
        the producer's are not so. False skips the check (on a GPU, also a wait), for producers
        known to be clean.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        By `to` and `kind`.

    Raises
    ------
    TypeError
        If `obj` has none of these protocols, a column has a type that cuDF does not take, or an
        argument is of another type.
    KeyError
        If `columns` has a name that no field has.
    ValueError
        If an argument has another value; if `columns` is given for a column, or names a field
        twice; if the producer's struct contradicts its schema or the specification, lives on
        another device than the current one, or is a table with null rows; if a full validation
        finds rows that contradict it; if columns cannot be adopted with ``copy=False``. Its array
        has been released.
    OverflowError
        If a column has more rows than a cuDF column can have.

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
    ValueError: columns that have to be copied found, none expected with copy=False: ...
    """
    importer = Importer.of(stream, mr, to, copy, validate, sanitize)
    source = find_array(obj)
    if source is None:
        obj = _with_index(obj, kind, importer)
        source = find_array(obj)
    if source is None:
        if not (has_stream_protocol(obj) or has_files(obj) or is_lazy(obj)):
            expected = f"a path, a dataset, or one with {ANY_PROTOCOL}"
            raise refusal(obj, expected, "from_arrow_device_stream")
        return import_concatenated(_open_stream(obj, kind, columns, importer), kind, importer)
    kind = check_kind(kind) or source.kind
    if columns is not None:
        source = select_of_array(source, columns, kind, importer.makes_frames)
    parsed = source.importer
    columns, num_rows = importer.import_array(parsed, source.array_capsule, kind)
    return importer.assembler(parsed, kind, source.labels)(columns, num_rows, source.first_row)


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

    The buffers of each array are adopted without copying where the layouts allow; see
    `from_arrow_device`.

    Parameters
    ----------
    obj
        Anything with ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``; an iterable of
        arrays, tables or frames that have the same types and names; or, as
        `to_arrow_device_stream` reads them, files, a dataset or scanner of pyarrow, a
        ``polars.LazyFrame``.
    stream : optional
        The CUDA stream that will use the data; see `from_arrow_device`.
    concat : bool
        True: one object of all batches, concatenated in one pass; a stream of one batch is not
        copied. False: what `iter_arrow_device_stream` returns.
    mr, to, kind, columns, copy, validate, sanitize : optional
        See `from_arrow_device`. In a stream a struct is a table, even if its schema is nullable,
        but not the chunks of a ``pyarrow.ChunkedArray``. Of files, `columns` are those that are
        read.
        With ``copy=False`` there is nothing to concatenate: more than one batch is an error.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table, pylibcudf.Column, or an iterator of one of them
        By `to`, `kind` and `concat`. A stream of no batches makes an empty object of its schema.

    Raises
    ------
    TypeError
        If `obj` has none of these protocols, a column has a type that cuDF does not take, or an
        argument is of another type.
    KeyError
        If `columns` has a name that no field has.
    ValueError
        If an argument has another value; if an array contradicts the schema or the specification,
        or would have to be copied with ``copy=False``; or if the producer says EINVAL.
    OverflowError
        If there are more rows in all than a cuDF column holds: use `iter_arrow_device_stream`.
    OSError, MemoryError, NotImplementedError
        For other error codes of the producer. The exception of a Python producer in this process is
        raised itself.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})]
    >>> len(cab.from_arrow_device_stream(pa.Table.from_batches(batches)))
    3
    """
    importer = Importer.of(stream, mr, to, copy, validate, sanitize)
    check_option("concat", concat, (True, False))
    source = _open_stream(_with_index(obj, kind, importer), kind, columns, importer)
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
    """Import a stream of Arrow arrays as cuDF data, one batch after the other.

    Each batch is pulled from the producer when it is asked for. Closing the iterator releases the
    rest.

    Parameters
    ----------
    obj, stream, mr, to, kind, columns, copy, validate, sanitize
        See `from_arrow_device_stream`.

    Returns
    -------
    Iterator of cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        By `to` and `kind`. The rows of a range index go on from batch to batch.

    Raises
    ------
    TypeError, KeyError, ValueError, OSError, MemoryError, NotImplementedError
        See `from_arrow_device_stream`; those of a later batch are raised in its turn.

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


def _with_index(obj: Any, kind: Kind | None, importer: Importer) -> Any:
    """Export a series of pandas with its name and index, which pandas' own stream lacks."""
    if kind is not None or not importer.makes_frames or not is_pandas_series(obj):
        return obj
    is_range = type(obj.index).__name__ == "RangeIndex"
    return to_arrow_device(obj, preserve_index=None if is_range else True)


def _open_stream(
    obj: Any, kind: Kind | None, columns: Sequence[str] | None, importer: Importer
) -> SourceStream:
    if has_files(obj):
        obj = to_arrow_device_stream(obj, columns=columns)
    elif _is_exported(obj):
        obj = to_arrow_device_stream(obj)
    stream = open_stream(obj)
    if columns is None:
        return stream
    return select_of_stream(stream, columns, stream.kind(kind), importer.makes_frames)


def _is_exported(obj: Any) -> bool:
    """Say whether a source has no arrays of its own: lazy frames, and lists of cuDF's objects."""
    return is_lazy(obj) or (isinstance(obj, (list, tuple)) and any(map(is_of_cudf, obj)))
