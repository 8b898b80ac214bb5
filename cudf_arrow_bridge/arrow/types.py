# SPDX-License-Identifier: Apache-2.0
"""What each Arrow type becomes in libcudf and cuDF, by the core's type table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import pyarrow as pa

from .._core.types import import_row, rows

__all__ = ["Crossing", "Support", "describe", "frame_crossing", "rows"]

Support = Literal["zero-copy", "converted", "unsupported"]

_SEVERITY: tuple[Support, ...] = ("zero-copy", "converted", "unsupported")

#: The dtypes that cuDF uses for libcudf types without a dtype of their own.
_IN_FRAMES: dict[str, tuple[str, Support, str]] = {
    "TIMESTAMP_DAYS": ("datetime64[s]", "converted", "cuDF frames have no dates"),
    "EMPTY": ("str", "converted", "cuDF frames have no null type: strings, all missing"),
}
_DTYPES = {
    "FLOAT32": "float32",
    "FLOAT64": "float64",
    "BOOL8": "bool",
    "STRING": "str",
    "DICTIONARY32": "category",
}
_UNITS = {"SECONDS": "s", "MILLISECONDS": "ms", "MICROSECONDS": "us", "NANOSECONDS": "ns"}


class Crossing(NamedTuple):
    """How columns of one Arrow type arrive in a cuDF frame.

    Attributes
    ----------
    cudf_type
        The cuDF dtype; ``"-"`` where there is none.
    support
        ``"zero-copy"``, ``"converted"`` (some buffer is rewritten) or ``"unsupported"``; for a
        nested type, the worst of all levels.
    note
        A remark for the user; may be empty.
    """

    cudf_type: str
    support: Support
    note: str


def describe(arrow_type: pa.DataType) -> Crossing:
    """Say how columns of an Arrow type arrive in a cuDF frame.

    Parameters
    ----------
    arrow_type
        Any Arrow type. An extension type arrives as its storage type.
    """
    if isinstance(arrow_type, pa.BaseExtensionType):
        arrow_type = arrow_type.storage_type
    row = import_row(pa.field("", arrow_type).__arrow_c_schema__())
    support: Support = row["on_import"]
    if support == "unsupported":
        return Crossing("-", support, row["note"] or f"{row['arrow']} is not supported")
    if pa.types.is_run_end_encoded(arrow_type):
        of_values = describe(arrow_type.value_type)
        if of_values.support != "unsupported":
            of_values = of_values._replace(support=support, note=row["note"])
        return of_values
    zone = arrow_type.tz if pa.types.is_timestamp(arrow_type) else None
    crossings = [frame_crossing(row["type_id"].name, support, row["note"], zone)]
    crossings.extend(describe(child) for child in _children(arrow_type))
    worst = max(crossings, key=lambda crossing: _SEVERITY.index(crossing.support))
    if worst.support == "unsupported":
        return worst
    return Crossing(crossings[0].cudf_type, worst.support, worst.note)


def frame_crossing(
    type_id: str, support: Support = "zero-copy", note: str = "", zone: str | None = None
) -> Crossing:
    """Say how a libcudf column becomes a column of a cuDF frame.

    Parameters
    ----------
    type_id
        The name of the column's type.
    support, note
        Of the import of the column; returned for types that cuDF has a dtype for.
    zone
        The time zone of a timestamp.
    """
    if type_id in _IN_FRAMES:
        return Crossing(*_IN_FRAMES[type_id])
    return Crossing(_dtype(type_id, zone), support, note)


def _children(arrow_type: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_dictionary(arrow_type):
        yield arrow_type.value_type
        return
    for i in range(arrow_type.num_fields):
        yield arrow_type.field(i).type


def _dtype(type_id: str, zone: str | None) -> str:
    kind, _, unit = type_id.partition("_")
    if kind == "TIMESTAMP":
        return f"datetime64[{_UNITS[unit]}{'' if zone is None else f', {zone}'}]"
    if kind == "DURATION":
        return f"timedelta64[{_UNITS[unit]}]"
    return _DTYPES.get(type_id, type_id.lower())
