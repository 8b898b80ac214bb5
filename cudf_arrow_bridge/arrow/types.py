# SPDX-License-Identifier: Apache-2.0
"""What becomes of each Arrow type: the core's type table, as people ask it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import pyarrow as pa

from .._core.types import import_row, rows

__all__ = ["Crossing", "How", "describe", "frame_crossing", "rows"]

How = Literal["zero-copy", "converted", "unsupported"]

_SEVERITY: tuple[How, ...] = ("zero-copy", "converted", "unsupported")

#: What a frame makes of libcudf types that cuDF has no dtype for.
_IN_FRAMES: dict[str, tuple[str, How, str]] = {
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
    how
        ``"zero-copy"``, ``"converted"`` (some buffer is rewritten) or ``"unsupported"``; of a
        nested type, the worst of all levels.
    note
        What a reader should know; may be empty.
    """

    cudf_type: str
    how: How
    note: str


def describe(arrow_type: pa.DataType) -> Crossing:
    """Say how columns of an Arrow type arrive in a cuDF frame.

    Parameters
    ----------
    arrow_type
        Any Arrow type. Of an extension type, its storage counts.
    """
    if isinstance(arrow_type, pa.BaseExtensionType):
        arrow_type = arrow_type.storage_type
    row = import_row(pa.field("", arrow_type).__arrow_c_schema__())
    how: How = row["on_import"]
    if how == "unsupported":
        return Crossing("-", how, row["note"] or f"{row['arrow']} is not supported")
    if pa.types.is_run_end_encoded(arrow_type):
        of_values = describe(arrow_type.value_type)
        if of_values.how != "unsupported":
            of_values = of_values._replace(how=how, note=row["note"])
        return of_values
    zone = arrow_type.tz if pa.types.is_timestamp(arrow_type) else None
    found = [frame_crossing(row["type_id"].name, how, row["note"], zone)]
    found.extend(describe(child) for child in _children(arrow_type))
    worst = max(found, key=lambda crossing: _SEVERITY.index(crossing.how))
    if worst.how == "unsupported":
        return worst
    return Crossing(found[0].cudf_type, worst.how, worst.note)


def frame_crossing(
    type_id: str, how: How = "zero-copy", note: str = "", zone: str | None = None
) -> Crossing:
    """Say what a cuDF frame makes of a column of libcudf's.

    Parameters
    ----------
    type_id
        Name of the column's type.
    how, note
        How the column came to be, for those that a frame takes as they are.
    zone
        Time zone of a timestamp.
    """
    if type_id in _IN_FRAMES:
        return Crossing(*_IN_FRAMES[type_id])
    return Crossing(_dtype(type_id, zone), how, note)


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
