# SPDX-License-Identifier: Apache-2.0
"""Frames that `polars.scan` gives to the streaming engine of cudf-polars, also in its workers."""

from __future__ import annotations

from collections.abc import Sized

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from testing.peers import chunked_reader

cloudpickle = pytest.importorskip("cloudpickle")
pytest.importorskip("cudf_polars")

from cudf_polars.containers import DataFrame  # noqa: E402
from cudf_polars.dsl.ir import IRExecutionContext  # noqa: E402
from cudf_polars.dsl.translate import Translator  # noqa: E402

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="data in host memory")

ROWS = pa.table({"a": range(100), "b": [str(i) for i in range(100)]})


def scan_node(query):
    """Return the node of the plan of the GPU engine."""
    return Translator(query._ldf.visit(), pl.GPUEngine(executor="in-memory")).translate_ir()


def run(node):
    return node.run_source_function(node.options, node.schema, context=IRExecutionContext())


def chunks_of(query):
    """Call the source of a scan as the streaming engine does."""
    return run(scan_node(query))


def rows_of(frame):
    return frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(cab.to_arrow_device(frame))


@pytest.fixture
def path(tmp_path):
    """The path of a file with row groups of 40, 40 and 20 rows."""
    path = tmp_path / "rows.parquet"
    pq.write_table(ROWS, path, row_group_size=40)
    return path


@pytest.mark.parametrize("options", [{}, {"max_rows": 8}, {"format": ds.ParquetFileFormat()}])
@pytest.mark.parametrize("query", [lambda scan: scan, lambda scan: scan.select("b")])
def test_row_groups_are_read_one_at_a_time(path, monkeypatch, options, query):
    readers = chunked_reader.install(monkeypatch)
    query = query(cab.polars.scan(path, **options))
    readers.clear()
    count, chunks = chunks_of(query)
    assert count == 3
    assert readers == []
    found = []
    for number, chunk in enumerate(chunks, 1):
        found.append(rows_of(chunk))
        assert [reader.row_groups for reader in readers] == [[[i]] for i in range(number)]
    # The reader returned two tables of 30 and 10 rows for the first row group.
    assert [len(frame) for frame in found] == [40, 40, 20]
    expected = query.collect(engine="cpu")
    assert pl.concat(found).equals(expected)
    assert found[0].columns == expected.columns


def test_files_without_rows_have_one_frame(tmp_path):
    pq.write_table(ROWS[:0], tmp_path / "empty.parquet")
    count, chunks = chunks_of(cab.polars.scan(tmp_path))
    assert count == 1
    assert [rows_of(chunk).shape for chunk in chunks] == [(0, 2)]


SOURCES = {
    "batch": (lambda: ROWS.to_batches()[0], 1),
    "frame": (lambda: cab.from_arrow_device(ROWS), 1),
    "list of frames": (lambda: [cab.from_arrow_device(ROWS)] * 2, 2),
    "table": (lambda: pa.concat_tables([ROWS] * 3), 3),
    "polars": (lambda: pl.DataFrame(ROWS), 1),
    "generator": (lambda: (batch for batch in ROWS.to_batches()), None),
    "open file": (lambda: pa.BufferReader(written()), None),
}


def written():
    sink = pa.BufferOutputStream()
    pq.write_table(ROWS, sink)
    return sink.getvalue()


@pytest.mark.parametrize(("make", "known"), SOURCES.values(), ids=SOURCES)
def test_number_of_frames_is_known_for_data_in_memory(make, known):
    count, chunks = chunks_of(cab.polars.scan(make()))
    found = [rows_of(chunk) for chunk in chunks]
    assert count == known
    assert len(found) == (known or 1)
    assert all(frame.equals(pl.DataFrame(ROWS)) for frame in found)


def test_batches_of_max_rows_are_a_sized_iterator():
    scan = cab.polars.scan(cab.from_arrow_device(ROWS), max_rows=64)
    count, chunks = chunks_of(scan)
    assert count == 2
    assert [len(rows_of(chunk)) for chunk in chunks] == [64, 36]
    frames, _ = scan_node(scan).options[0](None, None, None, None)
    assert isinstance(frames, Sized)
    assert scan.collect().equals(pl.DataFrame(ROWS))


@pytest.mark.parametrize("has_gpu", [True, False])
def test_engine_uploads_batches_in_host_memory(has_gpu, monkeypatch):
    monkeypatch.setattr("cudf_arrow_bridge.polars.has_gpu", lambda: has_gpu)
    seconds = pa.table({"at": pa.array([1, None], pa.timestamp("s"))})
    _, (chunk,) = chunks_of(cab.polars.scan(seconds))
    assert isinstance(chunk, pl.DataFrame if has_gpu else DataFrame)
    assert rows_of(chunk).equals(pl.DataFrame(seconds))


def test_pickled_scan_opens_its_source_again(path):
    for source in (path, str(path), [path], ds.dataset(path), ROWS, cab.from_arrow_device(ROWS)):
        node = scan_node(cab.polars.scan(source).select("b"))
        # Workers of Dask and Ray receive the plan as a pickle.
        _, chunks = run(cloudpickle.loads(cloudpickle.dumps(node)))
        assert pl.concat(map(rows_of, chunks)).equals(pl.DataFrame(ROWS).select("b"))


def test_scan_of_an_iterator_cannot_be_pickled():
    frames = [cab.from_arrow_device(ROWS)]
    for source in (iter(frames), map(cab.from_arrow_device, [ROWS])):
        node = scan_node(cab.polars.scan(source))
        with pytest.raises(TypeError, match=r"^source: .*process"):
            cloudpickle.dumps(node)
