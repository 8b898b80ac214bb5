# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays as cuDF data, awaited one by one: `from_arrow_device_async`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from .arrow.device_array_stream import DeviceArrayStream
from .arrow.options import Kind, Validation, check_kind, check_prefetch
from .arrow.refusals import ANY_PROTOCOL, refusal
from .arrow.source_streams import has_stream_protocol
from .arrow.sources import has_array_protocol
from .async_.device_array_stream import AsyncDeviceArrayStream
from .import_.importer import Importer
from .to_arrow import to_arrow_device, to_arrow_device_stream

if TYPE_CHECKING:
    from .async_.arrays import Arrays

__all__ = ["from_arrow_device_async"]


def from_arrow_device_async(
    source: Any,
    *,
    prefetch: int = 4,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    copy: bool | None = None,
    validate: Validation = "minimal",
    sanitize: bool = True,
) -> AsyncGenerator[Any, None]:
    """Import arrays while an event loop does other things: ``async for frame in ...``.

    Arrays are made ahead, on other threads, and adopted as by `from_arrow_device_stream`.

    Parameters
    ----------
    source
        What `to_arrow_device_async` gives; anything with ``__arrow_c_device_stream__`` or
        ``__arrow_c_stream__``, such as a pyarrow table; an iterable or async iterable of frames or
        of arrays; or a producer in C: a function that takes the address of an
        ``ArrowAsyncDeviceStreamHandler``, called on a thread of its own. What has ``__aiter__`` is
        iterated, whatever else it has.
    prefetch : int
        How many arrays may be asked for, or waiting, beside the one that was returned last.
    stream, mr, to, kind, columns, copy, validate, sanitize : optional
        See `from_arrow_device_stream`.

    Returns
    -------
    async generator of cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        By `to` and `kind`. The source is begun when the first is asked for. ``aclose()``, and a
        task that is cancelled while it waits, end the source, with one cancel, and release what it
        has made.

    Raises
    ------
    TypeError
        If `source` is none of these, or an argument is of another type.
    ValueError
        If an argument has another value.
    Exception
        From the generator: what `from_arrow_device_stream` raises. The exception of a producer in
        C has its metadata in ``metadata``, a dictionary of bytes.

    Notes
    -----
    Source: Arrow specification, "The Arrow C Device data interface", "Async Device Stream
    Interface".

    Examples
    --------
    >>> import asyncio
    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})]
    >>> async def sizes():
    ...     return [len(frame) async for frame in cab.from_arrow_device_async(batches)]
    >>> asyncio.run(sizes())
    [2, 1]
    """
    # Importing asyncio takes a while, which other callers are spared.
    from .async_.import_batches import import_awaited

    importer = Importer.of(stream, mr, to, copy, validate, sanitize)
    open_arrays = partial(_opener_of(source), check_prefetch(prefetch))
    return import_awaited(open_arrays, check_kind(kind), columns, importer)


def _opener_of(source: Any) -> Callable[[int], Awaitable[Arrays]]:
    """Return what begins a source, with the number of arrays to make ahead."""
    from .async_.batches import IteratedBatches, ThreadedBatches
    from .async_.sources import await_foreign_stream, await_producer, is_producer

    if isinstance(source, AsyncDeviceArrayStream):
        return source._batches.open
    if isinstance(source, DeviceArrayStream):
        return ThreadedBatches(source).open
    if hasattr(source, "__aiter__"):
        return IteratedBatches(source, _as_array).open
    if has_stream_protocol(source) and not has_array_protocol(source):
        return partial(await_foreign_stream, source)
    if is_producer(source):
        return partial(await_producer, source)
    if isinstance(source, (str, os.PathLike, dict, type)):
        expected = f"one with {ANY_PROTOCOL} or __aiter__, an iterable of frames or arrays, or a"
        raise refusal(source, f"{expected} producer's function")
    return ThreadedBatches(to_arrow_device_stream(source)).open


def _as_array(obj: Any) -> tuple[Any]:
    return (obj if has_array_protocol(obj) else to_arrow_device(obj),)
