# SPDX-License-Identifier: Apache-2.0
"""Conversion of imported pylibcudf columns to cuDF columns.

cuDF has fewer types than Arrow. For example, a date becomes a timestamp, and a map becomes a list
of structs. The Arrow field of a column is attached to its memory at each level of nesting, and a
later export uses it again. Slices, other frames and casts that share the memory keep the field.
Results that cuDF computes have new memory without a field, and are exported with the type of their
cuDF dtype.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import cudf
import numpy as np
import pyarrow as pa
import pylibcudf as plc

from .._core.import_.imported_fields import arrow_children
from ..arrow.errors import CopyRefusedError, quoted
from ..arrow.metadata import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    child_fields,
    own_metadata,
    storage_type_of,
)
from ..arrow.text import printable
from ..arrow.types import (
    CODES_WIDTH,
    NO_DATES,
    NO_DECIMAL_CATEGORIES,
    NO_NESTED_CATEGORIES,
    NO_NULL_TYPE,
    REPEATED_CATEGORIES,
    FrameTypeError,
)
from . import convert
from . import real_pandas as pd
from .concatenate import distinct_values
from .cudf_private import (
    DEFAULT_STRING_DTYPE,
    ColumnBase,
    attach_to_column,
    attach_to_memory,
    categorical_dtype,
    codes_dtype,
    compatible_timezone,
    dtype_from_pylibcudf_column,
    make_column,
    make_known_column,
)
from .dtypes import with_hint
from .labels import Json

#: The dtype of columns of Arrow's null type, as in cuDF for nested columns.
_NULLS = np.dtype(object)
#: Errors of a hint that is not compatible with its column, or that cuDF does not support.
_BAD_HINT = (AttributeError, LookupError, NotImplementedError, OSError, TypeError, ValueError)
_DECIMALS = (plc.TypeId.DECIMAL32, plc.TypeId.DECIMAL64, plc.TypeId.DECIMAL128)
_NESTED = (plc.TypeId.LIST, plc.TypeId.STRUCT, plc.TypeId.DICTIONARY32)
#: Arrow time zones with a fixed offset (Schema.fbs, Timestamp).
_FIXED_OFFSET = re.compile(r"[+-]\d\d:\d\d")
_DAYS = {
    plc.TypeId.TIMESTAMP_DAYS: plc.DataType(plc.TypeId.TIMESTAMP_SECONDS),
    plc.TypeId.DURATION_DAYS: plc.DataType(plc.TypeId.DURATION_SECONDS),
}
#: The types that are not nested and that cuDF supports.
_CUDF_TYPES = {
    pa.type_for_alias(alias).id
    for alias in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float", "double", "string", "large_string", "timestamp[s]", "duration[s]"),
    )
}


@dataclass(slots=True)
class _Level:
    """The Arrow field of one level of a column, its path for errors, and the options.

    Conversions run on `stream`. Only a column of a frame, the top level, has a dtype hint.
    """

    field: pa.Field
    stream: Any
    path: str
    may_copy: bool
    hint: Json = None
    is_top: bool = False

    @property
    def arrow_type(self) -> pa.DataType:
        return storage_type_of(self.field.type)

    def child(self, field: pa.Field, name: str) -> _Level:
        return _Level(field, self.stream, f"{self.path}{name}", self.may_copy)

    def need_copy(self, reason: str) -> None:
        """Raise `CopyRefusedError` if conversions are not allowed."""
        if not self.may_copy:
            raise CopyRefusedError(self.path, reason)


class ColumnConverter:
    """Converts imported columns of one field to cuDF columns. Thread-safe.

    The columns are shared unless cuDF does not support them. Days are converted to seconds, codes
    are cast to the width that cuDF uses, and a null array becomes a string column. Repeated values
    of a dictionary become one category. Dictionaries are decoded in lists and structs, and if their
    values are lists, structs, decimals or include a null.

    The field is attached to each column, so that an export writes the same field again.

    Parameters
    ----------
    field
        The field of the columns. Paths in errors start with its name.
    hint
        The dtype hint. It is ignored if it is not compatible with the field.
    """

    def __init__(self, field: pa.Field, hint: Json) -> None:
        self._field = _zoned(field, hint)
        self._hint = hint
        self._is_default = _is_default(self._field)
        #: The class and dtype of columns that need no conversion. Set after the first of them.
        self._known: tuple[type[ColumnBase], Any] | None = None

    def __call__(self, column: plc.Column, stream: Any, may_copy: bool = True) -> ColumnBase:
        """Return an imported column as a cuDF column; convert it on `stream` if necessary.

        Raises
        ------
        CopyRefusedError
            If the column needs a conversion and `may_copy` is False.
        TypeError
            If cuDF does not support the type of the column.
        """
        if self._known is not None:
            result = make_known_column(column, *self._known)
        else:
            field = self._field
            level = _Level(field, stream, field.name, may_copy, self._hint, is_top=True)
            converted, dtype = _convert(column, level)
            # cuDF uses the default string dtype for pa.nulls(), but object for nested null arrays.
            default = DEFAULT_STRING_DTYPE if dtype is _NULLS else dtype
            result = _make_hinted(converted, dtype, self._hint, default)
            if converted is column:
                # The dtype depends on the values only if the column was converted. All columns of
                # the field that need no conversion have this class and dtype.
                self._known = type(result), result.dtype
        if not self._is_default:
            _attach_field(result, self._field)
        return result


def _zoned(field: pa.Field, hint: Json) -> pa.Field:
    """Return a field of timestamps with the time zone of a hint, if there is one."""
    match hint:
        case {"timezone": str(zone)} if pa.types.is_timestamp(field.type):
            zoned = field.with_type(pa.timestamp(field.type.unit, zone))
            with suppress(FrameTypeError):
                timezone_dtype(zoned.type)
                return zoned
    return field


def _make_hinted(column: plc.Column, dtype: Any, hint: Json, default: Any) -> ColumnBase:
    """Wrap a column with the hinted dtype if possible, otherwise with a default dtype."""
    if hint is not None:
        try:
            return make_column(column, with_hint(dtype, hint))
        except _BAD_HINT:
            pass
    return make_column(column, default)


def _convert(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    """Return the column as cuDF stores it, and its dtype without the hint."""
    type_id = column.type().id()
    arrow_type = level.arrow_type
    if type_id == plc.TypeId.DICTIONARY32:
        return _convert_dictionary(column, level)
    if type_id == plc.TypeId.LIST:
        return _convert_list(column, level)
    if type_id == plc.TypeId.STRUCT:
        return _convert_struct(column, level)
    if type_id == plc.TypeId.EMPTY:
        if column.size():
            level.need_copy(NO_NULL_TYPE)
        return convert.all_null_strings(column.size(), level.stream), _NULLS
    if type_id in _DAYS:
        if column.size():
            level.need_copy(NO_DATES)
        column = convert.cast(column, _DAYS[type_id], level.stream)
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        return column, timezone_dtype(arrow_type, level.path)
    if pa.types.is_decimal(arrow_type) and abs(arrow_type.scale) > arrow_type.precision:
        raise _unsupported(level.path, f"{arrow_type}, whose scale is larger than its precision")
    dtype = dtype_from_pylibcudf_column(column)
    if pa.types.is_decimal(arrow_type):
        dtype = type(dtype)(arrow_type.precision, dtype.scale)
    return column, dtype


def _convert_dictionary(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    _, values = column.children()
    codes = convert.codes_of(column)
    value_field = pa.field("", level.arrow_type.value_type)
    (decoded_field,) = child_fields(level.arrow_type)
    value_level = level.child(decoded_field, "")
    is_decimal = values.type().id() in _DECIMALS
    # cuDF has no index of decimals, lists or structs, and therefore no categories.
    hint = level.hint.get("category") if isinstance(level.hint, dict) else None
    is_interval = bool(_closed(decoded_field)) or (isinstance(hint, dict) and "interval" in hint)
    can_be_categories = not is_decimal and (is_interval or values.type().id() not in _NESTED)
    if level.is_top and can_be_categories and values.null_count() == 0:
        values, dtype = _convert(values, value_level)
        if (distinct := distinct_values(values, level.stream)) is not None:
            level.need_copy(REPEATED_CATEGORIES)
            convert.check_codes(column, level.path, level.stream)
            values, new_codes = distinct
            codes = convert.decode(codes, new_codes, level.stream)
        categories = _make_hinted(values, dtype, hint, dtype)
        if not _is_default(value_field):
            _attach_field(categories, value_field)
        dtype = categorical_dtype(categories, level.arrow_type.ordered)
        stored = codes_dtype(dtype)
        if (
            distinct is None
            and column.size()
            and stored.itemsize != plc.types.size_of(codes.type())
        ):
            level.need_copy(CODES_WIDTH)
            convert.check_codes(column, level.path, level.stream)
        return convert.cast_codes(codes, stored, level.stream), dtype
    if column.size():
        level.need_copy(NO_DECIMAL_CATEGORIES if is_decimal else NO_NESTED_CATEGORIES)
        convert.check_codes(column, level.path, level.stream)
    values, dtype = _convert(values, replace(value_level, is_top=level.is_top))
    return convert.decode(codes, values, level.stream), dtype


def _convert_list(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    # libcudf stores a binary type, which has no child fields, as a list of bytes.
    (field,) = child_fields(level.arrow_type) or [pa.field("item", pa.uint8())]
    offsets, values = column.children()
    values, dtype = _convert(values, level.child(field, "[]"))
    return convert.with_children(column, [offsets, values]), cudf.ListDtype(dtype)


def _convert_struct(column: plc.Column, level: _Level) -> tuple[plc.Column, Any]:
    fields = list(level.arrow_type)
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise _unsupported(level.path, f"a struct with two fields named {duplicate!r}")
    converted = [
        _convert(child, level.child(field, f".{field.name}"))
        for child, field in zip(column.children(), fields, strict=True)
    ]
    column = convert.with_children(column, [child for child, _ in converted])
    dtypes = [dtype for _, dtype in converted]
    if names == ["left", "right"] and dtypes[0] == dtypes[1] and (closed := _closed(level.field)):
        return column, cudf.IntervalDtype(dtypes[0], closed)
    return column, cudf.StructDtype(dict(zip(names, dtypes, strict=True)))


def _closed(field: pa.Field) -> str | None:
    """Return the closed side of an interval field, or None for other fields."""
    # If pandas was not imported when the schema was read, the extension is only in the metadata.
    metadata = own_metadata(field)
    if metadata.get(EXTENSION_NAME) != b"pandas.interval":
        return None
    try:
        closed = json.loads(metadata[EXTENSION_METADATA])["closed"]
    except (KeyError, TypeError, ValueError):
        return None
    return closed if closed in ("left", "right", "both", "neither") else None


def timezone_dtype(arrow_type: pa.DataType, path: str = "") -> Any:
    """Return the dtype of imported timestamps with a time zone; `path` is for the error."""
    # cuDF does not support zones with a fixed offset. UTC represents the same instants, and the
    # attached field keeps the offset for an export.
    zone = "UTC" if _FIXED_OFFSET.fullmatch(arrow_type.tz) else arrow_type.tz
    try:
        return compatible_timezone(pd.DatetimeTZDtype(arrow_type.unit, zone))
    except (NotImplementedError, TypeError, KeyError, ValueError) as error:
        raise _unsupported(path, f"the time zone of {arrow_type}") from error


def _unsupported(path: str, description: str) -> FrameTypeError:
    return FrameTypeError(
        f"column {quoted(path)}: cuDF frames do not support {printable(description)}: "
        'import with to="pylibcudf" instead'
    )


def _attach_field(column: ColumnBase, field: pa.Field) -> None:
    """Attach an imported field to its column, as cuDF stores it, and the children of the column."""
    attach_to_column(column, field)
    _attach_to_levels(column.plc_column, field)


def _is_default(field: pa.Field) -> bool:
    """Return whether a cuDF column without an attached field is exported with this field."""
    return (
        field.type.id in _CUDF_TYPES
        and field.nullable
        and field.metadata is None
        and not getattr(field.type, "tz", None)
    )


def _attach_to_levels(column: plc.Column, field: pa.Field) -> None:
    attach_to_memory(column, field)
    if pa.types.is_dictionary(storage_type_of(field.type)):
        # The column holds decoded values, or codes without the categories, which cuDF stores apart.
        (field,) = child_fields(field.type)
    for child, child_field in zip(arrow_children(column), child_fields(field.type), strict=False):
        _attach_to_levels(child, child_field)
