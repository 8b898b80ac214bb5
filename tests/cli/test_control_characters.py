# SPDX-License-Identifier: Apache-2.0
"""Control characters in names, types, values and errors of peers are escaped in every text."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import compare
from testing.peers.arrays import DeviceOnly
from testing.peers.streams import StreamProducer

#: The terminal's colors, its bell, the direction of text, C1, invisible letters, and a line break.
BAD = "\x1b[31m\x07\x9b\u200b\u202e\u2028\ufeff\U000e0001\na"
UNKNOWN = pa.field(BAD, pa.decimal256(50, 2), metadata={BAD: BAD})
ZONE = pa.field(BAD, pa.timestamp("us", BAD))
OPAQUE = pa.field(BAD, pa.opaque(pa.struct([(BAD, pa.int8())]), BAD, BAD))


class BadError(ValueError):
    def __repr__(self):
        return BAD


def assert_printable(text, newlines=True):
    """Assert that a text has no character that controls a terminal, except line breaks."""
    bad = {letter for letter in text if not letter.isprintable()}
    assert bad <= ({"\n"} if newlines else set()), repr(text)


def nested(field, make):
    """Return the type of a list, map, struct, dictionary or run-end of a field."""
    return {
        "itself": lambda: field.type,
        "list": lambda: pa.list_(field),
        "view": lambda: pa.list_view(field),
        "fixed": lambda: pa.list_(field, 2),
        "struct": lambda: pa.struct([field]),
        "map": lambda: pa.map_(pa.string(), field),
    }[make]()


NESTS = ["itself", "list", "view", "fixed", "struct", "map"]
SCHEMA = pa.schema(
    [
        *(pa.field(f"{i}{BAD}", nested(f, n)) for i, n in enumerate(NESTS) for f in [OPAQUE, ZONE]),
        pa.field(f"d{BAD}", pa.dictionary(pa.int8(), pa.string())),
        pa.field(f"u{BAD}", UNKNOWN.type),
        pa.field(BAD, pa.int8()),
        pa.field(BAD, pa.int8()),
    ]
)


def rows_of(fields):
    schema = pa.schema(fields)
    return pa.table([pa.nulls(2, field.type) for field in schema], schema)


@pytest.mark.parametrize("command", ["inspect", "roundtrip"])
@pytest.mark.parametrize("as_json", [False, True], ids=["table", "JSON"])
def test_commands_escape_names_types_and_files(command, as_json, tmp_path, capsys):
    path = os.fsencode(tmp_path) + BAD.encode() + b"\xff"
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
        writer.write_table(rows_of(SCHEMA))
    main([command, *(["--json"] if as_json else []), os.fsdecode(path)])
    out, err = capsys.readouterr()
    assert "\\n" in out
    assert_printable(out)
    assert_printable(err)


def test_commands_escape_the_names_of_files_that_cannot_be_read(tmp_path, capsys):
    (tmp_path / f"{BAD}.csv").write_text("a\tb\x1b[31m\n1\t2\n")
    for name in (f"missing{BAD}\udcff", str(tmp_path / f"{BAD}.csv")):
        for command in ("inspect", "roundtrip"):
            assert main([command, name]) == 2
            out, err = capsys.readouterr()
            assert not out
            assert_printable(err.removesuffix("\n"), newlines=False)


def test_differences_of_values_are_escaped(tmp_path, capsys, monkeypatch):
    pq.write_table(pa.table({"a": [BAD]}), tmp_path / "t")
    monkeypatch.setattr(compare, "same_values", lambda *_: False)
    assert main(["roundtrip", str(tmp_path / "t")]) == 1
    out = capsys.readouterr().out
    assert "became" in out
    assert_printable(out)


@pytest.mark.parametrize(
    "field", [OPAQUE, ZONE, pa.field(BAD, pa.int8())], ids=["opaque", "zone", "name"]
)
@pytest.mark.parametrize("make", NESTS)
def test_reprs_escape_names_and_types(field, make):
    field = pa.field(BAD, nested(field, make))
    array = cab.to_arrow_device(DeviceOnly(rows_of([field]).to_batches()[0]))
    stream = cab.to_arrow_device_stream(array)
    report = array.report()
    for shown in (array, array.children[0], stream, report, *array.buffers()):
        assert_printable(repr(shown))
    for shown in (array, stream, report):
        assert_printable(shown._repr_html_(), newlines=False)
    assert_printable(report.diagram(), newlines=False)


def test_reprs_of_streams_escape_their_errors():
    def batches():
        yield pa.record_batch({"a": [1]})
        raise BadError(BAD)

    stream = cab.to_arrow_device_stream(batches())
    with pytest.raises(Exception, match="a"):
        list(stream)
    assert "ended by" in repr(stream)
    assert_printable(repr(stream), newlines=False)
    assert_printable(stream._repr_html_(), newlines=False)


def frame_of(*fields):
    return DeviceOnly(rows_of(fields).to_batches()[0])


@pytest.fixture
def files(tmp_path):
    """Return paths of files that cannot be read, by what is wrong with them."""
    content = {
        "damaged.parquet": b"PAR1" + bytes(20),
        "tabs.csv": f"a\tb{BAD}\n1\t2\n".encode(),
        "tabs.tsv": b"a\tb",
        "value.csv": b"\x1b\x07,b\n" + b"1,2\n" * 400_000 + b"\x1b[31m,3\n",
    }
    for name, data in content.items():
        (tmp_path / f"{BAD}{name}").write_bytes(data)
    return {name: tmp_path / f"{BAD}{name}" for name in (*content, "missing\udcff")}


def read(paths):
    return list(cab.to_arrow_device_stream(paths))


GOOD = pa.record_batch({BAD: [1]})
BOOLS = pa.record_batch({BAD: [True]})
TWICE = pa.field(BAD, pa.struct([(BAD, pa.int8())] * 2))
TENSOR = {"version": 3, "shape": (1,), "typestr": BAD, "data": (8, True)}
DOORS = {
    "type": lambda _: cab.from_arrow_device(frame_of(UNKNOWN)),
    "type of a field": lambda _: cab.from_arrow_device(
        frame_of(pa.field(BAD, pa.struct([UNKNOWN])))
    ),
    "time zone": lambda _: cab.from_arrow_device(frame_of(ZONE)),
    "time zone of a field": lambda _: cab.from_arrow_device(
        frame_of(pa.field(BAD, pa.struct([ZONE])))
    ),
    "names of fields": lambda _: cab.from_arrow_device(frame_of(TWICE)),
    "column": lambda _: cab.to_arrow_device(GOOD)[f"x{BAD}"],
    "columns": lambda _: cab.from_arrow_device(GOOD, columns=[f"x{BAD}"]),
    "copy": lambda _: cab.from_arrow_device(BOOLS, copy=False),
    "copy of an export": lambda _: cab.to_arrow_device(cab.from_arrow_device(BOOLS), copy=False),
    "error of a stream": lambda _: cab.from_arrow_device(
        StreamProducer(GOOD.schema, [5], BAD.encode())
    ),
    "missing file": lambda files: read(files["missing\udcff"]),
    "missing IPC file": lambda files: cab.ipc.open_file(files["missing\udcff"]),
    "damaged file": lambda files: read(files["damaged.parquet"]),
    "delimiter": lambda files: read(files["tabs.csv"]),
    "formats": lambda files: read([files["tabs.csv"], files["tabs.tsv"]]),
    "value of a file": lambda files: read(files["value.csv"]),
    "dataset": lambda files: read(
        ds.dataset(str(files["damaged.parquet"]), GOOD.schema, format="parquet")
    ),
    "object of pandas": lambda _: cab.to_arrow_device(pd.DataFrame({BAD: [1, "a"]})),
    "option": lambda _: cab.from_arrow_device(GOOD, kind=BAD),
    "CUDA array interface": lambda _: cab.from_cuda_array_interface(
        SimpleNamespace(__cuda_array_interface__=TENSOR)
    ),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_errors_escape_names_types_and_files(door, files):
    with pytest.raises((OSError, LookupError, TypeError, ValueError), match="x1b") as error:
        door(files)
    assert_printable(str(error.value), newlines=False)
