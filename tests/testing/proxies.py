# SPDX-License-Identifier: Apache-2.0
"""Checks that `test_cudf_pandas` runs in processes where cudf.pandas is active.

``pd`` makes proxies there. Expected results are of real pandas, with cudf.pandas disabled.
"""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import nullcontext

import cudf
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.metadata import BRIDGE_KEY

ZONES = ("UTC", "Europe/Rome", "America/St_Johns")


def _real():
    """Return a context in which pandas is real pandas."""
    accelerator = sys.modules.get("cudf.pandas.module_accelerator")
    return nullcontext() if accelerator is None else accelerator.disable_module_accelerator()


def _is_proxy(obj):
    return "cudf.pandas" in sys.modules and cudf.pandas.is_proxy_object(obj)


def _read(array):
    """Read an export with pyarrow, as a table or an array."""
    if isinstance(array.schema, pa.Schema):
        return pa.table(pa.record_batch(array))
    return pa.array(array)


def _assert_equal(found, expected, **options):
    assert not _is_proxy(found)
    assert not _is_proxy(expected)
    with _real():
        kind = {"DataFrame": "frame", "Series": "series"}.get(type(expected).__name__, "index")
        getattr(pd.testing, f"assert_{kind}_equal")(found, expected, **options)


def _to_pandas(table):
    with _real():
        return table.to_pandas()


def run_checks():
    """Print the traceback of each check as JSON, or null if the check passed."""
    outcomes = {}
    for name, check in CHECKS.items():
        try:
            check()
            outcomes[name] = None
        except Exception:
            outcomes[name] = traceback.format_exc()
    print(json.dumps(outcomes))


def _samples():
    """Return a table of types for which cuDF's dtypes need pandas."""
    with _real():
        intervals = pd.arrays.IntervalArray.from_breaks([0, 1, 2, 5], closed="left")
        times = pd.arrays.IntervalArray.from_breaks(pd.date_range("2020", periods=4))
    columns = {zone: pa.array([0, None, 10**15], pa.timestamp("us", zone)) for zone in ZONES}
    columns["category"] = pa.array(["a", None, "b"]).dictionary_encode()
    columns["of zones"] = pa.array([1, 1, 2], pa.timestamp("s", "UTC")).dictionary_encode()
    columns["intervals"] = pa.array(intervals)
    columns["intervals of times"] = pa.array(times)
    columns["list"] = pa.array([[1], None, []], pa.list_(pa.timestamp("ns", "Europe/Rome")))
    columns["days"] = pa.array([1, None, 3], pa.date32())
    return pa.table(columns)


def describe():
    """Print the results of exports and imports of labels and dtypes of every kind."""
    with _real():
        from testing import host_frames
        from testing.labels import INDEXES
    found = {}
    for name, labels in INDEXES.items():
        with _real():
            columns = [host_frames.numbers() for _ in labels]
            frame = host_frames.frame(columns, labels)
        batch = pa.record_batch(cab.to_arrow_device(frame))
        found[name] = [_text(batch.schema.metadata)]
        for key in (None, BRIDGE_KEY):
            metadata = {k: v for k, v in batch.schema.metadata.items() if k != key}
            back = cab.from_arrow_device(batch.replace_schema_metadata(metadata))
            found[name].append(_labels(back.columns))
    back = cab.from_arrow_device(_samples())
    with _real():
        found["dtypes"] = [repr(dtype) for dtype in host_frames.dtypes(back)]
        found["values"] = repr(host_frames.content(back))
    schema = cab.to_arrow_device(back).schema
    found["schema"] = [schema.remove_metadata().to_string(), _text(schema.metadata)]
    print(json.dumps(found))


def _text(metadata):
    return {key.decode(): value.decode() for key, value in metadata.items()}


def _labels(labels):
    parts = list(labels.levels) if labels.nlevels > 1 else [labels]
    every = [label for part in parts for label in part] + list(labels)
    assert not any(map(_is_proxy, [*every, *parts, labels, *(part.dtype for part in parts)]))
    return [
        type(labels).__name__,
        repr(labels.names),
        *(repr(part.dtype) for part in parts),
        *((type(label).__name__, repr(label)) for label in every),
    ]


