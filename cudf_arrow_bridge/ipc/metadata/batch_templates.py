# SPDX-License-Identifier: Apache-2.0
"""Templates of batch messages, whose structure depends only on the counts of nodes and buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import flatbuffers
import numpy as np

from .flatbuffer_tables import INT64, UINT32
from .headers import (
    BODY_LENGTH,
    BUFFERS,
    CODEC,
    CODECS,
    COMPRESSION,
    DATA,
    HEADER,
    HEADER_TYPE,
    ID,
    IS_DELTA,
    KINDS,
    LENGTH,
    NODES,
    V5,
    VARIADIC_COUNTS,
    VERSION,
    Codec,
    MessageLayout,
    read_header,
)

__all__ = ["BatchTemplate", "batch_template"]

HEADER_TYPES = {kind: code for code, kind in KINDS.items()}

#: Stands for the numbers while the template is built. The default would not be stored.
PLACEHOLDER = 1


@dataclass(frozen=True, slots=True)
class BatchTemplate:
    """The metadata of a batch message whose numbers are 0.

    Its size is a multiple of 8.
    """

    data: bytes
    layout: MessageLayout
    """The positions of the numbers. All numbers of this kind of message are stored."""

    def fill(
        self,
        length: int,
        nodes: Sequence[tuple[int, int]] | np.ndarray[Any, Any],
        buffers: Sequence[tuple[int, int]] | np.ndarray[Any, Any],
        body_length: int,
        variadic_counts: Sequence[int] = (),
        dictionary_id: int = 0,
        is_delta: bool = False,
    ) -> bytes:
        """Return the metadata of a message with these numbers.

        Parameters
        ----------
        length : int
            The number of rows.
        nodes : sequence of (int, int)
            The length and null count of each node.
        buffers : sequence of (int, int)
            The offset in the body and the length of each buffer.
        body_length : int
            The size of the body in bytes.
        variadic_counts : sequence of int
            The number of data buffers of each array of views.
        dictionary_id : int
            For a dictionary: its id.
        is_delta : bool
            For a dictionary: whether it is appended to the previous one.

        Raises
        ------
        ValueError
            If the counts differ from those of the template.
        """
        layout = self.layout
        out = bytearray(self.data)
        INT64.pack_into(out, layout.body_length, body_length)
        INT64.pack_into(out, layout.length, length)
        if layout.kind == "dictionary":
            INT64.pack_into(out, layout.dictionary_id, dictionary_id)
            out[layout.is_delta] = is_delta
        _put(out, layout.nodes, 2 * layout.num_nodes, nodes, "numbers of nodes")
        _put(out, layout.buffers, 2 * layout.num_buffers, buffers, "numbers of buffers")
        _put(out, layout.variadic_counts, layout.num_variadic, variadic_counts, "variadic counts")
        return bytes(out)


@lru_cache(maxsize=64)
def batch_template(
    num_nodes: int,
    num_buffers: int,
    num_variadic: int = 0,
    is_dictionary: bool = False,
    compression: Codec | None = None,
) -> BatchTemplate:
    """Return the metadata of a batch or dictionary with these numbers of nodes and buffers."""
    builder = flatbuffers.Builder(1024 + 16 * (num_nodes + num_buffers))
    counts = _add_vector(builder, num_variadic) if num_variadic else None
    buffers = _add_vector(builder, 2 * num_buffers)
    nodes = _add_vector(builder, 2 * num_nodes)
    codec = _add_compression(builder, compression) if compression else None

    builder.StartObject(VARIADIC_COUNTS + 1)
    builder.PrependInt64Slot(LENGTH, PLACEHOLDER, 0)
    builder.PrependUOffsetTRelativeSlot(NODES, nodes, 0)
    builder.PrependUOffsetTRelativeSlot(BUFFERS, buffers, 0)
    if codec is not None:
        builder.PrependUOffsetTRelativeSlot(COMPRESSION, codec, 0)
    if counts is not None:
        builder.PrependUOffsetTRelativeSlot(VARIADIC_COUNTS, counts, 0)
    header = builder.EndObject()
    if is_dictionary:
        builder.StartObject(IS_DELTA + 1)
        builder.PrependInt64Slot(ID, PLACEHOLDER, 0)
        builder.PrependUOffsetTRelativeSlot(DATA, header, 0)
        builder.PrependBoolSlot(IS_DELTA, True, False)
        header = builder.EndObject()

    builder.StartObject(BODY_LENGTH + 1)
    builder.PrependInt64Slot(BODY_LENGTH, PLACEHOLDER, 0)
    builder.PrependUOffsetTRelativeSlot(HEADER, header, 0)
    builder.PrependInt16Slot(VERSION, V5, 0)
    builder.PrependUint8Slot(
        HEADER_TYPE, HEADER_TYPES["dictionary" if is_dictionary else "batch"], 0
    )
    builder.Finish(builder.EndObject())

    data = builder.Output()
    for vector, count in ((nodes, num_nodes), (buffers, num_buffers)):
        # Items that the builder handled as numbers are pairs of numbers.
        UINT32.pack_into(data, len(data) - vector, count)
    layout = read_header(data).layout
    for first, stop in layout.numbers():
        data[first:stop] = bytes(stop - first)
    return BatchTemplate(bytes(data), layout)


def _add_vector(builder: Any, count: int) -> int:
    offset: int = builder.CreateNumpyVector(np.zeros(count, np.int64))
    return offset


def _add_compression(builder: Any, compression: str) -> int:
    builder.StartObject(CODEC + 1)
    builder.PrependInt8Slot(CODEC, CODECS.index(compression), 0)
    offset: int = builder.EndObject()
    return offset


def _put(out: bytearray, first: int, count: int, numbers: Any, what: str) -> None:
    array = np.asarray(numbers, dtype="<i8")
    if array.size != count:
        raise ValueError(f"{what}: expected {count}, got {array.size}")
    out[first : first + 8 * count] = array.tobytes()
