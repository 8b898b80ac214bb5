# SPDX-License-Identifier: Apache-2.0
"""Streams of files: folders, globs, several files, URLs, and pyarrow's datasets."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import cudf_arrow_bridge as cab
from testing.peers.streams import StreamOnly

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

ROWS = 100
TABLE = pa.table(
    {
        "number": pa.array(range(ROWS), pa.int64()),
        "text": pa.array([f"text {i % 9}" for i in range(ROWS)]),
        "real": pa.array([i / 4 for i in range(ROWS)]),
    }
)


def write_parquet(table, path):
    pq.write_table(table, path, row_group_size=20)


def write_arrow_file(table, path, **options):
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as file:
        file.write_table(table, max_chunksize=20)


def write_arrow_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table, max_chunksize=20)


def write_csv_gz(table, path):
    with gzip.open(path, "wb") as file:
        csv.write_csv(table, file)


FORMATS = {
    ".parquet": write_parquet,
    ".arrow": write_arrow_file,
    ".arrows": write_arrow_stream,
    ".csv": csv.write_csv,
    ".csv.gz": write_csv_gz,
}
formats = pytest.mark.parametrize("ending", FORMATS)


def read(source, **options):
    table = pa.table(StreamOnly(cab.to_arrow_device_stream(source, **options)))
    table.validate(full=True)
    return table


def lengths(source, **options):
    return [len(batch) for batch in cab.to_arrow_device_stream(source, **options)]


def write_parts(folder, ending, count=3):
    """Write the table to several files; return their paths."""
    paths = [folder / f"part-{i}{ending}" for i in range(count)]
    for i, path in enumerate(paths):
        begin, end = ROWS * i // count, ROWS * (i + 1) // count
        FORMATS[ending](TABLE.slice(begin, end - begin), path)
    return paths


@formats
def test_files_folders_globs_and_lists_are_read_in_order(tmp_path, ending):
    paths = write_parts(tmp_path, ending)
    for source in (paths[1], str(paths[1]), [paths[1]], f"file://{paths[1]}"):
        assert read(source).equals(TABLE.slice(33, 33))
    for source in (tmp_path, f"{tmp_path}/", f"{tmp_path}/part*", paths, tuple(paths)):
        assert read(source).equals(TABLE)
    assert read(f"{tmp_path}/part-[02]*")["number"].to_pylist() == [*range(33), *range(66, 100)]
    # A list keeps its own order.
    backwards = read(paths[::-1])["number"].to_pylist()
    assert backwards == [*range(66, 100), *range(33, 66), *range(33)]


@formats
def test_fsspec_urls_are_read(tmp_path, ending):
    memory = fsspec.filesystem("memory")
    folder = f"/{tmp_path.name}{ending}"
    for path in write_parts(tmp_path, ending):
        memory.pipe(f"{folder}/{path.name}", path.read_bytes())
    for url in (f"memory:/{folder}", f"memory:/{folder}/part*{ending}", f"file://{tmp_path}"):
        assert read(url).equals(TABLE)
    assert read(f"memory:/{folder}/part-1{ending}").equals(TABLE.slice(33, 33))
    memory.rm(folder, recursive=True)


def test_column_with_nul_in_its_name_is_rejected(tmp_path):
    """Names in the C data interface end at NUL, so both columns would have the name ``a``."""
    path = tmp_path / "data.parquet"
    write_parquet(pa.table({"a\0b": [1], "a\0c": [2], "number": [3]}), path)
    with pytest.raises(ValueError, match=r"'a\\x00b: int64'"):
        cab.to_arrow_device_stream(path)
    assert read(path, columns=["number"]).to_pylist() == [{"number": 3}]


@formats
def test_columns_and_filter_select_columns_and_rows(tmp_path, ending):
    write_parts(tmp_path, ending)
    wanted = (pc.field("number") > 40) & (pc.field("text") == "text 2")
    found = read(tmp_path, columns=["real", "number"], filter=wanted)
    assert found.equals(ds.dataset(TABLE).to_table(columns=["real", "number"], filter=wanted))
    assert found["number"].to_pylist() == [i for i in range(41, ROWS) if i % 9 == 2]
    assert read(tmp_path, columns=["text"]).equals(TABLE.select(["text"]))
    assert read(tmp_path, filter=pc.field("real") < 3).equals(TABLE.slice(0, 12))
    # Rows are counted without columns, too.
    assert sum(lengths(tmp_path, columns=[])) == ROWS


@formats
def test_filter_without_matches_and_empty_file_give_an_empty_batch(tmp_path, ending):
    write_parts(tmp_path, ending)
    (batch,) = cab.to_arrow_device_stream(tmp_path, filter=pc.field("number") < 0)
    assert len(batch) == 0
    assert batch.schema.equals(TABLE.schema)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    FORMATS[ending](TABLE.slice(0, 0), tmp_path / f"empty{ending}")
    assert read(tmp_path).num_rows == 0
    assert read(tmp_path).column_names == TABLE.column_names
    # With other files, the empty file adds no batch.
    FORMATS[ending](TABLE, tmp_path / f"more{ending}")
    assert 0 not in lengths(tmp_path)
    assert read(tmp_path)["text"].equals(TABLE["text"]) or ending.startswith(".csv")


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
def test_batches_are_the_row_groups_and_batches_of_the_files(tmp_path, ending):
    write_parts(tmp_path, ending)
    assert lengths(tmp_path) == [20, 13, 20, 13, 20, 14]
    assert lengths(tmp_path, max_rows=15) == [15, 5, 13, 15, 5, 13, 15, 5, 14]


def test_large_row_groups_are_not_split(tmp_path):
    pq.write_table(pa.table({"a": pa.nulls(300_000, pa.int8())}), tmp_path / "0.parquet")
    assert lengths(tmp_path) == [300_000]


def test_row_groups_excluded_by_the_filter_are_not_read(tmp_path):
    (path,) = write_parts(tmp_path, ".parquet", 1)
    whole = path.read_bytes()
    first = pq.read_metadata(path).row_group(0).column(0)
    begin = first.dictionary_page_offset or first.data_page_offset
    broken = bytearray(whole)
    broken[begin : begin + 16] = bytes(16)
    path.write_bytes(broken)
    assert read(path, filter=pc.field("number") >= 60).equals(TABLE.slice(60))
    with pytest.raises((OSError, pa.ArrowException)):
        read(path)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_folders_named_after_keys_become_columns(tmp_path, ending):
    for year in (2021, 2020):
        for kind in ("b", "a"):
            folder = tmp_path / f"year={year}" / f"kind={kind}"
            folder.mkdir(parents=True)
            FORMATS[ending](pa.table({"n": [year, len(kind)]}), folder / f"0{ending}")
    found = read(tmp_path)
    known = ds.dataset(tmp_path, partitioning="hive", format=ending[1:])
    assert found.equals(known.to_table())
    assert found["year"].to_pylist() == [2020] * 4 + [2021] * 4
    assert found["kind"].to_pylist() == ["a", "a", "b", "b"] * 2
    found = read(tmp_path, columns=["n", "kind"], filter=pc.field("year") == 2021)
    assert found.to_pydict() == {"n": [2021, 1, 2021, 1], "kind": ["a", "a", "b", "b"]}
    # Files that the filter excludes are not opened.
    stream = cab.to_arrow_device_stream(tmp_path, filter=pc.field("kind") == "b")
    for unwanted in tmp_path.glob("*/kind=a/*"):
        unwanted.unlink()
    assert pa.table(StreamOnly(stream))["n"].to_pylist() == [2020, 1, 2021, 1]
    # The files of one partition, or of a glob, have only the columns that they store.
    assert read(tmp_path / "year=2020" / "kind=b").column_names == ["n"]
    assert read(f"{tmp_path}/*/*/*{ending}").column_names == ["n"]


@pytest.mark.parametrize("ending", [".parquet", ".arrows", ".csv"])
def test_files_of_different_schemas_are_read_with_one_schema(tmp_path, ending):
    FORMATS[ending](pa.table({"a": [1, 2], "only": ["x", "y"]}), tmp_path / f"0{ending}")
    FORMATS[ending](pa.table({"b": [True], "a": [0.5]}), tmp_path / f"1{ending}")
    found = read(tmp_path)
    assert found.schema.names == ["a", "only", "b"]
    assert found.to_pydict() == {
        "a": [1, 2, 0.5],
        "only": ["x", "y", None],
        "b": [None, None, True],
    }


def test_files_of_incompatible_types_are_rejected_at_once(tmp_path):
    for ending in (".arrows", ".parquet"):
        FORMATS[ending](pa.table({"a": [1]}), tmp_path / f"0{ending}")
        FORMATS[ending](pa.table({"a": ["x"]}), tmp_path / f"1{ending}")
    with pytest.raises(ValueError, match=r"Field a has incompatible types.*made with a schema"):
        cab.to_arrow_device_stream(f"{tmp_path}/*.arrows")
    for path in tmp_path.glob("*.arrows"):
        path.unlink()
    with pytest.raises(ValueError, match=r"Field a has incompatible types.*made with a schema"):
        cab.to_arrow_device_stream(tmp_path)
    schema = pa.schema([("a", pa.string())])
    with pytest.raises(ValueError, match="column 'a'"):
        read([[tmp_path / "0.parquet"], [tmp_path / "1.parquet"]])
    assert read(ds.dataset(tmp_path, schema=schema)).to_pydict() == {"a": ["1", "x"]}


def test_formats_are_detected_from_the_first_bytes(tmp_path):
    for name, write in {"a.arrow": write_arrow_stream, "b.dat": write_parquet}.items():
        write(TABLE, tmp_path / name)
        assert read(tmp_path / name).equals(TABLE)
    for name, content, reason in (
        ("text", b"number\n1\n", "neither Parquet"),
        ("old.feather", b"FEA1 and so on", "Feather version 1"),
        ("empty.parquet", b"", "the file is empty"),
        ("cut.parquet", b"PAR1PAR1", "cut.parquet"),
        ("cut.arrow", b"ARROW1\0\0", "cut.arrow"),
        ("cut.arrows", b"\xff\xff\xff\xff\x10\0\0\0", "cut.arrows"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=reason):
            cab.to_arrow_device_stream(tmp_path / name)


def test_folder_ignores_hidden_files_and_rejects_another_format(tmp_path):
    write_parts(tmp_path, ".parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.parquet.crc").touch()
    (tmp_path / "README").write_text("about")
    write_parquet(TABLE, tmp_path / ".hidden.parquet")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "part-3.parquet").mkdir()
    write_parquet(TABLE, tmp_path / "_temporary" / "part.parquet")
    (tmp_path / "below").mkdir()
    write_parquet(TABLE.slice(0, 1), tmp_path / "below" / "part.parquet")
    assert read(tmp_path)["number"].to_pylist() == [0, *range(ROWS)]
    csv.write_csv(TABLE, tmp_path / "rows.csv")
    with pytest.raises(
        ValueError, match=r"rows\.csv and .*part\.parquet have suffixes of different formats"
    ):
        cab.to_arrow_device_stream(tmp_path)
    for pattern in ("*.parquet", "part-*", "[!r]*"):
        assert read(tmp_path / pattern).equals(TABLE)
    assert read(tmp_path / ".hid*").num_rows == ROWS


def test_name_of_an_existing_file_is_not_read_as_a_glob(tmp_path):
    write_parquet(TABLE.slice(0, 1), tmp_path / "a[1].parquet")
    write_parquet(TABLE.slice(1, 1), tmp_path / "a1.parquet")
    assert read(f"{tmp_path}/a[1].parquet")["number"].to_pylist() == [0]
    assert read(f"{tmp_path}/a[0-9].parquet")["number"].to_pylist() == [1]


def test_tilde_expands_to_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_parts(tmp_path, ".parquet")
    assert read("~").equals(TABLE)
    assert read("~/part-*").equals(TABLE)
    assert read(Path("~/part-1.parquet")).equals(TABLE.slice(33, 33))


@pytest.mark.parametrize(
    "name", ["~/missing.parquet", "none*.csv", "memory://missing/x.csv", "empty"]
)
def test_missing_files_are_an_error_of_the_call(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for source in (name, [Path(name)]) if "memory" not in name else (name,):
        with pytest.raises(FileNotFoundError) as found:
            cab.to_arrow_device_stream(source)
        assert found.value.filename == name
        assert name in str(found.value)


def test_empty_path_is_rejected(tmp_path, monkeypatch):
    """An empty path would otherwise be the current folder."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"path.*empty"):
        cab.to_arrow_device_stream("")


