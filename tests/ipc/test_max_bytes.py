# SPDX-License-Identifier: Apache-2.0
"""The option `max_bytes`: messages whose memory exceeds it are rejected before it is allocated."""

from __future__ import annotations

import io
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ipc import samples as ipc_samples
from testing.ipc.metadata import DICTIONARY, RECORD_BATCH, Metadata, messages_of

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

OPENERS = {
    "bytes": cab.ipc.open_stream,
    "file without a size": lambda data, **options: cab.ipc.open_stream(
        pa.PythonFile(io.BytesIO(data), "r"), **options
    ),
    "messages": lambda data, **options: cab.ipc.from_messages(
        [(m, [b] if b else []) for m, b in messages_of(data)], **options
    ),
    "file": cab.ipc.open_file,
}


def most_bytes(stream):
    """Return the most bytes of a batch and its dictionaries, by the sizes of the bodies."""
    sizes, most = {}, 0
    for metadata, body in messages_of(stream):
        read = Metadata(metadata)
        if read.kind == DICTIONARY:
            sizes[read.id] = body.size + (sizes[read.id] if read.is_delta else 0)
        most = max(most, sum(sizes.values()) + (body.size if read.kind == RECORD_BATCH else 0))
    return most


@pytest.mark.parametrize("deltas", [False, True])
@pytest.mark.parametrize("opener", OPENERS)
def test_batch_with_its_dictionaries_takes_at_most_max_bytes(opener, deltas):
    is_file = opener == "file"
    # A file cannot replace dictionaries.
    batches = list(ipc_samples.replaced())[: (3 if deltas else 1) if is_file else None]
    schema = batches[0].schema
    most = most_bytes(ipc_samples.written(schema, batches, deltas=deltas))
    data = ipc_samples.written(schema, batches, deltas=deltas, file=is_file)
    assert len(list(OPENERS[opener](data, max_bytes=most))) == len(batches)
    with pytest.raises(ValueError, match=f"{most:,} bytes, more than max_bytes={most - 1}$"):
        list(OPENERS[opener](data, max_bytes=most - 1))


def test_compressed_batch_takes_its_body_if_that_is_larger_than_its_data():
    batch = pa.record_batch({"a": np.random.default_rng(1).integers(0, 2**62, 100)})
    data = ipc_samples.written(batch.schema, [batch], compression="zstd")
    most = most_bytes(data)
    assert most > batch.nbytes
    assert len(list(cab.ipc.open_stream(data, max_bytes=most))) == 1
    with pytest.raises(ValueError, match=f"takes {most:,} bytes, more than max_bytes={most - 1}$"):
        list(cab.ipc.open_stream(data, max_bytes=most - 1))


def test_columns_that_are_not_read_from_a_path_do_not_count(tmp_path):
    codes = ipc_samples.coded([0] * 10, ["x" * 9999])
    batch = pa.record_batch({"a": np.arange(10), "b": np.zeros(10), "c": codes})
    path = tmp_path / "table.arrow"
    path.write_bytes(ipc_samples.written(batch.schema, [batch], file=True))
    with cab.ipc.open_file(path, columns=["b"], max_bytes=128) as file:
        assert pa.record_batch(file[0]).equals(batch.select(["b"]))
    with (
        cab.ipc.open_file(path, max_bytes=128) as file,
        pytest.raises(ValueError, match="dictionaries"),
    ):
        file[0]


def test_null_columns_count_no_bytes():
    batch = pa.record_batch({"a": pa.nulls(2**31 - 2)})
    (array,) = cab.ipc.open_stream(ipc_samples.written(batch.schema, [batch]), max_bytes=0)
    assert array.num_rows == 2**31 - 2


#: Python buffers do not keep the memory pool alive that they come from.
POOLS = []


@contextmanager
def counted_memory():
    """Yield a pool that is pyarrow's pool in the block and counts only its own memory."""
    POOLS.append(pa.proxy_memory_pool(before := pa.default_memory_pool()))
    pa.set_memory_pool(POOLS[-1])
    try:
        yield POOLS[-1]
    finally:
        pa.set_memory_pool(before)


@pytest.mark.parametrize("opener", OPENERS)
def test_bytes_beyond_max_bytes_are_not_allocated(opener):
    """9 kB decompress to 256 MiB."""
    batch = pa.record_batch({"a": np.zeros(2**25)})
    is_file = opener == "file"
    data = ipc_samples.written(batch.schema, [batch], file=is_file, compression="zstd")
    assert len(data) < 9_000
    with counted_memory() as accepted:
        assert len(list(OPENERS[opener](data, max_bytes=2**28))) == 1
    with pytest.raises(ValueError, match=r"268,435,456 bytes.*max_bytes=268435455"):
        list(OPENERS[opener](data, max_bytes=2**28 - 1))
    match = r"the record batch takes 268,435,456 bytes, more than max_bytes=1000000$"
    with counted_memory() as rejected, pytest.raises(ValueError, match=match):
        list(OPENERS[opener](data, max_bytes=1_000_000))
    assert accepted.max_memory() >= 2**28
    assert rejected.max_memory() < 1_000_000
