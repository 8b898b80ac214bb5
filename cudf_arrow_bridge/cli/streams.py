# SPDX-License-Identifier: Apache-2.0
"""``roundtrip --max-rows``: the round trip in batches, through the stream interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import pyarrow as pa

from cudf_arrow_bridge.arrow.buffers import BufferInfo
from cudf_arrow_bridge.arrow.report import Report, report_column
from cudf_arrow_bridge.cli.consumers import consume


class BatchedArray:
    """The batches of an exported stream, with the attributes of one array.

    Parameters
    ----------
    arrays : list of DeviceArray
        The batches.
    """

    def __init__(self, arrays: list[Any]) -> None:
        self._arrays = arrays
        self.device_type = arrays[0].device_type
        self.device_id = arrays[0].device_id

    def report(self) -> Report:
        """Report on the columns; what batches share, such as a dictionary, counts once."""
        columns = zip(*(array.children for array in self._arrays), strict=True)
        return Report(
            report_column(
                parts[0].schema.name,
                str(parts[0].schema.type),
                distinct(buffer for part in parts for buffer in part.buffers()),
            )
            for parts in columns
        )


def distinct(buffers: Iterable[BufferInfo]) -> Iterator[BufferInfo]:
    """Cut the beginning of each buffer that another one has already, in the order of addresses."""
    end = 0
    for buffer in sorted(buffers, key=lambda buffer: buffer.address):
        begin = max(buffer.address, end)
        end = max(end, buffer.address + buffer.size)
        yield buffer._replace(address=begin, size=end - begin)


class OnlyStream:
    """Has only the protocol of host streams, so that a consumer cannot take a shortcut."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Pass the call on."""
        return self._stream.__arrow_c_stream__(requested_schema)


class OnlyDeviceStream:
    """Has only the protocol of device streams, so that a consumer cannot take a shortcut."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __arrow_c_device_stream__(
        self, requested_schema: object = None, **kwargs: object
    ) -> object:
        """Pass the call on."""
        return self._stream.__arrow_c_device_stream__(requested_schema, **kwargs)


def to_frame(bridge: ModuleType, batch: pa.RecordBatch, rows: int) -> Any:
    """Make a frame from a stream whose batches have `rows` rows."""
    return bridge.from_arrow_device_stream(OnlyStream(split(batch, rows)))


def split(batch: pa.RecordBatch, rows: int) -> pa.RecordBatchReader:
    """Split a batch into a stream whose batches have `rows` rows."""

    def parts() -> Iterator[pa.RecordBatch]:
        for begin in range(0, max(batch.num_rows, 1), rows):
            yield batch.slice(begin, rows)

    return pa.RecordBatchReader.from_batches(batch.schema, parts())


def export(bridge: ModuleType, frame: Any, rows: int) -> BatchedArray:
    """Export a frame batch by batch."""
    return BatchedArray(list(bridge.to_arrow_device_stream(frame, max_rows=rows)))


def consume_stream(bridge: ModuleType, frame: Any, rows: int) -> tuple[pa.RecordBatch, str]:
    """Let another library import the stream of a frame, and concatenate its batches in pyarrow.

    pyarrow imports a stream in CPU memory. Otherwise pylibcudf, which has no stream protocol,
    imports each batch.
    """
    stream = bridge.to_arrow_device_stream(frame, max_rows=rows)
    if stream.device_type.name == "CPU":
        reader = pa.RecordBatchReader.from_stream(OnlyStream(stream))
        batches, consumer = list(reader), f"pyarrow {pa.__version__}"
    else:
        consumed = [consume(array) for array in stream]
        batches, consumer = [batch for batch, _ in consumed], consumed[0][1]
    columns = [
        pa.concat_arrays([batch.column(i) for batch in batches])
        for i in range(batches[0].num_columns)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema), consumer


def import_back(bridge: ModuleType, frame: Any, rows: int) -> Any:
    """Import the stream of a frame as one frame."""
    stream = bridge.to_arrow_device_stream(frame, max_rows=rows)
    return bridge.from_arrow_device_stream(OnlyDeviceStream(stream))
