# SPDX-License-Identifier: Apache-2.0
"""Exported arrays: wraps `cudf_arrow_bridge::device_array` and creates its capsules."""

from libc.stdint cimport int64_t, uintptr_t
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport resolve_resource, resource_of, stream_of, text_of
from cudf_arrow_bridge._core.capsules cimport (
    array_to_capsule,
    check_keywords,
    device_array_to_capsule,
    schema_to_capsule,
)
from cudf_arrow_bridge._core.interpreter cimport share_object
from cudf_arrow_bridge._core.schema cimport Schema


cdef class ExportedArray:
    """An exported array or a child of one: wraps `cudf_arrow_bridge::device_array`.

    The handle changes only while the GIL is held. Code that runs without the GIL uses a copy of the
    handle, because another thread may release this object at the same time.
    """

    @staticmethod
    cdef ExportedArray wrap(core.device_array array, object stream):
        cdef ExportedArray self = ExportedArray.__new__(ExportedArray)
        self.array = array
        self.stream = stream
        return self

    def share(self) -> ExportedArray:
        """Return another handle of the array, which stays valid after `release` of this one."""
        return self.on_stream(self.stream)

    def on_stream(self, stream: Stream) -> ExportedArray:
        """Return another handle of the array for a stream that already waits for the data."""
        return ExportedArray.wrap(self.array, stream)

    def make_wait(self, stream: Stream) -> None:
        """Make later work on a stream wait for the data."""
        cdef core.stream_ref c_stream = stream_of(stream)
        cdef core.device_array handle = self.array
        with nogil:
            handle.make_wait(c_stream)

    def device_array_capsule(self):
        """Return a capsule of a new `ArrowDeviceArray` that shares this array."""
        cdef core.device_array handle = self.array
        cdef core.unique_device_array array
        with nogil:
            array = move(handle.to_arrow())
        return device_array_to_capsule(array)

    def array_capsule(self):
        """Return a capsule of a new `ArrowArray`; copy CUDA memory to the host and wait for it."""
        cdef core.device_array handle = self.array
        cdef core.unique_array array
        with nogil:
            array = move(handle.to_arrow_host())
        return array_to_capsule(array)

    def is_ready(self) -> bool:
        """Return whether the data is ready, without waiting."""
        return self.array.is_ready()

    def to_host(self, stream: Stream) -> ExportedArray:
        """Copy the array and its children to host memory and wait for the copies."""
        cdef core.stream_ref c_stream = stream_of(stream)
        cdef core.device_array handle = self.array
        cdef core.device_array array
        with nogil:
            array = handle.to_host(c_stream)
        return ExportedArray.wrap(array, None)

    def copy(self, stream: Stream, mr=None) -> ExportedArray:
        """Copy the array and its children within their device or within host memory."""
        cdef core.stream_ref c_stream = stream_of(stream)
        cdef core.device_array handle = self.array
        cdef core.device_array array
        cdef object resource = resolve_resource(mr)
        cdef device_async_resource_ref c_resource = resource_of(resource)
        cdef shared_ptr[const void] owner = share_object((resource, stream))
        with nogil:
            array = handle.copy(move(owner), c_stream, c_resource)
        return ExportedArray.wrap(array, stream)

    def slice(self, int64_t offset, int64_t length, bint is_table) -> ExportedArray:
        """Return `length` rows, starting at row `offset`, that share the buffers."""
        cdef core.device_array handle = self.array
        cdef core.device_array array
        with nogil:
            array = handle.slice(offset, length, is_table)
        return ExportedArray.wrap(array, self.stream)

    def select(self, vector[size_t] indices: Sequence[int]) -> ExportedArray:
        """Return a struct array of the given children that shares the buffers."""
        return ExportedArray.wrap(self.array.select(indices), self.stream)

    def release(self) -> None:
        """Release the reference that this handle holds."""
        cdef core.device_array array = self.array
        self.array.reset()
        self.tensor = None
        with nogil:
            array.reset()

    @property
    def is_released(self) -> bool:
        return self.array.is_released()

    @property
    def device_type(self) -> int:
        return self.array.location().device_type

    @property
    def device_id(self) -> int:
        return self.array.location().device_id

    @property
    def length(self) -> int:
        return self.array.length()

    @property
    def null_count(self) -> int:
        return self.array.null_count()

    @property
    def offset(self) -> int:
        return self.array.offset()

    @property
    def num_children(self) -> int:
        return self.array.num_children()

    def child(self, size_t position) -> ExportedArray:
        return ExportedArray.wrap(self.array.child(position), self.stream)

    @property
    def children(self) -> list[ExportedArray]:
        return [self.child(i) for i in range(self.array.num_children())]

    @property
    def dictionary(self) -> ExportedArray | None:
        cdef core.device_array values = self.array.dictionary()
        return None if values.is_released() else ExportedArray.wrap(values, self.stream)

    def buffers(self) -> list[tuple[str, int, int, str]]:
        """List the name, address, size in bytes and reason of the copy (or "") of each buffer."""
        cdef core.device_array handle = self.array
        cdef vector[core.buffer_info] infos
        with nogil:
            infos = handle.buffers()
        return [
            (
                text_of(info.name),
                <uintptr_t>info.address,
                info.size,
                text_of(info.reason),
            )
            for info in infos
        ]


cdef class DescribedArray:
    """The base class of `DeviceArray`, which documents the parameters."""

    def __init__(
        self,
        ExportedArray array not None,
        arrow_schema,
        str kind not None,
        tuple labels not None=(),
        first_row: int | None = None,
        arguments=None,
        source=None,
    ):
        self._source = source
        self._arguments = arguments
        self._array = array
        self._arrow_schema = arrow_schema
        self._kind = kind
        self._labels = labels
        self._first_row = first_row

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs) -> tuple[object, object]:
        """Export as a pair of PyCapsules, ``arrow_schema`` and ``arrow_device_array``.

        Parameters
        ----------
        requested_schema
            An ``arrow_schema`` PyCapsule of the schema that the consumer requests; see
            `to_arrow_device`. The export converts to it where it can. The capsule is not consumed.
        **kwargs
            Keywords of later versions of the specification.

        Raises
        ------
        NotImplementedError
            If the value of any keyword is not None.
        ValueError, OverflowError
            If the data contradicts the requested schema, or after `release`.

        Notes
        -----
        Source: Arrow specification, "The Arrow PyCapsule Interface".
        """
        if kwargs:
            check_keywords(kwargs)
        cdef DescribedArray exported = self.as_requested(requested_schema)
        if exported._first_row is None:
            return exported.capsules()
        return exported.__arrow_c_schema__(), exported._array.device_array_capsule()

    cdef tuple capsules(self):
        """Return capsules of a new `ArrowSchema` and a new `ArrowDeviceArray`.

        The schema of a part of a table has the range index of the whole table.
        """
        if not isinstance(self._arrow_schema, Schema):
            return self._arrow_schema.__arrow_c_schema__(), self._array.device_array_capsule()
        cdef core.shared_schema shared = (<Schema>self._arrow_schema).schema
        cdef core.device_array handle = self._array.array
        cdef core.unique_schema schema
        cdef core.unique_device_array array
        with nogil:
            array = move(handle.to_arrow())
            schema = move(shared.to_arrow())
        return schema_to_capsule(schema), device_array_to_capsule(array)

    def _described_as(self, DescribedArray other not None) -> Self:
        """Copy the labels and the first row of an array of the same data, and return this array."""
        self._labels, self._first_row = other._labels, other._first_row
        return self
