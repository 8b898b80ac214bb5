# SPDX-License-Identifier: Apache-2.0
"""Device arrays on a Ray cluster.

A `DeviceArray` can be pickled, so ``ray.put``, ``ray.get``, tasks and actors accept it.
`to_arrow_device_stream` accepts references and datasets; see docs/pickle.md. This module creates
datasets.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .._load import imports_of_extra
from ..arrow.device_array import DeviceArray
from ..to_arrow import to_arrow_device_stream

with imports_of_extra("ray"):
    import ray.data

__all__ = ["to_dataset"]


def __dir__() -> list[str]:
    return sorted(__all__)


def to_dataset(
    source: Any,
    *,
    max_rows: int | None = None,
    preserve_index: bool | None = None,
) -> ray.data.MaterializedDataset:
    """Store cuDF data in Ray's object store as a dataset of Arrow blocks.

    Each batch becomes a block. It is stored before the next one is created, so that at most one
    additional copy in host memory exists at a time. Host memory is copied only to the store.

    Parameters
    ----------
    source
        A source of `to_arrow_device_stream`: a frame, an iterable of frames or device arrays,
        files, any Arrow stream. To use its other arguments, pass the stream that it returns.
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
        If two columns have the same name, which Ray does not support.
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
    # Unlike a loop variable, this does not keep a batch alive while the next one is created.
    return ray.data.from_arrow_refs(list(map(_put, batches)))


def _put(batch: DeviceArray) -> ray.ObjectRef:
    if batch._kind != "table":
        raise TypeError(
            f"the batch is a column of type {batch.schema.type}, not a table: use Series.to_frame()"
        )
    return ray.put(pa.table(batch.to_host()))
