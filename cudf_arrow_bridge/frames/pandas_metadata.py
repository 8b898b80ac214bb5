# SPDX-License-Identifier: Apache-2.0
"""The ``pandas`` metadata of a schema, as pandas documents it and pyarrow and cuDF write it."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import cudf
import numpy as np
import pyarrow as pa

from ..arrow.metadata import BRIDGE_KEY, PANDAS_KEY
from ..arrow.schemas import unique_positions
from . import real_pandas as pd
from .cudf_private import codes_dtype
from .dtypes import dtype_hint, element_dtype, field_dtypes, interval_dtype
from .labels import Json, decode_range, stringify
from .proxies import without_proxies

__all__ = [
    "attributes",
    "column_entry",
    "column_names",
    "decode",
    "dtype_hints",
    "encode",
    "pandas_type",
    "range_entry",
    "schema_metadata",
]

_ARROW_NAMES = {"float": "float32", "double": "float64", "string": "unicode", "null": "empty"}
_GENERATED = re.compile(r"__index_level_\d+__")


def encode(
    labels: pd.Index,
    columns: Sequence[Json],
    index_columns: Sequence[Json],
    attrs: dict[Any, Any],
) -> bytes:
    """Return the value of the ``pandas`` key.

    Parameters
    ----------
    labels
        The labels of the columns.
    columns
        What :func:`column_entry` returned for each column, then for each level of the index.
    index_columns
        The names of the fields that are the index, or the one result of :func:`range_entry`.
    attrs
        The frame's ``attrs``, left out unless JSON can carry them.
    """
    try:
        json.dumps(attrs, allow_nan=False)
    except (TypeError, ValueError):
        attrs = {}
    document = {
        "index_columns": list(index_columns),
        "column_indexes": [
            _level_entry(level, name)
            for level, name in zip(_levels(labels), labels.names, strict=True)
        ],
        "columns": list(columns),
        "attributes": attrs,
        "creator": {"library": "cudf-arrow-bridge"},
        "pandas_version": pd.__version__,
    }
    return json.dumps(document).encode()


def column_entry(
    name: Hashable, field: str, pandas_name: str, numpy_type: str, metadata: Json
) -> dict[str, Json]:
    """Return the entry of a column or of a level of the index.

    Parameters
    ----------
    name
        The label.
    field
        The name of the Arrow field.
    pandas_name, numpy_type, metadata
        What :func:`pandas_type` returned.
    """
    return {
        "name": name,
        "field_name": field,
        "pandas_type": pandas_name,
        "numpy_type": numpy_type,
        "metadata": metadata,
    }


def range_entry(index: range, name: Hashable) -> dict[str, Json]:
    """Return the entry of a range index."""
    return {
        "kind": "range",
        "name": _json_name(name),
        "start": index.start,
        "stop": index.stop,
        "step": index.step,
    }


def _json_name(name: Hashable) -> Json:
    """Return a name as pyarrow writes it: None, bools and ints unchanged, else a string."""
    if name is None or type(name) in (bool, int):
        return name
    return stringify(name)


def column_names(labels: pd.Index) -> list[Json]:
    """Return the labels of columns as the ``name`` of their entries.

    pyarrow reads them as labels again, by the dtype of the whole index. Bools are not written as
    strings, since any string converts to True. Tuples of a MultiIndex are read as Python literals:
    missing parts are written as None, the only such literal, for example ``"('a', None)"``.
    """
    if not isinstance(labels, pd.MultiIndex):
        return [
            label if label is None or isinstance(label, bool) else stringify(label)
            for label in labels
        ]
    parts = [
        [None if code < 0 else _literal(level[code]) for code in codes]
        for level, codes in zip(labels.levels, labels.codes, strict=True)
    ]
    return [str(label) for label in zip(*parts, strict=True)]


def _literal(part: Hashable) -> Hashable:
    return part if isinstance(part, bool) else stringify(part)


def _levels(labels: pd.Index) -> list[pd.Index]:
    return list(labels.levels) if isinstance(labels, pd.MultiIndex) else [labels]


def _level_entry(level: pd.Index, name: Hashable) -> dict[str, Json]:
    return column_entry(_json_name(name), _json_name(name), *_level_type(level))


def _level_type(level: pd.Index) -> tuple[str, str, Json]:
    """Return ``pandas_type``, ``numpy_type`` and ``metadata`` by which pyarrow reads the labels."""
    dtype = level.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _timezone_type(dtype)
    if getattr(dtype, "kind", "O") in "biufmM" and not isinstance(dtype, pd.ArrowDtype):
        numpy_type = getattr(dtype, "numpy_dtype", dtype)
        if not pd.is_extension_array_dtype(dtype) or not level.hasnans:
            return str(numpy_type), str(dtype), None
    inferred = pd.infer_dtype(level, skipna=False)
    if inferred in ("string", "empty") and not level.hasnans:
        numpy_type = str(dtype) if isinstance(dtype, pd.StringDtype) else "object"
        return "unicode", numpy_type, {"encoding": "UTF-8"}
    if inferred in ("bytes", "decimal"):
        return inferred, "object", None
    return "mixed", "object", None


def pandas_type(dtype: Any) -> tuple[str, str, Json]:
    """Return a dtype's ``pandas_type``, ``numpy_type`` and ``metadata``."""
    if isinstance(dtype, cudf.CategoricalDtype):
        codes = np.dtype(f"i{codes_dtype(dtype).itemsize}")
        metadata = {"num_categories": len(dtype.categories), "ordered": bool(dtype.ordered)}
        return "categorical", str(codes), metadata
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _timezone_type(dtype)
    if isinstance(dtype, np.dtype):
        return _numpy_dtype_type(dtype)
    pandas_name, metadata = _pandas_name(dtype)
    return pandas_name, _numpy_type(dtype), metadata


