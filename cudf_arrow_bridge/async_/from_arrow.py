# SPDX-License-Identifier: Apache-2.0
"""Asynchronous import of Arrow arrays as cuDF data: `from_arrow_device_async`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..arrow.errors import ANY_PROTOCOL, object_error
from ..arrow.options import Kind, Validation, check_kind, check_prefetch
from ..arrow.sources import is_array
from ..export.sources.registry import STREAM, UNKNOWN, type_of_source
from ..import_.importer import Importer
from ..to_arrow import to_arrow_device, to_arrow_device_stream
from .device_array_stream import AsyncDeviceArrayStream

if TYPE_CHECKING:
    from .array_sources import ArraySource


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
    """Import arrays without blocking the event loop: ``async for frame in ...``.

    Arrays are produced ahead on other threads and imported as in `from_arrow_device_stream`.

    Parameters
    ----------
    source
        The result of `to_arrow_device_async`; an object with ``__arrow_c_device_stream__`` or
        ``__arrow_c_stream__``, such as a pyarrow table; an object of cuDF or pylibcudf; an iterable
        or async iterable of frames or arrays; or a producer in C: a function that takes the address
        of an ``ArrowAsyncDeviceStreamHandler`` and is called on its own thread. ``__aiter__`` takes
        precedence over the other protocols.
    prefetch : int
        The maximum number of arrays that are requested or queued, in addition to the array returned
        last.
    stream, mr, to, kind, columns, copy, validate, sanitize : optional
        See `from_arrow_device_stream`.

    Returns
    -------
    async generator of cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        Depends on `to` and `kind`. The source is started when the first item is requested.
        ``aclose()``, or cancellation of a task that awaits an item, cancels the source once and
        releases the arrays that it has produced.

    Raises
    ------
    TypeError
        If `source` is not supported, or an argument has the wrong type.
    ValueError
        If an argument has an invalid value.
    Exception
        The generator raises the exceptions of `from_arrow_device_stream`. The exception of a
        producer in C has the attribute ``metadata``, a dictionary of bytes.

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
    # Importing asyncio is slow, so it is imported only here.
    from .import_batches import import_async

    importer = Importer.of(stream, mr, to, copy, validate, sanitize)
    open_arrays = partial(_opener_of(source), check_prefetch(prefetch))
    if kind is not None:
        check_kind(kind)
    return import_async(open_arrays, kind, columns, importer)


def _opener_of(source: Any) -> Callable[[int], ArraySource]:
    """Return a function that starts a source, given the number of arrays to produce ahead."""
    from .array_sources import ProducerSource, StreamSource
    from .batches import IteratedBatches

    if isinstance(source, AsyncDeviceArrayStream):
        return source._batches.open
    if hasattr(source, "__aiter__"):
        return IteratedBatches(source, _as_array).open
    found = type_of_source(source)
    if found is STREAM:
        return partial(StreamSource, source)
    if isinstance(source, (str, os.PathLike, dict, type)):
        expected = f"an object with {ANY_PROTOCOL} or __aiter__, an iterable of frames or arrays"
        raise object_error(source, f"{expected}, or the function of a C producer")
    if found is UNKNOWN and callable(source):
        return partial(ProducerSource, source)
    return partial(StreamSource, to_arrow_device_stream(source))


def _as_array(obj: Any) -> tuple[Any]:
    return (obj if is_array(obj) else to_arrow_device(obj),)
