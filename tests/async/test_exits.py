# SPDX-License-Identifier: Apache-2.0
"""Interpreters, forks and event loops that end with open streams or fences: no output, no hang."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from testing.ends import ends_of

#: Code that opens a stream of every kind of source and takes its first frame.
PREPARE = """
import asyncio, gc, io, os, socket, sys, threading, time
import pyarrow as pa
import cudf_arrow_bridge as cab
from testing.device import wait_until
from testing.peers.handlers import Handler
from testing.peers.producers import Producer

BATCH = pa.record_batch({"a": [1, 2, 3]})
# Imports the modules that the package imports when they are used.
cab.from_arrow_device(pa.table(cab.to_arrow_device_stream([BATCH])), to="pylibcudf")

def plain():
    while True:
        yield BATCH

def slow():
    while True:
        yield BATCH
        time.sleep(0.1)

async def awaited():
    while True:
        yield BATCH
        await asyncio.sleep(0)

async def pending():
    yield BATCH
    await asyncio.Event().wait()

def in_c(p):
    p.on_schema(BATCH.schema)
    while p.wait_for_request():
        p.on_next_task(BATCH)
    p.end()
    p.release()

def sources():
    return [plain(), slow(), awaited(), pending()]

def imported(source):
    return cab.from_arrow_device_async(source, to="pylibcudf")  # does not import cuDF

def begin():
    return [imported(each) for each in (*sources(), Producer(in_c))]

async def first_of(streams):
    for each in streams:
        assert (await anext(each)).num_rows() == 3
"""

ENDS = {
    "main returns, the streams are still referenced": """
        streams = []
        async def main():
            streams.extend(begin())
            await first_of(streams)
        asyncio.run(main())
    """,
    "streams without a loop are still open": """
        readers = [pa.RecordBatchReader.from_stream(cab.to_arrow_device_stream(plain()))]
        tables = cab.iter_arrow_device_stream(plain(), to="pylibcudf")
        assert readers[0].read_next_batch().num_rows == next(tables).num_rows() == 3
    """,
    "a thread's loop is still running": """
        begun = threading.Event()
        async def main():
            streams = begin()
            await first_of(streams)
            begun.set()
            while True:
                await first_of([streams[0], streams[2], streams[4]])
        threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
        assert begun.wait(30)
    """,
    "the loop is closed, streams read on threads are not": """
        loop = asyncio.new_event_loop()
        streams = [imported(each) for each in (plain(), slow(), Producer(in_c))]
        loop.run_until_complete(first_of(streams))
        loop.close()
        del streams, loop
        gc.collect()
        assert wait_until(lambda: threading.active_count() == 1), threading.enumerate()
    """,
    "a callback of C consumers has failed": """
        from cudf_arrow_bridge._core.interpreter import _shut_down
        sys.excepthook = sys.unraisablehook = lambda *_: None
        handler = Handler(0)
        cab.to_arrow_device_stream([BATCH])._claim().drive(handler.address, lambda: 1 / 0)
        assert wait_until(lambda: handler.schema)
        thread = threading.Thread(target=handler.cancel)
        thread.start()
        thread.join()
        began = time.monotonic()
        _shut_down()  # waits a second for threads that have not left the interpreter
        assert time.monotonic() - began < 0.9
    """,
    "main returns, C consumers are not released": """
        handlers = [Handler(2) for _ in sources()]
        async def main():
            for source, handler in zip(sources(), handlers):
                cab.to_arrow_device_async(source).export_to(handler.address)
            while not all(handler.num_tasks for handler in handlers):
                await asyncio.sleep(0.001)
        asyncio.run(main())
    """,
}

FORK = """
    async def main():
        streams = begin()
        await first_of(streams)
        child = os.fork()
        if child == 0:
            del streams
            gc.collect()
            os._exit(0)
        for _ in range(10):
            await first_of([streams[0], streams[2], streams[4]])
        for each in streams:
            await each.aclose()
        for _ in range(1000):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            await asyncio.sleep(0.01)
        assert (done, status) == (child, 0)
    asyncio.run(main())
"""


#: Leaves a fence of a loop that is never closed.
PENDING_FENCE = """
import warnings
warnings.simplefilter("ignore", ResourceWarning)
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop

