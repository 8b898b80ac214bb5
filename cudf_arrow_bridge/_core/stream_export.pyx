# SPDX-License-Identifier: Apache-2.0
"""Streams of device arrays out of Python iterators."""

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


cdef class StreamNotes:
    """What a stream tells the Python side of this process beside its batches.

    Attributes
    ----------
    error
        The exception that ended the stream, None if none has.
    labels
        The labels of the first batch's `DeviceArray`.
    stream
        The stream that the object was exported on which the last batch is of.
    started
        Whether the first object has been taken from the source.
    requested
        The `Schema` that the consumer would rather have; None if it said nothing in time.
    refusal
        Why the first object cannot be had as requested; its batches come as they are.
    """

    cdef public object error
    cdef public tuple labels
    cdef public object stream
    cdef public bint started
    cdef public object requested
    cdef public object refusal

    def __cinit__(self):
        self.labels = ()


cdef class Puller:
    """An iterator of `BatchSource` that C++ pulls from."""

    cdef object sources
    cdef StreamNotes notes


def _code_of(error) -> int:
    """Choose the errno code by which C consumers know an exception."""
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
        # Its own text cannot be had; that is no reason to lose the error.
        return type(error).__name__.encode(errors="replace")


cdef int pull_inside(Puller puller, unique_ptr[batch_source]& source, string& message) noexcept:
    try:
        found = next(puller.sources, None)
        if found is None:
            return 0
        source = move((<BatchSource?>found).source)
        return 0
    except BaseException as error:
        # Whatever it is, an interrupt included: it cannot pass through C.
        puller.notes.error = error
        puller.sources = None
        message = _describe(error)
        return _code_of(error)


cdef int pull(
    const void* puller, unique_ptr[batch_source]& source, string& message
) noexcept nogil:
    cdef int code
    if not enter_interpreter():
        return ECANCELED
    with gil:
        code = pull_inside(<Puller><object>puller, source, message)
    leave_interpreter()
    return code


cdef class ExportedStream:
    """A stream on its way out: `cudf_arrow_bridge::device_array_stream` as Python sees it.

    Parameters
    ----------
    sources
        An iterator of `BatchSource`.
    notes
        Where an exception of the iterator is put.
    schema
        What all batches must have; None: what the first has.
    """

    cdef device_array_stream stream
    cdef readonly StreamNotes notes
    cdef readonly bint has_given_schema
    cdef shared_schema last_schema
    cdef int64_t first_row

    def __init__(self, sources, StreamNotes notes not None, Schema schema):
        cdef Puller puller = Puller.__new__(Puller)
        cdef shared_schema c_schema
        puller.sources = sources
        puller.notes = self.notes = notes
        if schema is not None:
            c_schema = schema.schema
            self.has_given_schema = True
        cdef unique_ptr[batch_source] source = python_source(share_object(puller), pull)
        self.stream = device_array_stream(move(source), c_schema)

    def next(self):
        """Pull a batch: its schema, its array and the number of the row that it begins with.

        That number counts within the object that the batch is a slice of. None is the end.
        """
        cdef stream_batch batch
        cdef int64_t first_row
        try:
            with nogil:
                batch = move(self.stream.next())
        except RuntimeError:
            if self.notes.error is None:
                raise
        if self.notes.error is not None:
            raise self.notes.error
        if batch.is_end():
            return None
        if not batch.schema.same_as(self.last_schema):
            self.last_schema = batch.schema
            self.first_row = 0
        array = ExportedArray.wrap(batch.array, self.notes.stream)
        first_row = self.first_row
        self.first_row += batch.array.length()
        return Schema.wrap(batch.schema), array, first_row

    def schema(self) -> Schema:
        """Return the schema of all batches, for which the first may be pulled."""
        cdef shared_schema schema
        try:
            with nogil:
                schema = self.stream.schema()
        except RuntimeError:
            if self.notes.error is None:
                raise
        if self.notes.error is not None:
            raise self.notes.error
        return Schema.wrap(schema)

    def device_type(self) -> int:
        """Return Arrow's device type of all batches, for which the first is pulled."""
        cdef int32_t device_type = 0
        try:
            with nogil:
                device_type = self.stream.device_type()
        except RuntimeError:
            if self.notes.error is None:
                raise
        if self.notes.error is not None:
            raise self.notes.error
        return device_type

    def device_stream_capsule(self):
        """Move what is left into an `ArrowDeviceArrayStream`, in a capsule."""
        self.device_type()
        cdef unique_device_array_stream stream
        with nogil:
            stream = move(move_to_arrow(self.stream))
        return device_stream_to_capsule(stream, self.notes)

    def stream_capsule(self):
        """Move what is left into an `ArrowArrayStream`, in a capsule."""
        self.device_type()
        cdef unique_array_stream stream
        with nogil:
            stream = move(move_to_arrow_host(self.stream))
        return stream_to_capsule(stream, self.notes)

    def release(self) -> None:
        """Drop the source and what was pulled ahead."""
        cdef device_array_stream stream
        stream = move(self.stream)
        with nogil:
            stream.reset()

    @property
    def is_released(self) -> bool:
        return self.stream.is_released()
