# SPDX-License-Identifier: Apache-2.0
"""The example of the Dissociated IPC Protocol, and peers that know only the specification."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ipc.samples import ROWS, with_nulls
from testing.ipc.ucx_example import run_example
from testing.processes import Process

pytest.importorskip("ucxx", reason="the extra ucx is not installed", exc_type=ImportError)
pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

#: By default, UCX logs to the standard output, where the programs write their answers.
ENVIRONMENT = {"UCX_TLS": "tcp,self", "UCX_LOG_FILE": "stderr", "UCX_WARN_UNUSED_ENV_VARS": "n"}
NAME = "größe \0 no text"

COLUMNS = {
    str(type_): with_nulls(type_, "some")
    for type_ in (
        *(pa.int64(), pa.bool_(), pa.string(), pa.timestamp("ms"), pa.decimal128(20, 2)),
        *(pa.list_(pa.int32()), pa.struct([("a", pa.int64()), ("b", pa.string())])),
        *(pa.list_(pa.list_(pa.string())), pa.dictionary(pa.int32(), pa.string())),
    )
}
CASES = {
    "whole": (COLUMNS, (0, ROWS), None),
    "batches of a slice": (COLUMNS, (13, 40), 7),
    "no rows": (COLUMNS, (20, 20), None),
    "large": ({"n": pa.array(range(2**20)), "s": pa.array(["text"] * 2**20)}, (1, 2**20), 2**18),
}


PAIRS = [("ours", "theirs"), ("theirs", "ours")]


@pytest.fixture(scope="module")
def ends():
    """Start the processes, each of which can be the server or the client."""
    with (
        Process("testing.ipc.dissociated", **ENVIRONMENT) as ours,
        Process("testing.peers.dissociated", **ENVIRONMENT) as theirs,
    ):
        yield {"ours": ours, "theirs": theirs}


@pytest.fixture
def exchange(ends, tmp_path):
    """Send a table. Return the answers of the client and the server, and the received file."""

    def run(table, server, client, **options):
        server, client = ends[server], ends[client]
        with pa.ipc.new_stream(tmp_path / "sent", table.schema) as sink:
            sink.write_table(table)
        received = tmp_path / "received"
        server.ask("serve", path=str(tmp_path / "sent"), name=NAME, **options)
        client.ask("fetch", uri=server.answer(), name=NAME, path=str(received))
        answer = client.answer()
        return answer, server.answer(), received

    return run


def read(path):
    with pa.ipc.open_stream(path) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table


@pytest.mark.parametrize(("server", "client"), PAIRS)
@pytest.mark.parametrize("case", CASES)
def test_client_receives_the_table_that_the_server_sends(case, server, client, exchange):
    columns, rows, max_rows = CASES[case]
    sent = pa.table(columns)
    *answers, path = exchange(sent, server, client, rows=rows, max_rows=max_rows)
    assert answers == ["fetched", "served"]
    received = read(path)
    assert received.schema.names == sent.schema.names
    for name, column in columns.items():
        assert received[name].to_pylist() == column[slice(*rows)].to_pylist(), name
        assert pa.types.is_dictionary(received[name].type) == pa.types.is_dictionary(column.type)
    if max_rows is not None:
        assert received.column(0).num_chunks == math.ceil((rows[1] - rows[0]) / max_rows)


def test_client_accepts_messages_in_reverse_order(exchange):
    """The last body is sent first, and the end of the stream before the schema."""
    sent = pa.table(COLUMNS)
    options = {"rows": (0, ROWS), "max_rows": 15, "order": "backwards"}
    *answers, path = exchange(sent, "theirs", "ours", **options)
    assert answers == ["fetched", "served"]
    assert read(path).to_pylist() == sent.to_pylist()


@pytest.mark.parametrize(
    ("spoil", "error"),
    {
        "type of message": "ValueError: message 2: expected type 0 or 1, got 7",
        "type of body": "ValueError: body 1: expected type 0 (packed), got 1",
        "end": "ConnectionError: ",
    }.items(),
)
def test_client_rejects_malformed_messages(spoil, error, exchange):
    sent = pa.table({"n": [1, 2, 3]})
    options = {"rows": (0, 3), "max_rows": None, "spoil": spoil}
    answer, _, path = exchange(sent, "theirs", "ours", **options)
    assert error in answer
    assert not path.exists()


def test_request_for_unknown_data_raises_errors_on_both_ends(ends):
    ends["ours"].ask("fetch_unknown", known=NAME, wanted="something else")
    assert ends["ours"].answer().startswith("ConnectionError(")
    assert ends["ours"].answer() == "KeyError(b'something else')"


def test_program_sends_each_body_from_one_piece_of_memory(tmp_path):
    """UCX sends a list of pieces of device memory through host memory.

    The docstring of the example has the same command.
    """
    output, protocols = run_example(tmp_path, **ENVIRONMENT)
    assert "of metadata" in output
    assert "tagged message by ucp_tag_send*" in protocols
    assert "from iov" not in protocols
