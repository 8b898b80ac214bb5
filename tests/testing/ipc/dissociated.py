# SPDX-License-Identifier: Apache-2.0
"""A process that runs the example of the Dissociated IPC Protocol."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from dissociated_ipc import Server, receive_messages

import cudf_arrow_bridge as cab
from testing.processes import obey


def serve(path: str, name: str, rows: tuple[int, int], max_rows: int | None):
    with pa.ipc.open_stream(path) as reader:
        table = cab.to_arrow_device(reader.read_all())
    server = Server({name.encode(): table[slice(*rows)]}, max_rows=max_rows)
    yield server.uri
    server.run()
    yield "served"


def fetch(uri: str, name: str, path: str):
    messages = receive_messages(uri, name.encode(), lambda size: np.empty(size, "u1"))
    table = pa.table(cab.ipc.from_messages(messages))
    with pa.ipc.new_stream(path, table.schema) as sink:
        sink.write_table(table)
    yield "fetched"


def fetch_unknown(known: str, wanted: str):
    """Request data that a server on another thread lacks; yield the errors of both."""
    server = Server({known.encode(): pa.table({"n": [1, 2, 3]})})
    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(server.run)
        try:
            list(receive_messages(server.uri, wanted.encode(), bytearray))
        except ConnectionError as error:
            yield repr(error)
        yield repr(served.exception())


if __name__ == "__main__":
    obey(serve=serve, fetch=fetch, fetch_unknown=fetch_unknown)
