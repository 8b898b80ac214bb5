# SPDX-License-Identifier: Apache-2.0
"""Parts of files, each of which a task reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..export.sources.datasets import DatasetSource
from ..export.sources.files import FilesSource
from ..export.stream_sources import open_source
from ..to_arrow import to_arrow_device, to_arrow_device_stream

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from ..arrow.device_array import DeviceArray

__all__ = ["BLOCKSIZE", "Part", "parts_of", "read_part"]

Part = DatasetSource | FilesSource

#: What a task reads of a file of Parquet, as Dask's own readers have it.
BLOCKSIZE = "256 MiB"


def parts_of(
    source: Any,
    columns: Sequence[str] | None,
    filter: pc.Expression | None,
    memory_map: bool,
    max_rows: int | None,
    blocksize: int | str,
) -> Sequence[Part] | None:
    """Find the files that a source names, and what of them a task each should read.

    Parameters
    ----------
    source, columns, filter, memory_map, max_rows, blocksize
        See `to_futures`.

    Returns
    -------
    sequence or None
        At least one part, all of one schema; None if the source names no files.

    Raises
    ------
    ValueError
        If `max_rows` is given for files.
    """
    from dask.utils import parse_bytes

    size = parse_bytes(blocksize)
    opened = open_source(source, columns, filter, memory_map)
    parts = opened.split(size) if isinstance(opened, (DatasetSource, FilesSource)) else None
    if parts is not None and max_rows is not None:
        raise ValueError(f"max_rows={max_rows} with files found, blocksize= expected")
    return parts


def read_part(part: Part) -> DeviceArray:
    """Read a part of files as one array, on the machine that calls this."""
    joined = to_arrow_device(to_arrow_device_stream(part))
    # As a batch of a stream, so that a range index has its name, whatever the number of rows.
    (array,) = to_arrow_device_stream([joined])
    return array
