# SPDX-License-Identifier: Apache-2.0
"""The round trip of one file through cuDF and Arrow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from cudf_arrow_bridge.arrow import display
from cudf_arrow_bridge.arrow.buffers import BufferInfo
from cudf_arrow_bridge.arrow.device_array import DeviceArray
from cudf_arrow_bridge.arrow.device_array_stream import DeviceArrayStream
from cudf_arrow_bridge.arrow.report import report_column
from cudf_arrow_bridge.arrow.types import FrameTypeError, support_of
from cudf_arrow_bridge.cli import compare
from cudf_arrow_bridge.cli.readers import SourceFile
from cudf_arrow_bridge.cli.report import one_line
from cudf_arrow_bridge.cuda.residency import DeviceType
from cudf_arrow_bridge.from_arrow import from_arrow_device, from_arrow_device_stream
from cudf_arrow_bridge.to_arrow import to_arrow_device, to_arrow_device_stream

#: The cuDF type of Arrow types that cuDF does not have; see `support_of`.
UNSUPPORTED = "-"


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
    support: str | None = None
    result: str = "failed"
    note: str = ""


@dataclass
class FileResult:
    """The report on one file; `seconds` has the duration of each finished step."""

    file: str
    format: str
    rows: int
    consumer: str | None = None
    columns: list[Column] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class Stages:
    """The stages of a table's round trip; `exported` has the arrays of each column."""

    exported: Sequence[Sequence[Any]]
    consumed: pa.RecordBatch
    returned: pa.RecordBatch
    consumer: str


def round_trip(source: SourceFile, rows: int | None, max_rows: int | None = None) -> FileResult:
    """Import a file to cuDF, export it, import it again, and compare.

    With `max_rows`, the stream interfaces exchange batches of at most this many rows. Raises a
    `ReadError` if the file cannot be read or does not fit into one frame.
    """
    seconds: dict[str, float] = {}
    with timed("read", seconds):
        batch = source.batch(rows)
    result = FileResult(str(source.path), source.format, batch.num_rows, seconds=seconds)
    first: dict[str, int] = {}
    for index, (name, array) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        types = str(array.type), support_of(array.type).cudf_type
        column = Column(name, *types, len(array), array.null_count)
        result.columns.append(column)
        if first.setdefault(name, index) != index:
            column.result, column.note = "unsupported", "a frame holds one column of each name"

    def run(indices: Sequence[int]) -> Stages:
        part = batch
        if len(indices) < batch.num_columns:
            # Drop the metadata of the schema, which may name columns that are not in this batch.
            part = batch.select(indices).replace_schema_metadata(None)
        return run_stages(part, seconds, max_rows)

    stages, kept = run_supported(run, list(first.values()), result.columns)
    if kept and len(kept) < batch.num_columns and batch.schema.metadata:
        result.notes.append("exported without the file's schema metadata")
    if stages is not None:
        result.consumer = stages.consumer
        with timed("compare", seconds):
            for index in kept:
                name = batch.schema.field(index).name
                report(result.columns[index], name, batch[index], stages)
    return result


@contextmanager
def timed(step: str, seconds: dict[str, float]) -> Iterator[None]:
    """Set the duration of a step, unless it fails."""
    start = time.perf_counter()
    yield
    seconds[step] = time.perf_counter() - start


def run_supported(
    run: Callable[[Sequence[int]], Stages], indices: Sequence[int], columns: Sequence[Column]
) -> tuple[Stages | None, Sequence[int]]:
    """Run the round trip with columns or, if it fails, with those that each succeed alone.

    Return its stages and columns. The reports on the other columns get the errors.
    """
    try:
        return run(indices), indices
    except Exception as error:
        note = one_line(error)
        if len(indices) > 1:
            alone = [index for index in indices if run_supported(run, [index], columns)[1]]
            if 0 < len(alone) < len(indices):
                return run_supported(run, alone, columns)
            for index in alone:
                columns[index].note = f"succeeds only without the other columns: {note}"
        else:
            column = columns[indices[0]]
            known = isinstance(error, (FrameTypeError, NotImplementedError, OverflowError)) or (
                isinstance(error, TypeError) and column.cudf_type == UNSUPPORTED
            )
            column.result, column.note = "unsupported" if known else "failed", note
        return None, []


