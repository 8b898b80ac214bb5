# SPDX-License-Identifier: Apache-2.0
"""Labels of columns and index levels as JSON, exactly and without pickle.

A label is any hashable. The ones people use (strings, numbers, times, tuples, bytes, ...) have a
typed JSON form. What has none travels beside the metadata, in ``objects``, as long as it stays in
this process; a peer sees its ``str()``.

The labels of columns, a pandas Index, are described in two parts, so that a peer may drop or
reorder columns without spoiling the rest: what concerns the whole Index on one side, one entry for
each column on the other.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import zoneinfo
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "Json",
    "decode_index",
    "decode_label",
    "decode_range",
    "decode_string_dtype",
    "encode_index",
    "encode_label",
    "encode_string_dtype",
    "index_level_name",
    "stringify",
]

Json = Any
# Python's own UTC, which is not the zone of that name.
_UTC = "+00:00"


def encode_label(label: Hashable, objects: list[Any]) -> Json:
    """Return a label's JSON form.

    Strings, bools, ints and None stand for themselves; anything else is a one-entry object whose
    key names the type. A label with no JSON form is appended to ``objects``.
    """
    # Exact types only: a subclass (an IntEnum, say) is not what its base class would decode to.
    if label is None or type(label) in (str, bool, int):
        return label
    if type(label) is tuple:
        return {"tuple": [encode_label(part, objects) for part in label]}
    encode = _ENCODERS.get(type(label))
    if encode is not None:
        kind, value = encode(label)
        if value is not None:
            return {kind: value}
    objects.append(label)
    return {"object": [len(objects) - 1, str(label)]}


def decode_label(form: Json, objects: Sequence[Any] = ()) -> Hashable:
    """Return the label of a JSON form.

    Parameters
    ----------
    form
        What :func:`encode_label` returned, after a trip through JSON.
    objects
        The labels that have no JSON form. Without them the label is its string.

    Raises
    ------
    ValueError
        If the form is not one that :func:`encode_label` makes.
    """
    if form is None or isinstance(form, (str, bool, int)):
        return form
    if not isinstance(form, dict) or len(form) != 1:
        raise ValueError(f"not a label: {form!r}")
    ((kind, value),) = form.items()
    if kind == "tuple":
        return tuple(decode_label(part, objects) for part in value)
    if kind == "object":
        position, text = value
        return objects[position] if position < len(objects) else str(text)
    if kind not in _DECODERS:
        raise ValueError(f"not a kind of label: {kind!r}")
    try:
        return _DECODERS[kind](value)
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        raise ValueError(f"not a label: {form!r}") from error


def _encode_timestamp(label: pd.Timestamp) -> tuple[str, Json]:
    zone: str | None
    if label.tz is None or label.tz is datetime.UTC:
        zone = None if label.tz is None else _UTC
    else:
        # An offset of one's own, or a zone of another library, has no JSON form.
        zone = getattr(label.tz, "key", None) if type(label.tz) is zoneinfo.ZoneInfo else None
        if zone is None:
            return "timestamp", None
    if label.fold:
        return "timestamp", None
    return "timestamp", [label.asm8.view("i8").item(), label.unit, zone]


def _decode_timestamp(form: Json) -> pd.Timestamp:
    value, unit, zone = form
    stamp = pd.Timestamp(np.datetime64(value, unit)).as_unit(unit)
    if zone is None:
        return stamp
    tz = datetime.UTC if zone == _UTC else zoneinfo.ZoneInfo(zone)
    return stamp.tz_localize(datetime.UTC).tz_convert(tz)


def _encode_datetime(label: datetime.datetime) -> tuple[str, Json]:
    return "datetime", label.isoformat() if label.tzinfo is None and not label.fold else None


def _encode_time(label: datetime.time) -> tuple[str, Json]:
    return "time", label.isoformat() if label.tzinfo is None and not label.fold else None


def _encode_numpy(label: np.generic) -> tuple[str, Json]:
    return "numpy", [label.dtype.str, base64.b64encode(label.tobytes()).decode()]


def _decode_numpy(form: Json) -> np.generic:
    name, data = form
    dtype = np.dtype(name)
    if dtype.kind not in "biufcmM":
        raise ValueError(f"not the dtype of a label: {name}")
    value: np.generic = np.frombuffer(base64.b64decode(data), dtype, count=1)[0]
    return value


def _encode_interval(label: pd.Interval) -> tuple[str, Json]:
    objects: list[Any] = []
    form = [encode_label(label.left, objects), encode_label(label.right, objects), label.closed]
    return "interval", None if objects else form


def _decode_interval(form: Json) -> pd.Interval:
    left, right, closed = form
    return pd.Interval(decode_label(left), decode_label(right), closed)


_ENCODERS: dict[type, Callable[[Any], tuple[str, Json]]] = {
    float: lambda label: ("float", label.hex()),
    complex: lambda label: ("complex", [label.real.hex(), label.imag.hex()]),
    bytes: lambda label: ("bytes", base64.b64encode(label).decode()),
    decimal.Decimal: lambda label: ("decimal", str(label)),
    datetime.date: lambda label: ("date", label.isoformat()),
    datetime.datetime: _encode_datetime,
    datetime.time: _encode_time,
    datetime.timedelta: lambda label: (
        "seconds",
        [label.days, label.seconds, label.microseconds],
    ),
    pd.Timestamp: _encode_timestamp,
    pd.Timedelta: lambda label: ("timedelta", [label.asm8.view("i8").item(), label.unit]),
    pd.Period: lambda label: ("period", [label.ordinal, label.freqstr]),
    pd.Interval: _encode_interval,
    type(pd.NaT): lambda label: ("missing", "NaT"),
    type(pd.NA): lambda label: ("missing", "NA"),
    **{
        scalar: _encode_numpy
        for scalar in (*np.sctypeDict.values(), np.datetime64, np.timedelta64)
        if np.dtype(scalar).kind in "biufcmM"
    },
}

_DECODERS: dict[str, Callable[[Json], Hashable]] = {
    "float": float.fromhex,
    "complex": lambda form: complex(float.fromhex(form[0]), float.fromhex(form[1])),
    "bytes": base64.b64decode,
    "decimal": decimal.Decimal,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "seconds": lambda form: datetime.timedelta(form[0], form[1], form[2]),
    "timestamp": _decode_timestamp,
    "timedelta": lambda form: pd.Timedelta(np.timedelta64(form[0], form[1])),
    "period": lambda form: pd.Period(ordinal=form[0], freq=form[1]),
    "interval": _decode_interval,
    "missing": {"NaT": pd.NaT, "NA": pd.NA}.__getitem__,
    "numpy": _decode_numpy,
}


def decode_range(start: Json, stop: Json, step: Json) -> range:
    """Return the range of a RangeIndex.

    Raises
    ------
    ValueError
        If that is no range, or one longer than any index.
    """
    if not all(type(number) is int for number in (start, stop, step)):
        raise ValueError(f"not a range: {[start, stop, step]}")
    found = range(start, stop, step)
    if any(abs(number) >= 1 << 62 for number in (start, stop, step)):
        raise ValueError(f"not the range of an index: {found}")
    return found


def stringify(label: Hashable) -> str:
    """Return a label as the string that pyarrow would write, in valid UTF-8 without NUL."""
    if isinstance(label, bytes):
        text = label.decode("utf-8", "backslashreplace")
    elif isinstance(label, tuple):
        text = str(tuple(stringify(part) for part in label))
    else:
        text = str(label)
    # The C data interface ends a name at its first NUL.
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def index_level_name(name: Hashable, position: int, taken: Sequence[str]) -> str:
    """Return the Arrow field name of an index level, as pyarrow chooses it.

    Parameters
    ----------
    name
        The level's name, possibly None.
    position
        The level's number.
    taken
        The field names that are in use already.
    """
    if name is not None and stringify(name) not in taken:
        return stringify(name)
    while (generated := f"__index_level_{position}__") in taken:
        position += 1
    return generated


def encode_index(index: pd.Index, objects: list[Any]) -> tuple[dict[str, Json], list[Json]]:
    """Describe the labels of columns.

    Returns
    -------
    tuple
        What concerns all of them, and an entry for each: its label, or for a MultiIndex its
        position in each level (-1: missing).
    """
    names = [encode_label(name, objects) for name in index.names]
    if isinstance(index, pd.MultiIndex):
        levels = [
            {
                "dtype": _encode_dtype(level.dtype, objects),
                "labels": [encode_label(label, objects) for label in level],
            }
            for level in index.levels
        ]
        codes = np.array(index.codes, dtype=np.int64).reshape(index.nlevels, len(index))
        return {"names": names, "levels": levels}, codes.T.tolist()
    if isinstance(index, pd.RangeIndex):
        return {"names": names, "range": index.step}, list(index)
    entries = [encode_label(label, objects) for label in index]
    return {"names": names, "dtype": _encode_dtype(index.dtype, objects)}, entries


def decode_index(
    common: dict[str, Json], entries: Sequence[Json], objects: Sequence[Any] = ()
) -> pd.Index:
    """Make the Index that :func:`encode_index` described, for some of its entries.

    Raises
    ------
    ValueError
        If the description contradicts itself.
    """
    names = [decode_label(name, objects) for name in common["names"]]
    if "levels" in common:
        levels = [
            _flat(
                [decode_label(label, objects) for label in level["labels"]],
                _decode_dtype(level["dtype"], objects),
                None,
            )
            for level in common["levels"]
        ]
        codes = [[entry[level] for entry in entries] for level in range(len(levels))]
        return pd.MultiIndex(levels=levels, codes=codes, names=names)
    (name,) = names
    if "range" in common:
        step = common["range"]
        start = entries[0] if entries else 0
        found = pd.RangeIndex(start, start + step * len(entries), step, name=name)
        if list(found) == list(entries):
            return found
        return pd.Index(list(entries), dtype="int64", name=name)
    labels = [decode_label(entry, objects) for entry in entries]
    return _flat(labels, _decode_dtype(common["dtype"], objects), name)


def _flat(labels: list[Any], dtype: Any, name: Any) -> pd.Index:
    # Filled one by one: NumPy would take an assigned list of tuples apart.
    values = np.empty(len(labels), dtype=object)
    for position, label in enumerate(labels):
        values[position] = label
    flat = pd.Index(values, dtype=object, name=name, tupleize_cols=False)
    return flat if dtype is None else flat.astype(dtype)


def _encode_dtype(dtype: Any, objects: list[Any]) -> Json:
    if isinstance(dtype, pd.StringDtype):
        return encode_string_dtype(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        common, entries = encode_index(dtype.categories, objects)
        return {"categories": [common, entries], "ordered": bool(dtype.ordered)}
    try:
        faithful = pd.api.types.pandas_dtype(str(dtype)) == dtype
    except (TypeError, NotImplementedError):
        faithful = False
    return str(dtype) if faithful else "object"


def _decode_dtype(form: Json, objects: Sequence[Any]) -> Any:
    if isinstance(form, str):
        return pd.api.types.pandas_dtype(form)
    if "string" in form:
        return decode_string_dtype(form)
    common, entries = form["categories"]
    return pd.CategoricalDtype(decode_index(common, entries, objects), ordered=form["ordered"])


def encode_string_dtype(dtype: pd.StringDtype) -> Json:
    """Return a string dtype's JSON form."""
    return {"string": [dtype.storage, "NA" if dtype.na_value is pd.NA else "nan"]}


def decode_string_dtype(form: Json) -> pd.StringDtype:
    """Return the dtype of a JSON form."""
    storage, missing = form["string"]
    return pd.StringDtype(storage, na_value=pd.NA if missing == "NA" else np.nan)
