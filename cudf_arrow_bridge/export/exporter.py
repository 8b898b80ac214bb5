# SPDX-License-Identifier: Apache-2.0
"""`to_arrow_device`: whatever holds cuDF data, as a `DeviceArray`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pylibcudf as plc

from ._core.columns import types_of
from ._core.export import export_parts
from ._core.schema import Schema, are_equal
from ._frames_loader import load_frames
from .arrow.device_array import DeviceArray, as_capsule
from .arrow.metadata import ColumnMetadata, from_field
from .arrow.parts import Description, Parts
from .arrow.recent import Recent
from .arrow.sources import ImportOptions, Kind, Source, open_source
from .cuda.streams import Stream, resolve_stream

if TYPE_CHECKING:
    from ._core.export import ExportedArray

__all__ = ["to_arrow_device"]


def to_arrow_device(
    obj: Any,
    *,
    stream: Any = None,
    requested_schema: Any = None,
    preserve_index: bool | None = None,
    compact: bool = False,
    device_type: Literal["cuda"] | None = None,
) -> DeviceArray:
    """Export cuDF data through Arrow's C device data interface, without copying it.

    Every buffer whose layout Arrow shares is shared; only bools and durations in days are
    converted. Slices are right and still zero-copy.

    Parameters
    ----------
    obj : cudf.DataFrame, cudf.Series, cudf.Index, pylibcudf.Table, pylibcudf.Column or Any
        The data; anything else with ``__arrow_c_device_array__`` is imported first. The result
        shares ownership of the buffers: `obj` may go first.
    stream : optional
        The stream that made the data, as an object with ``__cuda_stream__``, a stream of cupy,
        torch or numba, or a handle; None for cuDF's default stream. Where that is the per-thread
        one (``CUDF_PER_THREAD_STREAM=1``), it is this thread's: 1, the legacy default stream, comes
        after those of all threads. The host waits for it where the data is pageable memory of the
        CPU that a GPU's kernels may be writing to.
    requested_schema : optional
        What a consumer would rather have: a schema, field or type of Arrow (anything with
        ``__arrow_c_schema__``, or a capsule of one). Met level by level as far as there is a way;
        what cannot be met comes as it is. See the notes.
    preserve_index : bool, optional
        None: a RangeIndex goes into the metadata, any other index becomes columns, or is dropped
        where a series becomes an array. True: always columns, for which a series becomes a table.
        False: dropped.
    compact : bool
        Whether to copy the masks of slices that begin within a byte, so that no array has an
        offset, for consumers that insist on none.
    device_type : {"cuda"}, optional
        None: the array says what its memory is. ``"cuda"``: managed memory is labelled as plain
        CUDA memory, for consumers that know no other.

    Returns
    -------
    DeviceArray
        A table for frames and tables, else a column.

    Raises
    ------
    TypeError
        If `obj` holds nothing that can be exported, or a column has a type that Arrow lacks.
    ValueError
        If `requested_schema` has another number of fields, moves names to other fields, or the data
        contradicts it: nulls where it says none, values that do not fit. Also if buffers live in
        different places.
    OverflowError
        If offsets or codes do not fit the width that `requested_schema` asks for.

    Notes
    -----
    A `requested_schema` changes, at any depth: string to large_string and back, list to large_list;
    bytes in lists to binary, large_binary or fixed_size_binary, lists of pairs to map; durations to
    time32 and time64, timestamps without a time zone to date32 and date64, where the values are
    such; dictionaries to their values, flat columns to dictionaries, the type of a dictionary's
    codes; decimals to another width or precision of the same scale; time zones to other ones;
    names, nullability and metadata. In the CPU's memory also string_view and binary_view, which
    libcudf has no algorithm for. Anything else comes as it is. The schema of the result depends on
    types and request alone, so batches of a stream agree; where a batch's values don't fit, it is
    refused.

    Fields are paired by position. An empty name asks for none, and a schema without metadata keeps
    what there is. The name of an extension type stays with the storage that it was given for.

    Source: Arrow specification, "The Arrow PyCapsule Interface", Schema Requests.
    """
    if device_type not in (None, "cuda"):
        raise ValueError(f"device_type={device_type!r} found, 'cuda' or None expected")
    how = ExportOptions(resolve_stream(stream), compact, device_type == "cuda")
    return _export(obj, preserve_index, how, as_capsule(requested_schema))


class ExportOptions(NamedTuple):
    """How the core is to export; see `to_arrow_device`."""

    stream: Stream
    compact: bool
    managed_as_cuda: bool


@dataclass(slots=True)
class _Exporter:
    """What is exported, and can be exported again the way that another consumer asks for."""

    parts: Parts
    how: ExportOptions

    def __call__(self, requested: object | None) -> DeviceArray:
        parts = self.parts
        schema, array = export_parts(parts, self.how, requested)
        return DeviceArray(array, schema, parts.kind, parts.description.labels, exporter=self)

    def of_part(self, array: ExportedArray, schema: Any) -> _PartExporter:
        return _PartExporter(array, schema, self.how)


@dataclass(slots=True)
class _PartExporter:
    """A child of an exported array, which is imported to be exported in another way."""

    array: ExportedArray
    schema: Any
    how: ExportOptions

    def __arrow_c_device_array__(self) -> tuple[object, object]:
        return self.schema.__arrow_c_schema__(), self.array.device_array_capsule()

    def __call__(self, requested: object | None) -> DeviceArray:
        parts = _parts_of_source(open_source(self), self.how.stream, "column")
        return _Exporter(parts, self.how)(requested)

    def of_part(self, array: ExportedArray, schema: Any) -> _PartExporter:
        return _PartExporter(array, schema, self.how)


def _export(
    obj: Any, preserve_index: bool | None, how: ExportOptions, requested: object | None
) -> DeviceArray:
    if isinstance(obj, DeviceArray):
        return obj.as_requested(requested)
    return _Exporter(parts_of(obj, preserve_index, how.stream), how)(requested)


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
        return Parts("column", [obj], obj.size(), Description([ColumnMetadata()], {}))
    if isinstance(obj, plc.Table):
        columns = obj.columns()
        return Parts("table", columns, obj.num_rows(), _unnamed(columns), (obj,))
    if is_cudf(obj):
        parts: Parts = load_frames().disassemble(obj, preserve_index, stream)
        return parts
    return _parts_of_source(obj if isinstance(obj, Source) else open_source(obj), stream)


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


def _parts_of_source(source: Source, stream: Stream, kind: Kind | None = None) -> Parts:
    """Import what another library holds, to be exported under the names it came with."""
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
