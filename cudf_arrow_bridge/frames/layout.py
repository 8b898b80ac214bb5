# SPDX-License-Identifier: Apache-2.0
"""How a record batch is laid out as a frame: which fields are columns, which are the index.

The layout leaves in the schema's metadata, twice: under our own key, exact, and under ``pandas``,
as pandas documents it. On the way in ours counts as far as it still fits the schema, field by
field: a peer may have renamed, dropped, reordered or retyped what it describes.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from ..arrow.metadata import BRIDGE_KEY
from . import pandas_metadata
from .labels import (
    Json,
    decode_index,
    decode_label,
    decode_range,
    encode_index,
    encode_label,
)

__all__ = ["Index", "Kind", "Layout", "decode_field", "decode_schema", "encode_field"]

Kind = Literal["frame", "series", "index"]
_VERSION = 1
# What reading metadata of the wrong shape may raise.
_DAMAGED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass
class Index:
    """The rows' index: a range, or levels that are fields of the schema."""

    names: list[Hashable]
    range: range | None = None
    levels: list[int] = field(default_factory=list)


@dataclass
class Layout:
    """What to make of the fields of a schema.

    Attributes
    ----------
    kind
        What was exported: a frame, a series, or an index.
    columns
        The positions of the fields that are columns.
    labels
        Their labels.
    hints
        A hint for the dtype of each field of the schema.
    index
        The index of the rows; None for the default one.
    attrs
        The frame's ``attrs``.
    """

    kind: Kind
    columns: list[int]
    labels: pd.Index
    hints: list[Json]
    index: Index | None = None
    attrs: dict[str, Any] = field(default_factory=dict)

    def encode(self, names: Sequence[str], objects: list[Any]) -> bytes:
        """Return the value of our key in a schema whose fields have these names.

        Labels that JSON cannot carry are appended to ``objects``.
        """
        common, entries = encode_index(self.labels, objects)
        form = {
            "version": _VERSION,
            "kind": self.kind,
            "fields": list(names),
            "columns": self.columns,
            "labels": common,
            "entries": entries,
            "hints": self.hints,
            "index": _encode_rows(self.index, objects),
        }
        return json.dumps(form).encode()


def decode_schema(schema: pa.Schema, objects: Sequence[Any] = ()) -> Layout:
    """Read the layout of a schema: from our key, else from ``pandas``, else from the names."""
    attrs = pandas_metadata.attributes(schema)
    form = _load(schema.metadata)
    if form is not None:
        try:
            layout = _decode(form, schema, objects, attrs)
            if _distinct(layout.labels):
                return layout
        except _DAMAGED:
            # Damaged on the way; the metadata describes, it doesn't decide.
            pass
    labels, columns, rows = pandas_metadata.decode(schema)
    if not _distinct(labels):
        labels = pd.Index([schema.names[position] for position in columns])
    index = None if rows is None else Index(*rows)
    return Layout("frame", columns, labels, [None] * len(schema), index, attrs)


def _distinct(labels: pd.Index) -> bool:
    """Say whether cuDF, which keeps its columns in a dict, can label a frame so."""
    try:
        return len(dict.fromkeys(labels)) == len(labels)
    except TypeError:
        return False


def _decode(
    form: dict[str, Json], schema: pa.Schema, objects: Sequence[Any], attrs: dict[str, Any]
) -> Layout:
    found = _match(form["fields"], schema.names)
    entries = dict(zip(form["columns"], form["entries"], strict=True))
    index, used = _decode_rows(form["index"], found, objects)
    columns = [position for position in range(len(schema)) if position not in used]
    hints = [None if origin is None else form["hints"][origin] for origin in found]
    if all(found[position] in entries for position in columns):
        known = [entries[found[position]] for position in columns]
        labels = decode_index(form["labels"], known, objects)
    else:
        labels = pd.Index(
            [
                _label(form["labels"], entries[found[position]], objects)
                if found[position] in entries
                else schema.names[position]
                for position in columns
            ],
            dtype=object,
            tupleize_cols=False,
        )
    kind: Kind = form["kind"] if form["kind"] in ("frame", "series", "index") else "frame"
    return Layout(kind, columns, labels, hints, index, attrs)


def _label(common: dict[str, Json], entry: Json, objects: Sequence[Any]) -> Hashable:
    (label,) = decode_index(common, [entry], objects)
    return label  # type: ignore[no-any-return]


def _match(stored: Sequence[str], names: Sequence[str]) -> list[int | None]:
    """Return, for each field of a schema, the one it was when the metadata was written."""
    if list(stored) == list(names):
        return list(range(len(names)))
    once = {name: i for i, name in enumerate(stored) if stored.count(name) == 1}
    return [once.get(name) if names.count(name) == 1 else None for name in names]


def _encode_rows(index: Index | None, objects: list[Any]) -> Json:
    if index is None:
        return None
    names = [encode_label(name, objects) for name in index.names]
    if index.range is not None:
        span = index.range
        return {"names": names, "range": [span.start, span.stop, span.step]}
    return {"names": names, "levels": index.levels}


def _decode_rows(
    form: Json, found: Sequence[int | None], objects: Sequence[Any]
) -> tuple[Index | None, set[int]]:
    """Return the index and the positions of its fields; levels that are gone are left out."""
    if form is None:
        return None, set()
    names = [decode_label(name, objects) for name in form["names"]]
    if "range" in form:
        return Index(names, range=decode_range(*form["range"])), set()
    kept = [
        (name, found.index(level))
        for name, level in zip(names, form["levels"], strict=True)
        if level in found
    ]
    if not kept:
        return None, set()
    levels = [position for _, position in kept]
    return Index([name for name, _ in kept], levels=levels), set(levels)


def encode_field(
    kind: Kind, name: str, label: Hashable, hint: Json, rows: Index | None, objects: list[Any]
) -> dict[bytes, bytes]:
    """Return the metadata of an array's field; nothing when the field itself says all."""
    itself = type(label) is str and label == name != ""
    if hint is None and rows is None and (itself or label is None):
        return {}
    form = {
        "version": _VERSION,
        "kind": kind,
        "field": name,
        "label": encode_label(label, objects),
        "hint": hint,
        "index": _encode_rows(rows, objects),
    }
    return {BRIDGE_KEY: json.dumps(form).encode()}


def decode_field(
    schema_field: pa.Field, objects: Sequence[Any] = ()
) -> tuple[Hashable, Json, Index | None]:
    """Return an array's name, the hint for its dtype, and its index."""
    form = _load(schema_field.metadata)
    default = (schema_field.name or None, None, None)
    if form is None:
        return default
    try:
        rows, _ = _decode_rows(form["index"], (), objects)
        renamed = form["field"] != schema_field.name
        label = default[0] if renamed else decode_label(form["label"], objects)
        return label, form["hint"], rows
    except _DAMAGED:
        return default


def _load(metadata: dict[bytes, bytes] | None) -> dict[str, Json] | None:
    """Return the value of our key, None when there is none of a version we know."""
    try:
        form = json.loads((metadata or {})[BRIDGE_KEY])
    except (KeyError, RecursionError, ValueError):
        return None
    return form if isinstance(form, dict) and form.get("version") == _VERSION else None
