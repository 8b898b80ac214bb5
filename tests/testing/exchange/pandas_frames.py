# SPDX-License-Identifier: Apache-2.0
"""pandas frames with every kind of labels and index, and the ways to exchange them.

`dev/pandas_page.py` writes docs/how-to/pandas.md from the outcomes.
"""

from __future__ import annotations

import datetime
import io
import json
import pickle
import random
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import cudf_arrow_bridge as cab

#: Labels or row indexes with two entries, which differ.
KINDS = {
    "range": pd.RangeIndex(2, 6, 2, name="n"),
    "integers": pd.Index([3, 1], name="n"),
    "unsigned integers": pd.Index([3, 1], dtype="uint8"),
    "floats": pd.Index([1.5, np.nan], name="n"),
    "bools": pd.Index([True, False], name="n"),
    "strings": pd.Index(["p", "q"], name="n"),
    "strings with a missing one": pd.Index(["p", None], dtype="str"),
    "strings as objects": pd.Index(["p", "q"], dtype=object, name="n"),
    "bytes": pd.Index([b"p", b"q"], name="n"),
    "decimals": pd.Index([Decimal("1.5"), Decimal("2.25")], name="n"),
    "dates": pd.Index([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], name="n"),
    "times of day": pd.Index([datetime.time(1), datetime.time(2)], name="n"),
    "mixed objects": pd.Index([1, "a"], dtype=object, name="n"),
    "tuples": pd.Index([("a", 1), ("b", 2)], name="n", tupleize_cols=False),
    "timestamps": pd.DatetimeIndex(["2020-01-01", "2020-03-01"], name="n"),
    "timestamps with a zone": pd.DatetimeIndex(["2020-01-01", "2020-03-01"], tz="Europe/Rome"),
    "durations": pd.to_timedelta([1, 90], unit="s").rename("n"),
    "periods": pd.PeriodIndex(["2020-01", "2020-03"], freq="M", name="n"),
    "categories": pd.CategoricalIndex(["x", "y"], ["y", "x", "z"], ordered=True, name="n"),
    "intervals": pd.interval_range(0, 2, name="n", closed="left"),
    "nullable integers": pd.Index([1, None], dtype="Int64", name="n"),
    "nullable strings": pd.Index(["p", None], dtype="string", name="n"),
    "ArrowDtype integers": pd.Index([1, None], dtype="int64[pyarrow]", name="n"),
    "levels": pd.MultiIndex.from_tuples([("b", 1), ("a", 2)], names=["u", None]),
    "levels named 1 and '1'": pd.MultiIndex.from_tuples([("b", 1), ("a", 2)], names=[1, "1"]),
    "levels of categories and intervals": pd.MultiIndex.from_arrays(
        [pd.CategoricalIndex(["x", "y"], ["y", "x", "z"]), pd.interval_range(0, 2)],
        names=["c", "i"],
    ),
    "levels with a missing entry": pd.MultiIndex.from_tuples([("b", 1), ("a", None)]),
}


def _through_stream(array):
    return cab.from_arrow_device_stream(cab.to_arrow_device_stream(array, max_rows=2))


def _through_ipc(array):
    sink = io.BytesIO()
    cab.ipc.write_stream(array, sink)
    return cab.from_arrow_device_stream(cab.ipc.open_stream(sink.getvalue()))


def _through_parquet(array):
    sink = io.BytesIO()
    pq.write_table(pa.table(array), sink)
    return cab.from_arrow_device(pq.read_table(sink))


#: Functions that return an exported array after an exchange, by the headings of the page.
WAYS = {
    "array": cab.from_arrow_device,
    "stream": _through_stream,
    "IPC": _through_ipc,
    "pickle": lambda array: cab.from_arrow_device(pickle.loads(pickle.dumps(array))),
    "Parquet": _through_parquet,
}


def _of_pandas_2(index):
    """Return an index with the dtypes of pandas 2: objects for strings, and nanoseconds."""
    if isinstance(index, pd.MultiIndex):
        return index.set_levels(list(map(_of_pandas_2, index.levels)))
    if index.dtype == "str":
        return index.astype(object)
    return index.as_unit("ns") if hasattr(index, "as_unit") else index


def _of_table_of_pandas_2(frame):
    """Import a table with the metadata that pyarrow writes for pandas 2."""
    with pd.option_context("future.infer_string", False):
        table = pa.Table.from_pandas(frame)
    document = table.schema.pandas_metadata | {"pandas_version": "2.3.3"}
    assert "str" not in [entry["numpy_type"] for entry in document["column_indexes"]]
    return cab.from_arrow_device(table.replace_schema_metadata({"pandas": json.dumps(document)}))


#: Functions that return a pandas frame after an exchange, by the headings of the page.
ALL_WAYS = {
    "frame": cab.from_arrow_device,
    **{
        name: lambda frame, way=way: way(cab.to_arrow_device(cab.from_arrow_device(frame)))
        for name, way in WAYS.items()
    },
    "`to_pandas()`": lambda frame: cab.to_arrow_device(frame).to_pandas(),
    "pyarrow": lambda frame: cab.from_arrow_device(pa.Table.from_pandas(frame)),
    "pandas 2": _of_table_of_pandas_2,
}


def _exchanged(way, frame):
    with warnings.catch_warnings():
        # pyarrow warns about labels and names that it does not keep.
        warnings.simplefilter("ignore", UserWarning)
        found = ALL_WAYS[way](frame)
    return found if isinstance(found, pd.DataFrame) else found.to_pandas()


