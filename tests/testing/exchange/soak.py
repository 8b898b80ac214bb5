# SPDX-License-Identifier: Apache-2.0
"""Exchange data with random stuck, slow and broken peers, after which nothing may be left.

Run ``python -P -m testing.exchange.soak SECONDS [SEED]``. Each step runs one of `EXCHANGES` with a
random fault. A step that takes longer than `PATIENCE` ends the process with the tracebacks
of all threads. Regularly and at the end, all threads, descriptors and files that did not exist at
the start, all peers that were not released, and memory that has grown, are errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import faulthandler
import functools
import gc
import io
import os
import random
import socket
import sys
import tempfile
import threading
import time
import weakref
from collections import Counter
from pathlib import Path

import pyarrow as pa

import cudf_arrow_bridge as cab
from testing.ipc import mutations
from testing.ipc.mutants import resident
from testing.peers import streams

PATIENCE = 60
#: Seconds in which what a step used must end.
SETTLED = 10
#: The number of steps before the first check, and between checks.
WARM_UP, BETWEEN = 300, 300
#: What may be allocated more than at the start: blocks of Python, bytes of the process.
BLOCKS, BYTES = 5_000, 32 << 20
TABLE = pa.table({"a": range(9), "s": ["x", None, "zzz"] * 3, "l": [[1], None, []] * 3})
BATCH = TABLE.combine_chunks().to_batches()[0]


class PeerError(Exception):
    """The error of a peer in Python."""


#: The errors that an exchange may raise for a broken peer.
ERRORS = (
    OSError, ValueError, TypeError, LookupError, NotImplementedError, MemoryError, BufferError,
    OverflowError, PeerError, pa.ArrowException, TimeoutError, asyncio.CancelledError, EOFError,
)  # fmt: skip
EXCHANGES = {}


def exchange(function):
    EXCHANGES[function.__name__] = function
    return function


class Step:
    """An exchange's random choices, its folder, and the peers that must be released after it."""

    def __init__(self, number, seed, folder):
        self.random = random.Random(f"{seed} {number}")
        self.choice, self.folder = self.random.choice, folder
        self.required = []

    def require(self, what, is_released):
        self.required.append((what, is_released))

    def chance(self, part):
        return self.random.random() < part

    def watch(self, obj):
        """Require that nothing refers to an object after the step."""
        self.require(
            f"a {type(obj).__name__} in memory", functools.partial(_is_gone, weakref.ref(obj))
        )
        return obj


def _is_gone(reference):
    return reference() is None


FAULTS = ["none", "raise", "slow", "stall", "type", "schema", "end"]


class Source:
    """Batches of a peer in Python, one of which has a fault. A stalled one waits for `resume`."""

    def __init__(self, step):
        self.fault, self.at = step.choice(FAULTS), step.random.randrange(4)
        self.resume = threading.Event()
        self.data = pa.py_buffer(bytes(4096))
        step.watch(self)

    def batch(self, i):
        """Return batch `i`."""
        if i != self.at or self.fault == "none":
            return BATCH
        if self.fault == "raise":
            raise PeerError("a peer in Python")
        if self.fault == "slow":
            time.sleep(0.002)
        elif self.fault == "stall":
            self.resume.wait()
        return {"type": object(), "schema": BATCH.select(["s"])}.get(self.fault, BATCH)

    def __iter__(self):
        for i in range(4):
            if (self.fault, self.at) == ("end", i):
                return
            yield self.batch(i)

    async def __aiter__(self):
        for i in range(4):
            await asyncio.sleep(0)
            if (self.fault, self.at) == ("stall", i):
                await asyncio.Event().wait()
            yield self.batch(i)


def consume(step, source):
    """Read a stream, or abandon it after some batches, as a random consumer."""
    kind = step.random.randrange(4)
    if kind == 0:
        batches = cab.from_arrow_device_stream(
            source, concat=False, to=step.choice(["cudf", "pylibcudf"])
        )
    elif kind == 1:
        batches = iter(cab.to_arrow_device_stream(source))
    elif kind == 2:
        stream = cab.to_arrow_device_stream(source)
        batches = pa.RecordBatchReader.from_stream(streams.StreamOnly(stream))
    else:
        batches = iter([cab.from_arrow_device_stream(source)])
    for _ in range(step.random.randrange(6)):
        if next(batches, None) is None:
            return


def beside(step, work, resume):
    """Do work on a thread, which a peer that stalls delays until it resumes; return its error."""
    errors = []

    def run():
        try:
            work()
        except ERRORS as error:
            errors.append(error.with_traceback(None))

    thread = threading.Thread(target=run, name="consumer")
    thread.start()
    thread.join(step.random.random() * 0.01)
    resume()
    thread.join()


@exchange
def python_stream(step):
    source = Source(step)
    beside(step, lambda: consume(step, iter(source)), source.resume.set)


@exchange
def closed_python_stream(step):
    """Release a stream while another thread waits for the source."""
    source = Source(step)
    stream = cab.to_arrow_device_stream(iter(source))

    def resume():
        stream.release()
        source.resume.set()

    beside(step, lambda: list(stream), resume)


@exchange
def c_stream(step):
    batches = [step.choice([BATCH, BATCH, errno.EIO, errno.ENOMEM]) for _ in range(3)]
    schema = BATCH.schema if step.chance(0.9) else errno.EINVAL
    producer = streams.StreamProducer(schema, batches, step.choice([None, b"", b"gone\xff"]))
    step.require("a C stream", lambda: producer.releases <= 1)
    consume(step, producer)