def test_strings_in_lists_and_iterables_are_not_read_as_paths(tmp_path):
    paths = write_parts(tmp_path, ".parquet")
    for names in (map(str, paths), [paths[0], str(paths[1])]):
        with pytest.raises(TypeError, match=r"pathlib\.Path"):
            cab.to_arrow_device_stream(list(names))
    with pytest.raises(TypeError, match="str"):
        cab.from_arrow_device_stream([str(paths[0])])
    for source in ((str(path) for path in paths), set(map(str, paths)), [[str(paths[0])]]):
        stream = cab.to_arrow_device_stream(source)
        batches = iter(stream)
        with pytest.raises(TypeError, match=r"the string '.*part-"):
            next(batches)
    assert read(path for path in paths).equals(TABLE)


INVALID_OPTIONS = [
    ({"columns": "number"}, TypeError, "columns: .* got 'number'"),
    ({"columns": ["nope"]}, KeyError, "'nope'.*'number', 'text'"),
    ({"columns": ["text", "text"]}, ValueError, "these names are repeated: .'text'"),
    ({"filter": "number > 1"}, TypeError, "filter: .* type str"),
    ({"filter": pc.field("nope") > 1}, ValueError, r"filter=\(nope > 1\): No match"),
    ({"filter": pc.field("real")}, ValueError, "filter=real: .*must evaluate to bool"),
]


