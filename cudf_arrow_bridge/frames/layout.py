# SPDX-License-Identifier: Apache-2.0
"""The layout of a frame as a record batch: which fields are columns, which are the index.

The schema's metadata holds the layout twice: exactly under our own key, and under ``pandas`` as
pandas documents it. An import reads ours as far as it fits the schema, field by field: a peer may
have renamed, dropped, reordered or retyped the fields.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from ..arrow.metadata import BRIDGE_KEY
from ..arrow.schemas import unique_positions
from . import pandas_metadata
from . import real_pandas as pd
from .labels import (
    Json,
    decode_index,
    decode_label,
    decode_range,
    encode_index,
    encode_label,
)

__all__ = [
    "FrameLayout",
    "ObjectType",
    "RowIndex",
    "decode_field",
    "decode_schema",
    "encode_field",
    "index_levels",
]

ObjectType = Literal["frame", "series", "index"]
_VERSION = 1
# What reading damaged metadata may raise.
_DAMAGED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass
class RowIndex:
    """The index of the rows.

    Attributes
    ----------
    names
        The names of its levels.
    range
        The range of a RangeIndex, None for any other index.
    levels
        The positions of the fields that are its levels; empty for a RangeIndex.
    """

    names: list[Hashable]
    range: range | None = None
    levels: list[int] = field(default_factory=list)


@dataclass
class FrameLayout:
    """What the fields of a schema are in a frame.

    Attributes
    ----------
    object_type
        What was exported: a frame, a series, or an index.
    columns
        The positions of the fields that are columns.
    labels
        Their labels.
    hints
        The hint for the dtype of each field of the schema.
    row_index
        The index of the rows; None for the default one.
    attrs
        The frame's ``attrs``.
    """

    object_type: ObjectType
    columns: list[int]
    labels: pd.Index
    hints: list[Json]
    row_index: RowIndex | None = None
    attrs: dict[str, Any] = field(default_factory=dict)

    def encode(self, names: Sequence[str], objects: list[Any]) -> bytes:
        """Return the value of our key in a schema whose fields have these names.

        Labels without a JSON form are appended to ``objects``.
        """
        common, entries = encode_index(self.labels, objects)
        document = {
            "version": _VERSION,
            "kind": self.object_type,
            "fields": list(names),
            "columns": self.columns,
            "labels": common,
            "entries": entries,
            "hints": self.hints,
            "index": _encode_row_index(self.row_index, objects),
        }
        return json.dumps(document).encode()


def decode_schema(schema: pa.Schema, objects: Sequence[Any] = ()) -> FrameLayout:
    """Read the layout of a schema: from our key, else from ``pandas``, else from the names."""
    attrs = pandas_metadata.attributes(schema)
    document = _load(schema.metadata)
    if document is not None:
        try:
            layout = _decode(document, schema, objects, attrs)
            if _distinct(layout.labels):
                return layout
        except _DAMAGED:
            # A peer damaged the metadata, which is no reason to refuse the data.
            pass
    labels, columns, row_index = pandas_metadata.decode(schema)
    if not _distinct(labels):
        names = schema.names
        labels = pd.Index([names[position] for position in columns])
    index = None if row_index is None else RowIndex(*row_index)
    hints = pandas_metadata.dtype_hints(schema)
    return FrameLayout("frame", columns, labels, hints, index, attrs)


def index_levels(schema: pa.Schema, objects: Sequence[Any] = ()) -> list[int]:
    """Return the positions of the fields that a schema's metadata names as the index."""
    row_index = decode_schema(schema, objects).row_index
    return [] if row_index is None else row_index.levels


def _distinct(labels: pd.Index) -> bool:
    """Say whether labels are distinct, as cuDF needs them: it keeps columns in a dict."""
    try:
        return len(dict.fromkeys(labels)) == len(labels)
    except TypeError:
        return False


