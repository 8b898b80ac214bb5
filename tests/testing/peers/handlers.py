# SPDX-License-Identifier: Apache-2.0
"""The structs of Arrow's asynchronous stream, and a consumer that checks the protocol's rules."""

from __future__ import annotations

import ctypes
import errno
import threading
from ctypes import CFUNCTYPE, c_char_p, c_int, c_int32, c_int64, c_void_p

import pyarrow as pa

from testing.peers.arrays import RELEASE, ArrowDeviceArray, ArrowSchema

ON_SCHEMA = CFUNCTYPE(c_int, c_void_p, c_void_p)
ON_NEXT_TASK = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
ON_ERROR = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
EXTRACT = CFUNCTYPE(c_int, c_void_p, c_void_p)
REQUEST = CFUNCTYPE(None, c_void_p, c_int64)
CPU = 1


class ArrowAsyncTask(ctypes.Structure):
    _fields_ = (("extract_data", c_void_p), ("private_data", c_void_p))


class ArrowAsyncProducer(ctypes.Structure):
    _fields_ = (
        ("device_type", c_int32),
        ("request", c_void_p),
        ("cancel", c_void_p),
        ("additional_metadata", c_void_p),
        ("private_data", c_void_p),
    )


class ArrowAsyncDeviceStreamHandler(ctypes.Structure):
    _fields_ = (
        ("on_schema", c_void_p),
        ("on_next_task", c_void_p),
        ("on_error", c_void_p),
        ("release", c_void_p),
        ("producer", c_void_p),
        ("private_data", c_void_p),
    )


