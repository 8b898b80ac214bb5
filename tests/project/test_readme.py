# SPDX-License-Identifier: Apache-2.0
import asyncio
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab

README = (Path(__file__).parents[2] / "README.md").read_text()

#: The prose that is read in three minutes, without examples, tables and the picture.
MAX_WORDS = 700


def test_quick_start_is_two_commands_and_nothing_else():
    [text] = re.findall(r"^## Quick start\n(.*?)(?=^#|\Z)", README, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in commands for line in block.splitlines() if line.strip()]
    assert len(lines) == 2
    assert lines[0].endswith(" roundtrip examples/data/nyc_flights.parquet")
    assert lines[1] == "bash dev/test.sh"
    rest = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert rest.strip() == ""


def test_prose_of_the_readme_stays_short():
    other = re.compile(r"^```.*?^```$|^\|[^\n]*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
    prose = other.sub("", README)
    assert len(prose.split()) <= MAX_WORDS


SHORT = re.findall(r"^\| \[.*\) \| `(.*)` \|$", README, re.MULTILINE)


@pytest.mark.skipif(cab.has_gpu(), reason="numpy reads the tensor in host memory")
def test_short_calls_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"distance": [1, 2, 3]})
    pq.write_table(table, "flights.parquet")
    frame = cab.from_arrow_device(table)
    names = {"cab": cab, "pickle": pickle, "torch": np, "frame": frame, "buffers": []}
    names["array"] = cab.to_arrow_device(frame)
    body = "".join(f"\n    {call}" for call in SHORT)
    exec(f"async def calls():{body}\n    return locals()", names)
    results = asyncio.run(names["calls"]())
    assert cab.from_arrow_device_stream(results["stream"]).to_arrow() == table
    assert [frame.to_arrow() for frame in results["frames"]] == [table]
    assert pa.ipc.open_file("flights.arrow").read_all() == table
    again = pickle.loads(results["header"], buffers=names["buffers"])
    assert pa.table(again) == table
    assert results["collection"].compute()["distance"].tolist() == [1, 2, 3]
    assert results["tensor"].tolist() == [1, 2, 3]
    assert len(SHORT) == 6
