# SPDX-License-Identifier: Apache-2.0
"""Dask DataFrames of anything in batches: `to_dataframe`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from ..arrow.options import check_option
from ..arrow.schemas import empty
from ..cuda.residency import has_gpu
from ..from_arrow import from_arrow_device
from ..to_arrow import to_arrow_device_stream
from .futures import scatter
from .parts import BLOCKSIZE, Part, parts_of, read_part

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from dask.dataframe import DataFrame, Series

    from ..arrow.device_array import DeviceArray

__all__ = ["to_dataframe"]

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
    """Make a Dask DataFrame, whose partitions are frames of cuDF or pandas.

    Files are read when partitions are computed, by the tasks of them. Anything else is taken in
    now: with a distributed client it is sent to the workers as `to_futures` does, and made frames
    there; without one it stays in this process.

    Parameters
    ----------
    source, columns, filter, memory_map, max_rows, blocksize
        See `to_futures`.
    to : {"cudf", "pandas"}, optional
        What partitions are. "cudf": frames on the GPUs of workers, which take the arrays without
        copying them. It needs a GPU, here too, and ``dask_cudf``, Dask's backend of cuDF. "pandas":
        frames by `DeviceArray.to_pandas`. None: "cudf" if this process has a GPU.

    Returns
    -------
    dask.dataframe.DataFrame or dask.dataframe.Series
        With a partition for each array that `to_futures` would make, and unknown divisions. A
        series if the source gives columns.

    Raises
    ------
    TypeError, ValueError, KeyError, FileNotFoundError
        See `to_arrow_device_stream`. Also a ValueError for "cudf" without a GPU, if `max_rows` is
        given for files, or if a source that is not files has neither batches nor a schema.
    ImportError
        If `to` is "cudf" and there is no ``dask_cudf``.

    Notes
    -----
    The index is the one that the schema's metadata for pandas tells, else a range. A range index is
    continued from batch to batch of a frame that is taken from here, and begins anew in each
    partition that is read from files.

    What is selected from the DataFrame later is not pushed down to the files: `columns` and
    `filter` are. Strings become what Dask's option ``dataframe.convert-string`` says. Categories
    are unknown to Dask, as they may differ from partition to partition. pandas has integers and
    bools with nulls as floats and objects, in those partitions that have any.

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

    parts = parts_of(source, columns, filter, memory_map, max_rows, blocksize)
    if parts is not None:
        meta = _meta_of(parts[0].schema, target)
        frames = [delayed(read_frame)(part, target) for part in parts]
    else:
        stream = to_arrow_device_stream(source, columns=columns, filter=filter, max_rows=max_rows)
        meta = _meta_of(stream, target)
        # With a client, its method.
        client = getattr(get_scheduler(), "__self__", None)
        if client is None:
            frames = [delayed(frame_of)(array, target) for array in stream]
        else:
            # At once, as workers that keep frames need no arrays.
            frames = client.map(frame_of, scatter(stream, client), to=target, pure=False)
    # What pandas makes of nulls would not be verified.
    frame: DataFrame | Series = from_delayed(frames, meta=meta, verify_meta=False)
    return frame


def _check_cudf() -> None:
    if not has_gpu():
        raise ValueError('to="cudf" without a GPU found, to="pandas" expected')
    if find_spec("dask_cudf") is None:
        raise ImportError(
            'to="cudf" without dask_cudf found: install dask-cudf-cu12 or dask-cudf-cu13, as cuDF'
            ' is, or take to="pandas"'
        )


def _meta_of(schema: Any, to: To) -> Any:
    """Make a frame without rows, as Dask wants it."""
    from dask.dataframe.utils import clear_known_categories

    # A column has its name by the request alone.
    (array,) = to_arrow_device_stream([empty(schema)], requested_schema=schema)
    return clear_known_categories(frame_of(array, to))


def read_frame(part: Part, to: To) -> Any:
    """Read a part of files as a frame, on the machine that calls this."""
    return frame_of(read_part(part), to)


def frame_of(array: DeviceArray, to: To) -> Any:
    """Make a frame or series of an array, on the machine that calls this."""
    return from_arrow_device(array) if to == "cudf" else array.to_pandas()