class Handler:
    """A consumer of an asynchronous stream, in the same way as one in C.

    `violations` lists each violation of the rules by the producer.

    Parameters
    ----------
    prefetch
        The number of tasks that `on_schema` requests. Each task then requests another one. With
        0, only `request` requests tasks.
    refuse_schema, refuse_task
        The code that `on_schema` returns; the number of a task, and the code that `on_next_task`
        returns for it.
    cancel_after
        The number of the task whose `on_next_task` cancels the producer.
    extract
        Whether `on_next_task` extracts each task. If not, tasks wait in `tasks` for `take`.
    """

    def __init__(
        self, prefetch=4, *, refuse_schema=0, refuse_task=None, cancel_after=None, extract=True
    ):
        #: The name and the thread of each call, in order. `on_end` is `on_next_task` with NULL.
        self.calls = []
        self.violations = []
        self.schema = self.error = self.producer = self.device_type = None
        self.batches, self.tasks, self.metadata = [], [], []
        self.requested = self.num_tasks = 0
        self.released = threading.Event()
        self._prefetch, self._extract, self._cancel_after = prefetch, extract, cancel_after
        self._refuse_schema, self._refuse_task = refuse_schema, refuse_task or (None, 0)
        self._ended = self._cancelled = self._refused = False
        self._busy = threading.Lock()
        self._struct = ArrowAsyncDeviceStreamHandler(*map(address_of, _CALLBACKS), None, None)
        self.address = ctypes.addressof(self._struct)
        # Never freed, so that calls after the release are reported and do not crash.
        _structs.append(self._struct)
        _handlers[self.address] = self

    def request(self, count):
        self.requested += count
        struct = ArrowAsyncProducer.from_address(self.producer)
        REQUEST(struct.request)(self.producer, count)

    def cancel(self):
        """Cancel, and check the calls that the producer makes before `cancel` returns."""
        self._cancelled = True
        before = len(self.calls)
        RELEASE(ArrowAsyncProducer.from_address(self.producer).cancel)(self.producer)
        mine = threading.get_ident()
        inside = [name for name, thread in self.calls[before:] if thread == mine]
        if set(inside) - {"on_error"}:
            self.violations.append(f"cancel called {inside}")

    def take(self, number=0):
        """Extract a waiting task; return the code, and the batch if the code is 0."""
        return self._extracted(self.tasks.pop(number))

    def drop(self):
        """Discard the waiting tasks, and unregister the handler in case it has no producer."""
        for task in self.tasks:
            EXTRACT(task.extract_data)(ctypes.addressof(task), None)
        self.tasks.clear()
        _handlers.pop(self.address, None)

    def wait(self, timeout=30):
        """Block until the handler is released; check that the producer has followed the rules."""
        assert self.released.wait(timeout), f"not released after {self.names}"
        assert not self.violations, (self.violations, self.names)
        return self

    @property
    def names(self):
        return [name for name, _ in self.calls]

    @property
    def table(self):
        assert self.error is None, self.error
        return pa.Table.from_batches(self.batches, self.schema)

    def called(self, name, *arguments):
        """Handle a call by the producer; return the code for it."""
        self.calls.append((name, threading.get_ident()))
        if self.released.is_set():
            self.violations.append(f"{name} after release")
            return errno.EINVAL
        # Another thread may call `release` while the previous call returns.
        if not self._busy.acquire(timeout=5 if name == "release" else 0):
            self.violations.append(f"{name} during another call")
            return errno.EBUSY
        try:
            return getattr(self, f"_{name}")(*arguments)
        except BaseException as error:
            self.violations.append(f"{name}: {error!r}")
            return errno.EIO
        finally:
            self._busy.release()

    def _check(self, broken, what):
        if broken:
            self.violations.append(what)

    def _on_schema(self, schema):
        self._check(self.names[:-1], "on_schema is not the first call")
        self.producer = self._struct.producer
        self._check(not self.producer, "on_schema without a producer")
        self.device_type = ArrowAsyncProducer.from_address(self.producer).device_type
        self.stream_metadata = metadata_at(
            ArrowAsyncProducer.from_address(self.producer).additional_metadata
        )
        if self._refuse_schema:
            self._refused = True
            release = ArrowSchema.from_address(schema).release
            RELEASE(release)(schema)
            return self._refuse_schema
        self.schema = pa.Schema._import_from_c(schema)
        if self._prefetch:
            self.request(self._prefetch)
        return 0

    def _on_next_task(self, task, metadata):
        self._check(self.schema is None, "on_next_task before on_schema")
        self._check(self._ended or self._refused, "on_next_task after the end")
        self.num_tasks += 1
        self._check(self.num_tasks > self.requested, "a task that was not requested")
        self.metadata.append(metadata_at(metadata))
        number, code = self._refuse_task
        copy = ArrowAsyncTask.from_buffer_copy(ArrowAsyncTask.from_address(task))
        if number == self.num_tasks:
            # A consumer that rejects a task does not extract it.
            self._refused = True
            return code
        if self._extract:
            code, batch = self._extracted(copy)
            if code:
                return 0
            self.batches.append(batch)
        else:
            self.tasks.append(copy)
        if self._cancel_after == self.num_tasks:
            self.cancel()
        elif self._prefetch and not self._cancelled:
            self.request(1)
        return 0

    def _on_end(self):
        self._check(self.schema is None, "on_next_task(NULL) before on_schema")
        self._check(self._ended or self._refused, "on_next_task(NULL) after the end")
        self._ended = True

    def _on_error(self, code, message, metadata):
        self._check(self._ended or self._refused, "on_error after the end")
        self._ended = True
        self.error = code, message, metadata_at(metadata)

    def _release(self):
        self._check(not (self._ended or self._refused or self._cancelled), "release without an end")
        self.producer = None
        del _handlers[self.address]
        _released[self.address] = self.calls, self.violations
        self.released.set()

    def _extracted(self, task):
        out = ArrowDeviceArray()
        code = EXTRACT(task.extract_data)(ctypes.addressof(task), ctypes.addressof(out))
        if code:
            return code, None
        self._check(out.device_type != self.device_type, f"an array of device {out.device_type}")
        return 0, pa.RecordBatch._import_from_c(ctypes.addressof(out.array), self.schema)


def metadata_at(address):
    """Decode keys and values that are encoded like a schema's metadata; return {} for NULL."""
    if not address:
        return {}

    def number():
        nonlocal address
        value = c_int32.from_address(address).value
        address += 4
        return value

    def text():
        nonlocal address
        size = number()
        value = ctypes.string_at(address, size)
        address += size
        return value

    return {text(): text() for _ in range(number())}


# Callbacks live as long as the process: a thread may still be returning from one after it has
# released the handler.
_structs, _handlers, _released = [], {}, {}


def _call(name, address, *arguments):
    if (handler := _handlers.get(address)) is not None:
        return handler.called(name, *arguments) or 0
    calls, violations = _released[address]
    calls.append((name, threading.get_ident()))
    violations.append(f"{name} after release")
    return errno.EINVAL


@ON_SCHEMA
def _on_schema(address, schema):
    return _call("on_schema", address, schema)


@ON_NEXT_TASK
def _on_next_task(address, task, metadata):
    return _call("on_next_task", address, task, metadata) if task else _call("on_end", address)


@ON_ERROR
def _on_error(address, code, message, metadata):
    _call("on_error", address, code, message, metadata)


@RELEASE
def _release(address):
    _call("release", address)


_CALLBACKS = _on_schema, _on_next_task, _on_error, _release


def address_of(callback):
    return ctypes.cast(callback, c_void_p).value