@exchange
def async_stream(step):
    async def main(source):
        imported = cab.from_arrow_device_async(source, prefetch=step.random.randrange(1, 4))
        try:
            async with asyncio.timeout(0.01):
                async for _ in imported:
                    if step.chance(0.2):
                        return
        finally:
            if step.chance(0.5):
                await imported.aclose()

    source = Source(step)
    if source.fault == "stall" or step.chance(0.5):
        asyncio.run(main(source))
    else:
        asyncio.run(main(iter(source)))


class File(io.RawIOBase):
    """A file that fails after some bytes, or reads or writes a wrong number of them."""

    def __init__(self, step, data=b""):
        self._data = io.BytesIO(data)
        self._most = step.random.randrange(2000)
        self._answer = step.choice([None, -1, 0, 1 << 40, OSError(errno.ENOSPC, "full")])

    def readable(self):
        return True

    writable = readable

    def readinto(self, memory):
        return self._count(self._data.readinto(memory))

    def write(self, data):
        return self._count(memoryview(data).nbytes)

    def _count(self, size):
        self._most -= size
        if self._most > 0:
            return size
        if isinstance(self._answer, OSError):
            raise OSError(*self._answer.args)
        return self._answer


@functools.cache
def written(is_file):
    return list(mutations.written(is_file))


@exchange
def ipc_reader(step):
    """Read from a file that fails, or a pipe or socket whose writer stalls or closes midway."""
    data = step.choice(written(False))
    data = mutations.mutated_bytes(step.random, data) if step.chance(0.5) else data
    if step.chance(0.2):
        consume(step, cab.ipc.open_stream(step.watch(File(step, data))))
        return
    ours, theirs = os.pipe()
    if step.chance(0.5):
        os.close(ours), os.close(theirs)
        ours, theirs = (one.detach() for one in socket.socketpair())
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        os.write(theirs, data[: step.random.randrange(len(data) + 1)])
    os.set_blocking(ours, step.chance(0.8))
    with open(ours, "rb", buffering=step.choice([0, -1])) as file:
        read = functools.partial(cab.ipc.open_stream, file)
        beside(step, lambda: consume(step, read()), lambda: os.close(theirs))


@exchange
def ipc_writer(step):
    write = step.choice([cab.ipc.write_stream, cab.ipc.write_file])
    source = Source(step)
    source.resume.set()
    kind = step.random.randrange(6)
    options = {"compression": step.choice([None, "lz4", "zstd"])}
    if kind == 0:
        write(iter(source), step.watch(File(step)), **options)
    elif kind <= 3:
        write(iter(source), step.folder / step.choice(["t", "t", "t", "missing/t"]), **options)
    elif kind == 4:
        theirs, ours = os.pipe()
        os.close(theirs)
        with open(ours, "wb", buffering=0) as file:
            write(iter(source), file, **options)
    else:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            beside(step, lambda: write(iter(source), ours, **options), theirs.close)


def present(folder):
    """Return the native threads, with the names of those of Python, the descriptors and files."""
    names = {str(thread.native_id): thread.name for thread in threading.enumerate()}
    found = {f"thread {i} {names.get(i, '(native)')}" for i in os.listdir("/proc/self/task")}
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.add(f"descriptor {number} of {os.readlink(f'/proc/self/fd/{number}')}")
    return found | {f"file {name}" for name in os.listdir(folder)}


def settled(condition):
    """Wait up to `SETTLED` seconds until a condition is true; return whether it is."""
    until = time.monotonic() + SETTLED
    while not condition() and time.monotonic() < until:
        gc.collect()
        cab.drain_releases()
        time.sleep(0.01)
    return condition()


def memory():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return {
        "blocks of Python": (sys.getallocatedblocks(), BLOCKS),
        # The importers of the last schemas keep small dictionaries.
        "bytes of pyarrow": (pa.total_allocated_bytes(), 256 << 10),
        "bytes of the process": (resident(), BYTES),
    }


def run_step(number, name, seed, folder):
    """Run an exchange; return the names of what it has left."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    step = Step(number, seed, folder)
    with contextlib.suppress(*ERRORS):
        EXCHANGES[name](step)
    left = [what for what, is_released in step.required if not settled(is_released)]
    streams._kept.clear()
    left += [f"file {path.name}" for path in folder.iterdir() if ".tmp" in path.name]
    for path in folder.iterdir():
        path.unlink()
    faulthandler.cancel_dump_traceback_later()
    return left


def run(seconds, seed):
    """Run random steps; return how often each exchange was used, and what is left."""
    counts, choose, number, left = Counter(), random.Random(seed), 0, []
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        tempfile.tempdir, folder = name, Path(name, "step")
        folder.mkdir()

        def left_since(kept):
            return sorted(present(name) - kept)

        while not left and (number <= WARM_UP or number % BETWEEN or time.monotonic() < until):
            exchange = choose.choice([*EXCHANGES])
            counts[exchange] += 1
            left = [
                f"{one} of step {number}, {exchange}"
                for one in run_step(number, exchange, seed, folder)
            ]
            number += 1
            if number == WARM_UP:
                kept, before = present(name), memory()
            elif number % BETWEEN == 0 and not left:
                settled(functools.partial(lambda kept: not left_since(kept), kept))
                left = left_since(kept) + [
                    f"{now:,} {what}, {now - before[what][0]:,} more than at the start"
                    for what, (now, limit) in memory().items()
                    if now - before[what][0] > limit
                ]
        tempfile.tempdir = None
    return counts, left


if __name__ == "__main__":
    # Idle threads of pyarrow's pools stay, so each pool has to start all of them in the warm-up.
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns()
    print(f"seed {seed}", flush=True)
    counts, left = run(float(sys.argv[1]), seed)
    print(", ".join(f"{exchange} {count}" for exchange, count in sorted(counts.items())))
    if left:
        sys.exit("Left: " + "; ".join(left))
