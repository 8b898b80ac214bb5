# SPDX-License-Identifier: Apache-2.0
"""Printing, converting and slicing frames in host memory, where there is no GPU.

cuDF does all of that on the GPU, even what computes nothing. Where there is none, every frame of
cuDF's is one that this package made in host memory. `enable_host_frames` then replaces those
functions that cuDF's own code cannot do without, as low as they lie: the rest remains cuDF's, so
that results are of the types that they have on a GPU. Nothing is replaced where there is a GPU.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import cudf
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pylibcudf as plc

from .._core.columns import rebuild_all
from .._core.export import ExportArguments, ExportInput, InputExporter
from .._core.schema import SchemaSpec
from ..arrow.device_array import DeviceArray
from ..cuda.residency import ComputeLocation, has_gpu
from ..cuda.spans import HostSpan, view_host
from ..cuda.streams import resolve_stream
from . import convert
from . import real_pandas as pd
from .cudf_private import (
    CategoricalColumn,
    ColumnBase,
    Serializable,
    buffer_sharer,
    columns_of,
    make_column,
)
from .host_repr import RENDERABLE, repr_index, repr_series, shown_frame
from .to_pylibcudf import column_to_pylibcudf

__all__ = ["REPLACEMENTS", "disable_host_frames", "enable_host_frames"]

_HOST = ComputeLocation(host=True)


def _slice(source: Any, indices: Sequence[int], stream: Any = None) -> list[Any]:
    """Do what ``pylibcudf.copying.slice`` does: columns or tables of some rows, without copying."""
    return [
        plc.Table([_rows(column, begin, end) for column in source.columns()])
        if isinstance(source, plc.Table)
        else _rows(source, begin, end)
        for begin, end in zip(indices[::2], indices[1::2], strict=True)
    ]


def _rows(column: plc.Column, begin: int, end: int) -> plc.Column:
    if not 0 <= begin <= end <= column.size():
        raise IndexError(f"rows {begin} to {end} found, some of {column.size()} expected")
    mask, offset, size = column.null_mask(), column.offset() + begin, end - begin
    null_count = convert.count_nulls(mask, offset, size) if column.null_count() else 0
    return plc.Column(
        column.type(), size, column.data(), mask, null_count, offset, column.children()
    )


def _empty_like(source: Any, stream: Any = None) -> Any:
    """Do what ``pylibcudf.copying.empty_like`` does, without allocating."""
    return _slice(source, [0, 0])[0]


def _cast(column: plc.Column, dtype: plc.DataType, stream: Any = None, mr: Any = None) -> Any:
    """Do what ``pylibcudf.unary.cast`` does for integers, as the codes of categories are."""
    if column.type().id() in convert.INTEGERS and dtype.id() in convert.INTEGERS:
        return convert.cast_codes(column, convert.INTEGERS[dtype.id()], _HOST)
    return _cast_on_gpu(column, dtype, stream, mr)


_cast_on_gpu = plc.unary.cast


def _copy(self: ColumnBase, deep: bool = True) -> ColumnBase:
    column = rebuild_all(self.plc_column, _copied) if deep else self.plc_column
    return ColumnBase.create(column, self.dtype)


def _copied(span: Any) -> HostSpan:
    return HostSpan(view_host(span, "uint8", span.size).copy())


def _to_arrow(self: ColumnBase) -> pa.Array:
    """Return the column as an array of pyarrow that shares its memory."""
    column, field = column_to_pylibcudf(self.plc_column, self.dtype, "", buffer_sharer())
    export_input = ExportInput("column", [column], self.size, SchemaSpec([field], {}))
    exporter = InputExporter(export_input, ExportArguments(resolve_stream(None)))
    array = pa.array(exporter.export(None, DeviceArray))
    # Of intervals: their own to_arrow makes the extension array.
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _category_to_arrow(self: Any) -> pa.DictionaryArray:
    codes = self.codes.to_arrow()
    # As with cuDF and pandas, the smallest signed type that holds the codes.
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
        # A category that is not a number is a missing value in pandas.
        kept = categories.notna()
        codes = np.append(np.where(kept, kept.cumsum() - 1, -1), -1)[codes]
        categories = categories[kept]
    return pd.Index(pd.Categorical.from_codes(codes, categories, ordered=bool(self.ordered)))


def _to_numpy(self: ColumnBase) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = self.to_pandas().to_numpy()
    return values


def _from_range(cls: type[ColumnBase], values: range) -> ColumnBase:
    return make_column(convert.sequence(values, _HOST), np.dtype("int64"))


def _levels_to_pandas(
    self: cudf.MultiIndex, *, nullable: bool = False, arrow_type: bool = False
) -> pd.MultiIndex:
    levels = [
        column.to_pandas(nullable=nullable, arrow_type=arrow_type) for column in columns_of(self)
    ]
    return pd.MultiIndex.from_arrays(levels, names=self.names)


def _reduce(self: Any, protocol: int) -> Any:
    """Pickle a frame or series as an array, which needs no driver."""
    if not isinstance(self, (cudf.DataFrame, cudf.Series)):
        return _reduce_on_gpu(self, protocol)
    # Its functions stand above this module, and are there by now.
    package = sys.modules["cudf_arrow_bridge"]
    return package.from_arrow_device, (package.to_arrow_device(self),)


def _explaining(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the error for want of a driver say what that means for frames."""

    @wraps(function)
    def call_or_explain(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:
            error.add_note(
                "There is no GPU here, and cuDF computes on one only. Frames in host memory can be "
                "printed, sliced, pickled and handed over, as by df.to_pandas(), df.to_arrow() or "
                "cudf_arrow_bridge.to_arrow_device(df)."
            )
            raise

    return call_or_explain


_reduce_on_gpu = _explaining(Serializable.__reduce_ex__)


def _levels(self: cudf.MultiIndex) -> list[pd.Index]:
    """Return the levels as indexes of pandas, which is all that cuDF's ``to_arrow`` needs."""
    return list(self.to_pandas().levels)


def _driver_loader() -> list[tuple[Any, str, Any]]:
    """Return where cuDF finds that there is no driver, for `REPLACEMENTS`."""
    # pylibcudf has loaded it. Only the text of an error is lost if a release moves it.
    driver, name = sys.modules.get("cuda.bindings._internal.driver"), "load_nvidia_dynamic_lib"
    return [(driver, name, _explaining(getattr(driver, name)))] if hasattr(driver, name) else []


#: Whose attribute is replaced, its name, and by what.
REPLACEMENTS: tuple[tuple[Any, str, Any], ...] = (
    (plc.copying, "slice", _slice),
    (plc.copying, "empty_like", _empty_like),
    (plc.unary, "cast", _cast),
    (ColumnBase, "copy", _copy),
    (ColumnBase, "to_arrow", _to_arrow),
    (ColumnBase, "to_numpy", _to_numpy),
    (ColumnBase, "from_range", classmethod(_from_range)),
    (CategoricalColumn, "copy", _copy),
    (CategoricalColumn, "to_arrow", _category_to_arrow),
    (CategoricalColumn, "to_pandas", _category_to_pandas),
    (cudf.MultiIndex, "levels", property(_levels)),
    (cudf.MultiIndex, "to_pandas", _levels_to_pandas),
    (cudf.DataFrame, RENDERABLE, shown_frame),
    (cudf.Series, "__repr__", repr_series),
    (cudf.Index, "__repr__", repr_index),
    (cudf.MultiIndex, "__repr__", repr_index),
    (Serializable, "__reduce_ex__", _reduce),
    *_driver_loader(),
)

_lock = threading.Lock()
#: What was replaced, empty while nothing is.
_originals: list[tuple[Any, str, Any]] = []


def enable_host_frames() -> None:
    """Let cuDF print, convert and slice frames in host memory, if there is no GPU.

    May be repeated. `REPLACEMENTS` says what it replaces, for the whole process.
    """
    with _lock:
        if _originals or has_gpu():
            return
        for owner, name, replacement in REPLACEMENTS:
            _originals.append((owner, name, vars(owner)[name]))
            setattr(owner, name, replacement)


def disable_host_frames() -> None:
    """Take back what `enable_host_frames` did."""
    with _lock:
        for owner, name, original in _originals:
            setattr(owner, name, original)
        _originals.clear()
