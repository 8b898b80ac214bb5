# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.arrow.types import support_of

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"


def inspected(path, capsys):
    assert main(["inspect", "--json", str(path)]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_the_format_rows_and_column_types(capsys):
    document = inspected(SAMPLE, capsys)
    schema = pq.read_schema(SAMPLE)
    assert document["format"] == "parquet"
    assert document["rows"] == pq.read_metadata(SAMPLE).num_rows
    assert [c["name"] for c in document["columns"]] == schema.names
    for column, field in zip(document["columns"], schema, strict=True):
        assert column["arrow_type"] == str(field.type)
        support = support_of(field.type)
        assert (column["cudf_type"], column["support"]) == (support.cudf_type, support.support)


def test_table_has_the_rows_and_column_names(capsys):
    assert main(["inspect", str(SAMPLE)]) == 0
    out = capsys.readouterr().out
    assert "1,614 rows" in out
    for field in pq.read_schema(SAMPLE):
        assert field.name in out


def test_unsupported_types_have_a_reason(tmp_path, capsys):
    twice = pa.struct([("a", pa.int8()), ("a", pa.int8())])
    schema = pa.schema(
        [("wide", pa.decimal256(50, 2)), ("fine", pa.int8()), ("twice", pa.list_(twice))]
    )
    with pa.ipc.new_file(tmp_path / "t", schema):
        pass
    document = inspected(tmp_path / "t", capsys)
    assert document["rows"] == 0
    wide, fine, twice = document["columns"]
    assert wide["support"] == twice["support"] == "unsupported"
    assert wide["note"]
    assert "two fields of one name" in twice["note"]
    assert fine["support"] == "zero-copy"


def test_inspect_does_not_read_the_data(tmp_path, capsys):
    """Overwrite the data but not the metadata; a command that reads the data fails."""
    path = tmp_path / "t"
    table = pa.table({"n": pa.array(range(10_000), pa.int64())})
    pq.write_table(table, path, compression="zstd")
    content = bytearray(path.read_bytes())
    start, end = 400, len(content) - 1000
    content[start:end] = b"\x55" * (end - start)
    path.write_bytes(content)
    assert main(["roundtrip", str(path)]) == 2, "expected roundtrip to reject the damaged data"
    capsys.readouterr()
    document = inspected(path, capsys)
    assert (document["format"], [c["name"] for c in document["columns"]]) == ("parquet", ["n"])


def test_inspect_infers_the_types_of_a_csv_file(tmp_path, capsys):
    pa.csv.write_csv(pa.table({"a": [1], "b": ["x"]}), tmp_path / "t.csv")
    document = inspected(tmp_path / "t.csv", capsys)
    assert [c["arrow_type"] for c in document["columns"]] == ["int64", "string"]


def test_inspect_of_a_name_that_is_not_utf8_is_an_error(tmp_path, capsys):
    path = tmp_path / "a.arrows"
    with pa.ipc.new_stream(path, pa.schema([("namename", pa.int8())])):
        pass
    path.write_bytes(path.read_bytes().replace(b"namename", b"name\xffame"))
    assert main(["inspect", str(path)]) == 2
    assert "cannot be read" in capsys.readouterr().err
