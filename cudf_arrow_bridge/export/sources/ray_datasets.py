# SPDX-License-Identifier: Apache-2.0
"""Objects in Ray's object store: blocks of datasets, and objects by reference."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...arrow.schemas import or_default
from .prefetch import results_ahead

if TYPE_CHECKING:
    import ray


def fetch_objects(source: Any) -> Iterator[Any] | None:
    """Iterate over the objects of Ray references, or the blocks of a Ray dataset.

    Return None for other sources, without importing Ray. Blocks are pyarrow tables that share the
    memory of the object store.
    """
    if "ray" not in sys.modules:
        return None
    import ray

    references = source if isinstance(source, (list, tuple)) else (source,)
    if references and all(isinstance(item, ray.ObjectRef) for item in references):
        return results_ahead(references, _start_fetch, ray.get)
    if "ray.data" not in sys.modules:
        return None
    from ray.data import DataIterator, Dataset

    return _blocks_of(source) if isinstance(source, (DataIterator, Dataset)) else None


def _start_fetch(reference: ray.ObjectRef) -> ray.ObjectRef:
    import ray

    # A timeout of 0 does not wait.
    ray.wait([reference], timeout=0, fetch_local=True)
    return reference


def _blocks_of(dataset: ray.data.Dataset | ray.data.DataIterator) -> Iterator[pa.Table]:
    """Iterate over the blocks of a dataset, or an empty table if there are none."""
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
