# SPDX-License-Identifier: Apache-2.0
"""The ``pandas`` metadata of a schema, as specified by pandas and written by pyarrow and cuDF."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import cudf
import numpy as np
import pyarrow as pa
from pyarrow.pandas_compat import get_logical_type

from ..arrow.metadata import BRIDGE_KEY, PANDAS_KEY
from ..arrow.schemas import unique_positions
from . import real_pandas as pd
from .cudf_private import codes_dtype, cudf_dtype_to_pa_type
from .dtypes import child_dtypes, dtype_hint
from .labels import Json, RowIndex, column_positions, decode_range, stringify
from .proxies import without_proxies

_GENERATED = re.compile(r"__index_level_\d+__")


def encode(
    labels: pd.Index,
    columns: Sequence[dict[str, Json]],
    row_index: RowIndex | None,
    attrs: dict[Any, Any],
) -> bytes:
    """Return the value of the ``pandas`` key.

    `columns` are the entries of the columns, then of the levels of the index. The ``attrs`` are
    omitted if they cannot be serialized to JSON.
    """
    index_columns: list[Json] = []
    if row_index is not None:
        index_columns = [columns[level]["field_name"] for level in row_index.levels]
        if (rows := row_index.range) is not None:
            name = json_name(row_index.names[0], (bool, int))
            bounds = {"start": rows.start, "stop": rows.stop, "step": rows.step}
            index_columns = [{"kind": "range", "name": name, **bounds}]
    try:
        json.dumps(attrs, allow_nan=False)
    except (TypeError, ValueError):
        attrs = {}
    names = [json_name(name, (bool, int)) for name in labels.names]
    document = {
        "index_columns": index_columns,
        "column_indexes": [
            {"name": name, "field_name": name, **_type_of_level(level)}
            for level, name in zip(getattr(labels, "levels", [labels]), names, strict=True)
        ],
        "columns": list(columns),
        "attributes": attrs,
        "creator": {"library": "cudf-arrow-bridge"},
        "pandas_version": pd.__version__,
    }
    return json.dumps(document).encode()


def column_entry(field: str, dtype: Any, timezone: str) -> dict[str, Json]:
    """Return the entry of a column or index level of a cuDF dtype, with an empty name.

    `timezone` is that of the exported type, from which the time zone of the dtype can differ.
    """
    zone = {"metadata": {"timezone": timezone}} if timezone else {}
    return {"name": "", "field_name": field, **_entry_of_dtype(dtype), **zone}


def _type_entry(pandas_type: str, numpy_type: str, metadata: Json = None) -> dict[str, Json]:
    return {"pandas_type": pandas_type, "numpy_type": numpy_type, "metadata": metadata}


def json_name(name: Hashable, unchanged: tuple[type, ...] = (bool,)) -> Json:
    """Return a name as pyarrow writes it: None and some types unchanged, others as strings."""
    return name if name is None or type(name) in unchanged else stringify(name)


def column_names(labels: pd.Index) -> list[Json]:
    """Return the ``name`` entries for the labels of columns.

    pyarrow converts them back to labels with the dtype of the index. Bools are not written as
    strings, because any string converts to True. Tuples of a MultiIndex are parsed as Python
    literals. Missing parts are written as None, the only literal for them: ``"('a', None)"``.
    """
    if not isinstance(labels, pd.MultiIndex):
        is_text = isinstance(labels.dtype, pd.StringDtype)
        return [None if is_text and label is np.nan else json_name(label) for label in labels]
    parts = [
        [None if code < 0 else json_name(level[code]) for code in codes]
        for level, codes in zip(labels.levels, labels.codes, strict=True)
    ]
    return [str(label) for label in zip(*parts, strict=True)]


def _type_of_level(level: pd.Index) -> dict[str, Json]:
    """Return the types in the entry of a level of the labels of columns."""
    dtype = level.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _entry_of_dtype(dtype)
    if getattr(dtype, "kind", "O") in "biufmM" and not isinstance(dtype, pd.ArrowDtype):
        numpy_type = getattr(dtype, "numpy_dtype", dtype)
        if not pd.is_extension_array_dtype(dtype) or not level.hasnans:
            return _type_entry(str(numpy_type), str(dtype))
    inferred = pd.infer_dtype(level, skipna=False)
    if inferred in ("string", "empty") and not level.hasnans:
        numpy_type = str(dtype) if isinstance(dtype, pd.StringDtype) else "object"
        return _type_entry("unicode", numpy_type, {"encoding": "UTF-8"})
    return _type_entry(inferred if inferred in ("bytes", "decimal") else "mixed", "object")


def _entry_of_dtype(dtype: Any) -> dict[str, Json]:
    """Return the types in the entry of a column of a cuDF dtype."""
    if isinstance(dtype, np.dtype):
        return _entry_of_numpy(dtype)
    if isinstance(dtype, cudf.CategoricalDtype):
        codes = np.dtype(f"i{codes_dtype(dtype).itemsize}")
        order = {"num_categories": len(dtype.categories), "ordered": bool(dtype.ordered)}
        return _type_entry("categorical", str(codes), order)
    if (children := child_dtypes(dtype)) is not None:
        pandas_type = "object"
        if cudf.api.types.is_list_dtype(dtype):
            (element,) = children.values()
            pandas_type = f"list[{_entry_of_dtype(element)['pandas_type']}]"
        return _type_entry(pandas_type, _numpy_type(dtype))
    numpy_type = _numpy_type(dtype)
    if isinstance(dtype, pd.ArrowDtype):
        arrow_type = dtype.pyarrow_dtype
    else:
        arrow_type = cudf_dtype_to_pa_type(dtype)
        if isinstance(dtype, pd.DatetimeTZDtype):
            numpy_type = f"datetime64[{dtype.unit}]"
    metadata: Json = None
    if pa.types.is_decimal(arrow_type):
        metadata = {"precision": arrow_type.precision, "scale": arrow_type.scale}
    elif pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        metadata = {"timezone": arrow_type.tz}
    return _type_entry(get_logical_type(arrow_type), numpy_type, metadata)


@cache
def _entry_of_numpy(dtype: np.dtype[Any]) -> dict[str, Json]:
    # Cached, because NumPy is slow to format a dtype and few dtypes are common.
    return _type_entry(get_logical_type(cudf_dtype_to_pa_type(dtype)), str(dtype))


def _numpy_type(dtype: Any) -> str:
    """Return the string that pandas parses as the dtype, or ``object`` if there is none."""
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return "string" if dtype.storage == "pyarrow" else f"string[{dtype.storage}]"
    try:
        known = pd.pandas_dtype(str(dtype))
    except (TypeError, ValueError, NotImplementedError):
        return "object"
    # pandas accepts an interval dtype only if the Arrow field has the interval extension type.
    return "object" if isinstance(known, pd.IntervalDtype) else str(known)


def load_json(metadata: dict[bytes, bytes] | None, key: bytes) -> dict[str, Json]:
    """Return the JSON object under a key of schema metadata, empty if missing or damaged."""
    try:
        document = json.loads((metadata or {})[key])
    except (KeyError, RecursionError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def attributes(schema: pa.Schema, document: dict[str, Json]) -> dict[str, Any]:
    """Return the ``attrs`` of a frame: those in pandas' metadata, and the schema's other metadata.

    Metadata that is not valid UTF-8 is omitted.
    """
    attrs = document.get("attributes")
    result = {}
    for key, value in (schema.metadata or {}).items():
        with suppress(UnicodeDecodeError):
            if key not in (PANDAS_KEY, BRIDGE_KEY):
                result[key.decode()] = value.decode()
    return result | (attrs if isinstance(attrs, dict) else {})


def schema_metadata(attrs: dict[Any, Any]) -> dict[bytes, bytes]:
    """Return schema metadata with the ``attrs`` whose key and value are strings."""
    return {
        key.encode(): value.encode()
        for key, value in attrs.items()
        if isinstance(key, str) and isinstance(value, str)
    }


def dtype_hints(schema: pa.Schema, document: dict[str, Json]) -> list[Json]:
    """Return a dtype hint for each field, or None.

    It is the nullable pandas dtype, or the time zone of timestamps. As in pyarrow, the time zone of
    the metadata has precedence, because fastparquet writes it only there.
    """
    entries = _entries(document)
    unique = unique_positions(schema.names)
    return [
        _hint(entries.get(field.name, {}), field.type) if field.name in unique else None
        for field in schema
    ]


def _hint(entry: dict[str, Json], arrow_type: pa.DataType) -> Json:
    numpy_type, metadata = entry.get("numpy_type"), entry.get("metadata")
    if not isinstance(numpy_type, str):
        return None
    if numpy_type.endswith("[pyarrow]") and numpy_type != "string[pyarrow]":
        return dtype_hint(pd.ArrowDtype(arrow_type))
    if pa.types.is_timestamp(arrow_type) and isinstance(metadata, dict):
        zone = metadata.get("timezone")
        return None if zone == arrow_type.tz else {"timezone": zone}
    try:
        dtype = pd.pandas_dtype(numpy_type)
    except (TypeError, ValueError, NotImplementedError):
        return None
    is_nullable = isinstance(dtype, pd.ExtensionDtype) and dtype.na_value is pd.NA
    return dtype_hint(dtype) if is_nullable else None


def decode(names: list[str], document: dict[str, Json]) -> tuple[pd.Index, RowIndex | None]:
    """Return the labels of the columns and the row index, or None for the default index.

    They are read from ``pandas`` metadata, or from the names of the fields.
    """
    entries = _entries(document)
    row_index = None
    # Otherwise there is no metadata, or a peer wrote metadata that pyarrow cannot read.
    with suppress(Exception):
        row_index = _row_index(document, entries, names)
    kept = [names[position] for position in column_positions(row_index, len(names))]
    with suppress(Exception):
        return _labels(document["column_indexes"], entries, kept), row_index
    return pd.Index(kept, dtype="str" if kept else object), row_index


def _entries(document: dict[str, Json]) -> dict[str, Json]:
    """Return the entries of the columns by field name."""
    try:
        return {_field_name(entry): entry for entry in document["columns"]}
    except (AttributeError, KeyError, TypeError):
        return {}


def _field_name(entry: dict[str, Json]) -> Json:
    # pandas before 0.23 did not write it.
    return entry.get("field_name", entry["name"])


def _row_index(
    document: dict[str, Json], entries: dict[str, Json], names: Sequence[str]
) -> RowIndex | None:
    descriptors = document["index_columns"]
    if descriptors and isinstance(descriptors[0], dict):
        (entry,) = descriptors
        rows = decode_range(entry["start"], entry["stop"], entry["step"])
        return RowIndex([_hashable(entry["name"])], rows)
    unique = unique_positions(names)
    levels = [unique[name] for name in descriptors if name in unique]
    columns = len(names) - len(descriptors)
    if names[columns:] == descriptors and names == list(map(_field_name, document["columns"])):
        # Names of levels can be equal to each other or to names of columns.
        levels = list(range(columns, len(names)))
    if not levels:
        return None
    labels = []
    for name in (names[level] for level in levels):
        label = entries[name]["name"] if name in entries else name
        labels.append(None if label == name and _GENERATED.fullmatch(name) else _hashable(label))
    return RowIndex(labels, levels=levels)


def _hashable(name: Json) -> Hashable:
    return str(name) if isinstance(name, list | dict) else name


def _labels(levels: Sequence[Json], entries: dict[str, Json], names: Sequence[str]) -> pd.Index:
    """Return the labels of the columns, whose levels have the given entries."""
    labels = [_hashable(entries[name]["name"]) if name in entries else name for name in names]
    level_names = [_hashable(level["name"]) for level in levels]
    if len(levels) > 1:
        tuples = [literal_eval(str(label)) for label in labels]
        if any(len(label) != len(levels) for label in tuples):
            raise ValueError("a label does not have an entry for each level")
        index = pd.MultiIndex.from_tuples(tuples, names=level_names)
        return index.set_levels(list(map(_converted, index.levels, levels)))
    return _converted(pd.Index(labels, name=level_names[0]), levels[0])


def _converted(labels: pd.Index, entry: dict[str, Json]) -> pd.Index:
    """Return labels as pyarrow converts them to the type in the entry of their level.

    They are read from an empty table. Labels that pyarrow cannot convert are returned unchanged.
    """
    if entry["pandas_type"] == "timedelta64":
        entry = {**entry, "pandas_type": entry["numpy_type"]}
    number = {"pandas_type": "int8", "numpy_type": "int8"}
    columns = [
        {"name": label, "field_name": str(position), **number}
        for position, label in enumerate(labels)
    ]
    document = {"index_columns": [], "column_indexes": [entry], "columns": columns}
    fields = [pa.field(column["field_name"], pa.int8()) for column in columns]
    try:
        schema = pa.schema(fields, metadata={PANDAS_KEY: json.dumps(document).encode()})
        with without_proxies():
            converted = schema.empty_table().to_pandas().columns
    except Exception:
        return labels
    # pyarrow converts the strings of all bools to True.
    return converted if converted.is_unique else labels
