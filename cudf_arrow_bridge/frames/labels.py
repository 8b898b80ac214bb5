# SPDX-License-Identifier: Apache-2.0
"""Lossless JSON encoding of the labels of columns and index levels, without pickle.

A label is any hashable object. Strings, numbers, times, tuples, bytes and other common types have a
typed JSON form. Other labels are stored outside the metadata, in a list ``objects`` that stays in
this process. Other processes decode such labels as their ``str()``.

The labels of all columns, a pandas Index, are encoded in two parts: the properties of the Index,
and one entry for each column. A peer can drop or reorder columns and keep the remaining labels.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import zoneinfo
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import real_pandas as pd
from .proxies import unwrapped

Json = Any
# The encoding of datetime.UTC, which differs from ZoneInfo("UTC").
_UTC = "+00:00"


@dataclass
class RowIndex:
    """The row index of a frame or series.

    Attributes
    ----------
    names
        The names of the levels.
    range
        The range of a RangeIndex. None for other indexes.
    levels
        The positions of the fields of the levels. Empty for a RangeIndex.
    """

    names: list[Hashable]
    range: range | None = None
    levels: list[int] = field(default_factory=list)


def column_positions(row_index: RowIndex | None, num_fields: int) -> list[int]:
    """Return the positions of the fields that are columns, not levels of the row index."""
    levels = set() if row_index is None else set(row_index.levels)
    return [position for position in range(num_fields) if position not in levels]


def encode_label(label: Hashable, objects: list[Any]) -> Json:
    """Return the JSON form of a label.

    Strings, bools, ints and None are encoded unchanged. Other labels become an object with one
    entry, whose key names the type. A label without a JSON form is appended to ``objects``.
    """
    # Exact types only: an instance of a subclass such as IntEnum would decode as the base class.
    if label is None or type(label) in (str, bool, int):
        return label
    if type(label) is tuple:
        return {"tuple": [encode_label(part, objects) for part in label]}
    label = unwrapped(label)
    if type(label) in _FORMS:
        key, encode, _ = _FORMS[type(label)]
        value = encode(label)
        if value is not None:
            return {key: value}
    objects.append(label)
    return {"object": [len(objects) - 1, str(label)]}


def decode_label(form: Json, objects: Sequence[Any] = ()) -> Hashable:
    """Return the label of a JSON form, or raise any exception if it is not a form of a label.

    A label without a JSON form that is not in `objects` is decoded as its string.
    """
    if form is None or isinstance(form, (str, bool, int)):
        return form
    ((key, value),) = form.items()
    if key == "tuple":
        return tuple(decode_label(part, objects) for part in value)
    if key == "object":
        position, text = value
        return objects[position] if position < len(objects) else str(text)
    return _DECODERS[key](value)


def _encode_timestamp(label: pd.Timestamp) -> Json:
    zone = _UTC if label.tz is datetime.UTC else None
    if type(label.tz) is zoneinfo.ZoneInfo:
        zone = label.tz.key
    # Fixed offsets and zones of other libraries have no JSON form.
    if label.fold or (zone is None and label.tz is not None):
        return None
    return [label.asm8.view("i8").item(), label.unit, zone]


def _decode_timestamp(form: Json) -> pd.Timestamp:
    value, unit, zone = form
    stamp = pd.Timestamp(np.datetime64(value, unit)).as_unit(unit)
    if zone is None:
        return stamp
    tz = datetime.UTC if zone == _UTC else zoneinfo.ZoneInfo(zone)
    return stamp.tz_localize(datetime.UTC).tz_convert(tz)


def _encode_clock(label: datetime.datetime | datetime.time) -> Json:
    return label.isoformat() if label.tzinfo is None and not label.fold else None


def _encode_numpy(label: np.generic) -> Json:
    return [label.dtype.str, base64.b64encode(label.tobytes()).decode()]


def _decode_numpy(form: Json) -> np.generic:
    name, data = form
    dtype = np.dtype(name)
    if dtype.kind not in "biufcmM":
        raise ValueError(f"not the dtype of a label: {name}")
    value: np.generic = np.frombuffer(base64.b64decode(data), dtype, count=1)[0]
    return value


def _encode_interval(label: pd.Interval) -> Json:
    objects: list[Any] = []
    form = [encode_label(label.left, objects), encode_label(label.right, objects), label.closed]
    return None if objects else form


def _decode_interval(form: Json) -> pd.Interval:
    left, right, closed = form
    return pd.Interval(decode_label(left), decode_label(right), closed)


_decode_missing = {"NaT": pd.NaT, "NA": pd.NA}.__getitem__
#: For each type of label, the key in its JSON form, and the functions that encode and decode the
#: value. A label whose value is None has no JSON form.
_FORMS: dict[type, tuple[str, Callable[[Any], Json], Callable[[Json], Hashable]]] = {
    float: ("float", float.hex, float.fromhex),
    complex: ("complex", repr, complex),
    bytes: ("bytes", lambda label: base64.b64encode(label).decode(), base64.b64decode),
    decimal.Decimal: ("decimal", str, decimal.Decimal),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.datetime: ("datetime", _encode_clock, datetime.datetime.fromisoformat),
    datetime.time: ("time", _encode_clock, datetime.time.fromisoformat),
    datetime.timedelta: (
        "microseconds",
        lambda label: label // datetime.timedelta.resolution,
        lambda form: form * datetime.timedelta.resolution,
    ),
    pd.Timestamp: ("timestamp", _encode_timestamp, _decode_timestamp),
    pd.Timedelta: (
        "timedelta",
        lambda label: [label.asm8.view("i8").item(), label.unit],
        lambda form: pd.Timedelta(np.timedelta64(form[0], form[1])),
    ),
    pd.Period: (
        "period",
        lambda label: [label.ordinal, label.freqstr],
        lambda form: pd.Period(ordinal=form[0], freq=form[1]),
    ),
    pd.Interval: ("interval", _encode_interval, _decode_interval),
    type(pd.NaT): ("missing", lambda label: "NaT", _decode_missing),
    type(pd.NA): ("missing", lambda label: "NA", _decode_missing),
    **{
        scalar: ("numpy", _encode_numpy, _decode_numpy)
        for scalar in (*np.sctypeDict.values(), np.datetime64, np.timedelta64)
        if np.dtype(scalar).kind in "biufcmM"
    },
}
_DECODERS = {key: decode for key, _, decode in _FORMS.values()}


def decode_range(start: Json, stop: Json, step: Json) -> range:
    """Return the range of a RangeIndex, or raise ValueError if it cannot be one."""
    for number in (start, stop, step):
        if type(number) is not int or abs(number) >= 1 << 62:
            raise ValueError(f"not a number in the range of an index: {number!r}")
    return range(start, stop, step)


def stringify(label: Hashable) -> str:
    """Return a label as pyarrow's string for it, in valid UTF-8 without NUL."""
    if isinstance(label, bytes):
        text = label.decode("utf-8", "backslashreplace")
    elif isinstance(label, tuple):
        text = str(tuple(stringify(part) for part in label))
    else:
        text = str(label)
    # Names in the C data interface are NUL-terminated.
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def index_level_name(name: Hashable, position: int, taken: Sequence[str]) -> str:
    """Return a field name for an index level that is not taken, with pyarrow's naming scheme."""
    if name is not None and stringify(name) not in taken:
        return stringify(name)
    while (generated := f"__index_level_{position}__") in taken:
        position += 1
    return generated


