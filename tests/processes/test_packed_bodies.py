# SPDX-License-Identifier: Apache-2.0
"""Packed bodies, which device memory needs, are made from host memory here."""

from __future__ import annotations

import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc import pickling
from cudf_arrow_bridge.ipc.encoder import MessageEncoder
from testing.exchange.pickles import adopted, batch_in
from testing.ipc import samples

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

CASES = {
    **{str(type_): samples.batches_of(type_) for type_ in samples.TYPES},
    **{name: batches for name, (_, batches) in samples.UNUSUAL.items() if batches},
}


def packed(body):
    """Return the buffers of a body, each with zeros up to a multiple of 64 bytes."""
    return b"".join(
        bytes(buffer).ljust(-(-len(buffer) // 64) * 64, b"\0") for buffer in body.buffers()
    )


@pytest.mark.parametrize("name", CASES)
def test_unpack_reads_downloaded_bodies(name):
    """Each body is one buffer, dictionaries first. Empty bodies are omitted."""
    batches = CASES[name]
    for array, batch in zip(adopted(batches[0].schema, batches), batches, strict=True):
        encoder = MessageEncoder(array._arrow_schema, "table", resolve_stream(None))
        bodies = [message.body for message in encoder.encode(array)]
        buffers = [packed(body) for body in bodies if body.packed_size]
        assert [len(buffer) for buffer in buffers] == [
            body.packed_size for body in bodies if body.packed_size
        ]
        kind, device_type, _, *rest = pickling.pack(array).header
        found = pickling.unpack((kind, device_type, True, *rest), buffers)
        # `found` must not use the memory of the source.
        array.release()
        assert batch_in(found).equals(batch)