def _timezone_type(dtype: pd.DatetimeTZDtype) -> tuple[str, str, Json]:
    return "datetimetz", f"datetime64[{dtype.unit}]", {"timezone": str(dtype.tz)}


@cache
def _numpy_dtype_type(dtype: np.dtype[Any]) -> tuple[str, str, Json]:
    # Cached: NumPy takes long to name a dtype, and most columns have one of a few.
    if dtype.kind == "O":
        return "unicode", "object", None
    pandas_name = {"M": "datetime", "m": "timedelta"}.get(dtype.kind, str(dtype))
    return pandas_name, str(dtype), None


def _pandas_name(dtype: Any) -> tuple[str, Json]:
    if (element := element_dtype(dtype)) is not None:
        return f"list[{pandas_type(element[1])[0]}]", None
    if field_dtypes(dtype) is not None or interval_dtype(dtype) is not None:
        return "object", None
    decimal = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else dtype
    if hasattr(decimal, "precision"):
        return "decimal", {"precision": int(decimal.precision), "scale": int(decimal.scale)}
    if isinstance(dtype, pd.ArrowDtype):
        return _pandas_name_of_arrow(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.StringDtype):
        return "unicode", None
    return str(dtype.numpy_dtype), None


def _pandas_name_of_arrow(arrow_type: pa.DataType) -> tuple[str, Json]:
    if pa.types.is_timestamp(arrow_type):
        zone = arrow_type.tz
        return ("datetime", None) if zone is None else ("datetimetz", {"timezone": zone})
    if pa.types.is_duration(arrow_type):
        return "timedelta", None
    if pa.types.is_large_string(arrow_type):
        return "unicode", None
    return _ARROW_NAMES.get(str(arrow_type), str(arrow_type)), None


def _numpy_type(dtype: Any) -> str:
    """Return the string by which pandas finds a dtype again, ``object`` if there is none."""
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return "string" if dtype.storage == "pyarrow" else f"string[{dtype.storage}]"
    try:
        known = pd.pandas_dtype(str(dtype))
    except (TypeError, ValueError, NotImplementedError):
        return "object"
    # pandas takes an interval only if the Arrow field has its extension type.
    return "object" if isinstance(known, pd.IntervalDtype) else str(known)


def attributes(schema: pa.Schema) -> dict[str, Any]:
    """Return the ``attrs`` of a frame: those of pandas' metadata, and the schema's other metadata.

    What is not text has no place in them.
    """
    document = _load(schema)
    attrs = document.get("attributes") if document else None
    result = {}
    for key, value in (schema.metadata or {}).items():
        with suppress(UnicodeDecodeError):
            if key not in (PANDAS_KEY, BRIDGE_KEY):
                result[key.decode()] = value.decode()
    return result | (attrs if isinstance(attrs, dict) else {})


