# SPDX-License-Identifier: Apache-2.0
"""Python iterators as streams of device arrays."""

import errno

from libc.stdint cimport int32_t, int64_t, uintptr_t
from libcpp cimport bool
from libcpp.memory cimport make_shared, shared_ptr, unique_ptr
from libcpp.string cimport string
from libcpp.utility cimport move
from pylibcudf.exception_handler cimport libcudf_exception_handler

from cudf_arrow_bridge._core.capsules cimport device_stream_to_capsule, stream_to_capsule
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport (
    ArrowAsyncDeviceStreamHandler,
    batch_source,
    device_array_stream,
    shared_schema,
    stream_batch,
    to_arrow_async,
    unique_array_stream,
    unique_device_array_stream,
)
from cudf_arrow_bridge._core.export cimport BatchSource
from cudf_arrow_bridge._core.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport enter_interpreter, leave_interpreter, share_object
from cudf_arrow_bridge._core.schema cimport Schema


cdef extern from "<cerrno>" nogil:
    const int ECANCELED


cdef extern from "python_source.hpp" namespace "cudf_arrow_bridge" nogil:
    ctypedef int (*pull_function)(const void*, unique_ptr[batch_source]&, string&) noexcept
    unique_ptr[batch_source] python_source(shared_ptr[const void], pull_function) except +
    cdef cppclass returned_stream:
        bool take(device_array_stream&) except +
    unique_device_array_stream move_to_arrow(
        device_array_stream&, const shared_ptr[returned_stream]&
    ) except +libcudf_exception_handler
    unique_array_stream move_to_arrow_host(
        device_array_stream&, const shared_ptr[returned_stream]&
    ) except +libcudf_exception_handler


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
    given_schema
        The `Schema` that the stream was made with, or None.
    requested_schema
        The `Schema` that batches are exported with, or None: the given one, until a consumer asks
        for another before the first object is pulled.
    refusal
        The exception of the export of the first object with the consumer's schema, or None. The
        object was then exported with the given one.
    first_row
        The number of rows before the next batch in the object that it is a part of.
    """

    cdef public object error
    cdef public tuple labels
    cdef public object stream
    cdef public bint started
    cdef public object given_schema
    cdef public object requested_schema
    cdef public object refusal
    cdef public int64_t first_row

    def __cinit__(self):
        self.labels = ()


cdef class BatchIterator:
    """An iterator of `BatchSource` that C++ pulls from."""

    cdef object sources
    cdef StreamState state


def code_of(error) -> int:
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


def describe(error) -> bytes:
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
        message = describe(error)
        return code_of(error)


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
    """A pass over batches: `cudf_arrow_bridge::device_array_stream` for Python.

    For one call at a time: while a source makes a batch, calls of other threads and of the source
    itself are refused with a `ValueError`.

    Parameters
    ----------
    sources
        An iterator of `BatchSource`.
    state
        Gets an exception of the iterator, and the schema.
    schema
        The schema that batches are exported with, and that of a stream without any; None: that of
        the first batch.
    """

    cdef object __weakref__
    cdef device_array_stream stream
    cdef readonly StreamState state
    #: Whether somebody has this pass for himself.
    cdef bint is_claimed
    #: Whether a call is pulling a batch.
    cdef readonly bint is_read
    cdef bint is_dropped
    #: Where a consumer that pulls no batch leaves the stream; empty before there is one.
    cdef shared_ptr[returned_stream] returned

    def __init__(self, sources, StreamState state not None, Schema schema):
        cdef BatchIterator iterator = BatchIterator.__new__(BatchIterator)
        cdef shared_schema c_schema
        iterator.sources = sources
        iterator.state = self.state = state
        state.given_schema = state.requested_schema = schema
        if schema is not None:
            c_schema = schema.schema
        cdef unique_ptr[batch_source] source = python_source(share_object(iterator), pull)
        self.stream = device_array_stream(move(source), c_schema)

    @property
    def is_at_start(self) -> bool:
        """Whether the next to claim this pass gets all batches.

        So it is until somebody claims it, and again when a consumer gave it back: released it
        without having pulled a batch.
        """
        if self.is_dropped:
            return False
        if self.is_claimed and not (
            self.returned.get() != NULL and self.returned.get().take(self.stream)
        ):
            return False
        self.is_claimed = False
        return self.is_read or not self.stream.has_failed()

    def claim(self) -> bool:
        """Take this pass if it is at its start; False if somebody else has it.

        Of several threads, one gets it; none while another is asking for the schema.
        """
        if not self.is_at_start:
            return False
        self.begin()
        self.is_read = False
        self.is_claimed = True
        return True

    def unclaim(self) -> None:
        """Leave a pass to others of which no batch was taken."""
        self.is_claimed = False

    cdef int begin(self) except -1:
        """Keep other calls out until `end`."""
        if self.is_dropped:
            raise ValueError("a stream that was released found, one with batches expected")
        if self.is_read:
            raise ValueError(
                "a stream that another call is reading found, one at rest expected: a stream is "
                "read by one thread at a time, and not by its own source"
            )
        self.is_read = True
        return 0

    cdef int end(self) except -1:
        self.is_read = False
        if self.is_dropped:
            self.drop()
        return 0

    cdef int check_source(self) except -1:
        """Raise the exception of the source, if there is one."""
        if self.state.error is not None:
            raise self.state.error
        return 0

    def request(self, Schema schema not None) -> None:
        """Take a consumer's schema in place of the one given, before the first batch is made."""
        self.state.requested_schema = schema
        self.stream.set_default_schema(schema.schema)

    def next(self):
        """Pull a batch: its schema, its array, and its first row; None at the end.

        The first row counts from the beginning of the object that the batch is a part of.
        """
        cdef stream_batch batch
        cdef int64_t first_row
        self.begin()
        try:
            with nogil:
                batch = move(self.stream.next())
        except RuntimeError:
            if self.state.error is None:
                raise
        finally:
            self.end()
        self.check_source()
        if batch.is_end():
            return None
        array = ExportedArray.wrap(batch.array, self.state.stream)
        first_row = self.state.first_row
        self.state.first_row += batch.array.length()
        return Schema.wrap(batch.schema), array, first_row

    def schema(self) -> Schema:
        """Return the schema of all batches; may pull the first."""
        cdef shared_schema schema
        self.begin()
        try:
            with nogil:
                schema = self.stream.schema()
        except RuntimeError:
            if self.state.error is None:
                raise
        finally:
            self.end()
        self.check_source()
        return Schema.wrap(schema)

    def device_type(self) -> int:
        """Return Arrow's device type of all batches; pulls the first."""
        cdef int32_t device_type = 0
        self.begin()
        try:
            with nogil:
                device_type = self.stream.device_type()
        except RuntimeError:
            if self.state.error is None:
                raise
        finally:
            self.end()
        self.check_source()
        return device_type

    def device_stream_capsule(self):
        """Move the remaining batches into an `ArrowDeviceArrayStream`, in a capsule.

        If it is released before a batch was pulled, they come back; see `is_at_start`.
        """
        cdef unique_device_array_stream stream
        self.device_type()
        self.begin()
        try:
            self.returned = make_shared[returned_stream]()
            with nogil:
                stream = move(move_to_arrow(self.stream, self.returned))
        finally:
            self.end()
        return device_stream_to_capsule(stream, self.state)

    def stream_capsule(self):
        """Move the remaining batches into an `ArrowArrayStream`; see `device_stream_capsule`."""
        cdef unique_array_stream stream
        self.device_type()
        self.begin()
        try:
            self.returned = make_shared[returned_stream]()
            with nogil:
                stream = move(move_to_arrow_host(self.stream, self.returned))
        finally:
            self.end()
        return stream_to_capsule(stream, self.state)

    def drive(self, uintptr_t handler) -> None:
        """Have threads of the library hand the remaining batches to an asynchronous consumer.

        Parameters
        ----------
        handler
            The address of its ``ArrowAsyncDeviceStreamHandler``, which will be released.
        """
        self.begin()
        try:
            with nogil:
                to_arrow_async(move(self.stream), <ArrowAsyncDeviceStreamHandler*>handler)
        finally:
            self.end()

    def release(self) -> None:
        """Drop the source, and a first batch that was pulled ahead; consumers keep what they have.

        If another call is reading, it is the one that drops them, at its end.
        """
        self.is_dropped = True
        if not self.is_read:
            self.drop()

    cdef int drop(self) except -1:
        cdef device_array_stream stream = move(self.stream)
        cdef shared_ptr[returned_stream] returned = move(self.returned)
        with nogil:
            stream.reset()
            returned.reset()
        return 0
