# SPDX-License-Identifier: Apache-2.0
"""Consumers and producers of Arrow's asynchronous device streams, for event loops."""

from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libcpp cimport bool
from libcpp.functional cimport function
from libcpp.memory cimport make_shared, shared_ptr, static_pointer_cast
from libcpp.string cimport string
from libcpp.utility cimport move

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport (
    device_array_from_capsule,
    device_array_to_capsule,
    schema_from_capsule,
)
from cudf_arrow_bridge._core.interpreter cimport drop_share
from cudf_arrow_bridge._core.schema cimport Schema
from cudf_arrow_bridge._core.schema import decode_metadata
from cudf_arrow_bridge._core.stream.fences cimport FenceSet
from cudf_arrow_bridge._core.stream.stream_import import exception_of

ctypedef const void const_void


cdef extern from "async_wakeup.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass async_wakeup:
        async_wakeup(core.fence_set) except +
        uint64_t prepare() except +
        void notify() noexcept
    function[void()] notifier_of(shared_ptr[async_wakeup]) except +

    cdef cppclass async_step:
        core.unique_device_array array
        int code
        string message
        string metadata
    async_step step_of(core.async_stream_reader&) except +


cdef class AsyncReader:
    """The consumer of one producer, for an event loop with `fences`; see `async_stream_reader`."""

    cdef shared_ptr[core.async_stream_reader] reader
    cdef shared_ptr[async_wakeup] wakeup

    def __init__(self, int64_t prefetch, FenceSet fences not None):
        self.wakeup = make_shared[async_wakeup](fences.fences)
        self.reader = make_shared[core.async_stream_reader](prefetch, notifier_of(self.wakeup))

    def take_handler(self) -> int:
        """Return the address of the handler. Only one producer can use it."""
        return <uintptr_t>self.reader.get().take_handler()

    def abandon(self) -> None:
        """Release a handler that was not passed to a producer."""
        with nogil:
            self.reader.get().abandon()

    def fail(self, int code, bytes message not None) -> None:
        """End the stream with an error if it has not ended. Its producer may have the handler."""
        cdef string c_message = message
        with nogil:
            self.reader.get().fail(code, c_message)

    def prepare(self) -> int:
        """Return a fence that ends when `next` has a result, or 0 if it has one now."""
        cdef uint64_t fence
        if self.reader.get().is_ready():
            return 0
        fence = self.wakeup.get().prepare()
        if self.reader.get().is_ready():
            self.wakeup.get().notify()
        return fence

    def schema(self) -> Schema:
        """Return the schema of all arrays. Call it only after `next` has returned an array."""
        return Schema.wrap(core.copy_schema(self.reader.get().schema()))

    def next(self):
        """Return a capsule of the next array, or None at the end or if no array is available yet.

        Raises
        ------
        Exception
            The producer's error. Its attribute `metadata` is a dictionary of bytes.
        """
        cdef async_step step
        with nogil:
            step = step_of(self.reader.get()[0])
        if step.code == 0:
            return None if step.array.is_released() else device_array_to_capsule(step.array)
        error = exception_of(step.code, (<bytes>step.message).decode(errors="replace"))
        error.metadata = decode_metadata(step.metadata)
        raise error

    def cancel(self) -> None:
        """Cancel the producer. Further calls have no effect."""
        with nogil:
            self.reader.get().cancel()

    def __dealloc__(self):
        cdef shared_ptr[const void] owner
        owner = static_pointer_cast[const_void, core.async_stream_reader](self.reader)
        self.reader.reset()
        drop_share(owner)


cdef class AsyncWriter:
    """The producer for the handler at an address, which is released; see `async_stream_writer`."""

    cdef shared_ptr[core.async_stream_writer] writer
    cdef shared_ptr[async_wakeup] wakeup

    def __init__(self, uintptr_t handler, FenceSet fences not None):
        self.wakeup = make_shared[async_wakeup](fences.fences)
        self.writer = make_shared[core.async_stream_writer](
            <core.ArrowAsyncDeviceStreamHandler*>handler, notifier_of(self.wakeup)
        )

    def prepare(self) -> int:
        """Return a fence that ends when the consumer requests more arrays or cancels."""
        return self.wakeup.get().prepare()

    def notify(self) -> None:
        """End the fence of `prepare`."""
        self.wakeup.get().notify()

    @property
    def num_wanted(self) -> int:
        return self.writer.get().num_wanted()

    @property
    def is_over(self) -> bool:
        return self.writer.get().is_over()

    def open(self, schema, int device_type) -> bool:
        """Send the schema in a capsule, which is not consumed. False: the consumer rejects it."""
        cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
        cdef core.unique_schema copied
        cdef bool is_taken
        with nogil:
            copied = move(core.copy_schema(c_schema[0]).to_arrow())
            is_taken = self.writer.get().open(move(copied), device_type, string())
        return is_taken

    def write(self, array) -> bool:
        """Send the array in a capsule, which is consumed. False: the consumer rejects it."""
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        cdef bool is_taken
        with nogil:
            is_taken = self.writer.get().write(core.unique_device_array(c_array), string())
        return is_taken

    def finish(self) -> None:
        """Signal the end of the stream and release the handler."""
        with nogil:
            self.writer.get().finish()

    def fail(self, int code, bytes message not None) -> None:
        """Report an error and release the handler."""
        cdef string c_message = message
        with nogil:
            self.writer.get().fail(code, c_message, string())

    def __dealloc__(self):
        cdef shared_ptr[const void] owner
        owner = static_pointer_cast[const_void, core.async_stream_writer](self.writer)
        self.writer.reset()
        drop_share(owner)