def samples_cross():
    """Check that an import and an export return the table."""
    table = _samples()
    frame = cab.from_arrow_device(table)
    again = _read(cab.to_arrow_device(frame)).cast(table.schema)
    assert again.equals(table)


def real_pandas():
    """Check that this package uses no proxies of pandas' classes and functions."""
    from cudf_arrow_bridge.frames import real_pandas as real

    own = {"annotations", "without_proxies"}
    names = {name for name in vars(real) if not name.startswith("__")} - own
    assert {"DataFrame", "ExtensionDtype", "pandas_dtype"} <= names
    for name in [*names, "__version__"]:
        found = getattr(real, name)
        with _real():
            modules = (pd, pd.api.types, pd.api.extensions)
            expected = next(getattr(one, name) for one in modules if hasattr(one, name))
        assert found is expected, name
        assert not hasattr(found, "_fsproxy_slow"), name


def fast_side():
    """Check that proxies of cuDF's objects are exchanged like these objects, without a copy."""
    table = pa.table({"a": [1, 2, 3], "t": pa.array([1, 2, 3], pa.timestamp("us", "UTC"))})
    (batch,) = table.to_batches()
    frame = cab.from_arrow_device(batch, to="cudf.pandas")
    assert type(frame) is pd.DataFrame
    assert isinstance(frame.as_gpu_object(), cudf.DataFrame)
    frame = cudf.pandas.as_proxy_object(frame.as_gpu_object())
    found = pa.record_batch(cab.to_arrow_device(frame))
    assert found.equals(batch)
    assert _addresses(found) == _addresses(batch)
    plain = cab.to_arrow_device(frame.as_gpu_object())
    assert found.schema.equals(plain.schema, check_metadata=True)
    for name in ("a", "t"):
        series = cudf.pandas.as_proxy_object(frame.as_gpu_object()[name])
        assert type(series) is pd.Series
        exported = cab.to_arrow_device(series)
        assert exported.schema.name == name
        assert pa.array(exported).buffers()[1].address == batch[name].buffers()[1].address
    index = cudf.pandas.as_proxy_object(cudf.Index(frame.as_gpu_object()["a"], name="i"))
    assert type(index) is pd.Index
    assert cab.to_arrow_device(index).schema.name == "i"
    table = cab.to_arrow_device(frame, preserve_index=True)
    assert table.schema.names == ["a", "t", "__index_level_0__"]
    for imported in (cab.from_arrow_device(frame), cab.from_arrow_device_stream([frame])):
        assert type(imported) is cudf.DataFrame
        assert _addresses(pa.record_batch(cab.to_arrow_device(imported))) == _addresses(batch)
    assert type(cab.from_arrow_device(frame, to="cudf.pandas")) is pd.DataFrame
    # The proxy still wraps cuDF's frame.
    assert isinstance(cab.frames.cudf_private.wrapped_by(frame), cudf.DataFrame)


def _addresses(batch):
    return [column.buffers()[1].address for column in batch.columns]


