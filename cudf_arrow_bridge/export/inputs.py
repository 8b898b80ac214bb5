# SPDX-License-Identifier: Apache-2.0
"""The columns to export of each kind of object, and what their schema says beyond their types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import pylibcudf as plc

from .._core.columns import types_of
from .._core.schema import Schema, are_equal
from ..arrow.bounded_cache import BoundedCache
from ..arrow.export_input import ExportInput, SchemaSpec, column_input
from ..arrow.metadata import from_field
from ..arrow.options import ImportOptions, Kind
from ..arrow.sources import SourceArray, open_array
from ..cuda.streams import Stream

__all__ = ["export_input_of", "export_input_of_source", "is_cudf"]


def export_input_of(obj: Any, preserve_index: bool | None, stream: Stream) -> ExportInput:
    """Return the columns of any object that can be exported.

    Parameters
    ----------
    obj
        An object of cuDF or pylibcudf; or an array of another library, which is imported.
    preserve_index
        Whether the index of a frame or series becomes columns; see `to_arrow_device`.
    stream
        The stream on which arrays are imported, and columns are made of range indexes.
    """
    if isinstance(obj, plc.Column):
        return column_input(obj)
    if isinstance(obj, plc.Table):
        columns = obj.columns()
        spec = _spec_by_position(types_of(columns))
        return ExportInput("table", columns, obj.num_rows(), spec)
    if is_cudf(obj):
        return _disassemble()(obj, preserve_index, stream)
    source = obj if isinstance(obj, SourceArray) else open_array(obj)
    return export_input_of_source(source, stream)


def is_cudf(obj: Any) -> bool:
    """Say whether this is a frame, series or index of cuDF, without importing cuDF."""
    cudf = sys.modules.get("cudf")
    return cudf is not None and isinstance(obj, (cudf.DataFrame, cudf.Series, cudf.Index))


@cache
def _disassemble() -> Callable[[Any, bool | None, Stream], ExportInput]:
    # Importing cuDF takes a second; here somebody has imported it already.
    from ..frames.disassemble import disassemble

    return disassemble


@lru_cache(maxsize=16)
def _spec_by_position(types: bytes) -> SchemaSpec:
    """Return the spec of tables with these column types, whose fields are named by position."""
    return SchemaSpec([], {})


def export_input_of_source(
    source: SourceArray, stream: Stream, kind: Kind | None = None
) -> ExportInput:
    """Import an array of another library, to export it with the schema it came with.

    Parameters
    ----------
    source
        The array.
    stream
        The stream on which it is imported.
    kind
        Whether it is a table or a column; None to decide by the source.
    """
    # libcudf computes nothing with these columns, and Arrow allows nested nulls as they are.
    options = ImportOptions(sanitize=False)
    kind = source.kind(kind)
    if kind == "table":
        columns, num_rows = source.import_table(stream, None, options)
    else:
        columns = [source.import_column(stream, None, options)]
        num_rows = columns[0].size()
    return ExportInput(kind, columns, num_rows, _spec_of_source(source, kind, columns))


@dataclass(frozen=True)
class _SourceKey:
    """All that the schema of an export of an imported array depends on."""

    schema: object
    kind: Kind
    types: bytes
    labels: tuple[Any, ...]

    def equals(self, other: _SourceKey) -> bool:
        # Labels are any objects; those of one producer's arrays are the same ones.
        return (
            self.types == other.types
            and self.kind == other.kind
            and list(map(id, self.labels)) == list(map(id, other.labels))
            and are_equal(self.schema, other.schema)
        )


_specs: BoundedCache[_SourceKey, SchemaSpec] = BoundedCache()


def _spec_of_source(source: SourceArray, kind: Kind, columns: Sequence[plc.Column]) -> SchemaSpec:
    # The batches of one stream share a spec: each has a schema of its own, equal to the others.
    key = _SourceKey(source.schema_capsule, kind, types_of(columns), source.labels)
    spec = _specs.find(key.equals)
    if spec is None:
        if kind == "table":
            schema = source.schema()
            fields = [from_field(field) for field in schema]
            spec = SchemaSpec(fields, schema.metadata or {}, source.labels)
        else:
            spec = SchemaSpec([from_field(source.field())], {}, source.labels)
        copied = Schema.copy_of(source.schema_capsule).__arrow_c_schema__()
        _specs.add(replace(key, schema=copied), spec)
    return spec
