# SPDX-License-Identifier: Apache-2.0
"""Producers of asynchronous streams that follow scripts, which may break the protocol's rules."""

from __future__ import annotations

import ctypes
import gc
import itertools
import threading

import pyarrow as pa

from testing.peers.arrays import RELEASE, ArrowArray, ArrowDeviceArray, ArrowSchema
from testing.peers.handlers import (
    CPU,
    EXTRACT,
    ON_ERROR,
    ON_NEXT_TASK,
    ON_SCHEMA,
    REQUEST,
    ArrowAsyncDeviceStreamHandler,
    ArrowAsyncProducer,
    ArrowAsyncTask,
    address_of,
)

BATCH = pa.record_batch({"a": [1, None, 3], "s": ["x", None, "zzz"]})


class Producer:
    """Calls a handler according to a script, and counts the consumer's calls.

    Called with the address of a handler, it runs the script on a new thread, unless `here` is set.
    After the script, `check` verifies that the consumer has followed the rules.

    Parameters
    ----------
    script
        Function that is called with this object, whose methods call the handler.
    here
        Whether to run the script in the call that passes the handler.
    """

    def __init__(self, script, *, here=False):
        self.script, self.here = script, here
        self.violations, self.tasks = [], []
        self.requested, self.num_cancels, self.num_released = 0, 0, 0
        #: Called within the consumer's `request` and `cancel`.
        self.on_request = self.on_cancel = lambda: None
        self.codes = []
        self.failure = None
        self._changed, self._has_run = threading.Condition(), threading.Event()
        self._quiet = None
        self._keep = []

    def __call__(self, handler):
        self.handler = ArrowAsyncDeviceStreamHandler.from_address(handler)
        self._address = handler
        self._callbacks = {
            "on_schema": ON_SCHEMA(self.handler.on_schema),
            "on_next_task": ON_NEXT_TASK(self.handler.on_next_task),
            "on_error": ON_ERROR(self.handler.on_error),
            "release": RELEASE(self.handler.release),
        }
        self.struct = ArrowAsyncProducer(CPU, address_of(_request), address_of(_cancel), None, None)
        _producers[ctypes.addressof(self.struct)] = self
        self.handler.producer = ctypes.addressof(self.struct)
        if self.here:
            self._run()
        else:
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        try:
            self.script(self)
        except BaseException as error:
            self.failure = error
        finally:
            self._has_run.set()

    def on_schema(self, schema=BATCH.schema, edit=None):
        """Call `on_schema` with a pyarrow schema, or with NULL for None."""
        if schema is None:
            return self._note(self._callbacks["on_schema"](self._address, None))
        struct = ArrowSchema()
        schema._export_to_c(ctypes.addressof(struct))
        if edit is not None:
            edit(struct)
        return self._note(self._callbacks["on_schema"](self._address, ctypes.addressof(struct)))

    def on_next_task(self, batch=BATCH, metadata=None, edit=None, code=0):
        """Offer a batch, or a released struct for None. `edit` changes the batch's struct."""
        task = Task(batch, edit, code)
        self.tasks.append(task)
        struct = ArrowAsyncTask(address_of(_extract), task.number)
        return self._note(
            self._callbacks["on_next_task"](
                self._address, ctypes.addressof(struct), self._text(metadata)
            )
        )

    def end(self):
        return self._note(self._callbacks["on_next_task"](self._address, None, None))

    def on_error(self, code, message=None, metadata=None):
        self._quiet = threading.get_ident()
        self._callbacks["on_error"](self._address, code, message, self._text(metadata))
        self._quiet = None

    def release(self):
        self._quiet = threading.get_ident()
        self._callbacks["release"](self._address)
        self._quiet = None
        self.num_released += 1

    def wait_for(self, condition, timeout=10):
        """Block until a call by the consumer or by this producer makes a condition true."""
        with self._changed:
            assert self._changed.wait_for(condition, timeout), "the consumer makes no call"

    def wait_for_request(self):
        """Block until a task is requested or the consumer cancels; return False if it cancels."""
        self.wait_for(lambda: self.num_wanted > 0 or self.num_cancels)
        return not self.num_cancels

    @property
    def num_wanted(self):
        return self.requested - len(self.tasks)

    def check(self):
        """Wait for the script; check that the consumer follows the rules and releases arrays."""
        assert self._has_run.wait(10), "the script hangs"
        if self.failure is not None:
            raise self.failure
        assert not self.violations
        assert self.num_cancels <= 1
        if any(task.num_released < task.num_handed_over for task in self.tasks):
            gc.collect()  # frames that tracebacks hold
        for task in self.tasks:
            assert task.num_extracted == 1
            assert task.num_released == task.num_handed_over

    def _note(self, code):
        with self._changed:
            self.codes.append(code)
            self._changed.notify_all()
        return code

    def _text(self, pairs):
        """Encode keys and values like a schema's metadata, in a buffer that this object owns."""
        if pairs is None:
            return None
        buffer = ctypes.create_string_buffer(encoded(pairs))
        self._keep.append(buffer)
        return ctypes.addressof(buffer)

    def _called(self, name, count=None):
        if self._quiet == threading.get_ident():
            self.violations.append(f"{name} from within on_error or release")
        if self.num_released:
            self.violations.append(f"{name} after release")
        with self._changed:
            if name == "cancel":
                self.num_cancels += 1
            elif count <= 0:
                self.violations.append(f"a request for {count}")
            else:
                self.requested += count
            self._changed.notify_all()
        (self.on_request if name == "request" else self.on_cancel)()


class Task:
    """A task with a batch, and counts of the consumer's calls."""

    _numbers = itertools.count(1)

    def __init__(self, batch, edit, code):
        self.number = next(self._numbers)
        self.num_extracted = self.num_handed_over = self.num_released = 0
        self._batch, self._edit, self._code = batch, edit, code
        _tasks[self.number] = self

    def extract(self, out):
        self.num_extracted += 1
        self.thread = threading.get_ident()
        batch, self._batch = self._batch, None
        if self._code or not out:
            return self._code
        ctypes.memset(out, 0, ctypes.sizeof(ArrowDeviceArray))
        if batch is None:
            return 0
        batch._export_to_c_device(out)
        struct = ArrowDeviceArray.from_address(out)
        self._root = ctypes.string_at(out, ctypes.sizeof(ArrowArray))
        if self._edit is not None:
            self._edit(struct)
        struct.array.private_data = self.number
        struct.array.release = address_of(_release_array)
        self.num_handed_over += 1
        return 0

    def release(self, array):
        self.num_released += 1
        ctypes.memmove(array, self._root, len(self._root))
        RELEASE(ArrowArray.from_address(array).release)(array)


def encoded(pairs):
    """Encode keys and values like `ArrowSchema.metadata`."""
    texts = [text for pair in pairs.items() for text in pair]
    sized = [len(text).to_bytes(4, "little") + text for text in texts]
    return b"".join([len(pairs).to_bytes(4, "little"), *sized])


# These live as long as the process, so that late calls are detected and do not crash.
_producers, _tasks = {}, {}


@REQUEST
def _request(producer, count):
    _producers[producer]._called("request", count)


@RELEASE
def _cancel(producer):
    _producers[producer]._called("cancel")


@EXTRACT
def _extract(task, out):
    return _tasks[ArrowAsyncTask.from_address(task).private_data].extract(out)


@RELEASE
def _release_array(array):
    _tasks[ArrowArray.from_address(array).private_data].release(array)
