# SPDX-License-Identifier: Apache-2.0
"""Python iterators as streams of device arrays."""

import errno

from libc.stdint cimport int32_t, int64_t
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.string cimport string
from libcpp.utility cimport move
from pylibcudf.exception_handler cimport libcudf_exception_handler

from cudf_arrow_bridge._core.capsules cimport device_stream_to_capsule, stream_to_capsule
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport (
    batch_source,
    device_array_stream,
    shared_schema,
    stream_batch,
    unique_array_stream,
    unique_device_array_stream,
)
from cudf_arrow_bridge._core.export cimport BatchSource, ExportedArray
from cudf_arrow_bridge._core.interpreter cimport enter_interpreter, leave_interpreter, share_object
from cudf_arrow_bridge._core.schema cimport Schema


cdef extern from "<cerrno>" nogil:
    const int ECANCELED


cdef extern from "python_source.hpp" namespace "cudf_arrow_bridge" nogil:
    ctypedef int (*pull_function)(const void*, unique_ptr[batch_source]&, string&) noexcept
    unique_ptr[batch_source] python_source(shared_ptr[const void], pull_function) except +
    unique_device_array_stream move_to_arrow(
        device_array_stream&
    ) except +libcudf_exception_handler
    unique_array_stream move_to_arrow_host(device_array_stream&) except +libcudf_exception_handler


cdef class StreamState:
    """The state of an exported stream, shared by its source and its consumer in this process.

    Attributes
    ----------
    error
        The exception that ended the stream, or None.
    labels
        The labels of the first batch's `DeviceArray`.
    stream
        The CUDA stream on which the object of the last batch was exported.
    started
        Whether the first object was pulled from the source.
    requested_schema
        The `Schema` that the consumer asked for before the first object was pulled, or None.
    refusal
        The exception of the export of the first object with that schema, or None. The object was
        then exported without it.
    """

    cdef public object error
    cdef public tuple labels
    cdef public object stream
    cdef public bint started
    cdef public object requested_schema
    cdef public object refusal

    def __cinit__(self):
        self.labels = ()


cdef class BatchIterator:
    """An iterator of `BatchSource` that C++ pulls from."""

    cdef object sources
    cdef StreamState state


def _code_of(error) -> int:
    """Return the errno code of an exception, for consumers in C."""
    if isinstance(error, OSError) and type(error.errno) is int and 0 < error.errno < 4096:
        return error.errno
    for kinds, code in (
        (MemoryError, errno.ENOMEM),
        (NotImplementedError, errno.ENOSYS),
        (KeyboardInterrupt, errno.EINTR),
        ((TypeError, ValueError, ArithmeticError, LookupError), errno.EINVAL),
    ):
        if isinstance(error, kinds):
            return code
    return errno.EIO


def _describe(error) -> bytes:
    try:
        return f"{type(error).__name__}: {error}".encode(errors="replace")
    except Exception:
        # The exception's __str__ fails.
        return type(error).__name__.encode(errors="replace")


cdef int pull_with_gil(
    BatchIterator iterator, unique_ptr[batch_source]& source, string& message
) noexcept:
    try:
        batches = next(iterator.sources, None)
        if batches is None:
            return 0
        source = move((<BatchSource?>batches).source)
        return 0
    except BaseException as error:
        # No exception, KeyboardInterrupt included, can pass through C.
        iterator.state.error = error
        iterator.sources = None
        message = _describe(error)
        return _code_of(error)


cdef int pull(
    const void* iterator, unique_ptr[batch_source]& source, string& message
) noexcept nogil:
    cdef int code
    if not enter_interpreter():
        return ECANCELED
    with gil:
        code = pull_with_gil(<BatchIterator><object>iterator, source, message)
    leave_interpreter()
    return code


cdef class ExportedStream:
    """A stream of exported batches: `cudf_arrow_bridge::device_array_stream` for Python.

    Parameters
    ----------
    sources
        An iterator of `BatchSource`.
    state
        Gets an exception of the iterator.
    schema
        The schema that all batches must have; None: that of the first.
    """

    cdef device_array_stream stream
    cdef readonly StreamState state
    cdef readonly bint has_given_schema
    cdef shared_schema last_schema
    cdef int64_t first_row

    def __init__(self, sources, StreamState state not None, Schema schema):
        cdef BatchIterator iterator = BatchIterator.__new__(BatchIterator)
        cdef shared_schema c_schema
        iterator.sources = sources
        iterator.state = self.state = state
        if schema is not None:
            c_schema = schema.schema
            self.has_given_schema = True
        cdef unique_ptr[batch_source] source = python_source(share_object(iterator), pull)
        self.stream = device_array_stream(move(source), c_schema)

    def next(self):
        """Pull a batch: its schema, its array, and its first row; None at the end.

        The first row counts from the beginning of the object that the batch is a slice of.
        """
        cdef stream_batch batch
        cdef int64_t first_row
        try:
            with nogil:
                batch = move(self.stream.next())
        except RuntimeError:
            if self.state.error is None:
                raise
        if self.state.error is not None:
            raise self.state.error
        if batch.is_end():
            return None
        if not batch.schema.same_as(self.last_schema):
            self.last_schema = batch.schema
            self.first_row = 0
        array = ExportedArray.wrap(batch.array, self.state.stream)
        first_row = self.first_row
        self.first_row += batch.array.length()
        return Schema.wrap(batch.schema), array, first_row

    def schema(self) -> Schema:
        """Return the schema of all batches; may pull the first."""
        cdef shared_schema schema
        try:
            with nogil:
                schema = self.stream.schema()
        except RuntimeError:
            if self.state.error is None:
                raise
        if self.state.error is not None:
            raise self.state.error
        return Schema.wrap(schema)

    def device_type(self) -> int:
        """Return Arrow's device type of all batches; pulls the first."""
        cdef int32_t device_type = 0
        try:
            with nogil:
                device_type = self.stream.device_type()
        except RuntimeError:
            if self.state.error is None:
                raise
        if self.state.error is not None:
            raise self.state.error
        return device_type

    def device_stream_capsule(self):
        """Move the remaining batches into an `ArrowDeviceArrayStream`, in a capsule."""
        self.device_type()
        cdef unique_device_array_stream stream
        with nogil:
            stream = move(move_to_arrow(self.stream))
        return device_stream_to_capsule(stream, self.state)

    def stream_capsule(self):
        """Move the remaining batches into an `ArrowArrayStream`, in a capsule."""
        self.device_type()
        cdef unique_array_stream stream
        with nogil:
            stream = move(move_to_arrow_host(self.stream))
        return stream_to_capsule(stream, self.state)

    def release(self) -> None:
        """Drop the source, and a first batch that was pulled ahead."""
        cdef device_array_stream stream
        stream = move(self.stream)
        with nogil:
            stream.reset()

    @property
    def is_released(self) -> bool:
        return self.stream.is_released()