def _frames():
    """Return real frames of every kind of dtype, index and labels."""
    with _real():
        rome = pd.date_range("2020", periods=3, tz="Europe/Rome", unit="us")
        plain = pd.DataFrame(
            {
                "int": [1, 2, 3],
                "float": [0.5, None, -1.0],
                "bool": [True, False, True],
                "str": ["x", None, ""],
                "object": pd.array(["x", "y", "z"], dtype=object),
                "masked": pd.array([1, None, 3], dtype="Int16"),
                "masked bool": pd.array([True, None, False], dtype="boolean"),
                "string": pd.array(["x", None, "z"], dtype="string"),
                "arrow": pd.array([1, None, 3], dtype=pd.ArrowDtype(pa.int8())),
                "zone": rome,
                "utc": rome.tz_convert("UTC"),
                "time": rome.tz_localize(None),
                "duration": pd.to_timedelta([1, None, 3], unit="s"),
                "category": pd.Categorical(["b", None, "a"], ["b", "a"], ordered=True),
                "numbers": pd.Categorical([1, 2, 1]),
                "masked numbers": pd.Categorical([1, 2, 1], pd.Index([1, 2], dtype="Int16")),
                "interval": pd.interval_range(0, 3, closed="both"),
            }
        )
        plain.attrs["unit"] = "m"
        levels = [[7, 8, 9], ["a", None, "c"]]
        wide = pd.DataFrame([[1, 2.5]] * 3, columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
        times = pd.DatetimeIndex([0, 1, 2], tz="Europe/Rome", name="when")
        return [
            plain,
            plain.set_index(pd.RangeIndex(2, 8, 2, name="r")),
            plain[["int", "str"]].set_axis(times),
            plain[["int"]].set_axis(pd.MultiIndex.from_arrays(levels, names=[1, 0])),
            plain[["int"]].set_axis(pd.MultiIndex.from_arrays(levels, names=["int", None])),
            plain[["int"]].set_axis(pd.Index([1, 2, 3], name=0)),
            plain[["int", "bool"]].set_axis([1, 0], axis=1),
            plain[["int", "bool"]].set_axis(pd.to_datetime(["2020-01-01", "2021-01-01"]), axis=1),
            wide,
            pd.concat([plain[["str", "int"]], plain[["str", "int"]]], ignore_index=True),
            plain[:0],
            plain[[]],
        ]


def slow_side():
    """Check that exports of proxies of pandas' frames keep values, dtypes, labels and index."""
    for real in _frames():
        frame = cudf.pandas.as_proxy_object(real)
        assert type(frame) is pd.DataFrame
        exported = cab.to_arrow_device(frame)
        with _real():
            names = [None if name is None else str(name) for name in real.index.names]
            plain = real.set_axis(real.index.set_names(names))
            expected = pa.Table.from_pandas(plain)
        _assert_holds(_read(exported), expected)
        # cuDF's frame also keeps what pyarrow's table lacks, and its export gives the same table.
        back = cab.from_arrow_device(exported, to="cudf.pandas")
        _assert_made_of(back.as_gpu_object(), real)
        _assert_holds(_read(cab.to_arrow_device(back)), expected)


def _assert_holds(found, expected):
    # A cast loses the number of rows of a table without columns.
    assert found.num_rows == expected.num_rows
    assert found.cast(expected.schema).columns == expected.columns


def _assert_made_of(frame, real):
    assert type(frame) is cudf.DataFrame
    _assert_equal(frame.columns, real.columns, exact=True)
    with _real():
        dtypes = [str(dtype) for dtype in real.dtypes]
    assert [str(column.dtype) for column in frame._columns] == dtypes
    for column, dtype in zip(frame._columns, real.dtypes, strict=True):
        if str(dtype) == "category":
            assert column.dtype.categories.dtype == dtype.categories.dtype
            assert column.dtype.ordered == dtype.ordered
    assert type(frame.index).__name__ == type(real.index).__name__
    assert list(frame.index.names) == list(real.index.names)
    if isinstance(frame.index, cudf.RangeIndex):
        rows = (real.index.start, real.index.stop, real.index.step)
        assert (frame.index.start, frame.index.stop, frame.index.step) == rows
    assert frame.attrs == real.attrs


def slow_series():
    """Check that exports of proxies of pandas' series and indexes keep values, name and dtype."""
    with _real():
        (frame, *_) = _frames()
        rows = pd.RangeIndex(2, 8, 2, name="r")
        levels = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["u", None])
        chunked = pd.concat([frame["str"], frame["str"]])
        objects = [frame[name] for name in frame]
        objects += [frame["int"].set_axis(rows), frame["int"].rename(("t", 1)), chunked]
        indexes = [frame.set_index(name).index for name in frame]
        expected = [pa.array(obj, from_pandas=True) for obj in (*objects, *indexes)]
    for real, values in zip([*objects, *indexes], expected, strict=True):
        proxy = cudf.pandas.as_proxy_object(real)
        assert isinstance(proxy, (pd.Series, pd.Index))
        exported = cab.to_arrow_device(proxy)
        assert isinstance(exported.schema, pa.Field)
        assert pa.array(exported).cast(values.type).to_pylist() == values.to_pylist()
        series = cab.from_arrow_device(exported, to="cudf.pandas").as_gpu_object()
        assert (series.name, str(series.dtype)) == (real.name, str(real.dtype))
    series = cab.from_arrow_device(cab.to_arrow_device(pd.Series([1, 2, 3], index=rows)))
    assert (series.index.start, series.index.step, series.index.name) == (2, 2, "r")
    table = cab.to_arrow_device(pd.Series([5, 6], index=levels), preserve_index=True)
    assert _read(table).to_pydict() == {
        "None": [5, 6],
        "u": ["a", "b"],
        "__index_level_1__": [1, 2],
    }
    series = cab.from_arrow_device(table)
    assert (type(series), series.name, list(series.index.names)) == (cudf.Series, None, ["u", None])
    assert cab.to_arrow_device(pd.Series([5], [1]), preserve_index=False).schema.name == ""
    table = cab.to_arrow_device(cudf.pandas.as_proxy_object(levels))
    assert _read(table).to_pydict() == {"u": ["a", "b"], "1": [1, 2]}


