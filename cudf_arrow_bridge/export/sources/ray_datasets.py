# SPDX-License-Identifier: Apache-2.0
"""Objects in Ray's object store: blocks of datasets, and objects by reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...arrow.schemas import or_default
from .prefetch import results_ahead

if TYPE_CHECKING:
    import ray


def fetch_references(references: Sequence[ray.ObjectRef]) -> Iterator[Any]:
    """Iterate over the objects of references. They share the memory of the object store."""
    import ray

    return results_ahead(references, _start_fetch, ray.get)


def _start_fetch(reference: ray.ObjectRef) -> ray.ObjectRef:
    import ray

    # A timeout of 0 does not wait.
    ray.wait([reference], timeout=0, fetch_local=True)
    return reference


def blocks_of(datasets: Sequence[ray.data.Dataset | ray.data.DataIterator]) -> Iterator[pa.Table]:
    """Iterate over the blocks of datasets, or an empty table for a dataset without blocks."""
    return chain.from_iterable(map(_blocks_of, datasets))


def _blocks_of(dataset: ray.data.Dataset | ray.data.DataIterator) -> Iterator[pa.Table]:
    # Ray prefetches several batches on several threads, and then does not keep their order.
    blocks = dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1)
    tables = or_default(blocks, lambda: _empty_table(dataset.schema()))
    return filter(lambda table: table is not None, tables)


def _empty_table(schema: ray.data.Schema | None) -> pa.Table | None:
    """Return a table without rows; None if a dataset without blocks has no schema."""
    if schema is None:
        return None
    if isinstance(schema.base_schema, pa.Schema):
        return schema.base_schema.empty_table()
    # Blocks of pandas. For objects Ray has no Arrow type, since their rows determine it.
    types = [found if isinstance(found, pa.DataType) else pa.null() for found in schema.types]
    return pa.schema(zip(schema.names, types, strict=True)).empty_table()
