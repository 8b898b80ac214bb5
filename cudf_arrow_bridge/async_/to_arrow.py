# SPDX-License-Identifier: Apache-2.0
"""Export of cuDF data as an asynchronous stream of device arrays: `to_arrow_device_async`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..arrow.options import check_max_rows, check_prefetch
from ..export.sources.registry import open_source
from ..to_arrow import to_arrow_device, to_arrow_device_stream
from .device_array_stream import AsyncDeviceArrayStream

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from ..arrow.device_array import DeviceArray
    from ..cuda.residency import DeviceType


def to_arrow_device_async(
    source: Any,
    *,
    prefetch: int = 1,
    max_rows: int | None = None,
    requested_schema: Any = None,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    memory_map: bool = False,
    format: ds.FileFormat | None = None,
    stream: Any = None,
    mr: Any = None,
    preserve_index: bool | None = None,
    compact: bool = False,
    copy: bool | None = None,
    device_type: Literal["cuda"] | DeviceType | None = None,
) -> AsyncDeviceArrayStream:
    """Export cuDF data in batches, for asyncio and for the Arrow asynchronous C interface.

    Parameters
    ----------
    source
        An object that `to_arrow_device_stream` accepts; its batches are exported on other threads.
        Or an object with ``__aiter__`` that yields objects `to_arrow_device` accepts, such as an
        async generator of frames or a datafusion DataFrame; these objects are exported on the
        thread of the event loop.
    prefetch : int
        The maximum number of batches that ``async for`` creates ahead, on another thread, while the
        loop uses a batch. 0: each batch is created when the loop requests it, as always for an
        object with ``__aiter__``. Not used by `from_arrow_device_async` and C consumers, which
        request batches themselves.
    max_rows, requested_schema, columns, filter, memory_map, format, stream, mr, preserve_index, \
compact, copy, device_type : optional
        See `to_arrow_device_stream`.

    Returns
    -------
    AsyncDeviceArrayStream
        An asynchronous stream for ``async for`` and `from_arrow_device_async`. Its method
        `export_to` exports it to consumers in C.

    Raises
    ------
    TypeError, ValueError, KeyError, FileNotFoundError
        See `to_arrow_device_stream`.

    Examples
    --------
    >>> import asyncio
    >>> import pyarrow as pa
    >>> frame = cab.from_arrow_device(pa.table({"a": range(5)}))
    >>> async def sizes():
    ...     return [len(batch) async for batch in cab.to_arrow_device_async(frame, max_rows=2)]
    >>> asyncio.run(sizes())
    [2, 2, 1]
    """
    max_rows = check_max_rows(max_rows)
    prefetch = check_prefetch(prefetch, least=0)
    # Importing asyncio is slow, so it is imported only here.
    from .batches import IteratedBatches, ThreadedBatches

    arguments: dict[str, Any] = {
        "requested_schema": requested_schema,
        "stream": stream,
        "mr": mr,
        "preserve_index": preserve_index,
        "compact": compact,
        "copy": copy,
        "device_type": device_type,
    }
    if not hasattr(source, "__aiter__"):
        arguments |= {"max_rows": max_rows, "columns": columns, "filter": filter}
        arguments |= {"memory_map": memory_map, "format": format}
        batches = to_arrow_device_stream(source, **arguments)
        return AsyncDeviceArrayStream(ThreadedBatches(batches, prefetch))
    open_source(source, columns=columns, filter=filter, memory_map=memory_map, format=format)
    # Check the arguments now instead of at the first object.
    to_arrow_device_stream([], max_rows=max_rows, **arguments)
    export = partial(_batches_of, max_rows, arguments)
    return AsyncDeviceArrayStream(IteratedBatches(source, export))


def _batches_of(max_rows: int | None, arguments: dict[str, Any], obj: Any) -> Iterable[DeviceArray]:
    if max_rows is None:
        return (to_arrow_device(obj, **arguments),)
    return to_arrow_device_stream([obj], max_rows=max_rows, **arguments)
