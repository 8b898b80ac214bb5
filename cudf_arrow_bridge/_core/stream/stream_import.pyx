# SPDX-License-Identifier: Apache-2.0
"""Reader of the streams of other libraries."""

import errno

from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr, static_pointer_cast
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

ctypedef const void const_void


def exception_of(int code, message: str) -> Exception:
    """Return the Python exception for a producer's errno code."""
    if code == errno.EINVAL:
        return ValueError(message)
    if code == errno.ENOMEM:
        return MemoryError(message)
    if code == errno.ENOSYS:
        return NotImplementedError(message)
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

    def drive(self, uintptr_t handler) -> StreamState | None:
        """Send the arrays to a consumer, on a thread of its own, and return the `state`.

        The argument is the address of its ``ArrowAsyncDeviceStreamHandler``, which is released.
        """
        with nogil:
            core.to_arrow_async(
                move(self.reader.get()[0]), <core.ArrowAsyncDeviceStreamHandler*>handler
            )
        return self.state

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
