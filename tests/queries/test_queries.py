# SPDX-License-Identifier: Apache-2.0
"""`polars.scan` and `polars.collect`, with both engines of polars and data in host memory."""

from __future__ import annotations

import contextlib
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.export import cudf_polars_private as private
from testing.host import table_without_protocols

cudf_polars = pytest.importorskip("cudf_polars")

from cudf_polars import callback  # noqa: E402
from cudf_polars.containers import DataFrame  # noqa: E402
from cudf_polars.dsl.ir import IRExecutionContext, PythonScan  # noqa: E402
from cudf_polars.dsl.translate import Translator  # noqa: E402

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="data in host memory")

IN_MEMORY = pl.GPUEngine(executor="in-memory")
TABLE = pa.table(
    {
        "a": pa.array([1, 2, None], pa.int64()),
        "text": ["x", None, "z"],
        "seconds": pa.array([1, None, 3], pa.timestamp("s")),
        "span": pa.array([1, None, 3], pa.duration("s")),
        "zone": pa.array([1, None, 3], pa.timestamp("us", "Europe/Paris")),
        "category": pa.array(["u", "v", "u"]).dictionary_encode(),
        "money": pa.array([1, None, 3], pa.decimal64(10, 0)),
        "pair": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
        "nested": [[{"x": True}], [], None],
        "times": pa.array(
            [{"at": [1, None]}, None, {"at": []}], pa.struct({"at": pa.list_(pa.timestamp("s"))})
        ),
        "spans": pa.array([[1, 2], None, []], pa.list_(pa.duration("s"))),
        "nothing": pa.nulls(3),
    }
)
if cudf_polars.__version__.startswith("26.08"):
    TABLE = TABLE.drop_columns(["pair"])  # not supported yet
#: The columns of types that the GPU engine scans.
TYPED = TABLE.drop_columns(["nothing"])
FRAME = pl.DataFrame(TABLE.set_column(5, "category", TABLE["category"].cast(pa.string())))


def scan_node(query):
    """Return the node of the plan of the GPU engine, which must be a scan of a Python source."""
    translator = Translator(query._ldf.visit(), IN_MEMORY)
    node = translator.translate_ir()
    assert translator.errors == []
    assert isinstance(node, PythonScan)
    return node


def evaluated(query):
    """Evaluate a scan as the GPU engine does."""
    node = scan_node(query)
    return node.do_evaluate(node.schema, node.options, None, context=IRExecutionContext())


def assert_has_types(column, dtype):
    """Check the libcudf type of a column and of all its children."""
    assert column.type() == dtype.plc_type
    # The first child of a list holds the offsets.
    children = column.children()[-len(dtype.children) :] if dtype.children else []
    for child, child_type in zip(children, dtype.children, strict=True):
        assert_has_types(child, child_type)


def test_cpu_engine_reads_the_values_and_types():
    found = cab.polars.scan(TABLE).collect()
    assert found.schema == FRAME.schema
    assert found.equals(FRAME)


@pytest.mark.parametrize("name", TYPED.column_names)
def test_gpu_engine_reads_a_slice_of_each_type(name):
    table = pa.concat_tables([TYPED.select([name])] * 2).combine_chunks()
    frame = evaluated(cab.polars.scan(cab.to_arrow_device(table)[1:5]))
    assert_has_types(frame.columns[0].obj, frame.columns[0].dtype)
    found = pl.DataFrame(cab.to_arrow_device(frame))
    assert found.equals(pl.concat([FRAME.select(name)] * 2)[1:5])


