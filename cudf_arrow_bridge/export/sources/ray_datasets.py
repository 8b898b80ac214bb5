# SPDX-License-Identifier: Apache-2.0
"""What lies in Ray's object store: the blocks of datasets, and objects by their references."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import ray

__all__ = ["fetch_objects"]

#: The number of objects that are brought to this machine before they are asked for.
AHEAD = 2


def fetch_objects(source: Any) -> Iterator[Any] | None:
    """Iterate over what a reference, several references or a dataset of Ray stand for.

    Parameters
    ----------
    source
        An ``ObjectRef``, a list of them, or a ``ray.data.Dataset`` or ``DataIterator``, each block
        of which is a table of pyarrow over the memory of the store.

    Returns
    -------
    iterator or None
        None for anything else. Ray is not imported to find out.
    """
    if "ray" not in sys.modules:
        return None
    from ray import ObjectRef

    references = source if isinstance(source, (list, tuple)) else (source,)
    if references and all(isinstance(item, ObjectRef) for item in references):
        return _fetch(references)
    if "ray.data" not in sys.modules:
        return None
    from ray.data import DataIterator, Dataset

    return _blocks_of(source) if isinstance(source, (DataIterator, Dataset)) else None


def _fetch(references: Sequence[ray.ObjectRef]) -> Iterator[Any]:
    import ray

    for index, reference in enumerate(references):
        # Without those that come twice, which Ray refuses.
        if ahead := list(dict.fromkeys(references[index + 1 : index + 1 + AHEAD])):
            # Does not wait for them.
            ray.wait(ahead, num_returns=len(ahead), timeout=0, fetch_local=True)
        yield ray.get(reference)


def _blocks_of(dataset: ray.data.Dataset | ray.data.DataIterator) -> Iterator[pa.Table]:
    """Give the blocks that have rows, or an empty one."""
    # Of several batches ahead, each has a thread, and they come in any order.
    blocks = dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1)
    is_empty = True
    for block in blocks:
        is_empty = False
        yield block
        del block
    if is_empty:
        schema = getattr(dataset.schema(), "base_schema", None)
        if isinstance(schema, pa.Schema):
            yield schema.empty_table()