def index_of_frames():
    """Check that exports of proxies treat the index and `preserve_index` like cuDF's frames."""
    frame = pd.DataFrame({"a": [1, 2]})
    assert cab.to_arrow_device(frame).schema.names == ["a"]
    assert cab.to_arrow_device(frame, preserve_index=True).schema.names == [
        "a",
        "__index_level_0__",
    ]
    frame = frame.set_axis(["x", "y"])
    assert cab.to_arrow_device(frame).schema.names == ["a", "__index_level_0__"]
    array = cab.to_arrow_device(frame, preserve_index=False)
    assert array.schema.names == ["a"]
    assert type(cab.from_arrow_device(array).index) is cudf.RangeIndex
    levels = pd.MultiIndex.from_product([range(2), range(1)], names=["u", "v"])
    array = cab.to_arrow_device(frame.set_axis(levels))
    assert array.schema.names == ["a", "u", "v"]
    assert type(cab.from_arrow_device(array).index) is cudf.MultiIndex


def no_copy_of_the_slow_side():
    with _real():
        real = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
        address = real["b"].to_numpy().__array_interface__["data"][0]
    batch = pa.record_batch(cab.to_arrow_device(cudf.pandas.as_proxy_object(real)))
    assert batch["b"].buffers()[1].address == address


def streams():
    """Check streams of proxies of either side, alone and in lists, in batches."""
    slow = pd.DataFrame({"a": range(5), "t": pd.date_range("2020", periods=5, tz="UTC")})
    fast = cab.from_arrow_device(cab.to_arrow_device(slow), to="cudf.pandas")
    with _real():
        table = pa.Table.from_pandas(slow.as_cpu_object())
    for side in (slow, fast):
        found = pa.table(cab.to_arrow_device_stream(side, max_rows=2))
        assert found.cast(table.schema).equals(table)
        assert [len(chunk) for chunk in found["a"].chunks] == [2, 2, 1]
    found = pa.table(cab.to_arrow_device_stream(frame for frame in (fast, fast)))
    assert found.cast(table.schema).equals(pa.concat_tables([table, table]))
    found = pa.table(cab.to_arrow_device_stream([slow, slow]))
    assert found.cast(table.schema).equals(pa.concat_tables([table, table]))
    found = pa.chunked_array(cab.to_arrow_device_stream([slow["a"], fast["a"]]))
    assert found.to_pylist() == [*range(5), *range(5)]


