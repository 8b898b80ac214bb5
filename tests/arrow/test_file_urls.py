# SPDX-License-Identifier: Apache-2.0
"""Test that each function and command that accepts a path accepts its ``file:`` URL."""

from __future__ import annotations

from urllib.parse import quote

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main

TABLE = pa.table({"a": [1, 2, 3]})


def rows_of_command(*arguments):
    assert main([*arguments]) == 0
    return TABLE.to_pylist()


READERS = {
    "open_stream": lambda url: pa.table(cab.ipc.open_stream(url)).to_pylist(),
    "open_file": lambda url: pa.table(cab.ipc.open_file(url)).to_pylist(),
    "open_file, mapped": lambda url: pa.table(cab.ipc.open_file(url, memory_map=True)).to_pylist(),
    "to_arrow_device_stream": lambda url: pa.table(cab.to_arrow_device_stream(url)).to_pylist(),
    "from_arrow_device_stream": lambda url: (
        cab.from_arrow_device_stream(url).to_arrow(preserve_index=False).to_pylist()
    ),
    "polars.scan": lambda url: cab.polars.scan(url).collect().to_dicts(),
    "inspect": lambda url: rows_of_command("inspect", url),
    "roundtrip": lambda url: rows_of_command("roundtrip", url),
}
WRITERS = {"write_stream": cab.ipc.write_stream, "write_file": cab.ipc.write_file}
HOSTS = ["file://", "file://localhost"]


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "größe 100%41"
    folder.mkdir()
    return folder / "table.arrow"


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("reader", READERS)
def test_url_of_a_file_is_read(path, host, reader):
    (cab.ipc.write_stream if reader == "open_stream" else cab.ipc.write_file)(TABLE, path)
    assert READERS[reader](f"{host}{quote(str(path))}") == TABLE.to_pylist()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("writer", WRITERS)
def test_url_of_a_file_is_written(path, host, writer):
    WRITERS[writer](TABLE, f"{host}{quote(str(path))}")
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert pa.table(cab.to_arrow_device_stream(path)).equals(TABLE)


@pytest.mark.parametrize("url", ["file://elsewhere/table.arrow", "file://"])
@pytest.mark.parametrize("function", [*READERS, *WRITERS])
def test_url_of_another_host_is_an_error(url, function, capsys):
    match = "expected a URL such as file:///folder/name, got "
    if function in ("inspect", "roundtrip"):
        assert main([function, url]) != 0
        assert match in capsys.readouterr().err
        return
    with pytest.raises(ValueError, match=match + repr(url)):
        WRITERS[function](TABLE, url) if function in WRITERS else READERS[function](url)
