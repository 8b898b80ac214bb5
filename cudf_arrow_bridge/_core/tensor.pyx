# SPDX-License-Identifier: Apache-2.0
"""Tensors through DLPack's capsules and C exchange interface, and the CUDA array interface."""

from cpython.buffer cimport PyObject_GetBuffer
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.pycapsule cimport (
    PyCapsule_GetPointer,
    PyCapsule_IsValid,
    PyCapsule_New,
    PyCapsule_SetName,
)
from cpython.ref cimport Py_INCREF, PyObject
from cuda.bindings.cyruntime cimport cudaStream_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uintptr_t
from libcpp.memory cimport shared_ptr
from libcpp.optional cimport optional
from libcpp.utility cimport move
from libcpp.vector cimport vector
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport policy_of, resolve_resource, resource_of, stream_of
from cudf_arrow_bridge._core.capsules cimport device_array_from_capsule, schema_from_capsule
from cudf_arrow_bridge._core.export.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.import_.array_importer cimport ImportArguments
from cudf_arrow_bridge._core.import_.columns cimport ImportContext, wrap_columns
from cudf_arrow_bridge._core.interpreter cimport (
    enter_interpreter,
    leave_interpreter,
    share_object,
)


cdef const char* UNVERSIONED = "dltensor"
cdef const char* USED_UNVERSIONED = "used_dltensor"
cdef const char* VERSIONED = "dltensor_versioned"
cdef const char* USED_VERSIONED = "used_dltensor_versioned"

# By the letters of NumPy's type strings.
cdef dict KINDS = {
    "i": <int>core.element_kind.integer,
    "u": <int>core.element_kind.unsigned_integer,
    "f": <int>core.element_kind.floating,
    "b": <int>core.element_kind.boolean,
}


cdef void destroy(object capsule) noexcept:
    """Delete the tensor of a capsule, unless a consumer has renamed the capsule."""
    cdef PyObject* type_
    cdef PyObject* value
    cdef PyObject* traceback
    # A deleter in Python would clear an exception that is currently raised.
    PyErr_Fetch(&type_, &value, &traceback)
    if PyCapsule_IsValid(capsule, VERSIONED):
        core.delete_dlpack(
            <core.DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, VERSIONED)
        )
    elif PyCapsule_IsValid(capsule, UNVERSIONED):
        core.delete_dlpack(<core.DLManagedTensor*>PyCapsule_GetPointer(capsule, UNVERSIONED))
    PyErr_Restore(type_, value, traceback)


ctypedef fused managed_tensor:
    core.DLManagedTensor
    core.DLManagedTensorVersioned


cdef object capsule_of(managed_tensor* tensor):
    """Return a capsule that owns a tensor."""
    cdef const char* name = UNVERSIONED if managed_tensor is core.DLManagedTensor else VERSIONED
    try:
        return PyCapsule_New(tensor, name, destroy)
    except BaseException:
        core.delete_dlpack(tensor)
        raise


cdef class Tensor:
    """A tensor that shares the memory of an array: wraps `cudf_arrow_bridge::shared_tensor`."""

    cdef core.shared_tensor tensor

    @property
    def address(self) -> int:
        return <uintptr_t>self.tensor.view().data

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.view().shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride in bytes of each dimension."""
        cdef int64_t size = self.tensor.view().bits // 8
        return tuple([size * stride for stride in self.tensor.view().strides])

    @property
    def typestr(self) -> str:
        """The type of the elements, as a type string of NumPy's array interface."""
        cdef int64_t size = self.tensor.view().bits // 8
        (letter,) = [k for k, kind in KINDS.items() if kind == <int>self.tensor.view().kind]
        return f"{'|' if size == 1 else '<'}{letter}{size}"

    def reshape(self, shape: Sequence[int], strides: Sequence[int]) -> None:
        """Replace the shape, and the strides in elements."""
        self.tensor.reshape(shape, strides)

    def make_wait(self, uintptr_t stream) -> None:
        """Make a stream wait for the data."""
        cdef core.stream_ref c_stream = core.stream_ref(<cudaStream_t>stream)
        with nogil:
            self.tensor.make_wait(c_stream)

    def release_after(self, freed: Stream | None, uintptr_t reader) -> None:
        """Free the memory after the work that is on the consumer's stream at that time.

        Parameters
        ----------
        freed
            The `Stream` of the export.
        reader
            The handle of the consumer's stream, which must outlive the memory.
        """
        self.tensor.release_after(stream_of(freed), core.stream_ref(<cudaStream_t>reader))

    def wait(self) -> None:
        """Wait for the data."""
        with nogil:
            self.tensor.wait()

    def capsule(self, bint versioned, int32_t device_type, bint is_copy=False):
        """Return a capsule of a new DLPack tensor.

        `is_copy` says that only this capsule uses the memory.
        """
        if versioned:
            return capsule_of(self.tensor.to_dlpack_versioned(device_type, is_copy))
        return capsule_of(self.tensor.to_dlpack(device_type))


