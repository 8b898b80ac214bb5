# SPDX-License-Identifier: Apache-2.0
"""Truncated streams and files, and messages with random changes."""

from __future__ import annotations

import gc
import io
import itertools
import os
import resource
import signal
import weakref
from contextlib import contextmanager

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ipc import samples as ipc_samples
from testing.ipc.metadata import END, RECORD_BATCH, SCHEMA, Metadata, framed, messages_of
from testing.ipc.mutants import outcomes_of, resident
from testing.peers.arrays import DeviceOnly

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

#: `IPC_MUTANTS=1_000_000` tests a million mutants, which takes more than a minute.
MUTANTS = int(os.getenv("IPC_MUTANTS", "100_000"))

CODES = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), ["a", "b"])
BATCH = pa.record_batch({"n": [1, None, 3], "text": ["a", "bc", None], "kind": CODES})
BATCHES = [BATCH, BATCH.slice(1)]
STREAM = ipc_samples.written(BATCH.schema, BATCHES)
FILE = ipc_samples.written(BATCH.schema, BATCHES, file=True)


def ends():
    """Map each position where a stream may end to the number of batches before it."""
    messages, found, batches = list(messages_of(STREAM)), {}, 0
    for i, (metadata, _) in enumerate(messages):
        batches += Metadata(metadata).kind == RECORD_BATCH
        found[len(framed(messages[: i + 1], end=False))] = batches
    assert framed(messages) == STREAM
    # The end-of-stream marker may be missing as a whole, but not in part.
    return found | {len(STREAM): batches}


ENDS = ends()


@contextmanager
def in_time(seconds):
    """Raise an error if the block takes longer."""

    def late(*_):
        raise TimeoutError(f"still at it after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("make", [bytes, lambda data: io.BufferedReader(io.BytesIO(data))])
def test_stream_cut_at_any_byte_raises_unless_a_message_ends_there(make):
    for size in range(len(STREAM) + 1):
        with in_time(20):
            source = make(STREAM[:size])
            if size in ENDS:
                arrays = list(cab.ipc.open_stream(source))
                found = [pa.record_batch(DeviceOnly(array)) for array in arrays]
                assert found == BATCHES[: ENDS[size]]
            else:
                with pytest.raises(ValueError, match=r"byte \d|no message with a schema"):
                    list(cab.ipc.open_stream(source))


def test_file_cut_at_any_byte_is_rejected(tmp_path):
    for size in range(len(FILE)):
        match = "bytes are too few" if size < 16 else r"\w"
        with in_time(20), pytest.raises(ValueError, match=match):
            cab.ipc.open_file(FILE[:size])
        for memory_map in (False, True) if size % 16 == 0 else ():
            (path := tmp_path / "cut.arrow").write_bytes(FILE[:size])
            with pytest.raises(ValueError, match=r"\w"):
                cab.ipc.open_file(path, memory_map=memory_map)
    with cab.ipc.open_file(FILE) as file:
        assert len(file) == 2


@pytest.mark.parametrize("columns", [None, ["zz"]])
def test_rejected_file_is_not_moved_later(columns, tmp_path):
    data = FILE if columns else FILE[:-1]
    (path := tmp_path / "file.arrow").write_bytes(data)
    with open(path, "rb") as opened:
        for file in (opened, io.BytesIO(data)):
            with pytest.raises((ValueError, KeyError)) as error:
                cab.ipc.open_file(file, columns=columns)
            file.seek(5)
            del error
            gc.collect()
            assert file.tell() == 5


def test_open_stream_reads_no_bytes_after_the_end_of_the_stream():
    """The bytes after the end of the stream stay in the source."""
    source = io.BytesIO(STREAM + b"more")
    assert STREAM.endswith(END)
    assert len(list(cab.ipc.open_stream(source))) == len(BATCHES)
    assert source.read() == b"more"


class Body(bytearray):
    """Memory that supports weak references."""


def test_rejected_messages_are_released():
    """After an error, no message stays alive. The test damages each message in turn."""
    messages = list(messages_of(STREAM))
    for bad in range(1, len(messages)):
        alive = []
        given = []
        for i, (metadata, body) in enumerate(messages):
            bodies = [Body(body.to_pybytes())] if Metadata(metadata).kind != SCHEMA else []
            alive += [weakref.ref(part) for part in bodies]
            if i == bad:
                bodies = [Body(bodies[0][:-8])]
                alive.append(weakref.ref(bodies[0]))
            given.append((metadata, bodies))
        del bodies
        with pytest.raises(ValueError, match=r"\d"):
            list(cab.ipc.from_messages(given))
        given.clear()
        gc.collect()
        assert [ref() for ref in alive if ref() is not None] == []


@pytest.mark.parametrize("use", [len, list, lambda file: file[0], pa.RecordBatchReader.from_stream])
def test_file_without_references_is_closed(use):
    data = Body(FILE)
    alive = weakref.ref(data)
    use(cab.ipc.open_file(data))
    del data
    gc.collect()
    assert alive() is None


def test_batch_keeps_only_its_own_body_alive():
    given = [
        (metadata, [Body(body.to_pybytes())] if body.size else [])
        for metadata, body in messages_of(STREAM)
    ]
    *_, kept, last = [weakref.ref(parts[0]) for _, parts in given if parts]
    arrays = list(cab.ipc.from_messages(iter(given)))
    del given
    arrays.pop()
    gc.collect()
    assert kept() is not None
    assert last() is None
    arrays.clear()
    gc.collect()
    assert kept() is None


def peak_memory():
    """Return the largest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize(
    ("form", "validate"),
    [
        *itertools.product(["messages", "stream", "file"], ["sizes"]),
        *(
            pytest.param(form, "minimal", marks=pytest.mark.unsound)
            for form in ("messages", "stream", "file")
        ),
        *itertools.product(["messages", "stream", "file", "columns"], ["full"]),
        ("packed", "minimal"),
    ],
)
@pytest.mark.parametrize("mutants", [3_000, pytest.param(MUTANTS, marks=pytest.mark.exhaustive)])
def test_random_mutants_raise_errors_or_give_valid_arrays(form, validate, mutants, monkeypatch):
    if validate == "sizes":
        monkeypatch.undo()  # The checks of conftest.py would read lengths of any size.
    # The metadata of messages has the most cases.
    count = mutants // (5 if form in ("messages", "packed") else 15)
    outcomes_of(form, range(count // 10), validate)
    gc.collect()
    before, peak = resident(), peak_memory()
    outcomes = outcomes_of(form, range(count), validate)
    gc.collect()
    # Without both outcomes, the mutants would be too harmless or too damaged to be a test. Few
    # headers of pickles are valid after a mutation.
    assert outcomes["arrays"] > count // (50 if form == "packed" else 20)
    assert outcomes["ValueError"] > count // 20
    assert "an error that says nothing" not in outcomes
    assert resident() - before < 8 << 20, "memory grows"
    assert peak_memory() - peak < 256 << 20, "a mutant allocates more than it has"
