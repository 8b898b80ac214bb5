# SPDX-License-Identifier: Apache-2.0
"""Test exchanges of proxies of cudf.pandas.

cudf.pandas is active in a whole process, so the functions `check_...` run in new processes, as a
script. There `pd` creates proxies. Expected results are of real pandas, with cudf.pandas disabled.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import cudf
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main
from testing.ends import ends_of

ROOT = Path(__file__).parents[2]
ACTIVE = "import cudf.pandas; cudf.pandas.install()"
#: Import of the modules that use pandas before or after the activation of cudf.pandas.
ORDERS = {
    "before": f"import cudf_arrow_bridge.export.pandas_objects; {ACTIVE}",
    "after": ACTIVE,
}


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


def check_that_this_package_uses_no_proxies_of_pandas_classes():
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


def check_exchange_of_proxies_of_cudf_objects():
    """These proxies are exchanged like the objects, without a copy."""
    table = pa.table({"a": [1, 2, 3], "t": pa.array([1, 2, 3], pa.timestamp("us", "UTC"))})
    (batch,) = table.to_batches()
    frame = cab.from_arrow_device(batch, to="cudf.pandas")
    assert type(frame) is pd.DataFrame
    found = pa.record_batch(cab.to_arrow_device(frame))
    assert found.equals(batch)
    assert _addresses(found) == _addresses(batch)
    plain = cab.to_arrow_device(frame.as_gpu_object())
    assert found.schema.equals(plain.schema, check_metadata=True)
    exported = cab.to_arrow_device(cudf.pandas.as_proxy_object(frame.as_gpu_object()["t"]))
    assert exported.schema.name == "t"
    assert pa.array(exported).buffers()[1].address == batch["t"].buffers()[1].address
    index = cudf.pandas.as_proxy_object(cudf.Index(frame.as_gpu_object()["a"], name="i"))
    assert cab.to_arrow_device(index).schema.name == "i"
    table = cab.to_arrow_device(frame, preserve_index=True)
    assert table.schema.names == ["a", "t", "__index_level_0__"]
    for imported in (cab.from_arrow_device(frame), cab.from_arrow_device_stream([frame])):
        assert type(imported) is cudf.DataFrame
        assert _addresses(pa.record_batch(cab.to_arrow_device(imported))) == _addresses(batch)
    assert type(cab.from_arrow_device(frame, to="cudf.pandas")) is pd.DataFrame
    with patch.object(type(frame), "_fsproxy_fast_to_slow", side_effect=AssertionError):
        (streamed,) = cab.to_arrow_device_stream(frame)
    assert _addresses(pa.record_batch(streamed)) == _addresses(batch)
    # The proxy still wraps cuDF's frame.
    assert isinstance(cab.frames.proxies.unwrapped(frame), cudf.DataFrame)


def _addresses(batch):
    return [column.buffers()[1].address for column in batch.columns]


def _random_frames():
    """Return a module whose functions make frames of real pandas."""
    with _real():
        from testing.exchange import pandas_frames
    return pandas_frames


def check_exchange_of_proxies_of_pandas_frames():
    """These proxies are exchanged like the frames; `test_pandas_objects` compares the values."""
    for seed in range(30):
        with _real():
            real = _random_frames().random_frame(seed)
            real = real[: seed % 3 * 9]
            real.attrs["seed"] = seed
            columns = [real.iloc[:, position] for position in range(real.shape[1])]
            values = [pa.array(column, from_pandas=True).to_pylist() for column in columns]
        frame = cudf.pandas.as_proxy_object(real)
        assert type(frame) is pd.DataFrame
        exported = cab.to_arrow_device(frame)
        expected = _read(cab.to_arrow_device(real))
        assert [expected[i].to_pylist() for i in range(len(values))] == values
        assert _read(exported).equals(expected, check_metadata=True)
        back = cab.from_arrow_device(exported, to="cudf.pandas").as_gpu_object()
        assert type(back) is cudf.DataFrame
        assert back.attrs == real.attrs
        assert list(back.index.names) == list(real.index.names)
        with _real():
            pd.testing.assert_index_equal(back.columns, real.columns, exact=True)
        again = _read(cab.to_arrow_device(cudf.pandas.as_proxy_object(back)))
        own = _read(cab.to_arrow_device(cab.from_arrow_device(cab.to_arrow_device(real))))
        assert again.equals(own, check_metadata=True)


#: Keys of `pandas_frames.POOLS` whose dtypes cuDF has.
DTYPES = [
    *("int64", "uint16", "float64", "bool", "str", "object", "string", "Int64", "boolean"),
    *("int64[pyarrow]", "datetime64[us]", "datetime64[ns, Europe/Rome]", "timedelta64[ms]"),
    *("category", "category of numbers", "interval", "interval of times"),
]


def check_exchange_of_proxies_of_pandas_series_and_indexes():
    with _real():
        pools = {name: _random_frames().POOLS[name].take([0, 1, 0]) for name in DTYPES}
        frame = pd.DataFrame(pools)
        rows = pd.RangeIndex(2, 8, 2, name="r")
        levels = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["u", None])
        objects = [frame[name] for name in frame]
        objects += [frame.set_index(name).index for name in frame]
        objects += [frame["int64"].rename(("t", 1)), pd.concat([frame["str"], frame["str"]])]
        expected = [pa.array(obj, from_pandas=True) for obj in objects]
    for real, values in zip(objects, expected, strict=True):
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
    names = ["None", "u", "__index_level_1__"]
    assert _read(table).to_pydict() == dict(zip(names, [[5, 6], ["a", "b"], [1, 2]], strict=True))
    series = cab.from_arrow_device(table)
    assert (type(series), series.name, list(series.index.names)) == (cudf.Series, None, ["u", None])
    assert cab.to_arrow_device(pd.Series([5], [1]), preserve_index=False).schema.name == ""
    table = cab.to_arrow_device(cudf.pandas.as_proxy_object(levels))
    assert _read(table).to_pydict() == {"u": ["a", "b"], "1": [1, 2]}


def check_index_of_frames():
    frame = pd.DataFrame({"a": [1, 2]})
    assert cab.to_arrow_device(frame).column_names == ["a"]
    both = ["a", "__index_level_0__"]
    assert cab.to_arrow_device(frame, preserve_index=True).column_names == both
    frame = frame.set_axis(["x", "y"])
    assert cab.to_arrow_device(frame).column_names == both
    array = cab.to_arrow_device(frame, preserve_index=False)
    assert array.column_names == ["a"]
    assert type(cab.from_arrow_device(array).index) is cudf.RangeIndex


def check_that_pandas_memory_is_shared():
    with _real():
        real = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
        address = real["b"].to_numpy().__array_interface__["data"][0]
    batch = pa.record_batch(cab.to_arrow_device(cudf.pandas.as_proxy_object(real)))
    assert batch["b"].buffers()[1].address == address


def check_streams_of_proxies():
    slow = pd.DataFrame({"a": range(5), "t": pd.date_range("2020", periods=5, tz="UTC")})
    fast = cab.from_arrow_device(cab.to_arrow_device(slow), to="cudf.pandas")
    with _real():
        table = pa.Table.from_pandas(slow.as_cpu_object())
    for side in (slow, fast):
        found = pa.table(cab.to_arrow_device_stream(side, max_rows=2))
        assert found.cast(table.schema).equals(table)
        assert [len(chunk) for chunk in found["a"].chunks] == [2, 2, 1]
    for frames in ((frame for frame in (fast, fast)), [slow, slow]):
        found = pa.table(cab.to_arrow_device_stream(frames))
        assert found.cast(table.schema).equals(pa.concat_tables([table, table]))
    found = pa.chunked_array(cab.to_arrow_device_stream([slow["a"], fast["a"]]))
    assert found.to_pylist() == [*range(5), *range(5)]


def check_imports_to_proxies():
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


def check_accessors():
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


def check_errors():
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


def check_labels_that_are_proxies():
    from cudf_arrow_bridge.frames.labels import decode_label, encode_label

    labels = (pd.Timestamp("2020", tz="Europe/Rome"), pd.Interval(0, 1), pd.Period("2020", "D"))
    assert all(map(_is_proxy, labels))
    objects = []
    for label, found in zip(labels, decode_label(encode_label(labels, objects)), strict=True):
        assert not _is_proxy(found)
        assert found == label.as_cpu_object()
    assert objects == []


def check_protocol_methods():
    frame = cab.from_arrow_device(pa.table({"a": [1, 2]}), to="cudf.pandas")
    with cab.install_protocol():
        assert pa.record_batch(frame).to_pydict() == {"a": [1, 2]}


def check_roundtrip_command():
    with redirect_stdout(StringIO()) as printed:
        assert main(["roundtrip", str(ROOT / "examples" / "data" / "nyc_flights.parquet")]) == 0
    assert "17 of 17 columns matched after the round trip" in printed.getvalue()


CHECKS = {name: check for name, check in globals().items() if name.startswith("check_")}


#: Uses frames and their accessors without cudf.pandas.
UNUSED = """
import sys
import pyarrow as pa
import cudf_arrow_bridge as cab, cudf_arrow_bridge.export.pandas_objects
frame = cab.from_arrow_device(pa.table({"a": pa.array([1], pa.timestamp("s", "UTC"))}))
assert pa.record_batch(frame.arrow_device).num_rows == 1
assert pa.table(cab.to_arrow_device_stream([frame])).num_rows == 1
print([name for name in sys.modules if name.startswith("cudf.pandas")])
import cudf.pandas
try:
    cab.from_arrow_device(pa.array([1]), to="cudf.pandas")
