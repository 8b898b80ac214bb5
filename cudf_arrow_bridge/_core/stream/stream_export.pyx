# SPDX-License-Identifier: Apache-2.0
"""Export of Python iterators as streams of device arrays."""

import errno

from libc.stdint cimport int32_t, int64_t, uintptr_t
from libcpp cimport bool
from libcpp.memory cimport make_shared, shared_ptr, unique_ptr
from libcpp.string cimport string
from libcpp.utility cimport move

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport device_stream_to_capsule, stream_to_capsule
from cudf_arrow_bridge._core.export.array_exporter cimport BatchSource
from cudf_arrow_bridge._core.export.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport enter_interpreter, leave_interpreter, share_object
from cudf_arrow_bridge._core.schema cimport Schema


cdef extern from "<cerrno>" nogil:
    const int ECANCELED


cdef extern from "python_source.hpp" namespace "cudf_arrow_bridge" nogil:
    ctypedef int (*pull_function)(const void*, unique_ptr[core.batch_source]&, string&) noexcept
    unique_ptr[core.batch_source] python_source(shared_ptr[const void], pull_function) except +
    core.callback callback_of(shared_ptr[const void], void (*)(const void*) noexcept) except +
    cdef cppclass returned_stream:
        bool take(core.device_array_stream&) except +
    core.return_function give_back_to(shared_ptr[returned_stream]) except +


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
        Whether the first object was requested from the source.
    first_schema
        The `Schema` of the first object, if no schema is requested, or None.
    given_schema
        The `Schema` that the stream was created with, or None.
    requested_schema
        The `Schema` that batches are exported with, or None. It is the given schema, unless a
        consumer requests another one before the first object is requested from the source.
    schema_error
        The exception raised by the export of the first object with the consumer's schema, or None.
        The object was then exported with the given schema.
    first_row
        The index of the first row of the next batch in the object that the batch is a slice of.
    """

    cdef public object error  # type: BaseException | None
    cdef public tuple labels
    cdef public object stream  # type: Stream | None
    cdef public bint started
    cdef public object first_schema  # type: Schema | None
    cdef public object given_schema  # type: Schema | None
    cdef public object requested_schema  # type: Schema | None
    cdef public object schema_error  # type: ValueError | None
    cdef public int64_t first_row

    def __cinit__(self):
        self.labels = ()


cdef class BatchIterator:
    """The iterator of `BatchSource` that C++ calls through `pull`."""

    cdef object sources
    cdef StreamState state


#: The exceptions for which errno codes stand. Imports raise the first one.
EXCEPTIONS: dict[int, tuple[type[Exception], ...]] = {
    errno.ENOMEM: (MemoryError,),
    errno.ENOSYS: (NotImplementedError,),
    errno.EINVAL: (ValueError, TypeError, ArithmeticError, LookupError),
}


def code_of(error: BaseException) -> int:
    """Return the errno code of an exception, for consumers in C."""
    if isinstance(error, OSError) and type(error.errno) is int and 0 < error.errno < 4096:
        return error.errno
    if isinstance(error, KeyboardInterrupt):
        return errno.EINTR
    return next((code for code in EXCEPTIONS if isinstance(error, EXCEPTIONS[code])), errno.EIO)


def describe(error: BaseException) -> bytes:
    try:
        return f"{type(error).__name__}: {error}".encode(errors="replace")
    except Exception:
        # The `__str__` of the exception raised.
        return type(error).__name__.encode(errors="replace")


cdef int pull_with_gil(
    BatchIterator iterator, unique_ptr[core.batch_source]& source, string& message
) noexcept:
    try:
        batches = next(iterator.sources, None)
        if batches is None:
            return 0
        source = move((<BatchSource?>batches).source)
        return 0
    except BaseException as error:
        # No exception can propagate through C, including KeyboardInterrupt.
        iterator.state.error = error
        iterator.sources = None
        message = describe(error)
        return code_of(error)


cdef int pull(
    const void* iterator, unique_ptr[core.batch_source]& source, string& message
) noexcept nogil:
    cdef int code
    if not enter_interpreter():
        message.assign("the interpreter is shutting down")
        return ECANCELED
    with gil:
        code = pull_with_gil(<BatchIterator><object>iterator, source, message)
    leave_interpreter()
    return code


cdef void call_with_gil(object callback) noexcept:
    callback()


cdef void call(const void* callback) noexcept nogil:
    if enter_interpreter():
        with gil:
            call_with_gil(<object>callback)
        leave_interpreter()


cdef class ExportedStream:
    """An iteration over batches: wraps `cudf_arrow_bridge::device_array_stream`.

    Only one call can read at a time. While the source produces a batch, calls from other threads
    and from the source itself raise `ValueError`.

    Parameters
    ----------
    sources
        An iterator of `BatchSource`.
    state
        The state, which stores the schema and an exception of the iterator.
    schema
        The schema of all batches, and of a stream without batches. None: the schema of the first
        batch.
    """

    cdef object __weakref__
    cdef core.device_array_stream stream
    cdef readonly StreamState state
    #: Whether a consumer has claimed this iteration.
    cdef bint is_claimed
    #: Whether a call is reading the stream.
    cdef readonly bint is_read
    cdef bint is_dropped
    #: Gets the stream from a consumer that reads no batch. Null before the first capsule.
    cdef shared_ptr[returned_stream] returned
    #: Stops the thread of `drive`. Null before.
    cdef shared_ptr[core.callback] stop_driving

    def __init__(
        self,
        sources: Iterator[BatchSource],
        StreamState state not None,
        Schema schema: Schema | None,
    ):
        cdef BatchIterator iterator = BatchIterator.__new__(BatchIterator)
        cdef core.shared_schema c_schema
        iterator.sources = sources
        iterator.state = self.state = state
        state.given_schema = state.requested_schema = schema
        if schema is not None:
            c_schema = schema.schema
        cdef unique_ptr[core.batch_source] source = python_source(share_object(iterator), pull)
        self.stream = core.device_array_stream(move(source), c_schema)

    @property
    def is_at_start(self) -> bool:
        """Whether the next consumer that claims this iteration gets all batches.

        True until the iteration is claimed, and after a consumer released it without reading a
        batch.
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
        """Claim this iteration if it is at its start, and return whether this succeeded.

        If several threads call it, only one succeeds. Raise `ValueError` while another thread
        reads the schema.
        """
        if not self.is_at_start:
            return False
        self.begin()
        self.is_read = False
        self.is_claimed = True
        return True

    def unclaim(self) -> None:
        """Let others claim this iteration, of which no batch was read."""
        self.is_claimed = False

    cdef int begin(self) except -1:
        """Reject other calls until `end`."""
        if self.is_dropped:
            raise ValueError("the stream is released")
        if self.is_read:
            raise ValueError(
                "another call reads this stream: use it in one thread at a time, and not in its "
                "own source"
            )
        self.is_read = True
        return 0

    cdef int end(self) except -1:
        self.is_read = False
        if self.is_dropped:
            self.drop()
        return 0

    def request(self, Schema schema not None) -> None:
        """Replace the given schema by that of a consumer. Call it before the first batch."""
        self.state.requested_schema = schema
        self.stream.set_default_schema(schema.schema)

    def next(self) -> tuple[Schema, ExportedArray, int] | None:
        """Return the schema, the array and the first row of the next batch, or None at the end.

        The first row is an index into the object that the batch is a slice of.
        """
        cdef core.stream_batch batch
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
        if self.state.error is not None:
            raise self.state.error
        if batch.is_end():
            return None
        array = ExportedArray.wrap(batch.array, self.state.stream)
        first_row = self.state.first_row
        self.state.first_row += batch.array.length()
        return Schema.wrap(batch.schema), array, first_row

    def schema(self) -> Schema:
        """Return the schema of all batches. This can produce the first batch."""
        cdef core.shared_schema schema
        self.peek(&schema)
        return Schema.wrap(schema)

    def device_type(self) -> int:
        """Return Arrow's device type of all batches. This produces the first batch."""
        return self.peek(NULL)

    cdef int32_t peek(self, core.shared_schema* schema) except? -1:
        """Set the schema, or return Arrow's device type if it is NULL."""
        cdef int32_t device_type = 0
        self.begin()
        try:
            with nogil:
                if schema != NULL:
                    schema[0] = self.stream.schema()
                else:
                    device_type = self.stream.device_type()
        except RuntimeError:
            if self.state.error is None:
                raise
        finally:
            self.end()
        if self.state.error is not None:
            raise self.state.error
        return device_type

    def __arrow_c_device_stream__(self):
        """Move the remaining batches into a capsule of an `ArrowDeviceArrayStream`.

        If its consumer releases it without reading a batch, they move back; see `is_at_start`.
        """
        return self.move_out(False)

    def stream_capsule(self):
        """Move the batches into a capsule of an `ArrowArrayStream`, as for device arrays."""
        return self.move_out(True)

    cdef object move_out(self, bint to_host):
        cdef core.unique_device_array_stream stream
        cdef core.unique_array_stream host_stream
        self.device_type()
        self.begin()
        try:
            self.returned = make_shared[returned_stream]()
            with nogil:
                if to_host:
                    host_stream = move(self.stream.to_arrow_host(give_back_to(self.returned)))
                else:
                    stream = move(self.stream.to_arrow(give_back_to(self.returned)))
        finally:
            self.end()
        if to_host:
            return stream_to_capsule(host_stream, self.state)
        return device_stream_to_capsule(stream, self.state)

    def drive(
        self, uintptr_t handler, cancelled: Callable[[], object] | None = None
    ) -> None:
        """Send the remaining batches to a consumer, on a thread of its own.

        `handler` is the address of its ``ArrowAsyncDeviceStreamHandler``, which is released.
        `cancelled` is called on any thread when the consumer cancels.
        """
        cdef core.callback c_cancelled
        if cancelled is not None:
            c_cancelled = callback_of(share_object(cancelled), call)
        self.begin()
        try:
            with nogil:
                self.stop_driving = make_shared[core.callback](
                    core.to_arrow_async(
                        move(self.stream),
                        <core.ArrowAsyncDeviceStreamHandler*>handler,
                        move(c_cancelled),
                    )
                )
        finally:
            self.end()

    def stop(self) -> None:
        """End a `drive` with ECANCELED when the consumer has all batches that it requested."""
        if self.stop_driving.get() != NULL:
            self.stop_driving.get().call()

    def release(self) -> None:
        """Drop the source and a first batch that was read ahead. Consumers keep their batches.

        If another call is reading, it drops them when it ends.
        """
        self.is_dropped = True
        if not self.is_read:
            self.drop()

    cdef int drop(self) except -1:
        cdef core.device_array_stream stream = move(self.stream)
        cdef shared_ptr[returned_stream] returned = move(self.returned)
        with nogil:
            stream.reset()
            returned.reset()
        return 0
