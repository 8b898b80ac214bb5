# SPDX-License-Identifier: Apache-2.0
"""Test releases of owners written in Python: on native threads, at exit, and after a fork."""

from __future__ import annotations

import gc
import threading
from textwrap import dedent

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ends import ends_of
from testing.host import to_plc
from testing.owners import STRUCT, source_of
from testing.peers import native
from testing.peers.arrays import Producer, column_from

THREADS = 8


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return native.compile_to(tmp_path_factory.mktemp("native"))


def release_on_threads(library, taken, keep_gil=False):
    gc.collect()
    start = native.load(library, keep_gil)
    for release, address in taken:
        start.release_on_thread(release, address)
    native.load(library).join_threads()


@pytest.mark.parametrize("keep_gil", [False, True], ids=["without the GIL", "while we hold it"])
@pytest.mark.parametrize("protocol", ["__arrow_c_device_array__", "__arrow_c_array__"])
def test_native_thread_releases_exported_arrays(library, protocol, keep_gil):
    gone = []
    taken = []
    for _ in range(THREADS):
        exported = cab.to_arrow_device(source_of(STRUCT, gone))
        taken.append(native.take(getattr(exported, protocol)()[1]))
    del exported
    gc.collect()
    assert gone == []
    release_on_threads(library, taken, keep_gil)
    assert len(gone) == THREADS
    assert threading.get_ident() not in gone


def test_native_thread_releases_exported_schemas(library):
    exported = cab.to_arrow_device(to_plc(STRUCT))
    expected = str(exported.schema)
    taken = [native.take(exported.__arrow_c_schema__()) for _ in range(THREADS)]
    release_on_threads(library, taken)
    assert str(exported.schema) == expected


def test_native_thread_release_calls_the_release_of_the_python_producer(library):
    """The export's release takes the GIL and drops the owner; this calls a release in Python."""
    producers = [Producer(STRUCT) for _ in range(THREADS)]
    taken = []
    for producer in producers:
        exported = cab.to_arrow_device(column_from(producer))
        taken.append(native.take(exported.__arrow_c_device_array__()[1]))
    del exported
    assert [producer.releases for producer in producers] == [0] * THREADS
    release_on_threads(library, taken)
    assert [producer.releases for producer in producers] == [1] * THREADS


def test_native_thread_releases_while_other_threads_export(library):
    gone, results = [], []
    exported = cab.to_arrow_device(source_of(STRUCT, gone))
    start = native.load(library)

    def work(shared=exported):
        for _ in range(50):
            column = column_from(pa.array(shared))
            results.append(len(cab.to_arrow_device(column)))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for _ in range(200):
        start.release_on_thread(*native.take(exported.__arrow_c_device_array__()[1]))
    for worker in workers:
        worker.join()
    start.join_threads()
    assert results == [len(STRUCT)] * 200
    assert gone == []
    del exported, work, workers, worker
    gc.collect()
    assert len(gone) == 1


#: Imports the modules, also those that the package imports when they are used.
PREPARE = """
import gc, os, sys, threading, time
import nanoarrow.device, pyarrow as pa
from testing.owners import source_of
from testing.peers import native
from testing.host import to_plc
from testing.peers.arrays import DeviceOnly, Producer, column_from
import cudf_arrow_bridge as cab
STRUCT = pa.array([{"0": i, "1": str(i)} for i in range(100)])
pa.array(cab.to_arrow_device(column_from(STRUCT)))
"""
#: The beginning of each code.
OBJECTS = """
exported = cab.to_arrow_device(to_plc(STRUCT))
imported = column_from(STRUCT)
"""

#: Objects that are alive at interpreter shutdown, in addition to an export and an import.
AT_EXIT = {
    "objects": """
        kept = [
            column_from(Producer(STRUCT)),
            exported.__arrow_c_device_array__(), exported.__arrow_c_array__(),
            pa.array(exported), nanoarrow.device.c_device_array(DeviceOnly(exported)),
            nanoarrow.device.c_device_array(cab.to_arrow_device(imported)).array.child(0),
            native.take(exported.__arrow_c_device_array__()[1]),
            column_from(pa.array(cab.to_arrow_device(imported))),
        ]
        cycle = [exported, imported]
        cycle.append(cycle)
        """,
    "a thread that keeps references": """
        def hold(kept=(exported.__arrow_c_device_array__(), imported)):
            time.sleep(60)
        threading.Thread(target=hold, daemon=True).start()
        """,
    "threads at work": """
        def work():
            while True:
                column_from(pa.array(cab.to_arrow_device(imported)))
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        """,
    "modules torn down": """
        sys.kept = imported
        sys.modules["testing.peers.arrays"].kept = exported.__arrow_c_device_array__()
        """,
}


