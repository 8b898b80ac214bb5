# SPDX-License-Identifier: Apache-2.0
"""Printing of cuDF frames, series and indexes in host memory; see `host_frames`.

pandas prints the first and last rows, as in cuDF on a GPU. Only these rows are converted.
"""

from __future__ import annotations

from collections.abc import Sequence
from shutil import get_terminal_size
from types import SimpleNamespace
from typing import Any

import cudf
import numpy as np

from . import unproxied_pandas as pd
from .cudf_private import ColumnBase, columns_of, range_of

#: The cuDF method that `shown_frame` replaces. cuDF's text, HTML and LaTeX output calls it.
RENDERABLE = "_get_renderable_dataframe"


def shown_frame(self: cudf.DataFrame) -> SimpleNamespace:
    """Return the printed rows and columns of a frame, with the only method that cuDF calls."""
    labels = self.columns
    most_rows, most_columns = map(pd.get_option, ("display.max_rows", "display.max_columns"))
    if most_columns == 0:
        # 0 means as many as fit the width of the terminal.
        most_columns = get_terminal_size().columns
    if self.empty:
        # pandas prints the first labels of an empty frame.
        most_rows = most_columns = None
    parts = _parts(len(self), most_rows)
    positions = _picked(range(len(labels)), _parts(len(labels), most_columns))
    columns = columns_of(self)
    values = {i: _values(columns[position], parts) for i, position in enumerate(positions)}
    frame = pd.DataFrame(values, index=_labels(self.index, parts))
    frame.columns = labels[positions]
    return SimpleNamespace(to_pandas=lambda: frame)


def repr_series(self: cudf.Series) -> str:
    """Return the text of a series."""
    parts = _parts(len(self), pd.get_option("display.max_rows"))
    (column,) = columns_of(self)
    shown = pd.Series(_values(column, parts), index=_labels(self.index, parts), name=self.name)
    text = _replace_last(repr(shown), f"dtype: {shown.dtype.name}", f"dtype: {self.dtype}")
    return _replace_last(text, f"Length: {len(shown)},", f"Length: {len(self)},")


def repr_index(self: cudf.Index) -> str:
    """Return the text of an index."""
    shown = _labels(self, _parts(len(self), pd.get_option("display.max_seq_items")))
    text = _replace_last(repr(shown), f"dtype='{shown.dtype}'", f"dtype='{self.dtype}'")
    return _replace_last(text, f"length={len(shown)}", f"length={len(self)}")


def _replace_last(text: str, old: str, new: str) -> str:
    """Replace the last occurrence of a text, since the printed values can also contain it."""
    before, found, after = text.rpartition(old)
    return f"{before}{new}{after}" if found else text


def _parts(number: int, limit: int | None) -> list[slice]:
    """Return slices of the first and last rows, slightly more than pandas prints, or of all."""
    if not limit or number <= limit:
        return [slice(0, number)]
    count = limit // 2 + 1
    return [slice(0, count), slice(number - count, number)]


def _picked(numbers: range, parts: Sequence[slice]) -> list[int]:
    return [number for part in parts for number in numbers[part]]


def _labels(index: cudf.Index, parts: Sequence[slice]) -> pd.Index:
    if len(parts) == 1 and isinstance(index, cudf.RangeIndex | cudf.DatetimeIndex):
        # Keeps the range, or the frequency.
        return index.to_pandas()
    if isinstance(index, cudf.RangeIndex):
        return pd.Index(_picked(range_of(index), parts), dtype=index.dtype, name=index.name)
    levels = [_values(column, parts) for column in columns_of(index)]
    if isinstance(index, cudf.MultiIndex):
        return pd.MultiIndex.from_arrays(levels, names=index.names)
    return levels[0].rename(index.name)


def _values(column: ColumnBase, parts: Sequence[slice]) -> pd.Index:
    """Return rows of a column, with nulls that are distinct from values."""
    if len(parts) == 1:
        return _to_pandas(column)
    first, last = (_to_pandas(column.slice(part.start, part.stop)) for part in parts)
    return first.append(last)


def _to_pandas(column: ColumnBase) -> pd.Index:
    if not column.null_count:
        return column.to_pandas()
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        # Nulls stay distinct from NaN, and integers stay integers.
        return column.to_pandas(arrow_type=True)
    values: Any = column.to_pandas()
    return values.fillna(pd.NA) if values.dtype == object else values