def test_gpu_engine_shares_the_memory_of_the_source():
    batch = pa.record_batch({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    frame = evaluated(cab.polars.scan(batch))
    addresses = [column.obj.data().ptr for column in frame.columns]
    assert addresses == [column.buffers()[1].address for column in batch.columns]
    # From cuDF through a query to cuDF.
    of_cudf = cab.from_arrow_device(batch)
    array = cab.to_arrow_device(evaluated(cab.polars.scan(of_cudf)))
    assert array["a"].buffers()[-1].address == batch["a"].buffers()[1].address


def test_frames_for_the_gpu_engine_are_changed_like_those_of_cudf_polars():
    frame = evaluated(cab.polars.scan(TYPED))
    assert isinstance(frame, DataFrame)
    assert frame.column_names == TYPED.column_names
    selected = frame.select(["text", "a"]).rename_columns({"a": "b"})
    assert selected.column_names == ["text", "b"]
    assert frame.discard_columns({"a"}).num_rows == 3
    assert not hasattr(frame, "unknown")


def test_columns_are_created_again_after_an_error(monkeypatch):
    def fail(*_, **options):
        raise MemoryError("no memory")

    frames, _ = scan_node(cab.polars.scan(TYPED)).options[0](None, None, None, None)
    (frame,) = frames
    with monkeypatch.context() as patch:
        patch.setattr("cudf_arrow_bridge.polars.from_arrow_device", fail)
        for _ in range(2):
            with pytest.raises(MemoryError, match="no memory"):
                _ = frame.columns
    assert frame.num_rows == 3
    assert not hasattr(frame, "unknown")


def test_unused_columns_are_not_imported_and_not_read(monkeypatch, tmp_path):
    path = tmp_path / "file.parquet"
    pq.write_table(TYPED, path, row_group_size=2)
    read = []
    original = cab.to_arrow_device_stream

    def recorded(source, **options):
        stream = original(source, **options)
        read.append(stream.schema.names)
        return stream

    monkeypatch.setattr("cudf_arrow_bridge.polars.to_arrow_device_stream", recorded)
    query = cab.polars.scan(path).select("text", "a")
    assert query.collect().equals(FRAME.select("text", "a"))
    assert set(read[-1]) == {"text", "a"}
    frame = evaluated(cab.polars.scan(TABLE).select("a"))
    assert frame.column_names == ["a"]


def test_cpu_engine_pushes_filters_and_limits_down():
    recorded = []

    def batches():
        for number in range(10):
            recorded.append(number)
            yield cab.from_arrow_device(pa.table({"a": [number, number], "b": [0, 1]}))

    query = cab.polars.scan(batches()).head(3).filter(pl.col("b") == 1).select("a")
    assert query.collect().to_dict(as_series=False) == {"a": [0]}
    assert len(recorded) <= 3
    expected = FRAME.lazy().filter(pl.col("a") > 1).select("text").collect()
    assert cab.polars.scan(TABLE).filter(pl.col("a") > 1).select("text").collect().equals(expected)


QUERIES = {
    "rows": lambda frame: frame.select(pl.len()),
    "a literal": lambda frame: frame.select(pl.lit(1)),
    "row numbers": lambda frame: frame.with_row_index().select("index"),
    "filtered rows": lambda frame: frame.filter(pl.col("a") > 1).select(pl.len()),
    "a slice": lambda frame: frame.slice(1, 1),
    "the tail": lambda frame: frame.tail(1),
    "rows of the head": lambda frame: frame.head(2).select(pl.len()),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_queries_without_columns_and_of_rows_equal_those_of_a_frame(query):
    expected = query(FRAME.lazy()).collect()
    assert query(cab.polars.scan(TABLE)).collect().equals(expected)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5, 9])
def test_limits_across_batches(rows):
    table = pa.concat_tables([TABLE] * 3)
    expected = pl.concat([FRAME] * 3).head(rows)
    assert cab.polars.scan(table).head(rows).collect().equals(expected)


def test_lazy_frame_is_collected_repeatedly_and_joined_with_itself():
    query = cab.polars.scan(cab.from_arrow_device(TABLE.select(["a", "text"])))
    for _ in range(2):
        assert query.collect().equals(FRAME.select("a", "text"))
    assert query.join(query, on="a").collect().height == 2


def test_second_collect_of_an_iterator_is_an_error():
    query = cab.polars.scan(iter([cab.from_arrow_device(pa.table({"a": [1]}))]))
    assert query.collect().height == 1
    with pytest.raises(pl.exceptions.ComputeError, match="once"):
        query.collect()


def test_schema_of_a_file_is_known_without_reading_it(tmp_path):
    path = tmp_path / "file.parquet"
    pq.write_table(TABLE.select(["a", "text"]), path)
    query = cab.polars.scan(path)
    path.write_bytes(b"")
    assert query.collect_schema() == FRAME.select("a", "text").schema


@pytest.fixture
def without_device(monkeypatch):
    """Evaluate plans without a CUDA device."""
    for name in ("set_device", "set_memory_resource"):
        monkeypatch.setattr(callback, name, lambda *_: contextlib.nullcontext())


def test_collect_exports_the_frame_of_the_engine(without_device):
    batch = pa.record_batch({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    array = cab.polars.collect(cab.polars.scan(batch).select("b", "a"), engine=IN_MEMORY)
    assert isinstance(array, cab.DeviceArray)
    assert array.to_arrow().equals(batch.select(["b", "a"]))
    assert array["a"].buffers()[-1].address == batch["a"].buffers()[1].address


def test_collect_reports_what_the_gpu_engine_does_not_support():
    query = cab.polars.scan(TABLE).select(pl.col("a").map_batches(lambda values: values))
    with pytest.raises(NotImplementedError, match="not possible"):
        cab.polars.collect(query, engine=IN_MEMORY)


@pytest.fixture
def calls(monkeypatch):
    """Record what `collect` does before a streaming engine executes, which raises KeyError."""
    recorded = []

    @contextlib.contextmanager
    def noted(*arguments):
        recorded.append(arguments)
        yield

    def execute(*_):
        recorded.append("execute")
        raise KeyError("executed")

    engine = type("Engine", (pl.GPUEngine,), {"execute": execute})
    running = SimpleNamespace(_store_uid="", context=None, comm=None, py_executor=None)
    monkeypatch.setattr("cudf_polars.utils.config.get_total_device_memory", lambda: 1 << 30)
    monkeypatch.setattr(callback, "set_device", noted)
    monkeypatch.setattr(callback, "set_memory_resource", noted)
    monkeypatch.setattr(
        "cudf_polars.streaming.io._clear_source_info_cache", lambda: recorded.append("clear")
    )
    monkeypatch.setattr("cudf_polars.engine.core.StreamingEngine", engine)
    monkeypatch.setattr("cudf_polars.engine.persisted_result.execute_persisted_query", execute)
    monkeypatch.setattr(
        "cudf_polars.engine.default_singleton_engine.DefaultSingletonEngine.get_or_create",
        lambda: running,
    )
    return recorded


def test_collect_executes_with_a_streaming_engine(calls):
    from cudf_polars.engine import core

    with pytest.raises(KeyError, match="executed"):
        cab.polars.collect(cab.polars.scan(TYPED), engine=core.StreamingEngine())
    assert calls == ["clear", "execute"]


def test_collect_uses_the_device_and_memory_resource_of_the_default_engine(calls):
    resource = object()
    engine = pl.GPUEngine(device=1, memory_resource=resource)
    with pytest.raises(KeyError, match="executed"):
        cab.polars.collect(cab.polars.scan(TYPED), engine=engine)
    cleared, of_device, (given, _, executor), executed = calls
    assert (cleared, of_device, given, executed) == ("clear", (1,), resource, "execute")
    assert executor.name == "streaming"


@pytest.mark.parametrize("engine", ["cpu", None])
def test_collect_rejects_other_engines(engine):
    with pytest.raises(TypeError, match=r"^engine: .*polars\.GPUEngine"):
        cab.polars.collect(cab.polars.scan(TABLE), engine=engine)


def test_wrong_queries_and_sources_are_rejected():
    with pytest.raises(TypeError, match=r"^query: .*polars\.LazyFrame.*DataFrame"):
        cab.polars.collect(FRAME)
    with pytest.raises(TypeError, match=r"^source: .*int64"):
        cab.polars.scan(pa.array([1]))


@pytest.mark.parametrize("version", ["26.06.00", "27.10.00"])
def test_unknown_releases_are_rejected(monkeypatch, version):
    monkeypatch.setattr(cudf_polars, "__version__", version)
    with pytest.raises(ImportError, match=rf"expected cudf-polars 26\.8 or 26\.10, got {version}"):
        private.check_release.__wrapped__()


def test_example_counts_the_flights_of_the_largest_carriers(capsys):
    example = Path(__file__).parents[2] / "examples/polars_query.py"
    runpy.run_path(str(example), run_name="__main__")
    flights = pq.read_table(example.parent / "data/nyc_flights.parquet", columns=["carrier"])
    counts = flights["carrier"].value_counts().to_pylist()
    largest = sorted(counts, key=lambda each: (-each["counts"], each["values"]))[:3]
    rows = [line.split()[1:3] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [[each["values"], str(each["counts"])] for each in largest]


def test_tables_of_pylibcudf_are_scanned():
    columns = [pa.array([1, None, 3]), pa.array([True, None, False])]
    found = cab.polars.scan(table_without_protocols(columns)).collect()
    assert [column.to_list() for column in found] == [column.to_pylist() for column in columns]


def with_extensions():
    """Return a table of extension types, also in a list and a map."""
    columns = {
        "json": pa.array(['{"a": 1}', None]).cast(pa.json_()),
        "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8())),
        "unknown": pa.array([b"x", None]),  # pyarrow does not know this type
    }
    unknown = pa.field("unknown", pa.binary(), metadata={"ARROW:extension:name": "unknown.type"})
    fields = [*(pa.field(name, columns[name].type) for name in ("json", "bool8")), unknown]
    offsets = pa.array([0, 1, 2], pa.int32())
    nested = {
        "list": pa.ListArray.from_arrays(offsets, columns["unknown"], pa.list_(unknown)),
        "map": pa.MapArray.from_arrays(offsets, pa.array(["k", "l"]), columns["json"]),
    }
    fields += [pa.field(name, array.type) for name, array in nested.items()]
    return pa.table([*columns.values(), *nested.values()], schema=pa.schema(fields))


@pytest.mark.parametrize("behavior", [None, "load_as_extension"])
def test_extension_types_are_scanned_as_their_storage(tmp_path, behavior):
    """By default, polars 2 loads unknown extension types as extension types.

    polars reads the variable for this when it is imported.
    """
    table = with_extensions()
    with pa.ipc.new_file(tmp_path / "table.arrow", table.schema) as sink:
        sink.write_table(table)
    code = f"""
import pyarrow as pa
import cudf_arrow_bridge as cab

query = cab.polars.scan(pa.ipc.open_file({str(tmp_path / "table.arrow")!r}).read_all())
frame = query.collect()
assert frame.schema == query.collect_schema()
assert query.select("json").collect().schema == query.select("json").collect_schema()
frame.write_ipc({str(tmp_path / "frame.arrow")!r})
"""
    if behavior is None:
        exec(code, {})
    else:
        env = os.environ | {"POLARS_UNKNOWN_EXTENSION_TYPE_BEHAVIOR": behavior}
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=env)
    frame = pl.read_ipc(tmp_path / "frame.arrow")
    assert "Extension" not in str(frame.schema)
    assert frame.schema["bool8"] == pl.Boolean
    for name in ("json", "bool8", "unknown"):
        column = table[name].combine_chunks()
        assert frame[name].to_list() == getattr(column, "storage", column).to_pylist()
    assert frame["list"].to_list() == table["list"].to_pylist()
    assert frame["map"].to_list()[0] == [{"key": "k", "value": '{"a": 1}'}]
