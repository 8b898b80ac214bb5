# SPDX-License-Identifier: Apache-2.0
"""Declarations of the C++ core, all in one place; each call goes through one error translator."""

from libc.stdint cimport int8_t, int32_t, int64_t
from libcpp cimport bool
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector
from pylibcudf.exception_handler cimport libcudf_exception_handler
from pylibcudf.libcudf.column.column cimport column
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.table.table_view cimport table_view
from pylibcudf.libcudf.types cimport size_type, type_id
from rmm.librmm.cuda_stream_ref cimport stream_ref
from rmm.librmm.memory_resource cimport device_async_resource_ref


cdef extern from "cudf_arrow_bridge/arrow_abi.hpp" nogil:
    cdef struct ArrowSchema:
        const char* format
        const char* metadata
        int64_t flags
        void (*release)(ArrowSchema*) noexcept

    cdef struct ArrowArray:
        void (*release)(ArrowArray*) noexcept

    cdef struct ArrowDeviceArray:
        ArrowArray array
        int64_t device_id
        int32_t device_type
        void* sync_event

    const int64_t ARROW_FLAG_NULLABLE
    const int32_t ARROW_DEVICE_CPU


cdef extern from "cudf_arrow_bridge/owners.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass unique_schema:
        ArrowSchema* get() noexcept
        void move_to(ArrowSchema*) noexcept

    cdef cppclass unique_device_array:
        ArrowDeviceArray* get() noexcept
        void move_to(ArrowDeviceArray*) noexcept


cdef extern from "cudf_arrow_bridge/types.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef enum class crossing(int8_t):
        zero_copy
        converted
        unsupported

    cdef cppclass string_view "std::string_view":
        const char* data() noexcept
        size_t size() noexcept

    cdef cppclass type_row:
        string_view arrow
        string_view format
        type_id column
        crossing on_export
        crossing on_import
        string_view note

    cdef cppclass type_rows "std::span<cudf_arrow_bridge::type_row const>":
        size_t size() noexcept
        const type_row& operator[](size_t) noexcept

    type_rows type_table() noexcept
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

    shared_schema make_schema(
        const column_view&, const column_metadata&, const ArrowSchema*
    ) except +libcudf_exception_handler
    shared_schema make_schema(
        const table_view&,
        const vector[column_metadata]&,
        const vector[pair[string, string]]&,
        const ArrowSchema*,
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/memory.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass memory_location:
        int32_t device_type
        int64_t device_id

    bool has_gpu() noexcept
    memory_location locate(const void*) except +libcudf_exception_handler
    device_async_resource_ref host_memory_resource() noexcept


cdef extern from "cudf_arrow_bridge/export.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass buffer_info:
        string_view name
        const void* address
        int64_t size
        bool zero_copy

    cdef cppclass export_options:
        bool compact
        bool managed_as_cuda

    cdef cppclass device_array:
        unique_device_array to_arrow() except +libcudf_exception_handler
        device_array to_host(stream_ref) except +libcudf_exception_handler
        void wait() except +libcudf_exception_handler
        bool is_released() noexcept
        void reset() noexcept
        memory_location location() except +libcudf_exception_handler
        int64_t length() except +libcudf_exception_handler
        int64_t null_count() except +libcudf_exception_handler
        int64_t offset() except +libcudf_exception_handler
        int64_t num_children() except +libcudf_exception_handler
        device_array child(int64_t) except +libcudf_exception_handler
        bool has_dictionary() except +libcudf_exception_handler
        device_array dictionary() except +libcudf_exception_handler
        vector[buffer_info] buffers() except +libcudf_exception_handler

    device_array to_arrow_device(
        const column_view&,
        const shared_schema&,
        shared_ptr[const void],
        const export_options&,
        stream_ref,
        device_async_resource_ref,
    ) except +libcudf_exception_handler
    device_array to_arrow_device(
        const table_view&,
        const shared_schema&,
        shared_ptr[const void],
        const export_options&,
        stream_ref,
        device_async_resource_ref,
    ) except +libcudf_exception_handler


cdef extern from "cudf_arrow_bridge/release.hpp" namespace "cudf_arrow_bridge" nogil:
    void drain_releases() noexcept


cdef extern from "cudf_arrow_bridge/import.hpp" namespace "cudf_arrow_bridge" nogil:
    cdef cppclass import_options:
        bool copy
        bool sanitize

    cdef cppclass imported_column:
        unique_ptr[column] storage
        size_type offset
        size_type size

    cdef cppclass imported_table:
        vector[imported_column] columns
        size_type num_rows

    imported_column from_arrow_device_column(
        const ArrowSchema&,
        ArrowDeviceArray*,
        const import_options&,
        stream_ref,
        device_async_resource_ref,
    ) except +libcudf_exception_handler
    imported_table from_arrow_device_table(
        const ArrowSchema&,
        ArrowDeviceArray*,
        const import_options&,
        stream_ref,
        device_async_resource_ref,
    ) except +libcudf_exception_handler
