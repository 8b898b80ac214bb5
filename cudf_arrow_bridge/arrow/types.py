# SPDX-License-Identifier: Apache-2.0
"""The libcudf and cuDF type of each Arrow type, from the type table of the core."""

from __future__ import annotations

from typing import Literal, NamedTuple

import pyarrow as pa

from .._core.schema import import_row
from .dictionaries import is_interval
from .metadata import without_extension

Support = Literal["zero-copy", "depends", "converted", "unsupported"]

_SEVERITY: tuple[Support, ...] = ("zero-copy", "depends", "converted", "unsupported")

#: The reason why frames convert date columns, which libcudf supports.
NO_DATES = "cuDF frames have no dates"
NO_NULL_TYPE = "cuDF frames have no null type: strings, all missing"
CODES_WIDTH = "cuDF keeps the codes of a category in the smallest type that fits"
NO_NESTED_CATEGORIES = "cuDF has no categories of nested values or in nested columns: decoded"
DUPLICATE_NAMES = "cuDF frames have no structs with two fields of one name"
REPEATED_CATEGORIES = "cuDF has no repeated categories: repeated values are one category"
NO_DECIMAL_CATEGORIES = "cuDF has no categories of decimals: decoded"


class FrameTypeError(TypeError):
    """A column has a type that libcudf supports and cuDF frames do not."""


#: The dtypes that cuDF uses for libcudf types without their own dtype.
_IN_FRAMES: dict[str, tuple[str, Support, str]] = {
    "TIMESTAMP_DAYS": ("datetime64[s]", "converted", NO_DATES),
    "EMPTY": ("str", "converted", NO_NULL_TYPE),
    "DICTIONARY32": ("category", "depends", CODES_WIDTH),
}
_DTYPES = {"BOOL8": "bool", "STRING": "str"}
_UNITS = {"SECONDS": "s", "MILLISECONDS": "ms", "MICROSECONDS": "us", "NANOSECONDS": "ns"}


class FrameSupport(NamedTuple):
    """The support for import and export of one Arrow type in cuDF frames.

    Attributes
    ----------
    cudf_type
        The cuDF dtype; ``"-"`` if there is none.
    support
        ``"zero-copy"``, ``"depends"`` (on the values, see `note`), ``"converted"`` or
        ``"unsupported"``. For a nested type, the worst of all levels.
    note
        The reason, or a remark for the user; may be empty.
    """

    cudf_type: str
    support: Support
    note: str


def support_of(arrow_type: pa.DataType) -> FrameSupport:
    """Return the support for an Arrow type in cuDF frames."""
    return _support_of(arrow_type, is_top=True)


def _support_of(arrow_type: pa.DataType, *, is_top: bool) -> FrameSupport:
    row = import_row(pa.field("", arrow_type).__arrow_c_schema__())
    support: Support = "depends" if row["arrow"] == "bool8" else row["on_import"]
    arrow_type = without_extension(arrow_type)
    if support == "unsupported":
        return FrameSupport("-", support, row["note"] or f"{row['arrow']} is not supported")
    if pa.types.is_run_end_encoded(arrow_type):
        of_values = _support_of(arrow_type.value_type, is_top=is_top)
        if of_values.support != "unsupported":
            of_values = of_values._replace(support=support, note=row["note"])
        return of_values
    if pa.types.is_dictionary(arrow_type):
        return _support_of_dictionary(arrow_type, is_top=is_top)
    if pa.types.is_struct(arrow_type) and len(set(arrow_type.names)) < arrow_type.num_fields:
        return FrameSupport("-", "unsupported", DUPLICATE_NAMES)
    zone = arrow_type.tz if pa.types.is_timestamp(arrow_type) else None
    levels = [frame_support(row["type_id"].name, support, row["note"], zone)]
    levels.extend(
        _support_of(arrow_type.field(i).type, is_top=False) for i in range(arrow_type.num_fields)
    )
    worst = max(levels, key=lambda level: _SEVERITY.index(level.support))
    if worst.support == "unsupported":
        return worst
    return FrameSupport(levels[0].cudf_type, worst.support, worst.note)


def _support_of_dictionary(arrow_type: pa.DictionaryType, *, is_top: bool) -> FrameSupport:
    values = _support_of(arrow_type.value_type, is_top=False)
    if values.support == "unsupported":
        return values
    value_row = import_row(pa.field("", arrow_type.value_type).__arrow_c_schema__())
    if pa.types.is_decimal(arrow_type.value_type):
        return FrameSupport(values.cudf_type, "converted", NO_DECIMAL_CATEGORIES)
    is_nested = value_row["type_id"].name in ("LIST", "STRUCT", "DICTIONARY32")
    if not is_top or (is_nested and not is_interval(arrow_type.value_type)):
        return FrameSupport(values.cudf_type, "converted", NO_NESTED_CATEGORIES)
    # cuDF's codes are unsigned, have 8 bits for up to 256 values, and never 64 bits.
    width = arrow_type.index_type.bit_width
    support: Support = "converted" if width == 64 else "depends"
    codes = frame_support("DICTIONARY32")._replace(support=support)
    if pa.types.is_int8(arrow_type.index_type):
        codes = codes._replace(note=REPEATED_CATEGORIES)
    worst = max(codes, values, key=lambda level: _SEVERITY.index(level.support))
    return FrameSupport(codes.cudf_type, worst.support, worst.note)


def frame_support(
    type_id: str, support: Support = "zero-copy", note: str = "", zone: str | None = None
) -> FrameSupport:
    """Return the support for a libcudf column in cuDF frames.

    `support` and `note` are those of the import of the column. They are returned for types that
    have a cuDF dtype.
    """
    if type_id in _IN_FRAMES:
        return FrameSupport(*_IN_FRAMES[type_id])
    return FrameSupport(_dtype(type_id, zone), support, note)


def _dtype(type_id: str, zone: str | None) -> str:
    kind, _, unit = type_id.partition("_")
    if kind == "TIMESTAMP":
        return f"datetime64[{_UNITS[unit]}{'' if zone is None else f', {zone}'}]"
    if kind == "DURATION":
        return f"timedelta64[{_UNITS[unit]}]"
    return _DTYPES.get(type_id, type_id.lower())
