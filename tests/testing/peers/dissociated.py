# SPDX-License-Identifier: Apache-2.0
"""A client and a server of the Dissociated IPC Protocol, written with pyarrow and ucxx only.

They check each MUST of the specification, and can send messages in an allowed but unusual order.
"""

from __future__ import annotations

import struct
import sys
import time
from urllib.parse import parse_qs, urlparse

import pyarrow as pa
from ucxx._lib import libucxx
from ucxx._lib.arr import Array

from testing.processes import obey

WANT_DATA = 2**63 + 5
ALL_BITS = 2**64 - 1
SEQUENCE_BITS = 0xFFFFFFFF
TIME_LIMIT = 30


class Link:
    """A UCX worker that makes progress while a caller waits."""

    def __init__(self):
        self.worker = libucxx.UCXWorker(libucxx.UCXContext())
        self.endpoint = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.endpoint is not None:
            self.endpoint.close_blocking()
            self.worker.progress()

    def wait_for(self, condition):
        deadline = time.monotonic() + TIME_LIMIT
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no progress within {TIME_LIMIT} seconds")
            self.worker.progress()
            time.sleep(0)

    def complete(self, requests):
        for request in requests:
            self.wait_for(lambda request=request: request.completed)
            request.check_error()

    def untagged(self):
        self.wait_for(self.endpoint.am_probe)
        request = self.endpoint.am_recv()
        self.complete([request])
        return bytes(request.recv_buffer)

    def probe(self, tag, bits, remove):
        tag, bits = libucxx.UCXXTag(tag), libucxx.UCXXTagMask(bits)
        return self.worker.tag_probe(tag, bits, remove=remove)

    def tagged(self, tag, bits):
        self.wait_for(lambda: self.probe(tag, bits, False).matched)
        found = self.probe(tag, bits, True)
        body = bytearray(found.length)
        self.complete([self.worker.tag_recv_with_handle(Array(body), found)])
        return found.sender_tag.value, bytes(body)

    def send(self, content, tag=None):
        if tag is None:
            return self.endpoint.am_send(Array(content))
        return self.endpoint.tag_send(Array(content), libucxx.UCXXTag(tag))


def fetch(uri, name, path):
    """Write the data of a server to a file as an IPC stream."""
    url = urlparse(uri)
    assert url.scheme == "ucx"
    (want_data,) = parse_qs(url.query)["want_data"]
    with Link() as link, open(path, "wb") as file:
        link.endpoint = libucxx.UCXEndpoint.create(link.worker, url.hostname, url.port, True)
        link.complete([link.send(name.encode(), int(want_data))])
        for sequence, metadata in enumerate(all_metadata(link)):
            body = b""
            if sequence > 0:
                tag, body = link.tagged(sequence, SEQUENCE_BITS)
                assert tag == sequence, "packed bodies have type 0, and reserved bits are 0"
            message = pa.ipc.read_message(encapsulated(metadata, body))
            assert (message.type == "schema") == (sequence == 0)
            assert message.body is None or message.body.to_pybytes() == body
            file.write(message.serialize())
        assert not link.probe(0, 0, False).matched, "nothing else was sent"
    yield "fetched"


def all_metadata(link):
    found = {}
    end = None
    while end is None or len(found) < end:
        message = link.untagged()
        kind, sequence = message[0], int.from_bytes(message[1:5], "little")
        assert sequence not in found
        if kind == 0:
            assert len(message) == 5
            end = sequence
        else:
            assert kind == 1
            found[sequence] = message[5:]
    return [found[sequence] for sequence in range(end)]


def encapsulated(metadata, body):
    padding = bytes(-len(metadata) % 8)
    head = struct.pack("<Ii", 0xFFFFFFFF, len(metadata) + len(padding))
    return head + metadata + padding + body


def serve(path, name, rows, max_rows, order="usual", spoil=None):
    """Send a table. `order` is the order of messages; `spoil` names an error in the last one."""
    with pa.ipc.open_stream(path) as reader:
        table = reader.read_all()[slice(*rows)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_rows)
    messages = list(pa.ipc.MessageReader.open_stream(sink.getvalue()))

    untagged = [struct.pack("<BI", 1, i) + bytes(m.metadata) for i, m in enumerate(messages)]
    untagged.append(struct.pack("<BI", 0, len(messages)))
    tagged = [(bytes(m.body), i) for i, m in enumerate(messages) if i > 0]
    if spoil == "type of message":
        untagged[-1] = b"\7" + untagged[-1][1:]
    elif spoil == "type of body":
        content, tag = tagged[-1]
        tagged[-1] = struct.pack("<4Q", len(content), 1, 4096, len(content)), tag | 1 << 56
    elif spoil == "end":
        untagged.pop()

    sent = [(each, None) for each in untagged] + tagged
    if order == "backwards":
        sent.reverse()
    with Link() as link:
        endpoints = []
        accept = endpoints.append
        listener = libucxx.UCXListener.create(link.worker, 0, accept, deliver_endpoint=True)
        yield f"ucx://127.0.0.1:{listener.port}?want_data={WANT_DATA}"
        link.wait_for(lambda: endpoints)
        link.endpoint = endpoints.pop()
        assert link.tagged(WANT_DATA, ALL_BITS) == (WANT_DATA, name.encode())
        link.complete([link.send(*each) for each in sent])
        if spoil != "end":
            link.wait_for(lambda: not link.endpoint.alive)
    yield "served"


if __name__ == "__main__":
    obey(serve=serve, fetch=fetch)
    assert "cudf_arrow_bridge" not in sys.modules