#: A thread that is dropping an owner and blocks until `proceed` is set.
INSIDE = """
    inside, proceed = threading.Event(), threading.Event()
    class Slow(list):
        def append(self, _):
            inside.set()
            proceed.wait()
            time.sleep(0.2)
            print("gone", flush=True)
    shared = [cab.to_arrow_device(source_of(STRUCT, Slow()))]
    threading.Thread(target=shared.clear, daemon=True).start()
    inside.wait()
    """


FORKING = """
    child = os.fork()
    if child == 0:
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
    proceed.set()
    """
RELEASE_LATER = """
    release, address = native.take(exported.__arrow_c_device_array__()[1])
    del exported
    native.load(LIBRARY).WHEN(release, address)
    """
WHEN = ["release_at_exit", "release_on_thread_at_exit"]

# Host memory only; csrc/tests/sim/tests/cuda/forks_test.cpp tests device memory.
FORKED = """
    producer = Producer(STRUCT)
    imported = column_from(producer)
    kept = exported.__arrow_c_device_array__(), pa.array(exported)
    held = threading.Event()
    threading.Thread(target=held.wait, daemon=True).start()

    def frees_everything():
        global kept, exported, imported
        del kept, exported, imported
        gc.collect()
        os._exit(0 if producer.releases == 1 else 1)

    def releases_what_it_imports():
        own = [Producer(STRUCT) for _ in range(3)]
        for other in own:
            column_from(other)
        gc.collect()
        os._exit(0 if [other.releases for other in own] == [1, 1, 1] else 1)

    def goes_on_working():
        column = column_from(pa.array(cab.to_arrow_device(imported)))
        same = pa.array(cab.to_arrow_device(column)).equals(pa.array(exported))
        del column
        sys.exit(not same)

    for work in (frees_everything, sys.exit, releases_what_it_imports, goes_on_working):
        child = os.fork()
        if child == 0:
            work()
        end = time.monotonic() + 60
        while not (status := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(child, 9)
                sys.exit("the child hangs")
            time.sleep(0.01)
        assert status[1] == 0, (work, status)
        assert producer.releases == 0
    assert pa.array(cab.to_arrow_device(imported)).to_pylist() == STRUCT.to_pylist()
    """


@pytest.fixture(scope="module")
def ends(library):
    """Return the exit status and the output of each process."""
    codes = {**AT_EXIT, "forked children": FORKED}
    codes["a thread inside"] = dedent(INSIDE) + "proceed.set()"
    codes["a fork beside a thread inside"] = dedent(INSIDE) + dedent(FORKING)
    release = RELEASE_LATER.replace("LIBRARY", repr(str(library)))
    codes |= {when: release.replace("WHEN", when) for when in WHEN}
    return ends_of(PREPARE, {name: OBJECTS + dedent(code) for name, code in codes.items()})


@pytest.mark.parametrize("objects", AT_EXIT)
def test_interpreter_exits_without_output_while_objects_are_alive(ends, objects):
    assert ends[objects] == (0, "")


def test_interpreter_exit_waits_for_a_thread_that_drops_an_owner(ends):
    assert ends["a thread inside"] == (0, "gone\n")


def test_forked_child_exits_without_waiting_for_threads_of_the_parent(ends):
    assert ends["a fork beside a thread inside"] == (0, "gone\n")


@pytest.mark.parametrize("when", WHEN)
def test_release_after_interpreter_exit_does_nothing(ends, when):
    assert ends[when] == (0, "")


def test_forked_children_free_arrays_and_the_parent_keeps_its_own(ends):
    assert ends["forked children"] == (0, "")