def run_stages(
    batch: pa.RecordBatch, seconds: dict[str, float], max_rows: int | None = None
) -> Stages:
    """Create a frame, export it, read it with a consumer, and import it again."""
    is_stream = max_rows is not None
    import_ = from_arrow_device_stream if is_stream else from_arrow_device
    with timed("frame", seconds):
        source = pa.Table.from_batches([batch]).to_reader(max_rows) if is_stream else batch
        frame = import_(source)
    with timed("export", seconds):
        exported: Any
        if is_stream:
            exported = to_arrow_device_stream(frame, max_rows=max_rows)
        else:
            exported = to_arrow_device(frame)
        arrays = list(exported) if is_stream else [exported]
    with timed("consume", seconds):
        consumed, consumer = consume(exported)
    with timed("back", seconds):
        returned = import_(only(exported, "__arrow_c_device_stream__") if is_stream else exported)
    again, _ = consume(to_arrow_device(returned))
    columns = list(zip(*(array.children for array in arrays), strict=True))
    return Stages(columns, consumed, again, consumer)


def consume(exported: DeviceArray | DeviceArrayStream) -> tuple[pa.RecordBatch, str]:
    """Import an export with pyarrow; return the data and the name and version of the consumer.

    pyarrow cannot read device memory, so it imports a copy in CPU memory.
    """
    protocol = "__arrow_c_stream__"
    on_host = exported.device_type == DeviceType.CPU
    if isinstance(exported, DeviceArray):
        protocol = "__arrow_c_device_array__" if on_host else "__arrow_c_array__"
    table = pa.table(only(exported, protocol))
    copied = "" if on_host else ", with a copy in CPU memory"
    return compare.one_batch(table), f"pyarrow {pa.__version__}{copied}"


def only(exported: Any, protocol: str) -> Any:
    """Return an object that has only one method of an export, to exclude other interfaces."""
    return SimpleNamespace(**{protocol: getattr(exported, protocol)})


def report(column: Column, name: str, source: pa.Array, stages: Stages) -> None:
    """Fill in the report on a column of the round trip."""
    # By name, because the columns of an index may be at the end.
    names = stages.consumed.schema.names
    if name not in names or name not in stages.returned.schema.names:
        column.note = "missing from what came back"
        return
    consumed = stages.consumed.column(name)
    arrays = stages.exported[names.index(name)]
    buffers = [buffer for array in arrays for buffer in array.buffers()]
    column.bytes = distinct_bytes(buffers)
    column.device = display.device(arrays[0])
    column.cudf_type = support_of(consumed.type).cudf_type
    exported = report_column(name, str(consumed.type), buffers).reason
    reasons = reasons_to_convert(name, source, exported, column.device)
    column.support = "converted" if reasons else "zero-copy"
    difference = compare.difference(source, consumed)
    if not difference:
        difference = compare.difference(source, stages.returned.column(name))
        difference = difference and f"on the way back, {difference}"
    column.result = "mismatch" if difference else "match"
    if not compare.same_type(source.type, consumed.type):
        reasons.insert(0, f"leaves as {consumed.type}")
    column.note = difference or "; ".join(reasons)


def distinct_bytes(buffers: Iterable[BufferInfo]) -> int:
    """Return the size of buffers; bytes that several share, such as a dictionary, count once."""
    size = end = 0
    for buffer in sorted(buffers, key=lambda buffer: buffer.address):
        begin = max(buffer.address, end)
        end = max(buffer.address + buffer.size, begin)
        size += end - begin
    return size


def reasons_to_convert(name: str, source: pa.Array, exported: str, device: str) -> list[str]:
    """Return why a column does not share the memory of its source on import and export.

    `exported` is the reason of its export. All data is uploaded to a GPU, so there the type alone
    decides.
    """
    support = support_of(source.type)
    reasons = []
    if device == "CPU":
        try:
            from_arrow_device(pa.record_batch({name: source}), copy=False)
        except ValueError as error:
            by_type = support.support in ("converted", "depends")
            reasons = [support.note if by_type else one_line(error)]
    elif support.support == "converted":
        reasons = [support.note]
    if exported and exported not in reasons:
        reasons.append(exported)
    return reasons
