# SPDX-License-Identifier: Apache-2.0
"""`messages`: cuDF data as Arrow IPC messages whose bodies stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._core.ipc.body import ALIGNMENT, BodyBuffer
from ..arrow.options import check_max_rows
from ..cuda.residency import DeviceType
from ..cuda.streams import resolve_stream
from .encoder import MessageEncoder, arrays_of

__all__ = ["Message", "messages"]


@dataclass(frozen=True, slots=True)
class Message:
    """One Arrow IPC message: metadata, and a body in pieces.

    Attributes
    ----------
    metadata : bytes
        The flatbuffer ``Message``, without a length before it.
    buffers : list of BodyBuffer
        The buffers of the body in order, one for each that the metadata tells; those that are
        absent have no bytes. Each has an ``address`` and a ``size`` in bytes, and keeps the memory
        alive. Memory that the CPU can read has the buffer protocol, a device's has
        ``__cuda_array_interface__``.
    """

    metadata: bytes
    buffers: list[BodyBuffer]

    @property
    def padding(self) -> list[int]:
        """The bytes of zeros after each buffer in a packed body."""
        return [-len(buffer) % ALIGNMENT for buffer in self.buffers]

    @property
    def body_length(self) -> int:
        """The bytes of a packed body."""
        return sum(map(len, self.buffers)) + sum(self.padding)


def messages(
    source: Any,
    *,
    stream: Any = None,
    preserve_index: bool | None = None,
    max_rows: int | None = None,
    max_chunksize: int | None = None,
) -> Iterator[Message]:
    """Give cuDF data as Arrow IPC messages, for transports that move metadata and bodies apart.

    First the schema; then each batch, after the dictionaries that it needs. A dictionary that is
    the same memory as before is not given again. Bodies are not touched, with these exceptions: of
    slices, masks that do not begin at a multiple of 32 rows and offsets that do not begin at 0 are
    copied; the first and last offset of strings, and of lists that are sliced, are read, as is a
    mask whose nulls have not been counted; and dictionaries in CPU memory are compared with those
    of the batch before.

    Parameters
    ----------
    source
        What `to_arrow_device_stream` takes. Other arrays than tables become batches of one column.
    stream : optional
        The CUDA stream that made the data, named as in `to_arrow_device`. A device's buffers may be
        read after its work; their ``__cuda_array_interface__`` names it.
    preserve_index : bool, optional
        Whether the index becomes columns; see `to_arrow_device`.
    max_rows : int, optional
        The maximum number of rows of a batch; None: each object is one batch.
    max_chunksize : int, optional
        pyarrow's name of `max_rows`.

    Returns
    -------
    Iterator of Message
        Each made when it is asked for.

    Raises
    ------
    TypeError, ValueError
        As `to_arrow_device_stream`; also if a record batch has null rows.

    Notes
    -----
    Source: Arrow columnar format, "Encapsulated message format".

    Examples
    --------
    >>> import pandas as pd
    >>> frame = cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]}))
    >>> schema, batch = cab.ipc.messages(frame)
    >>> [buffer.size for buffer in batch.buffers]
    [0, 24]
    >>> batch.buffers[1].address == frame["a"].to_pylibcudf()[0].data().ptr
    True
    """
    max_rows = check_max_rows(max_rows, max_chunksize)
    arrays = arrays_of(source, stream, preserve_index, max_rows)
    encoder = MessageEncoder(
        arrays._schema_handle(),
        resolve_stream(stream),
        lambda device_type: device_type == DeviceType.CPU,
    )
    yield Message(encoder.schema_metadata, [])
    for array in arrays:
        for batch in encoder.encode(array):
            yield Message(batch.metadata(), batch.body.buffers())


def _may_read(device_type: int) -> bool:
    return device_type == DeviceType.CPU
