# SPDX-License-Identifier: Apache-2.0
"""The round trip of one file across the bridge and back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

import pyarrow as pa

from cudf_arrow_bridge.arrow import display
from cudf_arrow_bridge.arrow.schemas import unique_positions
from cudf_arrow_bridge.arrow.types import describe
from cudf_arrow_bridge.cli import compare, streams
from cudf_arrow_bridge.cli.bridge import one_line
from cudf_arrow_bridge.cli.consumers import consume
from cudf_arrow_bridge.cli.readers import SourceFile, one_batch
from cudf_arrow_bridge.cli.reasons import reasons_to_convert

STEPS = ("read", "frame", "export", "consume", "back", "compare")
LIMITS = (NotImplementedError, OverflowError)

Step = Callable[[str], None]


@dataclass
class Column:
    """The report on one column; `result` is match, mismatch, unsupported or failed."""

    name: str
    arrow_type: str
    cudf_type: str
    rows: int
    nulls: int
    bytes: int | None = None
    device: str | None = None
    crossing: str | None = None
    result: str = "failed"
    note: str = ""


@dataclass
class Trip:
    """The report on one file; `seconds` has a number for each step that was finished."""

    file: str
    format: str
    rows: int
    consumer: str | None = None
    columns: list[Column] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def results(self) -> set[str]:
        """Collect what happened to the columns."""
        return {column.result for column in self.columns}


@dataclass
class Crossed:
    """A table that crossed, at each stage."""

    exported: Any
    consumed: pa.RecordBatch
    returned: pa.RecordBatch
    consumer: str
    seconds: dict[str, float]


def round_trip(
    bridge: ModuleType,
    source: SourceFile,
    rows: int | None,
    step: Step,
    max_rows: int | None = None,
) -> Trip:
    """Take a file across and back, and compare.

    Parameters
    ----------
    bridge : module
        `cudf_arrow_bridge`.
    source : SourceFile
        The file.
    rows : int, optional
        Take only this many rows.
    step : callable
        Called with the name of each step that begins.
    max_rows : int, optional
        Cross in batches of at most this many rows, through the stream interfaces.

    Returns
    -------
    Trip
        With one `Column` for each column of the file, in the file's order.

    Raises
    ------
    ReadError
        If the file cannot be read or does not fit into one frame.
    """
    seconds: dict[str, float] = {}
    with timed(seconds, "read", step):
        batch = one_batch(source.table(rows), str(source.path))
    trip = Trip(str(source.path), source.format, batch.num_rows)
    trip.columns = [expectation(f, c) for f, c in zip(batch.schema, batch.columns, strict=True)]

    expected, crossed, kept = batch, None, list(range(batch.num_columns))
    unique = len(set(batch.schema.names)) == batch.num_columns
    if bridge.has_gpu() and source.format == "parquet" and unique:
        try:
            crossed = cross(bridge, partial(read_on_gpu, source, rows), step, max_rows)
            expected = as_read_by_cudf(batch)
        except Exception as error:
            trip.notes.append(f"read with pyarrow, since cuDF's reader failed: {one_line(error)}")
    if crossed is None:
        crossed, kept = cross_supported(bridge, batch, trip, step, max_rows)
    if crossed is None:
        trip.seconds = seconds
        return trip

    trip.consumer = crossed.consumer
    trip.seconds = seconds | crossed.seconds
    with timed(trip.seconds, "compare", step):
        report_columns(bridge, trip.columns, expected, kept, crossed)
    return trip


def cross_supported(
    bridge: ModuleType,
    batch: pa.RecordBatch,
    trip: Trip,
    step: Step,
    max_rows: int | None = None,
) -> tuple[Crossed | None, list[int]]:
    """Cross with all columns or, if that fails, with those that each cross alone."""

    def cross_batch(batch: pa.RecordBatch) -> Crossed:
        return cross(bridge, partial(to_frame, bridge, batch, max_rows), step, max_rows)

    unique = first_of_each_name(batch.schema.names)
    for index in set(range(batch.num_columns)) - set(unique):
        column = trip.columns[index]
        column.result, column.note = "unsupported", "a frame holds one column of each name"
    if len(unique) == batch.num_columns:
        try:
            return cross_batch(batch), unique
        except Exception as error:
            last_error = error
    kept = []
    for index in unique:
        # Without the schema's metadata, which may name columns that are not in this batch.
        single = batch.select([index]).replace_schema_metadata(None)
        try:
            cross_batch(single)
            kept.append(index)
        except Exception as error:
            report_error(trip.columns[index], single.schema.types[0], error)
    if kept and len(kept) < batch.num_columns:
        rest = batch.select(kept).replace_schema_metadata(None)
        if batch.schema.metadata:
            trip.notes.append("crossed without the file's schema metadata")
        try:
            return cross_batch(rest), kept
        except Exception as error:
            last_error = error
    for index in kept:
        trip.columns[index].note = f"crosses alone, but not with the others: {one_line(last_error)}"
    return None, kept


def first_of_each_name(names: list[str]) -> list[int]:
    """Return the positions of columns whose name does not occur before them."""
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        first.setdefault(name, index)
    return list(first.values())


def to_frame(bridge: ModuleType, batch: pa.RecordBatch, max_rows: int | None) -> Any:
    """Make a frame of a batch, as a whole or in batches of at most this many rows."""
    if max_rows is None:
        return bridge.from_arrow_device(batch)
    return streams.to_frame(bridge, batch, max_rows)


def cross(
    bridge: ModuleType,
    make_frame: Callable[[], Any],
    step: Step,
    max_rows: int | None = None,
) -> Crossed:
    """Make a frame, export it, let a consumer read it, and take it back."""
    seconds: dict[str, float] = {}
    with timed(seconds, "frame", step):
        frame = make_frame()
    if max_rows is not None:
        with timed(seconds, "export", step):
            exported = streams.export(bridge, frame, max_rows)
        with timed(seconds, "consume", step):
            consumed, consumer = streams.consume_stream(bridge, frame, max_rows)
        with timed(seconds, "back", step):
            returned = streams.import_back(bridge, frame, max_rows)
    else:
        with timed(seconds, "export", step):
            exported = bridge.to_arrow_device(frame)
        with timed(seconds, "consume", step):
            consumed, consumer = consume(exported)
        with timed(seconds, "back", step):
            returned = bridge.from_arrow_device(exported)
    again, _ = consume(bridge.to_arrow_device(returned))
    return Crossed(exported, consumed, again, consumer, seconds)


def expectation(field: pa.Field, array: pa.Array) -> Column:
    """Start the report of a column from the file and the type table."""
    name = display.printable(field.name)
    cudf_type = describe(field.type).cudf_type
    return Column(name, str(field.type), cudf_type, len(array), array.null_count)


def report_error(column: Column, arrow_type: pa.DataType, error: Exception) -> None:
    """Report a column as unsupported or failed, by the error and the type table."""
    known = isinstance(error, TypeError) and describe(arrow_type).support == "unsupported"
    column.result = "unsupported" if known or isinstance(error, LIMITS) else "failed"
    column.note = one_line(error)


def report_columns(
    bridge: ModuleType,
    columns: list[Column],
    expected: pa.RecordBatch,
    kept: list[int],
    crossed: Crossed,
) -> None:
    """Fill in the reports on the columns that crossed."""
    names = [expected.schema.names[index] for index in kept]
    consumed_positions = positions(names, crossed.consumed.schema.names)
    returned_positions = positions(names, crossed.returned.schema.names)
    report = crossed.exported.report()
    for index, in_consumed, in_returned in zip(
        kept, consumed_positions, returned_positions, strict=True
    ):
        column, source = columns[index], expected.column(index)
        if in_consumed is None or in_returned is None:
            column.result, column.note = "failed", "missing from what came back"
            continue
        consumed, exported = crossed.consumed.column(in_consumed), report[in_consumed]
        column.bytes = exported.shared_bytes + exported.copied_bytes
        column.device = display.device(crossed.exported)
        column.cudf_type = describe(consumed.type).cudf_type
        reasons = reasons_to_convert(bridge, source, exported, column.device)
        column.crossing = "converted" if reasons else "zero-copy"
        difference = compare.difference(source, consumed, may_become)
        if not difference:
            returned = crossed.returned.column(in_returned)
            difference = compare.difference(source, returned, may_become)
            difference = difference and f"on the way back, {difference}"
        column.result = "mismatch" if difference else "match"
        leaves = (
            [] if compare.same_type(source.type, consumed.type) else [f"leaves as {consumed.type}"]
        )
        column.note = difference or "; ".join(leaves + reasons)


def positions(names: list[str], crossed: list[str]) -> list[int | None]:
    """Find columns by name, since the columns of an index may have moved to the end."""
    if crossed == names:
        return list(range(len(crossed)))
    before, after = unique_positions(names), unique_positions(crossed)
    return [after.get(name) if name in before else None for name in names]


def may_become(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether cuDF may make the second type of the first.

    It may if the type table has the same cuDF type for both. The indices of a dictionary may become
    narrower, and inside lists and structs a dictionary is decoded. A null column becomes strings.
    """
    if pa.types.is_null(left):
        return bool(pa.types.is_string(right))
    if pa.types.is_dictionary(left):
        if pa.types.is_dictionary(right):
            return bool(right.index_type.bit_width <= left.index_type.bit_width)
        return compare.same_type(left.value_type, right, may_become)
    before, after = describe(left), describe(right)
    return bool(before.support != "unsupported" and before.cudf_type == after.cudf_type)


def read_on_gpu(source: SourceFile, rows: int | None) -> Any:
    """Read with cuDF's own Parquet reader."""
    import cudf

    return cudf.read_parquet(str(source.path), nrows=rows)


def as_read_by_cudf(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Drop what cuDF's reader does not keep of the file's columns."""
    columns = [c.cast(compare.without_reader_losses(c.type)) for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@contextmanager
def timed(seconds: dict[str, float], name: str, step: Step) -> Iterator[None]:
    """Announce a step and record its duration."""
    step(name)
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
