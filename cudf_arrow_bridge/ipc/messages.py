# SPDX-License-Identifier: Apache-2.0
"""`messages`: encoding of cuDF data to Arrow IPC messages without copies of bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._core.ipc.body import ALIGNMENT, BodyBuffer
from ..arrow.options import check_max_rows
from .encoder import encoder_of


@dataclass(frozen=True, slots=True)
class Message:
    """One Arrow IPC message: metadata, and a body as a list of buffers.

    Attributes
    ----------
    metadata : bytes
        The flatbuffer ``Message`` without the preceding length.
    buffers : list of BodyBuffer
        The buffers of the body in the order of the metadata; absent buffers have size 0. Each has
        an ``address`` and a ``size`` in bytes, and keeps the memory alive. Memory that the CPU can
        read has the buffer protocol, device memory has ``__cuda_array_interface__``.
    """

    metadata: bytes
    buffers: list[BodyBuffer]

    @property
    def padding(self) -> list[int]:
        """The zeros after each buffer in a packed body, as bytes."""
        return [-len(buffer) % ALIGNMENT for buffer in self.buffers]

    @property
    def body_length(self) -> int:
        """The size of a packed body in bytes."""
        return sum(map(len, self.buffers)) + sum(self.padding)


def messages(
    source: Any,
    *,
    stream: Any = None,
    preserve_index: bool | None = None,
    max_rows: int | None = None,
) -> Iterator[Message]:
    """Encode cuDF data as Arrow IPC messages with separate metadata and bodies.

    The schema is first, then each batch after the dictionaries that it needs. A dictionary in the
    same memory as before is not repeated. Bodies are neither read nor copied, with these
    exceptions. For slices, masks that do not start at a multiple of 32 rows and offsets that do not
    start at 0 are copied. The first and last offsets of strings and of sliced lists are read.
    Unknown nulls are counted. Dictionaries in CPU memory are compared with those of the previous
    batch.

    Parameters
    ----------
    source
        A source of `to_arrow_device_stream`. A column becomes a batch of one column.
    stream : optional
        The CUDA stream that produced the data; see `to_arrow_device`. Device buffers may be read
        after its work; their ``__cuda_array_interface__`` names it.
    preserve_index : bool, optional
        Whether to export the index; see `to_arrow_device`.
    max_rows : int, optional
        The maximum number of rows of a batch. None: each object is one batch.

    Returns
    -------
    Iterator of Message
        The messages, each encoded when it is requested.

    Raises
    ------
    TypeError, ValueError
        See `to_arrow_device_stream`; also if a record batch has null rows.

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
    max_rows = check_max_rows(max_rows)
    arrays, encoder = encoder_of(source, stream, preserve_index, max_rows)
    yield Message(encoder.schema_metadata, [])
    for batch in encoder.messages(arrays):
        yield Message(batch.metadata(), batch.body.buffers())