cdef class BufferProtocol:
    """The buffer protocol through `__array__`. Before 3.12, Python has no method for it."""

    def __getbuffer__(self, Py_buffer* view, int flags):
        try:
            array = self.__array__()
        except TypeError as error:
            raise BufferError(str(error)) from None
        try:
            PyObject_GetBuffer(array, view, flags)
        except ValueError as error:
            # NumPy's error for a writable or contiguous buffer.
            raise BufferError(str(error)) from None


def tensor_of(
    schema, array, copy: bool | None, stream: Stream | None, bint row_major
) -> Tensor:
    """View an exported array as a tensor. Its capsule is consumed.

    `row_major` is the order of a table. Raise BufferError, as DLPack requires, if the array cannot
    be a tensor.
    """
    cdef Tensor self = Tensor.__new__(Tensor)
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
    cdef core.copy_policy policy = policy_of(copy)
    cdef core.stream_ref c_stream = stream_of(stream)
    cdef core.tensor_order order = (
        core.tensor_order.row_major if row_major else core.tensor_order.column_major
    )
    mr = resolve_resource(None)
    cdef device_async_resource_ref resource = resource_of(mr)
    kept_alive = (mr, stream)
    cdef shared_ptr[const void] owner = share_object(kept_alive)
    try:
        with nogil:
            self.tensor = core.to_tensor(
                c_schema[0], c_array, policy, owner, c_stream, resource, order
            )
    except TypeError as error:
        raise BufferError(str(error)) from None
    return self


def tensor_of_buffer(schema, array, size_t index, int64_t size) -> Tensor:
    """View one buffer of an exported array as a tensor. The array's capsule is consumed.

    Raise BufferError, as DLPack requires, if the buffer cannot be a tensor.
    """
    cdef Tensor self = Tensor.__new__(Tensor)
    try:
        self.tensor = core.buffer_tensor(
            schema_from_capsule(schema)[0], device_array_from_capsule(array), index, size
        )
    except TypeError as error:
        raise BufferError(str(error)) from None
    return self


cdef object import_view(
    const core.tensor_view& view,
    object owner,
    optional[core.stream_ref] producer,
    bint as_column,
    ImportArguments arguments,
):
    """Return the columns, whether they are a table, and the shape of the tensor."""
    cdef shared_ptr[const void] c_owner = share_object(owner)
    cdef ImportContext context = arguments.context()
    cdef device_async_resource_ref resource = resource_of(context.mr)
    cdef core.copy_policy policy = arguments.options.copy
    cdef core.tensor_kind kind = (
        core.tensor_kind.column if as_column else core.tensor_kind.table
    )
    cdef core.imported_tensor imported
    with nogil:
        imported = move(
            core.from_tensor(view, move(c_owner), producer, policy, context.stream, resource, kind)
        )
    return wrap_columns(imported.table, context), imported.is_table, tuple(view.shape)


def is_dlpack_capsule(obj) -> bool:
    """Return whether an object is a DLPack capsule, consumed or not."""
    return PyCapsule_IsValid(obj, VERSIONED) or PyCapsule_IsValid(obj, UNVERSIONED) or is_used(obj)