def encode_index(index: pd.Index, objects: list[Any]) -> tuple[dict[str, Json], list[Json]]:
    """Return the properties of the Index of column labels, and an entry for each label.

    The entry is the label, or for a MultiIndex its code in each level (-1: missing). The properties
    of a MultiIndex are its encoded levels. Labels without a JSON form are appended to `objects`.
    """
    if isinstance(index, pd.MultiIndex):
        levels = [encode_index(level, objects) for level in index.levels]
        codes = np.array(index.codes, dtype=np.int64).reshape(index.nlevels, len(index))
        return {"levels": levels}, codes.T.tolist()
    name = encode_label(index.name, objects)
    if isinstance(index, pd.RangeIndex):
        return {"name": name, "range": index.step}, list(index)
    entries = [encode_label(label, objects) for label in index]
    return {"name": name, "dtype": _encode_dtype(index.dtype, objects)}, entries


def decode_index(
    common: dict[str, Json], entries: Sequence[Json], objects: Sequence[Any] = ()
) -> pd.Index:
    """Return the Index that `encode_index` encoded, with only the labels of the given entries."""
    if "levels" in common:
        levels = [decode_index(one, labels, objects) for one, labels in common["levels"]]
        codes = [[entry[level] for entry in entries] for level in range(len(levels))]
        return pd.MultiIndex(levels=levels, codes=codes, names=[level.name for level in levels])
    name = decode_label(common["name"], objects)
    if "range" in common:
        step = common["range"]
        start = entries[0] if entries else 0
        range_index = pd.RangeIndex(start, start + step * len(entries), step, name=name)
        if list(range_index) == list(entries):
            return range_index
        return pd.Index(list(entries), dtype="int64", name=name)
    labels = [decode_label(entry, objects) for entry in entries]
    index = pd.Index(labels, dtype=object, name=name, tupleize_cols=False)
    return index.astype(_decode_dtype(common["dtype"], objects))


def _encode_dtype(dtype: Any, objects: list[Any]) -> Json:
    if isinstance(dtype, pd.StringDtype):
        return encode_string_dtype(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        common, entries = encode_index(dtype.categories, objects)
        return {"categories": [common, entries], "ordered": bool(dtype.ordered)}
    try:
        is_exact = pd.pandas_dtype(str(dtype)) == dtype
    except (TypeError, NotImplementedError):
        is_exact = False
    return str(dtype) if is_exact else "object"


def _decode_dtype(form: Json, objects: Sequence[Any]) -> Any:
    if isinstance(form, str):
        return pd.pandas_dtype(form)
    if "string" in form:
        return decode_string_dtype(form)
    common, entries = form["categories"]
    return pd.CategoricalDtype(decode_index(common, entries, objects), ordered=form["ordered"])


def encode_string_dtype(dtype: pd.StringDtype) -> Json:
    """Return the JSON form of a string dtype."""
    return {"string": [dtype.storage, "NA" if dtype.na_value is pd.NA else "nan"]}


def decode_string_dtype(form: Json) -> pd.StringDtype:
    """Return the string dtype of a JSON form."""
    storage, missing = form["string"]
    return pd.StringDtype(storage, na_value=pd.NA if missing == "NA" else np.nan)