def schema_metadata(attrs: dict[Any, Any]) -> dict[bytes, bytes]:
    """Return the metadata of a schema for those ``attrs`` that are text."""
    return {
        key.encode(): value.encode()
        for key, value in attrs.items()
        if isinstance(key, str) and isinstance(value, str)
    }


def dtype_hints(schema: pa.Schema) -> list[Json]:
    """Return a hint for the dtype of each field: pandas' nullable ones that the metadata names."""
    document = _load(schema)
    try:
        entries = {} if document is None else document["columns"]
        named = {entry["field_name"]: entry["numpy_type"] for entry in entries}
    except (KeyError, TypeError):
        named = {}
    unique = unique_positions(schema.names)
    return [
        _nullable_hint(named.get(field.name), field.type) if field.name in unique else None
        for field in schema
    ]


def _nullable_hint(numpy_type: Json, arrow_type: pa.DataType) -> Json:
    if not isinstance(numpy_type, str):
        return None
    if numpy_type.endswith("[pyarrow]") and numpy_type != "string[pyarrow]":
        return dtype_hint(pd.ArrowDtype(arrow_type))
    try:
        dtype = pd.pandas_dtype(numpy_type)
    except (TypeError, ValueError, NotImplementedError):
        return None
    is_nullable = isinstance(dtype, pd.ExtensionDtype) and dtype.na_value is pd.NA
    return dtype_hint(dtype) if is_nullable else None


def decode(
    schema: pa.Schema,
) -> tuple[pd.Index, list[int], tuple[list[Hashable], range | None, list[int]] | None]:
    """Read the layout of a schema from its ``pandas`` metadata, or from its names alone.

    Returns
    -------
    tuple
        The labels of the columns, the positions of the columns, and the index: the names of its
        levels with either a range or the positions of its fields. None is the default index.
    """
    # pyarrow makes this list anew each time.
    names = schema.names
    default = pd.Index(names, dtype="str" if names else object)
    positions = list(range(len(names)))
    document = _load(schema)
    if document is None:
        return default, positions, None
    try:
        entries = {entry["field_name"]: entry for entry in document["columns"]}
        row_index = _row_index(document["index_columns"], entries, names)
        used = set() if row_index is None else set(row_index[2])
        columns = [position for position in positions if position not in used]
        kept = [names[position] for position in columns]
        return _labels(document, entries, kept), columns, row_index
    except Exception:
        # A peer wrote metadata that pyarrow cannot read; the names of the fields remain.
        return default, positions, None


def _row_index(
    descriptors: Sequence[Json], entries: dict[str, Json], names: Sequence[str]
) -> tuple[list[Hashable], range | None, list[int]] | None:
    if descriptors and isinstance(descriptors[0], dict):
        (entry,) = descriptors
        rows = decode_range(entry["start"], entry["stop"], entry["step"])
        return [_hashable(entry["name"])], rows, []
    unique = unique_positions(names)
    kept = [name for name in descriptors if name in unique]
    if not kept:
        return None
    labels = []
    for name in kept:
        label = entries[name]["name"] if name in entries else name
        labels.append(None if label == name and _GENERATED.fullmatch(name) else _hashable(label))
    return labels, None, [unique[name] for name in kept]


def _hashable(name: Json) -> Hashable:
    return str(name) if isinstance(name, list | dict) else name


def _labels(document: dict[str, Json], entries: dict[str, Json], names: Sequence[str]) -> pd.Index:
    """Return the labels that pyarrow makes of the metadata.

    It makes them of an empty table, whose columns can have any type.
    """
    labels_only = {
        **document,
        "index_columns": [],
        "columns": [
            {**entries[name], "numpy_type": "int8", "pandas_type": "int8"}
            for name in names
            if name in entries
        ],
    }
    fields = [pa.field(name, pa.int8()) for name in names]
    schema = pa.schema(fields, metadata={PANDAS_KEY: json.dumps(labels_only).encode()})
    with without_proxies():
        return schema.empty_table().to_pandas().columns


def _load(schema: pa.Schema) -> dict[str, Json] | None:
    try:
        document = json.loads((schema.metadata or {})[PANDAS_KEY])
    except (KeyError, RecursionError, ValueError):
        return None
    return document if isinstance(document, dict) else None
