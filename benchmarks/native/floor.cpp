// SPDX-License-Identifier: Apache-2.0
#include "floor.hpp"

#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cuda/memory_resource>
#include <cuda/stream>

#include <nanoarrow/nanoarrow.h>

#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace {

/// The columns outlive their arrays, so no buffer is freed.
void leave_alone(ArrowBufferAllocator*, std::uint8_t*, std::int64_t) {}

void check(ArrowErrorCode code)
{
  if (code != NANOARROW_OK) { throw std::bad_alloc{}; }
}

/// Returns memory of another owner.
struct borrowing_resource {
  void* memory;

  void* allocate(cuda::stream_ref, std::size_t, std::size_t) { return memory; }
  void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}
  void* allocate_sync(std::size_t, std::size_t) { return memory; }
  void deallocate_sync(void*, std::size_t, std::size_t) noexcept {}
  bool operator==(borrowing_resource const&) const noexcept = default;
  friend void get_property(borrowing_resource const&, cuda::mr::device_accessible) noexcept {}
};

}  // namespace

void export_floor(cudf::table_view const& table, ArrowDeviceArray& result)
{
  result              = ArrowDeviceArray{};
  result.device_id    = -1;
  result.device_type  = ARROW_DEVICE_CPU;
  auto& root          = result.array;
  auto const borrowed = ArrowBufferDeallocator(&leave_alone, nullptr);
  check(ArrowArrayInitFromType(&root, NANOARROW_TYPE_STRUCT));
  check(ArrowArrayAllocateChildren(&root, table.num_columns()));
  root.length = table.num_rows();
  for (cudf::size_type i = 0; i < table.num_columns(); ++i) {
    auto const& column = table.column(i);
    auto& array        = *root.children[i];
    auto* const data   = const_cast<std::uint8_t*>(column.data<std::uint8_t>());
    auto buffer        = ArrowBuffer{data, 0, 0, borrowed};
    check(ArrowArrayInitFromType(&array, NANOARROW_TYPE_INT64));
    check(ArrowArraySetBuffer(&array, 1, &buffer));
    array.length = column.size();
  }
}

std::vector<std::unique_ptr<cudf::column>> import_floor(ArrowDeviceArray& array)
{
  auto const stream = cuda::stream_ref{cudaStream_t{}};
  auto columns      = std::vector<std::unique_ptr<cudf::column>>{};
  columns.reserve(static_cast<std::size_t>(array.array.n_children));
  for (auto* child : std::span{array.array.children, columns.capacity()}) {
    auto const resource = borrowing_resource{const_cast<void*>(child->buffers[1])};
    columns.push_back(std::make_unique<cudf::column>(
      cudf::data_type{cudf::type_id::INT64},
      static_cast<cudf::size_type>(child->length),
      rmm::device_buffer{static_cast<std::size_t>(child->length) * sizeof(std::int64_t),
                         stream,
                         cuda::mr::any_resource<cuda::mr::device_accessible>{resource}},
      rmm::device_buffer{},
      0));
  }
  return columns;
}
