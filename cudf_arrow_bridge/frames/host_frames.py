# SPDX-License-Identifier: Apache-2.0
"""Printing, conversion and slicing of cuDF frames in host memory, without a GPU.

cuDF uses the GPU for these operations, even if they compute nothing. Without a GPU, all cuDF frames
are made by this package in host memory. `enable_host_frames` then replaces the lowest functions
that need the GPU. The rest of cuDF is unchanged, so results have the same types as on a GPU.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from shutil import get_terminal_size
from types import SimpleNamespace
from typing import Any

import cudf
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pylibcudf as plc

from .._core.import_.columns import OwningSpan, rebuild_all
from ..cuda.residency import has_gpu
from . import convert
from . import real_pandas as pd
from .cudf_private import (
    CategoricalColumn,
    ColumnBase,
    Frame,
    Serializable,
    SingleColumnFrame,
    buffer_sharer,
    columns_of,
    make_column,
)
from .to_pylibcudf import column_to_pylibcudf

#: The cuDF method that `shown_frame` replaces. cuDF's text, HTML and LaTeX output calls it.
RENDERABLE = "_get_renderable_dataframe"


def shown_frame(self: cudf.DataFrame) -> SimpleNamespace:
    """Return the printed rows and columns of a frame, with the only method that cuDF calls.

    pandas prints the first and last rows, as in cuDF on a GPU. Only these rows are converted.
    """
    labels = self.columns
    most_rows, most_columns = map(pd.get_option, ("display.max_rows", "display.max_columns"))
    if most_columns == 0:
        # 0 means as many as fit the width of the terminal.
        most_columns = get_terminal_size().columns
    if self.empty:
        # pandas prints the first labels of an empty frame.
        most_rows = most_columns = None
    parts = _parts(len(self), most_rows)
    numbers = range(len(labels))
    positions = [i for part in _parts(len(labels), most_columns) for i in numbers[part]]
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


def _labels(index: cudf.Index, parts: Sequence[slice]) -> pd.Index:
    if isinstance(index, cudf.RangeIndex) or (
        isinstance(index, cudf.DatetimeIndex) and len(parts) == 1
    ):
        # Keeps the range, or the frequency.
        shown = index.to_pandas()
        return shown if len(parts) == 1 else shown[parts[0]].append(shown[parts[1]])
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


def _slice(source: Any, indices: Sequence[int], stream: Any = None) -> list[Any]:
    """Replace ``pylibcudf.copying.slice``: return zero-copy slices of a column or table."""
    return [
        plc.Table([_rows(column, begin, end) for column in source.columns()])
        if isinstance(source, plc.Table)
        else _rows(source, begin, end)
        for begin, end in zip(indices[::2], indices[1::2], strict=True)
    ]


def _rows(column: plc.Column, begin: int, end: int) -> plc.Column:
    if not 0 <= begin <= end <= column.size():
        raise IndexError(f"expected rows in 0 to {column.size()}, got {begin} to {end}")
    mask, offset, size = column.null_mask(), column.offset() + begin, end - begin
    null_count = 0
    if column.null_count():
        bits = pa.foreign_buffer(mask.ptr, mask.size, base=mask)
        null_count = pa.Array.from_buffers(pa.bool_(), size, [bits] * 2, offset=offset).null_count
    return plc.Column(
        column.type(), size, column.data(), mask, null_count, offset, column.children()
    )


def _empty_like(source: Any, stream: Any = None) -> Any:
    """Replace ``pylibcudf.copying.empty_like``, without allocation."""
    return _slice(source, [0, 0])[0]


def _cast(column: plc.Column, dtype: plc.DataType, stream: Any = None, mr: Any = None) -> Any:
    """Replace ``pylibcudf.unary.cast`` for integers, such as the codes of categoricals."""
    if all(map(plc.traits.is_integral_not_bool, (column.type(), dtype))):
        return convert.cast(column, dtype, stream)
    return _cast_on_gpu(column, dtype, stream, mr)


_cast_on_gpu = plc.unary.cast


def _copy(self: ColumnBase, deep: bool = True) -> ColumnBase:
    column = rebuild_all(self.plc_column, _copied) if deep else self.plc_column
    return ColumnBase.create(column, self.dtype)


def _copied(span: Any) -> OwningSpan:
    memory = np.frombuffer(pa.foreign_buffer(span.ptr, span.size, base=span), "uint8").copy()
    return OwningSpan(memory.ctypes.data, memory.nbytes, memory)


def _to_arrow(self: ColumnBase) -> pa.Array:
    """Return the column as a pyarrow array that shares its memory."""
    sharer = buffer_sharer()
    shared = rebuild_all(self.plc_column, sharer)
    array = convert.to_arrow(*column_to_pylibcudf(shared, self.dtype, "", sharer))
    # For intervals, cuDF's to_arrow makes the extension array from the storage.
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _category_to_arrow(self: Any) -> pa.DictionaryArray:
    codes = self.codes.to_arrow()
    # The smallest signed type that can store the codes, as in cuDF and pandas.
    largest = pc.max(codes).as_py() or 0
    codes = codes.cast(pa.from_numpy_dtype(np.min_scalar_type(~largest)))
    values = self.categories.to_arrow()
    return pa.DictionaryArray.from_arrays(codes, values, ordered=bool(self.ordered))


def _category_to_pandas(self: Any, *, nullable: bool = False, arrow_type: bool = False) -> pd.Index:
    if nullable or arrow_type:
        name = "nullable" if nullable else "arrow_type"
        raise NotImplementedError(f"{name}=True is not supported.")
    codes = self.codes.to_arrow().cast(pa.int64()).fill_null(-1).to_numpy()
    categories = self.categories.to_pandas()
    if categories.hasnans:
        # In pandas, NaN and null cannot be categories. Their codes become missing values.
        kept = categories.notna()
        codes = np.append(np.where(kept, kept.cumsum() - 1, -1), -1)[codes]
        categories = categories[kept]
    return pd.Index(pd.Categorical.from_codes(codes, categories, ordered=bool(self.ordered)))


def _from_range(cls: type[ColumnBase], values: range) -> ColumnBase:
    dtype = np.dtype("int64")
    return make_column(convert.sequence(values, dtype, None), dtype)


def _levels_to_pandas(
    self: cudf.MultiIndex, *, nullable: bool = False, arrow_type: bool = False
) -> pd.MultiIndex:
    levels = [
        column.to_pandas(nullable=nullable, arrow_type=arrow_type) for column in columns_of(self)
    ]
    return pd.MultiIndex.from_arrays(levels, names=self.names)


def _reduce(self: Any, protocol: int) -> Any:
    """Pickle a frame or series as an array, which needs no CUDA driver."""
    if not isinstance(self, (cudf.DataFrame, cudf.Series)):
        return _reduce_on_gpu(self, protocol)
    # The package is in a higher layer and is already imported.
    package = sys.modules["cudf_arrow_bridge"]
    return package.from_arrow_device, (package.to_arrow_device(self),)


_EXPLANATION = (
    "There is no GPU here, and cuDF computes on one only. Frames in host memory can be printed, "
    "sliced, pickled and handed over, as by df.to_pandas(), df.to_arrow() or "
    "cudf_arrow_bridge.to_arrow_device(df)."
)


def _explaining(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to add a note about frames to the error of a missing driver."""

    @wraps(function)
    def call_or_explain(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RuntimeError as error:
            if _EXPLANATION not in getattr(error, "__notes__", ()):
                error.add_note(_EXPLANATION)
            raise

    return call_or_explain


_reduce_on_gpu = _explaining(Serializable.__reduce_ex__)


def _driver_loader() -> list[tuple[Any, str, Any]]:
    """Return the entry of `REPLACEMENTS` for the function that loads the CUDA driver."""
    # pylibcudf has imported this module. If a release moves it, only the note in the error is lost.
    driver, name = sys.modules.get("cuda.bindings._internal.driver"), "load_nvidia_dynamic_lib"
    return [(driver, name, _explaining(getattr(driver, name)))] if hasattr(driver, name) else []


#: The owner and name of each replaced attribute, and the replacement.
REPLACEMENTS: tuple[tuple[Any, str, Any], ...] = (
    (plc.copying, "slice", _slice),
    (plc.copying, "empty_like", _empty_like),
    (plc.unary, "cast", _cast),
    (ColumnBase, "copy", _copy),
    (ColumnBase, "to_arrow", _to_arrow),
    (ColumnBase, "to_numpy", lambda self: self.to_pandas().to_numpy()),
    (ColumnBase, "from_range", classmethod(_from_range)),
    (CategoricalColumn, "copy", _copy),
    (CategoricalColumn, "to_arrow", _category_to_arrow),
    (CategoricalColumn, "to_pandas", _category_to_pandas),
    # pandas indexes are sufficient for cuDF's ``to_arrow``.
    (cudf.MultiIndex, "levels", property(lambda self: list(self.to_pandas().levels))),
    (cudf.MultiIndex, "to_pandas", _levels_to_pandas),
    (cudf.DataFrame, RENDERABLE, shown_frame),
    (cudf.Series, "__repr__", repr_series),
    (cudf.Index, "__repr__", repr_index),
    (cudf.MultiIndex, "__repr__", repr_index),
    (Serializable, "__reduce_ex__", _reduce),
    *_driver_loader(),
    # These call cupy, which reports a missing driver itself.
    (Frame, "to_cupy", _explaining(Frame.to_cupy)),
    (SingleColumnFrame, "values", property(_explaining(SingleColumnFrame.values.__get__))),
    (cudf.RangeIndex, "values", property(_explaining(cudf.RangeIndex.values.__get__))),
)

_enabled = False
logger = logging.getLogger("cudf_arrow_bridge")


def enable_host_frames() -> None:
    """Enable printing, conversion and slicing of cuDF frames in host memory if there is no GPU.

    Installs `REPLACEMENTS` for the whole process. Later calls have no effect. Spilling, for which
    cuDF needs a GPU, is turned off.
    """
    global _enabled
    if _enabled or has_gpu():
        return
    for owner, name, replacement in REPLACEMENTS:
        setattr(owner, name, replacement)
    cudf.set_option("spill", False)
    _enabled = True
    logger.info(
        "there is no GPU: frames are in host memory, and %d functions of cuDF are replaced",
        len(REPLACEMENTS),
    )