cdef bint is_used(obj):
    return PyCapsule_IsValid(obj, USED_VERSIONED) or PyCapsule_IsValid(obj, USED_UNVERSIONED)


cdef object move_capsule(object capsule, const char* name, const char* used_name):
    """Move a tensor to another capsule, whose destructor deletes it with the GIL held."""
    moved = PyCapsule_New(PyCapsule_GetPointer(capsule, name), name, destroy)
    PyCapsule_SetName(capsule, used_name)
    return moved


cdef object take_dlpack(object capsule, core.tensor_view* view):
    """View the tensor in a DLPack capsule, which is consumed. Return the owner of its memory."""
    if PyCapsule_IsValid(capsule, VERSIONED):
        view[0] = core.view_dlpack(
            <core.DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, VERSIONED)
        )
        return move_capsule(capsule, VERSIONED, USED_VERSIONED)
    if PyCapsule_IsValid(capsule, UNVERSIONED):
        view[0] = core.view_dlpack(
            <core.DLManagedTensor*>PyCapsule_GetPointer(capsule, UNVERSIONED)
        )
        return move_capsule(capsule, UNVERSIONED, USED_UNVERSIONED)
    if is_used(capsule):
        raise ValueError("the DLPack capsule is already consumed")
    raise ValueError(
        f"expected a PyCapsule named {VERSIONED.decode()!r} or {UNVERSIONED.decode()!r}, got "
        f"{capsule!r}"
    )


def import_dlpack(
    capsule, bint as_column, ImportArguments arguments not None
) -> tuple[list[Column], bool, tuple[int, ...]]:
    """Import the tensor in a DLPack capsule, which is consumed.

    Tensors of two dimensions become a table, unless `as_column`. Return the columns, whether they
    are a table, and the shape of the tensor.
    """
    cdef core.tensor_view view
    owner = take_dlpack(capsule, &view)
    return import_view(view, owner, optional[core.stream_ref](), as_column, arguments)


def memory_of_dlpack(capsule) -> tuple[int, tuple[int, ...], tuple[int, ...], int, object]:
    """Describe the memory of the tensor in a DLPack capsule, which is consumed.

    Return the address, the shape, the strides in bytes, the size of an element in bytes, and the
    owner of the memory.
    """
    cdef core.tensor_view view
    owner = take_dlpack(capsule, &view)
    itemsize = view.bits // 8
    strides = tuple([itemsize * stride for stride in view.strides])
    return <uintptr_t>view.data, tuple(view.shape), strides, itemsize, owner


