# SPDX-License-Identifier: Apache-2.0
"""`from_arrow_device_stream`: streams of Arrow arrays of any library as cuDF data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import pylibcudf as plc

from .._core.capsules import length_of
from ..arrow.incoming_stream import IncomingStream, open_stream
from ..arrow.sources import ImportOptions, Kind, Validation
from .concatenate import MAX_ROWS, concatenate
from .importer import Importer

if TYPE_CHECKING:
    import cudf

__all__ = ["from_arrow_device_stream", "import_whole"]

Imported = Any


def from_arrow_device_stream(
    obj: Any,
    *,
    stream: Any = None,
    concat: bool = True,
    mr: Any = None,
    to: Literal["cudf", "pylibcudf"] = "cudf",
    kind: Kind | None = None,
    copy: bool = False,
    validate: Validation = "minimal",
    sanitize: bool = True,
) -> (
    cudf.DataFrame
    | cudf.Series
    | plc.Table
    | plc.Column
    | Iterator[cudf.DataFrame | cudf.Series | plc.Table | plc.Column]
):
    """Import a stream of Arrow arrays as cuDF data.

    Each array is adopted as `from_arrow_device` does, without copying it where the layouts allow.

    Parameters
    ----------
    obj
        Anything with ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``, or an iterable of
        arrays that have the same types and names.
    stream : optional
        The stream that will use the data, as in `from_arrow_device`.
    concat : bool
        True: one object of all batches, concatenated in one pass; a stream of one batch is not
        copied. False: an iterator, which pulls each batch when it is asked for it; closing it
        releases the rest.
    mr, to, kind, copy, validate, sanitize : optional
        As in `from_arrow_device`. A struct in a stream is a table, whatever its flags.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table, pylibcudf.Column, or an iterator of one of them
        By `to`, `kind` and `concat`. A stream of no batches makes an empty object of its schema.

    Raises
    ------
    TypeError
        If `obj` speaks no such protocol, or a column has a type that cuDF does not take.
    ValueError
        If an array contradicts the schema or the specification, or the producer says EINVAL.
    OverflowError
        If there are more rows in all than a cuDF column holds: use ``concat=False``.
    OSError, MemoryError, NotImplementedError
        What the producer's other error codes stand for. A producer in this process raises its own
        exception.
    """
    importer = Importer(stream, mr, to, ImportOptions(copy, validate, sanitize))
    source = open_stream(obj)
    if concat:
        return import_whole(source, kind, importer)
    return _pieces(source, source.kind(kind), importer)


def _pieces(source: IncomingStream, kind: Kind, importer: Importer) -> Iterator[Imported]:
    try:
        bring = importer.bringer(source.schema, kind)
        assemble = importer.assembler(source.schema, kind, source.labels)
        first_row = 0
        for array in source.arrays:
            columns, num_rows = bring(array)
            del array
            yield assemble(columns, num_rows, first_row)
            del columns
            first_row += num_rows
    finally:
        source.release()


def import_whole(source: IncomingStream, wanted: Kind | None, importer: Importer) -> Imported:
    """Import all arrays of a stream as one object; see `from_arrow_device_stream`."""
    kind = source.kind(wanted)
    arrays: list[object] = []
    num_rows = 0
    try:
        for array in source.arrays:
            num_rows += length_of(array)
            if num_rows > MAX_ROWS:
                raise OverflowError(
                    f"a stream of more than {MAX_ROWS:,} rows found, no more than a cuDF column "
                    "holds expected: import it as several frames with concat=False"
                )
            arrays.append(array)
    finally:
        source.release()
    assemble = importer.assembler(source.schema, kind, source.labels)
    return assemble(*concatenate(arrays, source.schema, kind, importer), None)
