# SPDX-License-Identifier: Apache-2.0
"""Import of the arrays of an asynchronous source."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from ..arrow.foreign_streams import SourceStream
from ..arrow.options import Kind
from ..cuda.event_loops import fences_of_running_loop
from ..import_.importer import Importer
from ..import_.selection import select_columns
from ..import_.streams import import_batches
from .array_sources import ArraySource

#: The time in seconds after which other tasks run if all batches are ready.
_TURN = 0.002


async def import_async(
    open_arrays: Callable[[], Awaitable[ArraySource]],
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
    arrays = await open_arrays()
    try:
        is_first = True
        suspended = loop.time()
        while (capsule := await arrays.next()) is not None:
            if is_first:
                is_first = False
                schema = arrays.schema.__arrow_c_schema__()
                stream = SourceStream(schema, iter(waiting.popleft, None), arrays.labels)
                frames = _frames_of(stream, kind, columns, importer)
            if fence := fences.fences.add_capsule(capsule):
                # Otherwise an import that reads values would block the loop.
                await fences.wait(fence)
            waiting.append(capsule)
            # A suspended generator must not keep memory alive that the caller has released.
            del capsule
            yield next(frames)
            if loop.time() - suspended > _TURN:
                await asyncio.sleep(0)
                suspended = loop.time()
    finally:
        del frames
        await arrays.close()


def _frames_of(
    stream: SourceStream, kind: Kind | None, columns: Sequence[str] | None, importer: Importer
) -> Iterator[Any]:
    kind = kind or stream.kind
    if columns is not None:
        select_columns(stream, columns, kind, importer.makes_frames)
    return import_batches(stream, kind, importer)
