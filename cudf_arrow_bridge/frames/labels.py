# SPDX-License-Identifier: Apache-2.0
"""Labels of columns and index levels as JSON, exactly and without pickle.

A label is any hashable. Strings, numbers, times, tuples, bytes and other common types have a typed
JSON form. Other labels are kept beside the metadata, in a list ``objects`` that stays in this
process; other processes get their ``str()``.

The labels of all columns, a pandas Index, are encoded in two parts: what concerns the whole Index,
and one entry for each column. A peer can so drop or reorder columns and keep the labels of others.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import zoneinfo
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from . import real_pandas as pd
from .proxies import is_proxy

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
# How datetime.UTC is encoded, which is not ZoneInfo("UTC").
_UTC = "+00:00"


def encode_label(label: Hashable, objects: list[Any]) -> Json:
    """Return a label's JSON form.

    Strings, bools, ints and None are encoded as themselves; anything else as an object with one
    entry, whose key names the type. A label without a JSON form is appended to ``objects``.
    """
    # Exact types only: a subclass (an IntEnum, say) is not what its base class would decode to.
    if label is None or type(label) in (str, bool, int):
        return label
    if type(label) is tuple:
        return {"tuple": [encode_label(part, objects) for part in label]}
    if is_proxy(label):
        label = label.as_cpu_object()
    encode = _ENCODERS.get(type(label))
    if encode is not None:
        tag, value = encode(label)
        if value is not None:
            return {tag: value}
    objects.append(label)
    return {"object": [len(objects) - 1, str(label)]}


def decode_label(form: Json, objects: Sequence[Any] = ()) -> Hashable:
    """Return the label of a JSON form.

    Parameters
    ----------
    form
        What :func:`encode_label` returned, after a trip through JSON.
    objects
        The labels without a JSON form; a label that is missing here is decoded as its string.

    Raises
    ------
    ValueError
        If the form is not one that :func:`encode_label` makes.
    """
    if form is None or isinstance(form, (str, bool, int)):
        return form
    if not isinstance(form, dict) or len(form) != 1:
        raise ValueError(f"not a label: {form!r}")
    ((tag, value),) = form.items()
    if tag == "tuple":
        return tuple(decode_label(part, objects) for part in value)
    if tag == "object":
        position, text = value
        return objects[position] if position < len(objects) else str(text)
    if tag not in _DECODERS:
        raise ValueError(f"not a kind of label: {tag!r}")
    try:
        return _DECODERS[tag](value)
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        raise ValueError(f"not a label: {form!r}") from error


def _encode_timestamp(label: pd.Timestamp) -> tuple[str, Json]:
    zone: str | None
    if label.tz is None or label.tz is datetime.UTC:
        zone = None if label.tz is None else _UTC
    else:
        # Fixed offsets, and zones of other libraries, have no JSON form.
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
        If this is not a range, or one longer than any index.
    """
    if not all(type(number) is int for number in (start, stop, step)):
        raise ValueError(f"not a range: {[start, stop, step]}")
    result = range(start, stop, step)
    if any(abs(number) >= 1 << 62 for number in (start, stop, step)):
        raise ValueError(f"not the range of an index: {result}")
    return result


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
        The name of the level, or None.
    position
        The number of the level.
    taken
        The field names that are already in use.
    """
    if name is not None and stringify(name) not in taken:
        return stringify(name)
    while (generated := f"__index_level_{position}__") in taken:
        position += 1
    return generated


def encode_index(index: pd.Index, objects: list[Any]) -> tuple[dict[str, Json], list[Json]]:
    """Encode the labels of columns.

    Parameters
    ----------
    index
        The labels.
    objects
        Labels without a JSON form are appended to it.

    Returns
    -------
    tuple
        What concerns the whole Index, and an entry for each label: the label, or for a MultiIndex
        its code in each level (-1: missing).
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
    """Return the Index that :func:`encode_index` encoded, or a part of it.

    Parameters
    ----------
    common
        What concerns the whole Index.
    entries
        The entries of the labels to return.
    objects
        The labels without a JSON form.

    Raises
    ------
    ValueError
        If the parts do not fit one another.
    """
    names = [decode_label(name, objects) for name in common["names"]]
    if "levels" in common:
        levels = [
            _flat_index(
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
        labels = pd.RangeIndex(start, start + step * len(entries), step, name=name)
        if list(labels) == list(entries):
            return labels
        return pd.Index(list(entries), dtype="int64", name=name)
    labels = [decode_label(entry, objects) for entry in entries]
    return _flat_index(labels, _decode_dtype(common["dtype"], objects), name)


def _flat_index(labels: list[Any], dtype: Any, name: Any) -> pd.Index:
    # Set one by one: NumPy would make two dimensions of a list of tuples.
    values = np.empty(len(labels), dtype=object)
    for position, label in enumerate(labels):
        values[position] = label
    index = pd.Index(values, dtype=object, name=name, tupleize_cols=False)
    return index if dtype is None else index.astype(dtype)


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
    """Return a string dtype's JSON form."""
    return {"string": [dtype.storage, "NA" if dtype.na_value is pd.NA else "nan"]}


def decode_string_dtype(form: Json) -> pd.StringDtype:
    """Return the string dtype of a JSON form."""
    storage, missing = form["string"]
    return pd.StringDtype(storage, na_value=pd.NA if missing == "NA" else np.nan)