@pytest.mark.parametrize("ending", [".parquet", ".arrows"])
@pytest.mark.parametrize(("options", "error", "text"), INVALID_OPTIONS)
def test_invalid_columns_and_filters_are_rejected_at_once(tmp_path, ending, options, error, text):
    (path,) = write_parts(tmp_path, ending, 1)
    with pytest.raises(error, match=text):
        cab.to_arrow_device_stream(path, **options)


@pytest.mark.parametrize("source", [TABLE, ds.dataset(TABLE).scanner(), [Path("x"), TABLE]])
@pytest.mark.parametrize(
    "options",
    [{"columns": ["text"]}, {"filter": pc.field("number") > 1}, {"memory_map": True}],
)
def test_options_of_files_are_rejected_for_other_sources(source, options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name}: expected a path or .* got an object of type"):
        cab.to_arrow_device_stream(source, **options)


def test_datasets_and_scanners_are_read():
    pieces = [TABLE.slice(0, 60), TABLE.slice(60)]
    in_memory = [ds.dataset(piece) for piece in pieces]
    wanted = pc.field("number") > 55
    for dataset in (ds.dataset(in_memory), ds.dataset(TABLE)):
        assert read(dataset).equals(TABLE)
        found = read(dataset, columns=["text"], filter=wanted)
        assert found.equals(dataset.to_table(columns=["text"], filter=wanted))
        scanner = dataset.scanner(columns=["real"], filter=wanted)
        assert read(scanner).equals(scanner.to_table())
    assert read(in_memory).equals(TABLE)
    first = next(iter(cab.to_arrow_device_stream(in_memory[0])))
    (data,) = [buffer for buffer in first.children[0].buffers() if buffer.name == "data"]
    assert data.address == TABLE["number"].chunk(0).buffers()[1].address


