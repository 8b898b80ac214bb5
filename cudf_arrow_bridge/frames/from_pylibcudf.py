# SPDX-License-Identifier: Apache-2.0
"""Imported pylibcudf columns as cuDF columns, converted where cuDF lacks the type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

import cudf
import numpy as np
import pyarrow as pa
import pylibcudf as plc

from .._core.columns import rebuild
from ..arrow.copies import CopyRefusedError, quoted, refusal
from ..arrow.metadata import EXTENSION_METADATA, EXTENSION_NAME, storage_type_of
from ..arrow.types import (
    CODES_WIDTH,
    NO_DATES,
    NO_DECIMAL_CATEGORIES,
    NO_NESTED_CATEGORIES,
    NO_NULL_TYPE,
)
from ..cuda.residency import ComputeLocation, compute_location
from . import convert
from . import real_pandas as pd
from .cudf_private import (
    DEFAULT_STRING_DTYPE,
    ColumnBase,
    ColumnMaker,
    codes_dtype,
    compatible_timezone,
    make_column,
)
from .dtypes import fits, hinted_arrow_type, is_interval_type, leaf_dtype
from .imported_fields import attach_field, is_default
from .labels import Json

__all__ = ["ColumnConverter", "check_sharing"]

_NUMPY = {
    plc.TypeId.INT8: "int8",
    plc.TypeId.INT16: "int16",
    plc.TypeId.INT32: "int32",
    plc.TypeId.INT64: "int64",
    plc.TypeId.UINT8: "uint8",
    plc.TypeId.UINT16: "uint16",
    plc.TypeId.UINT32: "uint32",
    plc.TypeId.UINT64: "uint64",
    plc.TypeId.FLOAT32: "float32",
    plc.TypeId.FLOAT64: "float64",
    plc.TypeId.BOOL8: "bool",
    plc.TypeId.TIMESTAMP_SECONDS: "datetime64[s]",
    plc.TypeId.TIMESTAMP_MILLISECONDS: "datetime64[ms]",
    plc.TypeId.TIMESTAMP_MICROSECONDS: "datetime64[us]",
    plc.TypeId.TIMESTAMP_NANOSECONDS: "datetime64[ns]",
    plc.TypeId.DURATION_SECONDS: "timedelta64[s]",
    plc.TypeId.DURATION_MILLISECONDS: "timedelta64[ms]",
    plc.TypeId.DURATION_MICROSECONDS: "timedelta64[us]",
    plc.TypeId.DURATION_NANOSECONDS: "timedelta64[ns]",
}
_DECIMALS = {
    plc.TypeId.DECIMAL32: (cudf.Decimal32Dtype, 9),
    plc.TypeId.DECIMAL64: (cudf.Decimal64Dtype, 18),
    plc.TypeId.DECIMAL128: (cudf.Decimal128Dtype, 38),
}
_NESTED = (plc.TypeId.LIST, plc.TypeId.STRUCT, plc.TypeId.DICTIONARY32)
#: Arrow's time zones of a fixed offset (Schema.fbs, Timestamp).
_FIXED_OFFSET = re.compile(r"[+-]\d\d:\d\d")
#: cuDF has no index of these values, and so no category.
_NO_CATEGORIES = (plc.TypeId.LIST, plc.TypeId.DICTIONARY32, *_DECIMALS)
_DAYS = {
    plc.TypeId.TIMESTAMP_DAYS: plc.TypeId.TIMESTAMP_SECONDS,
    plc.TypeId.DURATION_DAYS: plc.TypeId.DURATION_SECONDS,
}


@dataclass(slots=True)
class _Level:
    """One level of a column: what is known of it from Arrow.

    Attributes
    ----------
    field
        The Arrow field.
    hint
        The hint for its dtype, which fits the field; or None.
    location
        Where to convert.
    path
        The path of the level, for errors.
    is_top
        Whether it is a column of a frame rather than a child of one.
    may_copy
        Whether it may be converted.
    """

    field: pa.Field
    hint: Json
    location: ComputeLocation
    path: str
    is_top: bool = False
    may_copy: bool = True

    @property
    def arrow_type(self) -> pa.DataType:
        return storage_type_of(self.field.type)

    def child(self, field: pa.Field, hint: Json, name: str) -> _Level:
        """Return the level of a child."""
        path = f"{self.path}{name}"
        return _Level(field, hint, self.location, path, may_copy=self.may_copy)

    def need_copy(self, reason: str) -> None:
        """Refuse the conversion that follows, if there may be none."""
        if not self.may_copy:
            raise CopyRefusedError(self.path, reason)

    def hint_part(self, key: str) -> Json:
        """Return an entry of the hint, None if it has no such entry."""
        return self.hint.get(key) if isinstance(self.hint, dict) else None


class ColumnConverter:
    """Makes cuDF columns from imported columns of one field; any number of threads may use it.

    Zero-copy, except for what cuDF does not have. Days become seconds; codes of another width than
    cuDF's are cast; a null array becomes a string column. Dictionaries inside lists and structs,
    those of decimals, and those with null among their values, are decoded.

    The field is attached to each column, which is exported with it again.

    Parameters
    ----------
    field
        The field of the columns. Its name begins the path in errors.
    hint
        The hint for their dtype, ignored where it does not fit the field.
    """

    def __init__(self, field: pa.Field, hint: Json) -> None:
        self._field = field
        self._hint = hint if hint is not None and fits(hint, field.type) else None
        self._is_default = is_default(field)
        #: Makes columns that cuDF stores as they were imported, once there was one.
        self._make: ColumnMaker | None = None

    def __call__(self, column: plc.Column, stream: Any) -> ColumnBase:
        """Return an imported column as a cuDF column.

        Parameters
        ----------
        column
            The column as imported.
        stream
            The CUDA stream of conversions, as pylibcudf takes it.

        Raises
        ------
        TypeError
            If no cuDF frame can hold such a column.
        """
        if self._make is not None:
            result = self._make(column)
        else:
            result = self._convert(column, compute_location(column, stream=stream), True)
        if not self._is_default:
            attach_field(result, self._field)
        return result

    def check_sharing(self, column: plc.Column, stream: Any) -> None:
        """Check that a column needs no conversion.

        Raises
        ------
        CopyRefusedError
            If it does.
        """
        if self._make is None:
            self._convert(column, compute_location(column, stream=stream), False)

    def _convert(self, column: plc.Column, location: ComputeLocation, may_copy: bool) -> ColumnBase:
        if self._hint is not None:
            try:
                return self._convert_with(self._hint, column, location, may_copy)
            except (TypeError, ValueError, NotImplementedError):
                # cuDF does not have the hinted dtype, but may have the one without the hint.
                pass
        return self._convert_with(None, column, location, may_copy)

    def _convert_with(
        self, hint: Json, column: plc.Column, location: ComputeLocation, may_copy: bool
    ) -> ColumnBase:
        level = _Level(
            self._field, hint, location, self._field.name, is_top=True, may_copy=may_copy
        )
        converted, dtype = _convert(column, level)
        result = make_column(converted, dtype)
        if converted is column:
            # What columns are converted to depends on their values only where it is another column.
            # All others of the field have this dtype.
            self._make = ColumnMaker(result)
        return result


def check_sharing(columns: Iterable[tuple[ColumnConverter, plc.Column]], stream: Any) -> None:
    """Check that no column has to be converted, each with the converter that would.

    Raises
    ------
    ValueError
        If some do; it names them all.
    """
    refused = []
    for converter, column in columns:
        try:
            converter.check_sharing(column, stream)
        except CopyRefusedError as one:
            refused.append(one)
    if refused:
        raise refusal(refused)


def _convert(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    """Return the column as cuDF stores it, and its dtype."""
    type_id = column.type().id()
    arrow_type = level.arrow_type
    if type_id == plc.TypeId.DICTIONARY32:
        return _convert_dictionary(column, level)
    if type_id == plc.TypeId.LIST:
        column, dtype = _convert_list(column, level)
    elif type_id == plc.TypeId.STRUCT:
        column, dtype = _convert_struct(column, level)
    elif type_id == plc.TypeId.STRING:
        dtype = leaf_dtype(level.hint, DEFAULT_STRING_DTYPE)
    elif type_id == plc.TypeId.EMPTY:
        if column.size():
            level.need_copy(NO_NULL_TYPE)
        # The dtypes that cuDF gives pa.nulls(), at the top level and inside nested columns.
        column = convert.all_null_strings(column.size(), level.location)
        dtype = leaf_dtype(level.hint, DEFAULT_STRING_DTYPE if level.is_top else np.dtype(object))
    elif type_id in _DECIMALS:
        make_dtype, max_precision = _DECIMALS[type_id]
        precision = arrow_type.precision if pa.types.is_decimal(arrow_type) else max_precision
        dtype = make_dtype(precision, -column.type().scale())
    else:
        if type_id in _DAYS:
            if column.size():
                level.need_copy(NO_DATES)
            column = convert.days_to_seconds(column, _DAYS[type_id], level.location)
            type_id = _DAYS[type_id]
        if type_id not in _NUMPY:
            raise _unsupported(level.path, f"{level.field.type} as libcudf's {type_id.name}")
        dtype = leaf_dtype(level.hint, np.dtype(_NUMPY[type_id]))
        if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
            dtype = _timezone_dtype(arrow_type, level.path)
    if level.hint_part("arrow") is not None:
        dtype = pd.ArrowDtype(hinted_arrow_type(level.hint))
    return column, dtype


def _convert_dictionary(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    _, values = column.children()
    codes = convert.codes_of(column)
    value_field = pa.field("", level.arrow_type.value_type)
    value_level = level.child(value_field, level.hint_part("category"), "")
    can_be_categories = values.type().id() not in _NO_CATEGORIES
    if level.is_top and can_be_categories and values.null_count() == 0:
        categories = make_column(*_convert(values, value_level))
        if not is_default(value_field):
            attach_field(categories, value_field)
        # cuDF also has categories whose order is None, which only the hint can say.
        is_none = isinstance(level.hint, dict) and level.hint.get("ordered", False) is None
        dtype = cudf.CategoricalDtype(categories, None if is_none else level.arrow_type.ordered)
        stored = codes_dtype(dtype)
        if column.size() and stored.itemsize != plc.types.size_of(codes.type()):
            level.need_copy(CODES_WIDTH)
            convert.check_codes(column, level.path, level.location)
        return convert.cast_codes(codes, stored, level.location), dtype
    if level.location.host and values.type().id() in _NESTED:
        raise _unsupported(level.path, f"a dictionary of {level.arrow_type.value_type}")
    if column.size():
        is_decimal = values.type().id() in _DECIMALS
        level.need_copy(NO_DECIMAL_CATEGORIES if is_decimal else NO_NESTED_CATEGORIES)
        convert.check_codes(column, level.path, level.location)
    values, dtype = _convert(values, replace(value_level, is_top=level.is_top))
    return convert.decode(codes, values, level.location), dtype


def _convert_list(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    arrow_type = level.arrow_type
    if pa.types.is_map(arrow_type):
        entries = pa.struct([arrow_type.key_field, arrow_type.item_field])
        field = pa.field("entries", entries)
    elif hasattr(arrow_type, "value_field"):
        field = arrow_type.value_field
    else:
        # A binary type: libcudf has a list of its bytes.
        field = pa.field("item", pa.uint8())
    offsets, values = column.children()
    values, dtype = _convert(values, level.child(field, level.hint_part("list"), "[]"))
    return _with_children(column, [offsets, values]), cudf.ListDtype(dtype)


def _convert_struct(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    fields = list(level.arrow_type)
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise _unsupported(level.path, f"a struct with two fields named {duplicate!r}")
    # Both sides of an interval have the same hint.
    hints = level.hint_part("struct") or [level.hint_part("interval")] * len(fields)
    converted = [
        _convert(child, level.child(field, hint, f".{field.name}"))
        for child, field, hint in zip(column.children(), fields, hints, strict=True)
    ]
    column = _with_children(column, [child for child, _ in converted])
    dtypes = [dtype for _, dtype in converted]
    if isinstance(level.hint, dict) and "interval" in level.hint:
        return column, cudf.IntervalDtype(dtypes[0], level.hint["closed"])
    if names == ["left", "right"] and dtypes[0] == dtypes[1] and (closed := _closed(level.field)):
        return column, cudf.IntervalDtype(dtypes[0], closed)
    return column, cudf.StructDtype(dict(zip(names, dtypes, strict=True)))


def _closed(field: pa.Field) -> str | None:
    """Return the closed side of an interval, None for any other field."""
    if is_interval_type(field.type):
        return str(field.type.closed)
    # If pandas was not loaded when the schema was read, pyarrow left the extension in the metadata.
    metadata = field.metadata or {}
    if metadata.get(EXTENSION_NAME) != b"pandas.interval":
        return None
    try:
        closed = json.loads(metadata[EXTENSION_METADATA])["closed"]
    except (KeyError, TypeError, ValueError):
        return None
    return closed if closed in ("left", "right", "both", "neither") else None


def _timezone_dtype(arrow_type: pa.DataType, path: str) -> Any:
    # cuDF has no zones of a fixed offset. In UTC the instants are the same, and the field that the
    # column was imported with keeps the offset for an export.
    zone = "UTC" if _FIXED_OFFSET.fullmatch(arrow_type.tz) else arrow_type.tz
    try:
        return compatible_timezone(pd.DatetimeTZDtype(arrow_type.unit, zone))
    except (NotImplementedError, TypeError, KeyError, ValueError) as error:
        raise _unsupported(path, f"{arrow_type}, a time zone that cuDF does not take") from error


def _with_children(column: plc.Column, children: list[plc.Column]) -> plc.Column:
    """Return the column with these children; itself if they are its own."""
    if all(map(is_, children, column.children())):
        return column
    return rebuild(column, lambda span: span, children)


def _unsupported(path: str, description: str) -> TypeError:
    return TypeError(
        f"column {quoted(path)}: found {description}, expected a type that a cuDF frame can hold; "
        'import with to="pylibcudf" instead'
    )
