# SPDX-License-Identifier: Apache-2.0
"""Device arrays on the workers of a cluster: `to_futures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..to_arrow import to_arrow_device_stream
from .parts import BLOCKSIZE, parts_of, read_part

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from distributed import Client, Future

    from ..arrow.device_array_stream import DeviceArrayStream

__all__ = ["scatter", "to_futures"]


def to_futures(
    source: Any,
    *,
    client: Client | None = None,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    memory_map: bool = False,
    max_rows: int | None = None,
    blocksize: int | str = BLOCKSIZE,
) -> list[Future]:
    """Put data on the workers of a Dask cluster, as a `DeviceArray` for each future.

    Files are read by tasks on the workers; this process looks at their metadata only. Anything else
    is sent to the workers from here.

    Parameters
    ----------
    source
        What `to_arrow_device_stream` takes. Files are those that a path, a glob, a list of
        ``pathlib.Path`` or a ``pyarrow.dataset.Dataset`` names: the workers have to find them under
        the same names, on a file system that they share, or by a URL of fsspec.
    client : distributed.Client, optional
        The client of the cluster; None for Dask's current one.
    columns, filter, memory_map : optional
        Of files and datasets, what to read; see `to_arrow_device_stream`.
    max_rows : int, optional
        Of anything but files, the maximum number of rows of an array. None: each batch is one.
    blocksize : int or str
        Of files of Parquet, how many bytes a task reads: row groups of a file, counted as they are
        when they are not compressed, come together up to it. One that has more is an array by
        itself. A file of Arrow IPC or CSV is always one array.

    Returns
    -------
    list of distributed.Future
        In order, for ``Client.submit``, ``Client.map`` and `to_arrow_device_stream`.

    Raises
    ------
    TypeError, ValueError, KeyError, FileNotFoundError
        See `to_arrow_device_stream`. Also a ValueError if there is no client, or `max_rows` is
        given for files.
    RuntimeError
        If data has to be sent and this is the event loop of the client.

    Notes
    -----
    On which workers tasks run, and how often they may fail, is said by ``dask.annotate``, as for
    any tasks: ``workers``, ``resources``, ``retries``, ``priority``. ``workers`` is also where data
    is sent to; else Dask deals it out.

    Tasks that read files are run again if a worker with their results is lost. Data that was sent
    is lost with its worker. It is sent one batch at a time, so that this process needs no memory
    for more than one; by way of the scheduler, unless the client was made with
    ``direct_to_workers=True``.

    To know the schema, the metadata of all files of Parquet and Arrow IPC is read here, and the
    first block of each file of CSV.

    What is on the workers already need not come here: ``client.map(cab.to_arrow_device, futures)``
    makes arrays of futures of frames.

    Examples
    --------
    >>> import distributed
    >>> import pyarrow as pa
    >>> with distributed.Client(processes=False, dashboard_address=":0") as client:
    ...     flights = cab.dask.to_futures("examples/data/*.parquet", columns=["distance"])
    ...     lengths = client.gather(client.map(len, flights))
    ...     # Back again, in order, one after the other.
    ...     rows = pa.table(cab.to_arrow_device_stream(flights)).num_rows
    >>> sum(lengths) == rows
    True
    """
    if client is None:
        from distributed import default_client

        client = default_client()
    parts = parts_of(source, columns, filter, memory_map, max_rows, blocksize)
    if parts is None:
        stream = to_arrow_device_stream(source, columns=columns, filter=filter, max_rows=max_rows)
        return scatter(stream, client)
    # Files may change: what was read before is not taken for them.
    futures: list[Future] = client.map(read_part, parts, pure=False)
    return futures


def scatter(stream: DeviceArrayStream, client: Client) -> list[Future]:
    """Send the batches of a stream to workers, one after the other; see `to_futures`."""
    from dask import get_annotations

    if client.asynchronous:
        raise RuntimeError(
            "data to send found in the event loop of its client, which would wait for itself:"
            " send it on another thread"
        )
    workers = get_annotations().get("workers")
    # Hashing them would take as long as sending them.
    return [client.scatter(batch, workers=workers, hash=False) for batch in stream]
