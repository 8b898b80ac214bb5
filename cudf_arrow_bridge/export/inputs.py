# SPDX-License-Identifier: Apache-2.0
"""Whatever holds cuDF data, taken apart for an export."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pylibcudf as plc

from .._core.columns import types_of
from .._core.schema import Schema, are_equal
from ..arrow.metadata import from_field
from ..arrow.options import ImportOptions, Kind
from ..arrow.parts import Description, Parts, Recent, parts_of_column
from ..arrow.sources import Source, open_source
from ..cuda.streams import Stream

__all__ = ["is_cudf", "parts_of", "parts_of_source"]


def parts_of(obj: Any, preserve_index: bool | None, stream: Stream) -> Parts:
    """Take whatever holds cuDF data apart, for an export; anything else is imported first.

    Parameters
    ----------
    obj, preserve_index
        As in `to_arrow_device`, or an array of a stream.
    stream
        Where an index that is made for the occasion is made, and foreign arrays are imported.
    """
    if isinstance(obj, plc.Column):
        return parts_of_column(obj)
    if isinstance(obj, plc.Table):
        columns = obj.columns()
        return Parts("table", columns, obj.num_rows(), _unnamed(columns), (obj,))
    if is_cudf(obj):
        # cuDF, which takes a second to import, is there already.
        from ..frames.disassemble import disassemble

        return disassemble(obj, preserve_index, stream)
    return parts_of_source(obj if isinstance(obj, Source) else open_source(obj), stream)


def is_cudf(obj: Any) -> bool:
    """Say whether this is one of cuDF's objects, which an import of cuDF must have made."""
    cudf = sys.modules.get("cudf")
    return cudf is not None and isinstance(obj, (cudf.DataFrame, cudf.Series, cudf.Index))


_unnamed_known: Recent[bytes, Description] = Recent()


def _unnamed(columns: Sequence[plc.Column]) -> Description:
    """Describe a table that has only its columns' types: the core names the fields by position."""
    types = types_of(columns)
    description = _unnamed_known.find(types.__eq__)
    if description is None:
        description = Description([], {})
        _unnamed_known.add(types, description)
    return description


def parts_of_source(source: Source, stream: Stream, kind: Kind | None = None) -> Parts:
    """Import what another library holds, to be exported under the names it came with.

    Parameters
    ----------
    source
        The array.
    stream
        Where it is imported.
    kind
        Whether it is a table or a column; None where the source says so.
    """
    # It goes on to somebody who takes what Arrow allows.
    options = ImportOptions(sanitize=False)
    found = source.kind(kind)
    if found == "table":
        columns, num_rows = source.import_table(stream, None, options)
    else:
        columns = [source.import_column(stream, None, options)]
        num_rows = columns[0].size()
    return Parts(found, columns, num_rows, _description_of(source, found, columns))


@dataclass(frozen=True)
class _SourceKey:
    """What the schema of an imported array depends on, once that is exported."""

    schema: object
    kind: Kind
    types: bytes

    def equals(self, other: _SourceKey) -> bool:
        return (
            self.types == other.types
            and self.kind == other.kind
            and are_equal(self.schema, other.schema)
        )


_known: Recent[_SourceKey, Description] = Recent()


def _description_of(source: Source, kind: Kind, columns: Sequence[plc.Column]) -> Description:
    # The batches of a stream come one by one, each with a schema of its own.
    key = _SourceKey(source.schema_capsule, kind, types_of(columns))
    description = _known.find(key.equals)
    if description is None:
        if kind == "table":
            schema = source.schema()
            fields = [from_field(field) for field in schema]
            description = Description(fields, schema.metadata or {})
        else:
            description = Description([from_field(source.field())], {})
        copied = Schema.copy_of(source.schema_capsule).__arrow_c_schema__()
        _known.add(replace(key, schema=copied), description)
    return description
