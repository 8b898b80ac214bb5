# SPDX-License-Identifier: Apache-2.0
"""What cuDF prints of frames, series and indexes in host memory; see `host_frames`.

As cuDF does on a GPU, pandas prints the first and the last rows. Others are not converted.
"""

from __future__ import annotations

from dataclasses import dataclass
from shutil import get_terminal_size
from typing import Any

import cudf
import numpy as np

from . import real_pandas as pd
from .cudf_private import ColumnBase, columns_of, range_of

__all__ = ["RENDERABLE", "repr_index", "repr_series", "shown_frame"]

#: cuDF's method that `shown_frame` stands for: what its text, HTML and LaTeX are made of.
RENDERABLE = "_get_renderable_dataframe"


@dataclass(frozen=True, slots=True)
class _Shown:
    """The rows of a frame that are printed, as far as cuDF asks for them."""

    frame: pd.DataFrame

    def to_pandas(self) -> pd.DataFrame:
        return self.frame


def shown_frame(self: cudf.DataFrame) -> _Shown:
    """Return the rows and columns of a frame that are printed."""
    labels = self.columns
    most_columns = pd.get_option("display.max_columns")
    if most_columns == 0:
        # As many as fit the width.
        most_columns = get_terminal_size().columns
    parts = _parts(len(self), pd.get_option("display.max_rows"))
    column_parts = _parts(len(labels), most_columns)
    if self.empty:
        # Of these, pandas prints the first labels.
        parts = column_parts = None
    positions = _picked(range(len(labels)), column_parts)
    columns = columns_of(self)
    values = {i: _values(columns[position], parts) for i, position in enumerate(positions)}
    frame = pd.DataFrame(values, index=_labels(self.index, parts))
    frame.columns = labels[positions]
    return _Shown(frame)


def repr_series(self: cudf.Series) -> str:
    """Print a series."""
    parts = _parts(len(self), pd.get_option("display.max_rows"))
    (column,) = columns_of(self)
    shown = pd.Series(_values(column, parts), index=_labels(self.index, parts), name=self.name)
    text = _replace_last(repr(shown), f"dtype: {shown.dtype.name}", f"dtype: {self.dtype}")
    return _replace_last(text, f"Length: {len(shown)},", f"Length: {len(self)},")


def repr_index(self: cudf.Index) -> str:
    """Print an index."""
    parts = _parts(len(self), pd.get_option("display.max_seq_items"))
    shown = _labels(self, parts)
    text = _replace_last(repr(shown), f"dtype='{shown.dtype}'", f"dtype='{self.dtype}'")
    return _replace_last(text, f"length={len(shown)}", f"length={len(self)}")


def _replace_last(text: str, old: str, new: str) -> str:
    """Replace what stands behind the values, and may stand among them, too."""
    before, found, after = text.rpartition(old)
    return f"{before}{new}{after}" if found else text


def _parts(number: int, limit: int | None) -> tuple[slice, slice] | None:
    """Return the first and the last of so many rows, more than pandas prints; None for all."""
    if not limit or number <= limit:
        return None
    count = limit // 2 + 1
    return slice(0, count), slice(number - count, number)


def _picked(numbers: range, parts: tuple[slice, slice] | None) -> list[int]:
    return list(numbers) if parts is None else [*numbers[parts[0]], *numbers[parts[1]]]


def _labels(index: cudf.Index, parts: tuple[slice, slice] | None) -> pd.Index:
    if isinstance(index, cudf.RangeIndex):
        rows = range_of(index)
        if parts is None:
            return pd.RangeIndex(rows, name=index.name)
        return pd.Index(_picked(rows, parts), dtype=index.dtype, name=index.name)
    if isinstance(index, cudf.DatetimeIndex) and parts is None:
        # Of a frequency, too.
        return index.to_pandas()
    levels = [_values(column, parts) for column in columns_of(index)]
    if isinstance(index, cudf.MultiIndex):
        return pd.MultiIndex.from_arrays(levels, names=index.names)
    return levels[0].rename(index.name)


def _values(column: ColumnBase, parts: tuple[slice, slice] | None) -> pd.Index:
    """Return the values of a column, with nulls that cannot be taken for values."""
    if parts is not None:
        first, last = (_values(column.slice(part.start, part.stop), None) for part in parts)
        return first.append(last)
    if not column.null_count:
        return column.to_pandas()
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        # So that a null is no NaN, and integers stay integers.
        return column.to_pandas(arrow_type=True)
    values: Any = column.to_pandas()
    return values.fillna(pd.NA) if values.dtype == object else values
