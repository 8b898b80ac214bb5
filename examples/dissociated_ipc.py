# SPDX-License-Identifier: Apache-2.0
"""Arrow's Dissociated IPC Protocol over UCX, which sends metadata and bodies separately.

`python examples/dissociated_ipc.py` sends the flights of examples/data from one process to another.
It requires the extra `ucx`. https://arrow.apache.org/docs/format/DissociatedIPC.html
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow.parquet as pq
from ucx_connection import Connection, Listener

import cudf_arrow_bridge as cab

FLIGHTS = Path(__file__).parent / "data" / "nyc_flights.parquet"

#: Tag of the message that requests data. A server may choose any tag: its URI contains it.
WANT_DATA = 0xDA7A
#: The prefix of metadata: the type of the message, and its sequence number.
PREFIX = struct.Struct("<BI")
END_OF_STREAM, METADATA = 0, 1
#: The bits of a body's tag with its sequence number. The highest byte is the type: 0 is packed.
SEQUENCE = 0xFFFFFFFF


class Server:
    """Sends one client the data that it requests by name."""

    def __init__(self, data: Mapping[bytes, Any], **options: Any) -> None:
        self._data = data
        self._options = options
        array_library()
        self._connection = Listener()
        self.uri = f"ucx://127.0.0.1:{self._connection.port}?want_data={WANT_DATA}"

    def run(self) -> None:
        """Wait for the client, and send the data that it requests."""
        connection = self._connection
        try:
            connection.accept()
            _, name = connection.receive_tagged(WANT_DATA, 2**64 - 1, bytearray)
            frame = self._data[bytes(name)]
            send_messages(connection, cab.ipc.messages(frame, **self._options))
            # Bodies are sent as packed data, so the client frees no addresses.
            connection.wait_until_closed()
        finally:
            connection.close()


def send_messages(connection: Connection, messages: Iterable[cab.ipc.Message]) -> None:
    """Send the metadata of each message, and its body as a tagged message.

    Metadata does not wait for bodies: a client may fetch the bodies after all metadata.
    """
    requests: list[Any] = []
    bodies = []  # they must stay alive until they are sent
    index = 0
    for index, message in enumerate(messages):
        sequence = index & SEQUENCE
        connection.send(PREFIX.pack(METADATA, sequence) + message.metadata)
        if index > 0:  # the first is the schema, which has no body
            bodies.append(packed(message))
            requests.append(connection.send_tagged(sequence, bodies[-1]))
    connection.send(PREFIX.pack(END_OF_STREAM, index + 1 & SEQUENCE))
    connection.finish(*requests)


def packed(message: cab.ipc.Message) -> Any:
    """Return the packed body: the buffers, each padded with zeros, in one piece of memory.

    UCX sends one piece of device memory by CUDA IPC, but a list of pieces through host memory.
    """
    library = array_library()
    zeros = library.zeros(64, "u1")
    pieces = [zeros[:0]]
    for buffer, padding in zip(message.buffers, message.padding, strict=True):
        pieces += [library.asarray(buffer), zeros[:padding]]
    body = library.concatenate(pieces)
    wait_for_gpu()
    return body


def array_library() -> Any:
    """Return cupy if there is a GPU, with a CUDA context, otherwise numpy.

    UCX does not use CUDA IPC in a worker that is older than the context.
    """
    if not cab.has_gpu():
        import numpy

        return numpy
    import cupy

    cupy.cuda.runtime.free(0)  # creates the context
    return cupy


def wait_for_gpu() -> None:
    """Wait until the GPU has done all work, because UCX does not wait for CUDA streams."""
    if cab.has_gpu():
        array_library().cuda.Device().synchronize()


def receive_messages(
    uri: str, name: bytes, allocate: Callable[[int], Any]
) -> Iterator[tuple[bytes, list[Any]]]:
    """Request data from a server; yield metadata and packed body of each message, in order.

    `allocate` takes a number of bytes and returns memory for a body of this size.
    """
    url = urlsplit(uri)
    want_data = int(parse_qs(url.query)["want_data"][0])
    array_library()
    connection = Connection.to(url.hostname, url.port)
    try:
        connection.finish(connection.send_tagged(want_data, name))
        arrived = {}
        for index in itertools.count():
            sequence = index & SEQUENCE
            while sequence not in arrived:
                message = connection.receive()
                kind, number = PREFIX.unpack_from(message)
                arrived[number] = kind, message[PREFIX.size :]
            kind, metadata = arrived.pop(sequence)
            if kind == END_OF_STREAM:
                return
            if kind != METADATA:
                raise ValueError(f"message {sequence}: expected type 0 or 1, got {kind}")
            if index == 0:
                yield metadata, []
                continue
            tag, body = connection.receive_tagged(sequence, SEQUENCE, allocate)
            if tag != sequence:
                raise ValueError(f"body {sequence}: expected type 0 (packed), got {tag >> 56}")
            yield metadata, [body]
    finally:
        connection.close()


def allocate(size: int) -> Any:
    """Allocate memory for a body: on the GPU, if there is one."""
    memory = array_library().empty(size, "u1")
    wait_for_gpu()  # for the work of an earlier owner of the memory
    return memory


def reported(messages: Iterable[tuple[bytes, list[Any]]]) -> Iterator[tuple[bytes, list[Any]]]:
    """Yield messages, and print the sizes of metadata and body of each."""
    for number, (metadata, bodies) in enumerate(messages):
        size = sum(body.nbytes for body in bodies)
        print(f"message {number}: {len(metadata):,} bytes of metadata, {size:,} of body")
        yield metadata, bodies


def serve_flights(uri: Any) -> None:
    """Put the URI of a server into the queue `uri`, and serve a client."""
    flights = cab.from_arrow_device(pq.read_table(FLIGHTS))
    server = Server({b"flights": flights}, max_rows=1000)
    uri.put(server.uri)
    server.run()


def main() -> None:
    """Send flights from another process to this one."""
    spawning = get_context("spawn")
    uris = spawning.Queue()
    process = spawning.Process(target=serve_flights, args=(uris,))
    process.start()
    messages = receive_messages(uris.get(timeout=60), b"flights", allocate)
    flights = cab.from_arrow_device_stream(cab.ipc.from_messages(reported(messages)))
    process.join()
    print(flights[["origin", "dest", "distance"]].head(3))


if __name__ == "__main__":
    main()
