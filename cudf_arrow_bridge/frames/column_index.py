# SPDX-License-Identifier: Apache-2.0
"""The labels of a frame's columns: a pandas Index as JSON and back, piece by piece.

The description is split, so that a peer may drop or reorder columns without spoiling the rest:
what concerns the whole Index on one side, one entry for each column on the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .labels import Json, decode_label, encode_label

__all__ = ["decode_index", "encode_index"]


def encode_index(index: pd.Index, objects: list[Any]) -> tuple[dict[str, Json], list[Json]]:
    """Describe the labels of columns.

    Returns
    -------
    tuple
        What concerns all of them, and an entry for each: its label, or for a MultiIndex its
        position in each level (-1: missing).
    """
    names = [encode_label(name, objects) for name in index.names]
    if isinstance(index, pd.MultiIndex):
        levels = [
            {
                "dtype": _encode_dtype(level.dtype, objects),
                "labels": [encode_label(label, objects) for label in level],
            }
            for level in index.levels
        ]
        codes = np.array(index.codes, dtype=np.int64).reshape(index.nlevels, len(index))
        return {"names": names, "levels": levels}, codes.T.tolist()
    if isinstance(index, pd.RangeIndex):
        return {"names": names, "range": index.step}, list(index)
    entries = [encode_label(label, objects) for label in index]
    return {"names": names, "dtype": _encode_dtype(index.dtype, objects)}, entries


def decode_index(
    common: dict[str, Json], entries: Sequence[Json], objects: Sequence[Any] = ()
) -> pd.Index:
    """Make the Index that :func:`encode_index` described, for some of its entries.

    Raises
    ------
    ValueError
        If the description contradicts itself.
    """
    names = [decode_label(name, objects) for name in common["names"]]
    if "levels" in common:
        levels = [
            _flat(
                [decode_label(label, objects) for label in level["labels"]],
                _decode_dtype(level["dtype"], objects),
                None,
            )
            for level in common["levels"]
        ]
        codes = [[entry[level] for entry in entries] for level in range(len(levels))]
        return pd.MultiIndex(levels=levels, codes=codes, names=names)
    (name,) = names
    if "range" in common:
        step = common["range"]
        start = entries[0] if entries else 0
        found = pd.RangeIndex(start, start + step * len(entries), step, name=name)
        if list(found) == list(entries):
            return found
        return pd.Index(list(entries), dtype="int64", name=name)
    labels = [decode_label(entry, objects) for entry in entries]
    return _flat(labels, _decode_dtype(common["dtype"], objects), name)


def _flat(labels: list[Any], dtype: Any, name: Any) -> pd.Index:
    # Filled one by one: NumPy would take an assigned list of tuples apart.
    values = np.empty(len(labels), dtype=object)
    for position, label in enumerate(labels):
        values[position] = label
    flat = pd.Index(values, dtype=object, name=name, tupleize_cols=False)
    return flat if dtype is None else flat.astype(dtype)


def _encode_dtype(dtype: Any, objects: list[Any]) -> Json:
    if isinstance(dtype, pd.StringDtype):
        return {"string": [dtype.storage, "NA" if dtype.na_value is pd.NA else "nan"]}
    if isinstance(dtype, pd.CategoricalDtype):
        common, entries = encode_index(dtype.categories, objects)
        return {"categories": [common, entries], "ordered": bool(dtype.ordered)}
    try:
        faithful = pd.api.types.pandas_dtype(str(dtype)) == dtype
    except (TypeError, NotImplementedError):
        faithful = False
    return str(dtype) if faithful else "object"


def _decode_dtype(form: Json, objects: Sequence[Any]) -> Any:
    if isinstance(form, str):
        return pd.api.types.pandas_dtype(form)
    if "string" in form:
        storage, missing = form["string"]
        return pd.StringDtype(storage, na_value=pd.NA if missing == "NA" else np.nan)
    common, entries = form["categories"]
    return pd.CategoricalDtype(decode_index(common, entries, objects), ordered=form["ordered"])