def import_memory(
    owner,
    uintptr_t address,
    vector[int64_t] shape: Sequence[int],
    strides: Sequence[int],
    str kind,
    int64_t itemsize,
    stream: int | None,
    bint as_column,
    ImportArguments arguments not None,
) -> tuple[list[Column], bool, tuple[int, ...]]:
    """Import the memory that a CUDA array interface describes; see `import_dlpack`.

    `strides` are in bytes, `kind` is the letter in NumPy's type strings, and `stream` is the handle
    of the stream that writes the data, or None if no synchronization is needed.
    """
    cdef core.tensor_view view
    cdef optional[core.stream_ref] producer
    view.data = <const void*>address
    view.kind = <core.element_kind><int>KINDS[kind]
    view.bits = 8 * itemsize
    view.shape = shape
    # DLPack counts strides in elements.
    view.strides = [stride // itemsize for stride in strides]
    if address:
        view.location = core.locate(<const void*>address)
    if stream is not None:
        producer = core.stream_ref(<cudaStream_t><uintptr_t>stream)
    return import_view(view, owner, producer, as_column, arguments)


cdef Tensor exchanged_tensor(object obj, bint shares_copy):
    """Return a tensor that the object keeps until its release, for DLPack's C interface.

    Without `shares_copy`, each call makes a new copy if a copy is necessary, since the consumer of
    a managed copy may write to it.
    """
    cdef ExportedArray array = obj._array
    cdef Tensor tensor = array.tensor
    if tensor is not None and (shares_copy or not tensor.tensor.is_copy()):
        return tensor
    # Another thread may release the array, or set its tensor, during this call.
    tensor = obj._open_exchanged()
    if tensor.tensor.is_copy() and not shares_copy:
        return tensor
    if array.array.is_released():
        raise ValueError("the array is released")
    if array.tensor is None:
        array.tensor = tensor
    return array.tensor


cdef int managed_from_object(void* obj, core.DLManagedTensorVersioned** out) except -1:
    cdef Tensor tensor = exchanged_tensor(<object>obj, False)
    out[0] = tensor.tensor.to_dlpack_versioned(tensor.tensor.view().location.device_type, False)
    return 0


cdef int view_of_object(void* obj, core.DLTensor* out) except -1:
    cdef Tensor tensor = exchanged_tensor(<object>obj, True)
    tensor.tensor.describe(out, tensor.tensor.view().location.device_type)
    return 0


#: The function that `exchange_interface` was called with.
cdef object make_array = None


cdef int object_from_managed(core.DLManagedTensorVersioned* tensor, void** out) except -1:
    capsule = capsule_of(tensor)
    on_host = core.view_dlpack(tensor).location.device_type == core.ARROW_DEVICE_CPU
    array = make_array(capsule, on_host)
    Py_INCREF(array)
    out[0] = <void*>array
    return 0


cdef int current_stream(int32_t device_type, int32_t device_id, void** out) noexcept nogil:
    # The legacy default stream, which is ordered with cuDF's default streams of all threads.
    out[0] = NULL
    return 0


ctypedef void (*error_setter)(void*, const char*, const char*) noexcept nogil


cdef int allocate_with_gil(
    core.DLTensor* prototype,
    core.DLManagedTensorVersioned** out,
    void* context,
    error_setter set_error,
) noexcept with gil:
    cdef bytes kind
    cdef bytes message
    cdef core.stream_ref stream = core.stream_ref(<cudaStream_t>NULL)
    cdef device_async_resource_ref resource
    cdef shared_ptr[const void] owner
    try:
        mr = resolve_resource(None)
        resource = resource_of(mr)
        owner = share_object(mr)
        with nogil:
            out[0] = core.allocate_dlpack(prototype, move(owner), stream, resource)
        return 0
    except BaseException as error:
        kind = type(error).__name__.encode()
        message = str(error).encode(errors="replace")
        set_error(context, kind, message)
        return -1


cdef int allocate(
    core.DLTensor* prototype,
    core.DLManagedTensorVersioned** out,
    void* context,
    error_setter set_error,
) noexcept nogil:
    cdef int status
    if not enter_interpreter():
        set_error(context, "RuntimeError", "the interpreter is shutting down")
        return -1
    status = allocate_with_gil(prototype, out, context, set_error)
    leave_interpreter()
    return status


cdef struct ExchangeInterface:
    # The members of `DLPackExchangeAPI` in DLPack 1.3.
    uint32_t major
    uint32_t minor
    void* previous
    int (*allocate)(
        core.DLTensor*, core.DLManagedTensorVersioned**, void*, error_setter
    ) noexcept nogil
    int (*managed_from_object)(void*, core.DLManagedTensorVersioned**) except -1
    int (*object_from_managed)(core.DLManagedTensorVersioned*, void**) except -1
    int (*view_of_object)(void*, core.DLTensor*) except -1
    int (*current_stream)(int32_t, int32_t, void**) noexcept nogil


cdef ExchangeInterface exchange = ExchangeInterface(
    1, 3, NULL, allocate, managed_from_object, object_from_managed, view_of_object, current_stream
)


def exchange_interface(make: Callable[[object, bool], Any]) -> object:
    """Return a capsule of DLPack's C exchange interface, for classes with `_open_exchanged`.

    Parameters
    ----------
    make
        Makes an array from the capsule of a tensor, in host memory if its second argument is True.
    """
    global make_array
    make_array = make
    return PyCapsule_New(&exchange, "dlpack_exchange_api", NULL)
