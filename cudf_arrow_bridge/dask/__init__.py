# SPDX-License-Identifier: Apache-2.0
"""Device arrays on a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from .._load import imports_of_extra
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.options import check_max_rows, check_option
from ..arrow.schemas import empty
from ..cuda.residency import has_gpu
from ..export.sources.datasets import DatasetSource
from ..export.sources.registry import open_source
from ..from_arrow import from_arrow_device
from ..to_arrow import to_arrow_device, to_arrow_device_stream

with imports_of_extra("dask"):
    from dask import delayed, get_annotations
    from dask.base import get_scheduler
    from dask.utils import parse_bytes
    from distributed import default_client

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from dask.dataframe import DataFrame, Series
    from distributed import Client, Future

    from ..arrow.device_array import DeviceArray

__all__ = ["to_dataframe", "to_futures"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: The size that a task reads of a Parquet file, as in Dask's readers.
BLOCKSIZE = "256 MiB"


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
    """Place data on the workers of a Dask cluster, with a `DeviceArray` for each future.

    Tasks on the workers read files; this process reads only their metadata. Data of other sources
    is sent to the workers from this process.

    Parameters
    ----------
    source
        A source of `to_arrow_device_stream`. Files are given as a path, a glob, a list of
        ``pathlib.Path`` or a ``pyarrow.dataset.Dataset``. The workers need them under the same
        names, on a shared file system or as fsspec URLs.
    client : distributed.Client, optional
        The client of the cluster. None: Dask's current client.
    columns, filter, memory_map : optional
        For files and datasets: the data to read; see `to_arrow_device_stream`.
    max_rows : int, optional
        For sources other than files: the maximum number of rows of an array. None: each batch is
        one array.
    blocksize : int or str
        For Parquet files: the number of bytes that a task reads. Row groups of a file are combined
        up to this uncompressed size. A larger row group is one array. A file of Arrow IPC or CSV is
        always one array.

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
    ``dask.annotate`` controls the tasks, as usual: ``workers``, ``resources``, ``retries``,
    ``priority``. ``workers`` also selects the workers that data is sent to; otherwise Dask
    distributes it.

    Tasks that read files run again if a worker with their results is lost. Data that was sent is
    lost with its worker. It is sent one batch at a time, so that this process holds only one, and
    through the scheduler, unless the client has ``direct_to_workers=True``.

    To find the schema, this process reads the metadata of all Parquet and Arrow IPC files, and the
    first block of each CSV file.

    Data on the workers can stay there: ``client.map(cab.to_arrow_device, futures)`` creates arrays
    from futures of frames.

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
        client = default_client()
    options = {"columns": columns, "filter": filter, "memory_map": memory_map}
    max_rows = check_max_rows(max_rows)
    found = parts_or_stream(source, blocksize, max_rows, **options)
    if isinstance(found, DeviceArrayStream):
        return scatter(found, client)
    # Files may change, so earlier results must not be reused.
    futures: list[Future] = client.map(read_part, found, pure=False)
    return futures


def parts_or_stream(
    source: Any, blocksize: int | str, max_rows: int | None, **options: Any
) -> Sequence[DatasetSource] | DeviceArrayStream:
    """Return at least one part of files, for a task each, or a stream of another source.

    The parameters and errors are those of `to_futures`.
    """
    size = parse_bytes(blocksize)
    opened = open_source(source, **options).obj
    parts = opened.split(size) if isinstance(opened, DatasetSource) else None
    if parts is None:
        return to_arrow_device_stream(opened, max_rows=max_rows)
    if max_rows is not None:
        raise ValueError(f"max_rows={max_rows} does not apply to files: use blocksize=")
    return parts


def read_part(part: DatasetSource) -> DeviceArray:
    """Read a part of files as one array, on the calling machine."""
    joined = to_arrow_device(to_arrow_device_stream(part))
    # As a batch of a stream, so that a range index keeps its name, whatever the number of rows.
    (array,) = to_arrow_device_stream([joined])
    return array


def scatter(stream: DeviceArrayStream, client: Client) -> list[Future]:
    """Send the batches of a stream to workers, one at a time; see `to_futures`."""
    if client.asynchronous:
        raise RuntimeError(
            "cannot send data from the thread of the client's event loop, which would "
            "block it: send it from another thread"
        )
    workers = get_annotations().get("workers")
    # Hashing would take as long as sending.
    return [client.scatter(batch, workers=workers, hash=False) for batch in stream]


