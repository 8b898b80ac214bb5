# SPDX-License-Identifier: Apache-2.0
"""Conversion of batches to Dask DataFrames: `to_dataframe`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.options import check_max_rows, check_option
from ..arrow.schemas import empty
from ..cuda.residency import has_gpu
from ..from_arrow import from_arrow_device
from ..to_arrow import to_arrow_device_stream
from .futures import BLOCKSIZE, parts_or_stream, read_part, scatter

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from dask.dataframe import DataFrame, Series

    from ..arrow.device_array import DeviceArray
    from ..export.sources.datasets import DatasetSource

To = Literal["cudf", "pandas"]


def to_dataframe(
    source: Any,
    *,
    to: To | None = None,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    memory_map: bool = False,
    max_rows: int | None = None,
    max_chunksize: int | None = None,
    blocksize: int | str = BLOCKSIZE,
) -> DataFrame | Series:
    """Create a Dask DataFrame whose partitions are frames of cuDF or pandas.

    Files are read by the tasks that compute the partitions. Other sources are read now: with a
    distributed client the data is sent to the workers, as by `to_futures`, and converted to frames
    there; without a client it stays in this process.

    Parameters
    ----------
    source, columns, filter, memory_map, max_rows, max_chunksize, blocksize
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
    if target == "cudf":
        _check_cudf()
    from dask import delayed
    from dask.base import get_scheduler
    from dask.dataframe import from_delayed

    max_rows = check_max_rows(max_rows, max_chunksize)
    found = parts_or_stream(source, columns, filter, memory_map, max_rows, blocksize)
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


def _check_cudf() -> None:
    if not has_gpu():
        raise ValueError('to: expected "pandas" without a GPU, got "cudf"')
    if find_spec("dask_cudf") is None:
        raise ImportError(
            'expected dask_cudf for to="cudf": install dask-cudf-cu12 or dask-cudf-cu13, '
            'as for cuDF, or use to="pandas"'
        )


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
