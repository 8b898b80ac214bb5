# SPDX-License-Identifier: Apache-2.0
"""Readers of the streams of other libraries."""

from libc.stdint cimport int64_t, uintptr_t
from libcpp.memory cimport make_shared, shared_ptr, static_pointer_cast
from libcpp.string cimport string
from libcpp.utility cimport move

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport (
    device_array_to_capsule,
    device_stream_from_capsule,
    stream_from_capsule,
    stream_state_of,
)
from cudf_arrow_bridge._core.interpreter cimport drop_share
from cudf_arrow_bridge._core.schema cimport Schema

from cudf_arrow_bridge._core.import_.array_importer import SourceArray
from cudf_arrow_bridge._core.schema import decode_metadata
from cudf_arrow_bridge._core.stream.stream_export import EXCEPTIONS, code_of, describe

ctypedef const void const_void


cdef extern from "async_step.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass async_step:
        core.unique_device_array array
        int code
        string message
        string metadata
    async_step step_of(core.async_stream_reader&) except +


def exception_of(int code, message: str) -> Exception:
    """Return the Python exception for a producer's errno code."""
    if code in EXCEPTIONS:
        return EXCEPTIONS[code][0](message)
    return OSError(code, message)


cdef class StreamReader:
    """A stream of device or host arrays, moved out of its capsule."""

    cdef shared_ptr[core.array_stream_reader] reader
    cdef readonly object state  # type: StreamState | None

    def __init__(self, capsule):
        cdef core.ArrowDeviceArrayStream* device_stream = device_stream_from_capsule(capsule)
        cdef core.ArrowArrayStream* stream
        if device_stream != NULL:
            self.reader.reset(new core.array_stream_reader(device_stream))
        else:
            stream = stream_from_capsule(capsule)
            self.reader.reset(new core.array_stream_reader(stream))
        self.state = stream_state_of(capsule)

    def schema(self) -> Schema:
        """Return the schema of all arrays."""
        cdef core.shared_schema schema
        try:
            with nogil:
                schema = move(core.copy_schema(self.reader.get().schema()))
            return Schema.wrap(schema)
        except RuntimeError as error:
            failure = error
        raise self._cause(failure)

    def next(self):
        """Return a capsule of the next array, or None at the end."""
        cdef core.unique_device_array array
        try:
            with nogil:
                array = move(self.reader.get().next())
            return None if array.is_released() else device_array_to_capsule(array)
        except RuntimeError as error:
            failure = error
        raise self._cause(failure)

    def _cause(self, failure) -> BaseException:
        """Return the exception of a producer in this process, or one for its errno code."""
        if self.reader.get().error_code() == 0:
            return failure
        if self.state is not None and self.state.error is not None:
            return self.state.error
        return exception_of(self.reader.get().error_code(), str(failure))

    def release(self) -> None:
        """Release the stream."""
        with nogil:
            self.reader.get().reset()

    def __dealloc__(self):
        cdef shared_ptr[const void] owner
        owner = static_pointer_cast[const_void, core.array_stream_reader](self.reader)
        self.reader.reset()
        drop_share(owner)


cdef class AsyncReader:
    """The consumer of one producer: wraps `cudf_arrow_bridge::async_stream_reader`."""

    cdef shared_ptr[core.async_stream_reader] reader
    #: The address of the handler. Only one producer can use it.
    cdef readonly uintptr_t handler
    #: The capsule of the schema; None before the first array.
    cdef object schema
    #: The exception of a producer that is written in Python.
    cdef object cause

    def __init__(self, int64_t prefetch):
        cdef core.callback no_callback
        self.reader = make_shared[core.async_stream_reader](prefetch, no_callback)
        self.handler = <uintptr_t>self.reader.get().take_handler()

    def fail(self, error: BaseException) -> None:
        """End the stream with the exception of a producer, which may have passed on the handler."""
        cdef string message = describe(error)
        cdef int code = code_of(error)
        self.cause = error
        with nogil:
            self.reader.get().fail(code, message)

    def next(self) -> SourceArray | None:
        """Wait for the next array and return it, or None at the end and after `cancel`.

        Raises
        ------
        Exception
            The producer's error. Its attribute `metadata` is a dictionary of bytes.
        """
        cdef async_step step
        with nogil:
            step = step_of(self.reader.get()[0])
        if step.code != 0:
            error = exception_of(step.code, (<bytes>step.message).decode(errors="replace"))
            error.metadata = decode_metadata(step.metadata)
            raise error if self.cause is None else self.cause
        if step.array.is_released():
            return None
        if self.schema is None:
            schema = Schema.wrap(core.copy_schema(self.reader.get().schema()))
            self.schema = schema.__arrow_c_schema__()
        return SourceArray(self.schema, device_array_to_capsule(step.array), None, (), None)

    def cancel(self) -> None:
        """Cancel the producer. Further calls have no effect."""
        with nogil:
            self.reader.get().cancel()

    def __dealloc__(self):
        cdef shared_ptr[const void] owner
        owner = static_pointer_cast[const_void, core.async_stream_reader](self.reader)
        self.reader.reset()
        drop_share(owner)
