# SPDX-License-Identifier: Apache-2.0
"""The layout of a frame in a record batch: which fields are columns and which are the index.

The schema metadata stores the layout twice: losslessly under the key of this package, and under
``pandas`` in pandas' documented format. A peer can rename, drop, reorder or retype fields. An
import therefore matches our metadata to the schema field by field.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from ..arrow.metadata import BRIDGE_KEY, PANDAS_KEY
from ..arrow.schemas import unique_positions
from . import pandas_metadata
from . import real_pandas as pd
from .labels import (
    Json,
    RowIndex,
    column_positions,
    decode_index,
    decode_label,
    decode_range,
    encode_index,
    encode_label,
    index_level_name,
    stringify,
)

ObjectType = Literal["frame", "series", "index"]
_VERSION = 1


@dataclass
class FrameLayout:
    """The role of each field of a schema in a frame.

    Attributes
    ----------
    object_type
        The type of the exported object: a frame, a series, or an index, which becomes a frame.
    labels
        The labels of the columns.
    hints
        The dtype hint of each field of the schema.
    row_index
        The row index. None: the default index.
    attrs
        The ``attrs`` of the frame.
    """

    object_type: ObjectType
    labels: pd.Index
    hints: list[Json]
    row_index: RowIndex | None = None
    attrs: dict[str, Any] = field(default_factory=dict)

    def table_names(self) -> list[str]:
        """Return the names of the fields of a table: the columns, then the levels of the index."""
        names = [stringify(label) for label in self.labels]
        for position, name in enumerate(self._names_of_levels()):
            names.append(index_level_name(name, position, names))
        return names

    def _names_of_levels(self) -> Sequence[Hashable]:
        row_index = self.row_index
        return () if row_index is None or row_index.range is not None else row_index.names

    def schema_metadata(
        self, names: Sequence[str], entries: Sequence[dict[str, Json]], objects: list[Any]
    ) -> dict[bytes, bytes]:
        """Return the metadata of a schema with these field names.

        `entries` are those of the fields in pandas' metadata, whose names this method sets. Labels
        without a JSON form are appended to `objects`.
        """
        labels = pandas_metadata.column_names(self.labels)
        labels += [pandas_metadata.json_name(name, ()) for name in self._names_of_levels()]
        columns = [{**entry, "name": label} for entry, label in zip(entries, labels, strict=True)]
        return {
            **pandas_metadata.schema_metadata(self.attrs),
            PANDAS_KEY: pandas_metadata.encode(self.labels, columns, self.row_index, self.attrs),
            BRIDGE_KEY: self.encode(names, objects),
        }

    def field_metadata(self, name: str, objects: list[Any]) -> dict[bytes, bytes]:
        """Return the metadata of the field of an array, empty if its name and type are sufficient.

        The label is the name of the series or index. If it has no JSON form, it is appended to
        `objects`.
        """
        (label,) = self.labels
        is_label = type(label) is str and label == name != ""
        if self.hints == [None] and self.row_index is None and (is_label or label is None):
            return {}
        return {BRIDGE_KEY: self.encode([name], objects)}

    def encode(self, names: Sequence[str], objects: list[Any]) -> bytes:
        """Return the value of our key, for fields with these names."""
        common, entries = encode_index(self.labels, objects)
        document = {
            "version": _VERSION,
            "kind": self.object_type,
            "fields": list(names),
            "labels": common,
            "entries": entries,
            "hints": self.hints,
            "index": _encode_row_index(self.row_index, objects),
        }
        return json.dumps(document).encode()


def decode_schema(schema: pa.Schema, objects: Sequence[Any] = ()) -> FrameLayout:
    """Read the layout of a schema from our key, from ``pandas``, or from the field names."""
    ours = pandas_metadata.load_json(schema.metadata, BRIDGE_KEY)
    theirs = pandas_metadata.load_json(schema.metadata, PANDAS_KEY)
    attrs = pandas_metadata.attributes(schema, theirs)
    # pyarrow creates this list on each access.
    names = schema.names
    try:
        layout = _decode(ours, names, objects, attrs)
        if _distinct(layout.labels):
            return layout
    except MemoryError:
        raise
    except Exception:
        # There is none, it has another version, or a peer damaged it. The data is still valid.
        pass
    labels, row_index = pandas_metadata.decode(names, theirs)
    hints = pandas_metadata.dtype_hints(schema, theirs)
    if not _distinct(labels):
        labels = pd.Index([names[i] for i in column_positions(row_index, len(names))])
    return FrameLayout("frame", labels, hints, row_index, attrs)


def _distinct(labels: pd.Index) -> bool:
    """Return whether labels are unique, which cuDF requires: it stores columns in a dict."""
    return len(dict.fromkeys(labels)) == len(labels)


def _decode(
    document: dict[str, Json], names: list[str], objects: Sequence[Any], attrs: dict[str, Any]
) -> FrameLayout:
    if document["version"] != _VERSION:
        raise ValueError(f"expected metadata of version {_VERSION}, got {document['version']}")
    # For each field of the schema, its position when the metadata was written.
    written = _match(document["fields"], names)
    # The columns are written first, then the index.
    entries: dict[int | None, Json] = dict(enumerate(document["entries"]))
    index = _decode_row_index(document["index"], written, objects)
    columns = column_positions(index, len(names))
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
    object_type: ObjectType = "series" if document["kind"] == "series" else "frame"
    return FrameLayout(object_type, labels, hints, index, attrs)


def _match(written: Sequence[str], names: Sequence[str]) -> list[int | None]:
    """Return the position in `written` of each name, or None if it is missing or not unique."""
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
) -> RowIndex | None:
    """Return the index without levels that a peer has dropped."""
    if document is None:
        return None
    names = [decode_label(name, objects) for name in document["names"]]
    if "range" in document:
        return RowIndex(names, range=decode_range(*document["range"]))
    positions = {field: position for position, field in enumerate(written)}
    kept = {
        positions[level]: name
        for name, level in zip(names, document["levels"], strict=True)
        if level in positions
    }
    return RowIndex(list(kept.values()), levels=list(kept)) if kept else None


def decode_field(field: pa.Field, objects: Sequence[Any] = ()) -> FrameLayout:
    """Read the layout of an array, which becomes a series, from our key or from its field name."""
    name = field.name
    label = name or None
    document = pandas_metadata.load_json(field.metadata, BRIDGE_KEY)
    try:
        (written,) = document["fields"]
        layout = _decode(document, [written], objects, {})
        (known,) = layout.labels
        label = known if written == name else label
        return FrameLayout("series", single_label(label), layout.hints, layout.row_index)
    except MemoryError:
        raise
    except Exception:
        # As for tables, there may be none, or a peer damaged it.
        return FrameLayout("series", single_label(label), [None])


def single_label(label: Hashable) -> pd.Index:
    """Return the label of a series or index as the labels of a frame with one column."""
    return pd.Index([label], dtype=object, tupleize_cols=False)