except ValueError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def printed():
    """Return what each process prints. cuDF is imported before, as in every use of cudf.pandas."""
    script = f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"
    codes = {order: f"{code}\n{script}" for order, code in ORDERS.items()}
    ends = ends_of("import cudf, pyarrow, pytest", codes | {"unused": UNUSED})
    assert all(status == 0 for status, _ in ends.values()), ends
    return {name: output for name, (_, output) in ends.items()}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("check", CHECKS)
def test_check_passes_in_both_import_orders(printed, check, order):
    failure = json.loads(printed[order])[check]
    assert failure is None, failure


def test_cudf_pandas_is_neither_imported_nor_activated_unless_used(printed):
    modules, error = printed["unused"].splitlines()
    assert modules == "[]"
    assert "cudf.pandas is not active" in error


@pytest.mark.parametrize(
    "function", [cab.from_arrow_device, cab.from_arrow_device_stream, cab.from_dlpack]
)
def test_import_to_cudf_pandas_is_rejected_without_its_import(function):
    source = pa.array([1, 2])
    with pytest.raises(ValueError, match=re.escape("cudf.pandas.install()")):
        function(source, to="cudf.pandas")


def failure_of(check):
    """Return the traceback of a check, or None if it passes."""
    try:
        check()
    except Exception:
        return traceback.format_exc()


if __name__ == "__main__":
    print(json.dumps({name: failure_of(check) for name, check in CHECKS.items()}))
