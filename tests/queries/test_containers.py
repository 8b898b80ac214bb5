# SPDX-License-Identifier: Apache-2.0
"""Export of cudf-polars' frames, columns and query results, made of columns in host memory."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest
from rmm.pylibrmm.stream import DEFAULT_STREAM

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.export.cudf_polars_private import input_of_container

containers = pytest.importorskip("cudf_polars.containers")

import cudf_polars  # noqa: E402
from cudf_polars.engine import persisted_result, rank_local_store  # noqa: E402
from cudf_polars.engine.spmd import SpmdPersistedBackend  # noqa: E402

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="columns in host memory")

NOON = datetime(2026, 11, 26, 12)
VALUES = {
    pl.Boolean(): [True, None, False],
    **{key: [1, None, -3] for key in [pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()]},
    **{key: [1, None, 3] for key in [pl.UInt8(), pl.UInt16(), pl.UInt32()]},
    pl.UInt64(): [1, None, 2**64 - 1],
    **{key: [1.5, None, float("inf")] for key in [pl.Float32(), pl.Float64()]},
    pl.String(): ["", None, "é" * 20],
    pl.Date(): [date(1969, 1, 1), None, date(2026, 11, 26)],
    **{key: [NOON, None, NOON] for key in map(pl.Datetime, ("ms", "us", "ns"))},
    pl.Datetime("us", "Europe/Paris"): [NOON.replace(tzinfo=UTC), None, None],
    **{key: [timedelta(1), None, timedelta(-1)] for key in map(pl.Duration, ("ms", "us", "ns"))},
    pl.Decimal(20, 3): [Decimal("1.5"), None, Decimal("-2.25")],
    pl.Null(): [None, None, None],
    pl.List(pl.String()): [["a", None], None, []],
    pl.List(pl.List(pl.Datetime("ms", "UTC"))): [[[NOON.replace(tzinfo=UTC)], []], None, []],
    pl.Array(pl.Int16(), 2): [[1, 2], None, [3, None]],
    pl.Struct({"x": pl.Int8(), "y": pl.List(pl.Struct({"z": pl.Decimal(9, 1)}))}): [
        {"x": 1, "y": [{"z": Decimal("0.5")}]},
        {"x": None, "y": None},
        {"x": 3, "y": []},
    ],
}
if cudf_polars.__version__.startswith("26.08"):
    del VALUES[pl.Array(pl.Int16(), 2)]  # not supported yet
FRAME = pl.DataFrame([pl.Series(f"c{i}", v, t) for i, (t, v) in enumerate(VALUES.items())])


def container_of(frame):
    """Return a frame of cudf-polars over columns in host memory, which keep no Arrow fields."""
    columns = []
    for series in frame:
        dtype = containers.DataType(series.dtype)
        table = pa.table({"": series.to_arrow()})
        column = cab.from_arrow_device(table, to="pylibcudf").columns()[0]
        assert column.type() == dtype.plc_type
        columns.append(containers.Column(column, dtype, name=series.name))
    return containers.DataFrame(columns, DEFAULT_STREAM)


def equal(found, expected):
    assert found.schema == expected.schema
    assert found.to_dict(as_series=False) == expected.to_dict(as_series=False)
    return True


def test_frame_and_columns_are_exported_with_their_polars_types():
    frame = container_of(FRAME)
    array = cab.to_arrow_device(frame)
    assert equal(pl.DataFrame(array), FRAME)
    for column in frame.columns:
        exported = cab.to_arrow_device(column)
        assert exported.schema.name == column.name
        assert equal(pl.Series(column.name, pa.array(exported)).to_frame(), FRAME[[column.name]])
    # polars has no other integers and no precision without a limit, but Arrow has.
    assert array.schema.field("c20").type == pa.decimal128(20, 3)
    if pl.Array(pl.Int16(), 2) in VALUES:
        assert array.schema.field("c24").type == pa.list_(pa.int16(), 2)
    assert array.schema.field("c16").type == pa.timestamp("us", "Europe/Paris")


def test_exported_buffers_are_those_of_the_columns():
    frame = container_of(FRAME.select("c4", "c13"))
    array = cab.to_arrow_device(frame)
    for column, name in zip(frame.columns, array.column_names, strict=True):
        by_name = {buffer.name: buffer.address for buffer in array[name].buffers()}
        assert column.obj.data().ptr in by_name.values()
        assert column.obj.null_mask().ptr in by_name.values()
    assert [row.copied_bytes for row in array.report()] == [0, 0]


def test_frames_are_imported_over_their_columns():
    frame = container_of(FRAME.select("c4", "c13"))
    for source in (frame, [frame]):
        table = cab.from_arrow_device_stream(source, to="pylibcudf")
        assert [column.data().ptr for column in table.columns()] == [
            column.obj.data().ptr for column in frame.columns
        ]


def test_exports_of_frames_with_equal_types_and_other_names_differ():
    for name in ("a", "b", ""):
        array = cab.to_arrow_device(container_of(pl.DataFrame({name: [1]})))
        assert array.column_names == [name]
    zone = pl.Series("a", [NOON.replace(tzinfo=UTC)], pl.Datetime("us", "UTC"))
    plain = pl.Series("a", [NOON], pl.Datetime("us"))
    for series in (zone, plain, zone):
        found = pl.DataFrame(cab.to_arrow_device(container_of(series.to_frame())))
        assert equal(found, series.to_frame())


def test_frame_without_columns_keeps_its_rows():
    frame = containers.DataFrame([], DEFAULT_STREAM, num_rows=7)
    assert cab.to_arrow_device(frame).num_rows == 7


def test_columns_that_were_imported_with_an_arrow_field_have_their_polars_name():
    field = pa.schema([pa.field("of Arrow", pa.int64(), nullable=False)])
    table = cab.from_arrow_device(pa.table([[1]], schema=field), to="pylibcudf")
    column = containers.Column(table.columns()[0], containers.DataType(pl.Int64()), name="a")
    array = cab.to_arrow_device(containers.DataFrame([column], DEFAULT_STREAM))
    assert array.schema == pa.schema({"a": pa.int64()})


def test_stream_of_frames_has_a_batch_for_each():
    frames = [container_of(FRAME), container_of(FRAME.head(1))]
    batches = list(cab.to_arrow_device_stream(frames))
    assert [len(batch) for batch in batches] == [3, 1]
    assert equal(pl.DataFrame(batches[1]), FRAME.head(1))
    halves = list(cab.to_arrow_device_stream(frames[0], max_rows=2))
    assert [len(batch) for batch in halves] == [2, 1]


def test_export_waits_for_the_stream_of_the_frame(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "cudf_arrow_bridge.cuda.ordering.order_after",
        lambda later, earlier: calls.append((later, earlier)),
    )
    cab.to_arrow_device(container_of(FRAME), stream=77)
    assert calls == [(77, DEFAULT_STREAM.__cuda_stream__()[1])]


def test_export_knows_the_stream_that_frees_the_frame():
    frame = container_of(FRAME)
    stream = resolve_stream(77)
    of_frame = input_of_container(frame, stream)
    assert of_frame.freed_on.handle == DEFAULT_STREAM.__cuda_stream__()[1]
    # The stream of a column is unknown.
    assert input_of_container(frame.columns[0], stream).freed_on is None


def result_of(frames, backend=None):
    """Return the result of a query whose partitions are frames in the store of this process."""
    uid, query = uuid.uuid4().hex, uuid.uuid4()
    store = rank_local_store.open_store(uid)
    for rank, frame in enumerate(frames):
        store.put(query, rank, container_of(frame), duplicated=False)
    backend = backend or SpmdPersistedBackend(uid, None, None, None)
    ranks = list(range(len(frames)))
    schema = dict(frames[0].schema)
    return persisted_result.PersistedQueryResult(backend, uid, query, ranks, schema)


def test_result_of_a_query_is_exported_once():
    result = result_of([FRAME])
    assert equal(pl.DataFrame(cab.to_arrow_device(result)), FRAME)
    with pytest.raises(RuntimeError, match="consumed on read"):
        cab.to_arrow_device(result)
    result = result_of([FRAME])
    result.release()
    with pytest.raises(ValueError, match="released"):
        cab.to_arrow_device(result)


def test_partitions_of_a_result_are_batches_of_a_stream():
    stream = cab.to_arrow_device_stream(result_of([FRAME, FRAME.head(2)]))
    assert [len(batch) for batch in stream] == [3, 2]
    with pytest.raises(ValueError, match="once"):
        list(stream)


def test_result_with_partitions_in_other_processes_is_rejected():
    class WorkersBackend(persisted_result.PersistedBackend):
        def execute_persisted(self, *_):
            raise AssertionError

        def drop_persisted(self, _):
            """Do nothing."""

    result = result_of([FRAME], WorkersBackend())
    with pytest.raises(ValueError, match=r"in the workers of its WorkersBackend"):
        cab.to_arrow_device(result)
    with pytest.raises(ValueError, match=r"WorkersBackend"):
        list(cab.to_arrow_device_stream(result))
