# SPDX-License-Identifier: Apache-2.0
"""Many arrays of one schema as one: joined by libcudf on the GPU, by pyarrow without one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pylibcudf as plc

from .._core.schema import Schema
from ..arrow.empty import empty
from ..arrow.sources import Kind, open_source
from ..cuda.residency import has_gpu
from ..to_arrow import to_arrow_device
from .dictionaries import join_dictionaries
from .importer import Brought, Importer

__all__ = ["MAX_ROWS", "concatenate"]

#: What `cudf::size_type` counts to.
MAX_ROWS = (1 << 31) - 1


def concatenate(
    arrays: Sequence[object], schema: Schema, kind: Kind, importer: Importer
) -> Brought:
    """Import the arrays in capsules as the columns of one table, or as one column.

    A single array is adopted as it is; no array at all makes no rows of the schema. Each column is
    joined in one pass.

    Raises
    ------
    OverflowError
        If what they hold together does not fit into one column.
    """
    bring = importer.bringer(schema, kind)
    brought = [bring(array) for array in arrays or [open_source(empty(schema)).array_capsule]]
    if len(brought) == 1:
        return brought[0]
    join = _join_on_gpu if has_gpu() else _join_on_host
    together = zip(*(columns for columns, _ in brought), strict=True)
    columns = [join(parts, importer) for parts in together]
    return columns, sum(num_rows for _, num_rows in brought)


def _join_on_gpu(parts: Sequence[plc.Column], importer: Importer) -> plc.Column:
    if parts[0].type().id() == plc.TypeId.DICTIONARY32:
        return join_dictionaries(parts, importer.streams.use, importer.mr)
    return plc.concatenate.concatenate(list(parts), importer.streams.use, importer.mr)


def _join_on_host(parts: Sequence[plc.Column], importer: Importer) -> plc.Column:
    try:
        joined = pa.concat_arrays([pa.array(to_arrow_device(part)) for part in parts])
    except pa.ArrowInvalid as error:
        raise OverflowError(f"{error}: import the stream with concat=False") from error
    (column,), _ = importer.bring(open_source(joined), "column")
    return column