def _decode(
    document: dict[str, Json], schema: pa.Schema, objects: Sequence[Any], attrs: dict[str, Any]
) -> FrameLayout:
    # For each field of the schema, its position when the metadata was written.
    names = schema.names
    written = _match(document["fields"], names)
    entries = dict(zip(document["columns"], document["entries"], strict=True))
    index, used = _decode_row_index(document["index"], written, objects)
    columns = [position for position in range(len(names)) if position not in used]
    hints = [None if position is None else document["hints"][position] for position in written]
    kept = [position for position in columns if written[position] in entries]
    kept_entries = [entries[written[position]] for position in kept]
    labels = decode_index(document["labels"], kept_entries, objects)
    if len(kept) < len(columns):
        label_of = dict(zip(kept, labels, strict=True))
        labels = pd.Index(
            [label_of.get(position, names[position]) for position in columns],
            dtype=object,
            tupleize_cols=False,
        )
    known = document["kind"] in ("frame", "series", "index")
    object_type: ObjectType = document["kind"] if known else "frame"
    return FrameLayout(object_type, columns, labels, hints, index, attrs)


def _match(written: Sequence[str], names: Sequence[str]) -> list[int | None]:
    """Match the fields of a schema by name to those that metadata was written for.

    Parameters
    ----------
    written
        The names of the fields when the metadata was written.
    names
        The names of the fields now.

    Returns
    -------
    list
        For each field its position in `written`, None where the name is not unique.
    """
    if list(written) == list(names):
        return list(range(len(names)))
    then, now = unique_positions(written), unique_positions(names)
    return [then.get(name) if name in now else None for name in names]


def _encode_row_index(index: RowIndex | None, objects: list[Any]) -> Json:
    if index is None:
        return None
    names = [encode_label(name, objects) for name in index.names]
    if index.range is not None:
        rows = index.range
        return {"names": names, "range": [rows.start, rows.stop, rows.step]}
    return {"names": names, "levels": index.levels}


def _decode_row_index(
    document: Json, written: Sequence[int | None], objects: Sequence[Any]
) -> tuple[RowIndex | None, set[int]]:
    """Return the index and the positions of its fields, without levels that a peer dropped."""
    if document is None:
        return None, set()
    names = [decode_label(name, objects) for name in document["names"]]
    if "range" in document:
        return RowIndex(names, range=decode_range(*document["range"])), set()
    positions = {field: position for position, field in enumerate(written)}
    kept = [
        (name, positions[level])
        for name, level in zip(names, document["levels"], strict=True)
        if level in positions
    ]
    if not kept:
        return None, set()
    levels = [position for _, position in kept]
    return RowIndex([name for name, _ in kept], levels=levels), set(levels)


def encode_field(
    object_type: ObjectType,
    name: str,
    label: Hashable,
    hint: Json,
    row_index: RowIndex | None,
    objects: list[Any],
) -> dict[bytes, bytes]:
    """Return the metadata of an array's field, empty if name and type of the field say all.

    Parameters
    ----------
    object_type
        What is exported.
    name
        The name of the field.
    label
        The name of the series or index.
    hint
        The hint for its dtype.
    row_index
        The index of its rows, None for the default one.
    objects
        A label without a JSON form is appended to it.
    """
    is_label = type(label) is str and label == name != ""
    if hint is None and row_index is None and (is_label or label is None):
        return {}
    document = {
        "version": _VERSION,
        "kind": object_type,
        "field": name,
        "label": encode_label(label, objects),
        "hint": hint,
        "index": _encode_row_index(row_index, objects),
    }
    return {BRIDGE_KEY: json.dumps(document).encode()}


def decode_field(
    schema_field: pa.Field, objects: Sequence[Any] = ()
) -> tuple[Hashable, Json, RowIndex | None]:
    """Return an array's name, the hint for its dtype, and its index."""
    document = _load(schema_field.metadata)
    default = (schema_field.name or None, None, None)
    if document is None:
        return default
    try:
        row_index, _ = _decode_row_index(document["index"], (), objects)
        renamed = document["field"] != schema_field.name
        label = default[0] if renamed else decode_label(document["label"], objects)
        return label, document["hint"], row_index
    except _DAMAGED:
        return default


def _load(metadata: dict[bytes, bytes] | None) -> dict[str, Json] | None:
    """Return the value of our key, None if it is missing, damaged, or of another version."""
    try:
        document = json.loads((metadata or {})[BRIDGE_KEY])
    except (KeyError, RecursionError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("version") == _VERSION else None