def proxies_back():
    table = pa.table({"a": [1, 2, 3]})
    frame = cab.from_arrow_device(table, to="cudf.pandas")
    assert type(frame) is pd.DataFrame
    assert type(frame.as_gpu_object()) is cudf.DataFrame
    series = cab.from_arrow_device(pa.array([1]), to="cudf.pandas")
    assert type(series) is pd.Series
    stream = cab.from_arrow_device_stream(table, to="cudf.pandas")
    assert type(stream) is pd.DataFrame
    batches = cab.from_arrow_device_stream(table.to_batches(2), to="cudf.pandas", concat=False)
    assert [(type(batch), len(batch)) for batch in batches] == [
        (pd.DataFrame, 2),
        (pd.DataFrame, 1),
    ]
    with _real():
        numbers = table["a"].to_numpy()
    assert type(cab.from_dlpack(numbers, to="cudf.pandas")) is pd.Series
    assert type(cab.from_dlpack(numbers[:, None], to="cudf.pandas")) is pd.DataFrame


def accessors():
    """Check the accessor of proxies of each class, of either side."""
    slow = pd.DataFrame({"a": [1, 2]})
    fast = cab.from_arrow_device(cab.to_arrow_device(slow), to="cudf.pandas")
    times = pd.date_range("2020", periods=2)
    pairs = pd.MultiIndex.from_product([[1, 2], [3]])
    for obj in (slow, fast, slow["a"], fast["a"], slow.index, fast.columns, times, pairs):
        accessor = obj.arrow_device
        assert type(accessor) is cab.integrations.accessors.ArrowDeviceAccessor
        assert accessor.export().schema == cab.to_arrow_device(obj).schema
    assert pa.record_batch(slow.arrow_device).to_pydict() == {"a": [1, 2]}
    # Each export of the accessor looks up the proxy's present object.
    accessor = slow.arrow_device
    slow["b"] = [3, 4]
    assert accessor.export().schema.names == ["a", "b"]
    assert pd.DataFrame.arrow_device is cab.integrations.accessors.ArrowDeviceAccessor


def refusals():
    frame = pd.DataFrame({"a": [1, 2], "s": ["x", "y"]})
    for obj, name in (
        (frame.groupby("a"), "DataFrameGroupBy"),
        (frame.values, "ndarray"),
        (frame["s"].str, "StringMethods"),
        (pd.array([1]), "IntegerArray"),
        (pd.Timestamp("2020"), "Timestamp"),
    ):
        assert cudf.pandas.is_proxy_object(obj)
        for export in (cab.to_arrow_device, lambda obj: pa.table(cab.to_arrow_device_stream(obj))):
            with pytest.raises(
                TypeError, match=f"^expected cuDF data .* got an object of type {name}"
            ):
                export(obj)
    with pytest.raises(ValueError, match="column 'mixed'"):
        cab.to_arrow_device(pd.DataFrame({"mixed": [1, "x"]}))


def labels_that_are_proxies():
    from cudf_arrow_bridge.frames.labels import decode_label, encode_label

    labels = (pd.Timestamp("2020", tz="Europe/Rome"), pd.Interval(0, 1), pd.Period("2020", "D"))
    assert all(map(_is_proxy, labels))
    objects = []
    for label, found in zip(labels, decode_label(encode_label(labels, objects)), strict=True):
        assert not _is_proxy(found)
        assert found == label.as_cpu_object()
    assert objects == []


def the_protocol():
    """Check that the protocol on cuDF's classes also works for proxies of cuDF's objects."""
    frame = cab.from_arrow_device(pa.table({"a": [1, 2]}), to="cudf.pandas")
    with cab.install_protocol():
        assert pa.record_batch(frame).to_pydict() == {"a": [1, 2]}


CHECKS = {
    check.__name__: check
    for check in (
        samples_cross,
        real_pandas,
        fast_side,
        slow_side,
        slow_series,
        index_of_frames,
        no_copy_of_the_slow_side,
        streams,
        proxies_back,
        accessors,
        refusals,
        labels_that_are_proxies,
        the_protocol,
    )
}
