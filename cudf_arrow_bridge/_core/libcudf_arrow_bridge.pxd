# SPDX-License-Identifier: Apache-2.0
"""Declarations of the C++ core. libcudf_exception_handler translates its exceptions."""

from cuda.bindings.cyruntime cimport cudaError_t, cudaEvent_t, cudaStream_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.optional cimport optional
from libcpp.pair cimport pair
from libcpp.span cimport span
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector
from pylibcudf.exception_handler cimport libcudf_exception_handler
from pylibcudf.libcudf.column.column cimport column
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.table.table_view cimport table_view
from pylibcudf.libcudf.types cimport size_type, type_id
from rmm.librmm.device_buffer cimport cuda_device_id
from rmm.librmm.memory_resource cimport device_async_resource_ref


# RAPIDS 26.10 declares this class for Cython, 26.08 does not. rmm of 26.08 accepts it in C++.
cdef extern from "<cuda/stream>" namespace "cuda" nogil:
    cdef cppclass stream_ref:
        stream_ref()
        stream_ref(cudaStream_t)


cdef extern from "<rmm/cuda_device.hpp>" namespace "rmm" nogil:
    cuda_device_id get_current_cuda_device() except +


cdef extern from "cudf_arrow_bridge/arrow_abi.hpp" nogil:
    cdef struct ArrowSchema:
        const char* format
        const char* name
        const char* metadata
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept

    cdef struct ArrowArray:
        int64_t length
        void (*release)(ArrowArray*) noexcept

    cdef struct ArrowDeviceArray:
        ArrowArray array
        int64_t device_id
        int32_t device_type
        void* sync_event

    cdef struct ArrowArrayStream
    cdef struct ArrowDeviceArrayStream
    cdef struct ArrowAsyncDeviceStreamHandler

    const int64_t ARROW_FLAG_NULLABLE
    const int32_t ARROW_DEVICE_CPU
    const int32_t ARROW_DEVICE_CUDA


cdef extern from "cudf_arrow_bridge/owners.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass unique_schema:
        unique_schema() except +
        ArrowSchema* get() noexcept

    cdef cppclass unique_array:
        unique_array() except +

    cdef cppclass unique_device_array:
        unique_device_array() except +
        bool is_released() noexcept

    cdef cppclass unique_array_stream:
        unique_array_stream() except +

    cdef cppclass unique_device_array_stream:
        unique_device_array_stream() except +