@pytest.mark.exhaustive
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows", ".csv"])
@pytest.mark.parametrize("options", [{}, {"filter": pc.field("a") >= 0}], ids=["all", "filter"])
def test_file_is_not_read_far_ahead_of_the_consumer(tmp_path, ending, options):
    size = 1 << 16
    # Row groups and batches of half a mebibyte, 20 MiB in all; 64 MiB of CSV.
    table = pa.table({"a": pa.array(range((128 if ending == ".csv" else 40) * size))})
    path = tmp_path / f"file{ending}"
    compressed = pa.ipc.IpcWriteOptions(compression="lz4")
    if ending == ".parquet":
        pq.write_table(table, path, row_group_size=size)
    elif ending == ".csv":
        csv.write_csv(table, path)
    else:
        new = pa.ipc.new_file if ending == ".arrow" else pa.ipc.new_stream
        with new(path, table.schema, options=compressed) as file:
            file.write_table(table, max_chunksize=size)
    before, rows = pa.total_allocated_bytes() - table.nbytes, len(table)
    del table
    most = 0
    for batch in cab.to_arrow_device_stream(path, **options):
        rows -= len(batch)
        most = max(most, pa.total_allocated_bytes() - before)
        del batch
    assert rows == 0
    # pyarrow's CSV reader has up to 32 blocks of a mebibyte in the queue.
    assert 0 < most < (56 << 20 if ending == ".csv" else 8 << 20)