To = Literal["cudf", "pandas"]


def to_dataframe(
    source: Any,
    *,
    to: To | None = None,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    memory_map: bool = False,
    max_rows: int | None = None,
    blocksize: int | str = BLOCKSIZE,
) -> DataFrame | Series:
    """Create a Dask DataFrame whose partitions are frames of cuDF or pandas.

    Files are read by the tasks that compute the partitions. Other sources are read now: with a
    distributed client the data is sent to the workers, as by `to_futures`, and converted to frames
    there; without a client it stays in this process.

    Parameters
    ----------
    source, columns, filter, memory_map, max_rows, blocksize
        See `to_futures`.
    to : {"cudf", "pandas"}, optional
        The kind of partitions. "cudf": frames on the GPUs of workers, which share the arrays. It
        requires a GPU, also in this process, and ``dask_cudf``, Dask's backend for cuDF. "pandas":
        frames of `DeviceArray.to_pandas`. None: "cudf" if this process has a GPU.

    Returns
    -------
    dask.dataframe.DataFrame or dask.dataframe.Series
        It has a partition for each array of `to_futures`, and unknown divisions. A series if the
        source yields columns.

    Raises
    ------
    TypeError, ValueError, KeyError, FileNotFoundError
        See `to_arrow_device_stream`. Also a ValueError for "cudf" without a GPU, if `max_rows` is
        given for files, or if a source that is not files has neither batches nor a schema.
    ImportError
        If `to` is "cudf" and there is no ``dask_cudf``.

    Notes
    -----
    The index is that of the schema's pandas metadata, otherwise a range. A range index continues
    from batch to batch of a frame of this process, and starts again in each partition that is read
    from files.

    Later selections of the DataFrame are not pushed down to the files; `columns` and `filter` are.
    Dask's option ``dataframe.convert-string`` determines the dtype of strings. Categories are
    unknown to Dask, because they may differ between partitions. In partitions with nulls, pandas
    represents integers and bools as floats and objects.

    Examples
    --------
    >>> flights = cab.dask.to_dataframe("examples/data/*.parquet", to="pandas")
    >>> int(flights["distance"].max().compute(scheduler="threads"))
    4983
    """
    check_option("to", to, (None, "cudf", "pandas"))
    target: To = to or ("cudf" if has_gpu() else "pandas")
    if target == "cudf" and not has_gpu():
        raise ValueError('to="cudf" needs a GPU: use to="pandas"')
    if target == "cudf" and find_spec("dask_cudf") is None:
        raise ImportError(
            'to="cudf" needs dask_cudf: install dask-cudf-cu12 or dask-cudf-cu13, '
            'as for cuDF, or use to="pandas"'
        )
    from dask.dataframe import from_delayed

    options = {"columns": columns, "filter": filter, "memory_map": memory_map}
    max_rows = check_max_rows(max_rows)
    found = parts_or_stream(source, blocksize, max_rows, **options)
    if not isinstance(found, DeviceArrayStream):
        meta = _meta_of(found[0].schema, target)
        frames = [delayed(read_frame)(part, target) for part in found]
    else:
        meta = _meta_of(found, target)
        # With a client, its method.
        client = getattr(get_scheduler(), "__self__", None)
        if client is None:
            frames = [delayed(frame_of)(array, target) for array in found]
        else:
            # Release the arrays, because workers that keep frames do not need them.
            frames = client.map(frame_of, scatter(found, client), to=target, pure=False)
    # The dtypes that pandas uses for nulls would fail the verification.
    frame: DataFrame | Series = from_delayed(frames, meta=meta, verify_meta=False)
    return frame


def _meta_of(schema: Any, to: To) -> Any:
    """Create a frame without rows for Dask."""
    from dask.dataframe.utils import clear_known_categories

    # The name of a column comes only from the request.
    (array,) = to_arrow_device_stream([empty(schema)], requested_schema=schema)
    return clear_known_categories(frame_of(array, to))


def read_frame(part: DatasetSource, to: To) -> Any:
    """Read a part of files as a frame, on the calling machine."""
    return frame_of(read_part(part), to)


def frame_of(array: DeviceArray, to: To) -> Any:
    """Create a frame or series of an array, on the calling machine."""
    return from_arrow_device(array) if to == "cudf" else array.to_pandas()
