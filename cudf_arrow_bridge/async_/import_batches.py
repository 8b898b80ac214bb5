# SPDX-License-Identifier: Apache-2.0
"""Import of the arrays of an asynchronous source."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any

from .._core.schema import check_same
from ..arrow.foreign_streams import SourceStream
from ..arrow.options import Kind
from ..arrow.sources import SourceArray, is_of_rapids, open_array
from ..cuda.event_loops import fences_of_running_loop
from ..export.inputs import array_of_rapids
from ..import_.importer import Importer
from ..import_.selection import select_columns
from ..import_.streams import import_batches
from .array_sources import ArraySource

#: The time in seconds after which other tasks run if all batches are ready.
_TURN = 0.002


async def import_async(
    open_arrays: Callable[[], ArraySource],
    kind: Kind | None,
    columns: Sequence[str] | None,
    importer: Importer,
) -> AsyncGenerator[Any, None]:
    """Import each array when it is ready; see `from_arrow_device_async`.

    The source is opened when the first frame is requested.
    """
    loop = asyncio.get_running_loop()
    waiting: deque[object] = deque()
    frames: Iterator[Any] = iter(())
    fences = fences_of_running_loop()
    schema: object | None = None
    arrays = open_arrays()
    try:
        suspended = loop.time()
        while (array := await arrays.next()) is not None:
            source = (
                array_of_rapids(array, copy=importer.copy)
                if is_of_rapids(array)
                else open_array(array)
            )
            capsule = source.array_capsule
            if schema is None:
                schema = source.schema_capsule
                frames = _frames_of(source, iter(waiting.popleft, None), kind, columns, importer)
            elif source.schema_capsule is not schema:
                check_same(schema, source.schema_capsule)
            if fence := fences.fences.add_capsule(capsule):
                # Otherwise an import that reads values would block the loop.
                await fences.wait(fence)
            waiting.append(capsule)
            # A suspended generator must not keep memory alive that the caller has released.
            del array, source, capsule
            yield next(frames)
            if loop.time() - suspended > _TURN:
                await asyncio.sleep(0)
                suspended = loop.time()
    finally:
        del frames
        await arrays.close()


def _frames_of(
    first: SourceArray,
    arrays: Iterator[object],
    kind: Kind | None,
    columns: Sequence[str] | None,
    importer: Importer,
) -> Iterator[Any]:
    stream = SourceStream(first.schema_capsule, arrays, first.labels, kind=first.known_kind)
    kind = kind or stream.kind
    if columns is not None:
        select_columns(stream, columns, kind, importer.makes_frames)
    return import_batches(stream, kind, importer)