cdef extern from "cudf_arrow_bridge/types.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef enum class type_support(int8_t):
        zero_copy
        converted

    cdef cppclass type_row:
        string_view arrow
        string_view format
        type_id column
        type_support on_export
        type_support on_import
        string_view note
        string_view waits_for

    span[const type_row] type_table() noexcept
    const type_row& import_row(const ArrowSchema&) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/schema.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass column_metadata:
        string name
        bool nullable
        string timezone
        int precision
        bool ordered
        vector[pair[string, string]] metadata
        vector[column_metadata] children
        const ArrowSchema* origin

    cdef cppclass shared_schema:
        unique_schema to_arrow() except +libcudf_exception_handler
        bool is_table() except +libcudf_exception_handler
        bool same_as "is"(const shared_schema&) noexcept

    shared_schema make_schema(
        const column_view&, const column_metadata&, const ArrowSchema*
    ) except +libcudf_exception_handler
    shared_schema make_schema(
        const table_view&,
        const vector[column_metadata]&,
        const vector[pair[string, string]]&,
        const ArrowSchema*,
    ) except +libcudf_exception_handler
    shared_schema copy_schema(const ArrowSchema&) except +libcudf_exception_handler
    vector[pair[string, string]] parse_metadata(const char*) except +libcudf_exception_handler
    void check_same_schema(
        const ArrowSchema&, const ArrowSchema&, bool
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/memory.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass memory_location:
        int32_t device_type
        int64_t device_id
        bool operator==(const memory_location&) noexcept

    string to_string(const memory_location&) except +libcudf_exception_handler

    bool has_gpu() except +libcudf_exception_handler
    memory_location locate(const void*) except +libcudf_exception_handler
    device_async_resource_ref host_memory_resource() noexcept


cdef extern from "cudf_arrow_bridge/ordering.hpp" namespace "cudf_arrow_bridge" nogil:
    void order_after(stream_ref, stream_ref, cuda_device_id) except +libcudf_exception_handler
    void enter_thread(cuda_device_id) noexcept
    shared_ptr[const void] release_after(
        shared_ptr[const void], stream_ref, stream_ref
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/fences.hpp" namespace "cudf_arrow_bridge" nogil:
    ctypedef uint64_t fence_id

    cdef enum class fence_state(int8_t):
        reached
        cancelled
        failed

    cdef cppclass fence_result:
        fence_id fence
        fence_state state
        cudaError_t error

    cdef cppclass fence_set:
        fence_set() noexcept

        @staticmethod
        fence_set make() except +libcudf_exception_handler
        int fileno() noexcept
        fence_id add(stream_ref, cuda_device_id) except +libcudf_exception_handler
        fence_id add(
            cudaEvent_t, int, shared_ptr[const void]
        ) except +libcudf_exception_handler
        fence_id add() except +libcudf_exception_handler
        void complete(fence_id) noexcept
        bool cancel(fence_id) noexcept
        size_t num_pending() noexcept
        vector[fence_result] poll() except +libcudf_exception_handler
        void wake() noexcept

    string error_text(cudaError_t) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/copies.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef enum class copy_policy(int8_t):
        as_needed
        never
        always

    cdef cppclass copied_buffer:
        const void* address
        int64_t size
        string_view reason


cdef extern from "cudf_arrow_bridge/export.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass buffer_info:
        string_view name
        const void* address
        int64_t size
        string_view reason

    cdef cppclass export_input:
        export_input() noexcept
        export_input(const column_view&) noexcept
        export_input(const vector[column_view]&, size_type) noexcept

    cdef cppclass export_options:
        shared_schema schema
        bool compact
        bool managed_as_cuda
        copy_policy copy
        shared_ptr[const void] copy_owner
        shared_ptr[vector[copied_buffer]] copied

    cdef cppclass device_array:
        device_array() noexcept
        unique_device_array to_arrow() except +libcudf_exception_handler
        unique_array to_arrow_host() except +libcudf_exception_handler
        device_array to_host(stream_ref) except +libcudf_exception_handler
        device_array copy(
            shared_ptr[const void], stream_ref, device_async_resource_ref
        ) except +libcudf_exception_handler
        bool is_ready() except +libcudf_exception_handler
        void make_wait(stream_ref) except +libcudf_exception_handler
        fence_id add_fence(fence_set&) except +libcudf_exception_handler
        bool is_released() noexcept
        void reset() noexcept
        memory_location location() except +libcudf_exception_handler
        int64_t length() except +libcudf_exception_handler
        int64_t null_count() except +libcudf_exception_handler
        int64_t offset() except +libcudf_exception_handler
        int64_t num_children() except +libcudf_exception_handler
        device_array child(int64_t) except +libcudf_exception_handler
        device_array slice(int64_t, int64_t, bool) except +libcudf_exception_handler
        device_array select(const vector[size_t]&) except +libcudf_exception_handler
        device_array dictionary() except +libcudf_exception_handler
        vector[buffer_info] buffers() except +libcudf_exception_handler

    device_array to_arrow_device(
        const export_input&,
        shared_ptr[const void],
        const export_options&,
        stream_ref,
        device_async_resource_ref,
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/release.hpp" namespace "cudf_arrow_bridge" nogil:
    bool drain_releases() noexcept


cdef extern from "cudf_arrow_bridge/import.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef enum class validation(int8_t):
        full

    cdef cppclass import_options:
        copy_policy copy
        validation validate
        bool sanitize
        bool borrow

    cdef cppclass imported_column:
        unique_ptr[column] storage
        size_type offset
        size_type size
        vector[copied_buffer] copied
        shared_ptr[const void] owner
        column_view borrowed
        int64_t data_size

    cdef cppclass imported_table:
        vector[imported_column] columns
        size_type num_rows

    cdef cppclass array_importer:
        array_importer(const ArrowSchema&) except +libcudf_exception_handler
        const shared_schema& schema() noexcept
        bool has_schema(const ArrowSchema&) noexcept
        void check(ArrowDeviceArray*, bool) except +libcudf_exception_handler
        imported_table import_array(
            ArrowDeviceArray*, bool, const import_options&, stream_ref, device_async_resource_ref
        ) except +libcudf_exception_handler

    bool can_share(const vector[column_view]&) except +libcudf_exception_handler
    void select_children(
        const ArrowSchema&, ArrowDeviceArray*, const vector[size_t]&
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/stream.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass stream_batch:
        shared_schema schema
        device_array array
        bool is_end() noexcept

    cdef cppclass batch_source:
        pass

    cdef cppclass return_function:
        pass

    cdef cppclass device_array_stream:
        device_array_stream() noexcept
        device_array_stream(unique_ptr[batch_source], shared_schema) except +
        void set_default_schema(shared_schema) noexcept
        const shared_schema& schema() except +libcudf_exception_handler
        int32_t device_type() except +libcudf_exception_handler
        stream_batch next() except +libcudf_exception_handler
        bool has_failed() noexcept
        void reset() noexcept
        unique_device_array_stream to_arrow(return_function) except +libcudf_exception_handler
        unique_array_stream to_arrow_host(return_function) except +libcudf_exception_handler

    cdef cppclass array_stream_reader:
        array_stream_reader(ArrowDeviceArrayStream*) except +libcudf_exception_handler
        array_stream_reader(ArrowArrayStream*) except +libcudf_exception_handler
        const ArrowSchema& schema() except +libcudf_exception_handler
        unique_device_array next() except +libcudf_exception_handler
        int error_code() noexcept
        void reset() noexcept

    unique_ptr[batch_source] single(stream_batch) except +libcudf_exception_handler
    unique_ptr[batch_source] slices(
        const export_input&,
        shared_ptr[const void],
        size_type,
        const export_options&,
        stream_ref,
        device_async_resource_ref,
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/async.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass callback "std::function<void()>":
        void call "operator()"()

    cdef cppclass async_stream_reader:
        async_stream_reader(int64_t, callback) except +libcudf_exception_handler
        ArrowAsyncDeviceStreamHandler* take_handler() except +libcudf_exception_handler
        void fail(int, const string&) noexcept
        const ArrowSchema& schema() except +libcudf_exception_handler
        void cancel() noexcept

    callback to_arrow_async(
        device_array_stream, ArrowAsyncDeviceStreamHandler*, callback
    ) except +libcudf_exception_handler
    void stop_async() noexcept


cdef extern from "cudf_arrow_bridge/tensor.hpp" nogil:
    cdef struct DLManagedTensor
    cdef struct DLManagedTensorVersioned
    cdef struct DLTensor


cdef extern from "cudf_arrow_bridge/tensor.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef enum class element_kind(uint8_t):
        integer
        unsigned_integer
        floating
        boolean

    cdef enum class tensor_order(int8_t):
        column_major
        row_major

    cdef enum class tensor_kind(int8_t):
        table
        column

    cdef cppclass tensor_view:
        const void* data
        memory_location location
        element_kind kind
        int64_t bits
        vector[int64_t] shape
        vector[int64_t] strides

    cdef cppclass shared_tensor:
        const tensor_view& view() noexcept
        void reshape(vector[int64_t], vector[int64_t]) noexcept
        void make_wait(stream_ref) except +libcudf_exception_handler
        void release_after(stream_ref, stream_ref) except +libcudf_exception_handler
        void wait() except +libcudf_exception_handler
        bint is_copy() noexcept
        void describe(DLTensor*, int32_t) noexcept
        DLManagedTensorVersioned* to_dlpack_versioned(
            int32_t, bint
        ) except +libcudf_exception_handler
        DLManagedTensor* to_dlpack(int32_t) except +libcudf_exception_handler

    shared_tensor to_tensor(
        const ArrowSchema&,
        ArrowDeviceArray*,
        copy_policy,
        shared_ptr[const void],
        stream_ref,
        device_async_resource_ref,
        tensor_order,
    ) except +libcudf_exception_handler
    shared_tensor buffer_tensor(
        const ArrowSchema&, ArrowDeviceArray*, size_t, int64_t
    ) except +libcudf_exception_handler

    cdef cppclass imported_tensor:
        imported_table table
        bool is_table

    tensor_view view_dlpack(const DLManagedTensor*) except +libcudf_exception_handler
    tensor_view view_dlpack(const DLManagedTensorVersioned*) except +libcudf_exception_handler
    DLManagedTensorVersioned* allocate_dlpack(
        const DLTensor*, shared_ptr[const void], stream_ref, device_async_resource_ref
    ) except +libcudf_exception_handler
    void delete_dlpack(DLManagedTensor*) noexcept
    void delete_dlpack(DLManagedTensorVersioned*) noexcept
    imported_tensor from_tensor(
        const tensor_view&,
        shared_ptr[const void],
        optional[stream_ref],
        copy_policy,
        stream_ref,
        device_async_resource_ref,
        tensor_kind,
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/ipc.hpp" namespace "cudf_arrow_bridge" nogil:
    int64_t ipc_alignment
    int64_t ipc_padded(int64_t) noexcept

    cdef cppclass ipc_node:
        int64_t length
        int64_t null_count

    cdef cppclass ipc_buffer:
        const void* address
        int64_t size

    cdef cppclass ipc_body:
        int64_t length
        vector[ipc_node] nodes
        vector[ipc_buffer] buffers
        vector[int64_t] variadic_counts
        vector[device_array] dictionaries
        memory_location location
        shared_ptr[const void] owner
        int64_t packed_size() noexcept
        void wait(stream_ref) except +libcudf_exception_handler

    ipc_body describe_body(
        const device_array&, bool, stream_ref, device_async_resource_ref, bool
    ) except +libcudf_exception_handler


ctypedef span[const ipc_node] node_span
ctypedef span[const ipc_buffer] buffer_span
ctypedef span[const int64_t] count_span
ctypedef span[const device_array] array_span


cdef extern from "cudf_arrow_bridge/ipc.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass ipc_batch:
        int64_t length
        node_span nodes
        buffer_span buffers
        count_span variadic_counts

    cdef enum class body_checks(int8_t):
        sizes
        ends
        all

    cdef cppclass ipc_memory:
        memory_location location
        shared_ptr[const void] owner
        bool owner_frees_on_stream

    cdef cppclass body_decoder:
        body_decoder(const ArrowSchema&) except +libcudf_exception_handler
        const shared_schema& schema() noexcept
        size_t num_dictionaries() noexcept
        shared_schema dictionary_schema(size_t) except +libcudf_exception_handler
        size_t end_of_dictionary(size_t) except +libcudf_exception_handler
        device_array decode(
            const ipc_batch&,
            array_span,
            const ipc_memory&,
            body_checks,
            stream_ref,
            optional[size_t],
        ) except +libcudf_exception_handler
