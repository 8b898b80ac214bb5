# SPDX-License-Identifier: Apache-2.0
"""Device arrays on a Ray cluster.

A `DeviceArray` goes through ``ray.put``, ``ray.get``, tasks and actors as it is, since it can be
pickled, and `to_arrow_device_stream` takes references and datasets; see docs/processes.md. Here is
what makes a dataset.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import ray.data

from ..arrow.device_array import DeviceArray
from ..to_arrow import to_arrow_device_stream

__all__ = ["to_dataset"]


def __dir__() -> list[str]:
    return sorted(__all__)


def to_dataset(
    source: Any, *, max_rows: int | None = None, preserve_index: bool | None = None
) -> ray.data.MaterializedDataset:
    """Put cuDF data into Ray's object store as a dataset of Arrow blocks.

    Each batch becomes a block. It is put into the store before the next one is made, so that no
    more than one copy in host memory is alive at a time: of host memory, that in the store is the
    only one.

    Parameters
    ----------
    source
        What `to_arrow_device_stream` takes: a frame, an iterable of frames or device arrays, files,
        any Arrow stream. For its other arguments, give the stream that it returns.
    max_rows : int, optional
        The maximum number of rows of a block. None: each batch is one block.
    preserve_index : bool, optional
        As for `to_arrow_device`.

    Returns
    -------
    ray.data.MaterializedDataset
        The blocks, in order. Their schema is that of the batches, with its metadata, from which
        `from_arrow_device` restores labels, indexes and dtypes.

    Raises
    ------
    KeyError
        If two columns have one name, which Ray does not take.
    TypeError
        If a batch is a column, not a table.
    TypeError, ValueError
        As `to_arrow_device_stream`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = cab.from_arrow_device(pd.DataFrame({"a": range(5)}))
    >>> dataset = cab.ray.to_dataset(frame, max_rows=2)
    >>> dataset.num_blocks()
    3
    >>> [len(batch) for batch in cab.to_arrow_device_stream(dataset)]
    [2, 2, 1]
    """
    batches = to_arrow_device_stream(source, max_rows=max_rows, preserve_index=preserve_index)
    # Unlike the variable of a loop, this does not keep a batch while the next one is made.
    return ray.data.from_arrow_refs(list(map(_put, batches)))


def _put(batch: DeviceArray) -> ray.ObjectRef:
    if batch._kind != "table":
        raise TypeError(
            f"a column of type {batch.schema.type} found, a table expected: Series.to_frame() makes"
            " one"
        )
    return ray.put(pa.table(batch.to_host()))