def outcome(way, kind, role):
    """Return what becomes of labels (role "columns") or of a row index (role "index")."""
    axes = {"columns": pd.Index(["a", "b"]), "index": pd.Index(["p", "q"]), role: KINDS[kind]}
    if way == "pandas 2":
        axes = {role: _of_pandas_2(index) for role, index in axes.items()}
    try:
        frame = _exchanged(way, pd.DataFrame([[1, 2], [3, 4]], **axes))
    except (NotImplementedError, TypeError, ValueError) as error:
        # pyarrow's errors are subclasses of these.
        kinds = (NotImplementedError, TypeError, ValueError)
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    assert frame.to_numpy().tolist() == [[1, 2], [3, 4]]
    other = {"columns": "index", "index": "columns"}[role]
    assert getattr(frame, other).tolist() == axes[other].tolist()
    found, index = getattr(frame, role), axes[role]
    try:
        pd.testing.assert_index_equal(found, index, exact=True)
        return "kept"
    except AssertionError:
        dtypes = [level.dtype for level in getattr(found, "levels", [found])]
        names = "" if found.names == index.names else f", names {list(found.names)}"
        return ", ".join(map(str, dtypes)) + names


def _strings(*strings, dtype="str"):
    return pd.Index(strings, dtype=dtype)


_DAYS = pd.DatetimeIndex(["1969-12-31", "2020-02-29 12:34:56", None, "2020-03-29", "2262-01-01"])
#: Entries of labels, row indexes and columns. Their order, number and missing entries are random.
POOLS = {
    "int64": pd.Index([0, -1, 2**40, 7, 1]),
    "uint16": pd.Index([0, 65_535, 7, 1], dtype="uint16"),
    "float64": pd.Index([0.5, -1e300, np.nan, np.inf, 2.0]),
    "bool": pd.Index([True, False]),
    "str": _strings("", "a", "żółw", None, "1", "a.b"),
    "object": _strings("", "a", "1", "None", dtype=object),
    "string": _strings("p", None, "q", "", dtype="string"),
    "Int64": pd.Index([3, None, -1, 2**60], dtype="Int64"),
    "boolean": pd.Index([True, None, False], dtype="boolean"),
    "int64[pyarrow]": pd.Index([3, None, -1], dtype="int64[pyarrow]"),
    "datetime64[us]": _DAYS.as_unit("us"),
    "datetime64[ns, Europe/Rome]": _DAYS[:4].as_unit("ns").tz_localize("Europe/Rome"),
    "timedelta64[ms]": pd.to_timedelta([0, -1, 86_400_000, None], unit="ms").as_unit("ms"),
    "date": pd.Index([datetime.date(1969, 12, 31), datetime.date(2020, 2, 29)]),
    "time": pd.Index([datetime.time(0), datetime.time(23, 59, 59, 1)]),
    "period": pd.PeriodIndex(["1969-12", "2020-02", "2020-03"], freq="M"),
    "category": pd.CategoricalIndex(["x", "y", None, "z"], ["z", "y", "unused", "x"], ordered=True),
    "category of numbers": pd.CategoricalIndex([3, 1, 2], [1, 2, 3, 4]),
    "interval": pd.interval_range(0, 4, closed="both"),
    "interval of times": pd.interval_range(pd.Timestamp("2020"), periods=3),
}
#: Entries of labels only: cuDF or Arrow has no row index of them.
LABEL_POOLS = POOLS | {
    "bytes": pd.Index([b"", b"a", b"\xff"]),
    "decimal": pd.Index([Decimal("1.5"), Decimal("-2.25"), Decimal(0)]),
    "mixed": pd.Index([1, "1", None, 2.5, b"x"], dtype=object),
    "tuple": pd.Index([("a", 1), ("a", "1"), (None, 2)], tupleize_cols=False),
}
_NAMES = [None, None, "n", "m", "", 1, "1", 2.5, ("t", 1), b"\xff", True]


def _random_index(rng, pools, size, is_unique):
    """Return a random index with names; unique entries can be fewer."""
    if rng.random() < 0.15:
        start, step = rng.randrange(-9, 9), rng.choice([-2, 1, 1, 3])
        return pd.RangeIndex(start, start + size * step, step, name=rng.choice(_NAMES))
    levels = []
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        pool = pools[rng.choice(list(pools))]
        if is_unique and not levels:
            size = min(size, len(pool))
            picked = rng.sample(range(len(pool)), size)
        else:
            picked = [rng.randrange(len(pool)) for _ in range(size)]
        levels.append(pool.take(picked).rename(rng.choice(_NAMES)))
    return levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)


def random_frame(seed):
    """Return a frame with random labels, index and columns."""
    rng = random.Random(seed)
    index = _random_index(rng, POOLS, rng.randrange(1, 6), is_unique=False)
    labels = _random_index(rng, LABEL_POOLS, rng.randrange(4), is_unique=True)
    columns = []
    for _ in labels:
        pool = POOLS[rng.choice(list(POOLS))]
        columns.append(pool.take([rng.randrange(len(pool)) for _ in index]))
    frame = pd.DataFrame(dict(enumerate(columns)), index=range(len(index)))
    return frame.set_axis(index).set_axis(labels, axis=1)


def is_kept_by_parquet(schema):
    """Return whether pyarrow reads the schema of a table again from a Parquet file.

    It does not keep the number of rows without columns, equal names, and dictionaries of numbers.
    """
    values = [field.type.value_type for field in schema if pa.types.is_dictionary(field.type)]
    is_text = all(pa.types.is_string(one) or pa.types.is_large_string(one) for one in values)
    return 0 < len(schema) == len(set(schema.names)) and is_text