async def begin():
    loop = fences_of_running_loop()
    fence = loop.fences.add()
    asyncio.ensure_future(loop.wait(fence))
    await asyncio.sleep(0)
    return loop.fences, fence

fences, fence = asyncio.run(begin())
fences.complete(fence)  # after the loop has cancelled its task
kept = asyncio.new_event_loop()
async def add():
    fences_of_running_loop().fences.add()
kept.run_until_complete(add())
"""

#: Forks while a fence is pending.
FORK_WITH_FENCE = """
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop

async def wait(end):
    loop = fences_of_running_loop()
    fence = loop.fences.add()
    asyncio.get_running_loop().call_later(0.01, end or loop.fences.complete, fence)
    await loop.wait(fence)

async def parent():
    loop = fences_of_running_loop()
    def end(fence):
        child = os.fork()
        if child == 0:
            loop.fences.complete(fence)
            asyncio.run(wait(None))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert len(loop.fences) == 1 and loop.fences.poll() == []
        loop.fences.complete(fence)
    await wait(end)

asyncio.run(parent())
asyncio.run(wait(None))
"""

#: Code of a daemon thread that waits for a source in Python: the source itself, or its release.
WAITING = {
    "stream": "pa.table(cab.to_arrow_device_stream(source()))",
    "release": """
        reader = pa.RecordBatchReader.from_stream(cab.to_arrow_device_stream(slow_to_close()))
        reader.read_next_batch()
        reader.close()
    """,
    "async stream": "asyncio.run(read_all(cab.to_arrow_device_async(source())))",
    "async import": "asyncio.run(read_all(imported(source())))",
    "socket": """
        sink = io.BytesIO()
        cab.ipc.write_stream(BATCH, sink)
        ours, theirs = socket.socketpair()
        theirs.sendall(sink.getvalue()[:-8])
        for _ in cab.ipc.open_stream(ours.makefile("rb", 0)):
            begun.set()
    """,
}
IN_A_THREAD = """
    begun, end = threading.Event(), threading.Lock()
    end.acquire()

    def source():
        yield BATCH
        wait()

    def slow_to_close():
        try:
            yield BATCH
            yield BATCH
        finally:
            wait()

    def wait(end=end):
        begun.set()
        with end:
            pass

    async def read_all(stream):
        async for _ in stream:
            pass

    def read():
        READ

    threading.Thread(target=read, daemon=True).start()
    assert begun.wait(30)
"""

#: Lets the thread continue while the interpreter is finalized.
CONTINUE = """
    class Late:
        def __del__(self, end=end, sleep=time.sleep):
            end.release()
            sleep(0.2)

    sys.late = Late()
"""


def read_in_a_thread(read):
    return IN_A_THREAD.replace("READ", indent(dedent(read), " " * 8).strip())


#: Codes that end with pending fences, or that fork with them.
FENCES = {"pending fence": PENDING_FENCE, "fork with a fence": FORK_WITH_FENCE}


@pytest.fixture(scope="module")
def ends():
    """Return the exit status and the output of each process."""
    codes = {**ENDS, "fork": FORK, **FENCES}
    codes |= {read: read_in_a_thread(code) for read, code in WAITING.items()}
    for read in ("stream", "release"):
        codes[f"{read} that continues"] = codes[read] + CONTINUE
    return ends_of(PREPARE, {name: dedent(code) for name, code in codes.items()}, at_once=True)


@pytest.mark.parametrize("end", FENCES)
def test_exit_with_pending_fences_prints_nothing_and_returns_0(ends, end):
    assert ends[end] == (0, "")


@pytest.mark.parametrize("end", ENDS)
def test_exit_with_open_streams_prints_nothing_and_returns_0(ends, end):
    assert ends[end] == (0, "")


def test_streams_of_the_parent_work_after_a_fork(ends):
    assert ends["fork"] == (0, "")


@pytest.mark.parametrize("read", WAITING)
def test_exit_does_not_wait_for_a_daemon_thread(ends, read):
    assert ends[read] == (0, "")


@pytest.mark.parametrize("read", ["stream", "release"])
def test_daemon_thread_that_continues_during_finalization_does_not_abort(ends, read):
    assert ends[f"{read} that continues"] == (0, "")
