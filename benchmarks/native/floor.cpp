// SPDX-License-Identifier: Apache-2.0
#include "floor.hpp"

#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cuda/memory_resource>
#include <cuda/stream>

#include <cstdlib>
#include <new>
#include <span>
#include <utility>

namespace {

/// A column's struct and what it points at, side by side.
struct array_cell {
  ArrowArray array;
  void const* buffers[2];
  ArrowArray* pointer;
};

void release_column(ArrowArray* array) { array->release = nullptr; }

void release_table(ArrowArray* array)
{
  for (std::int64_t i = 0; i < array->n_children; ++i) {
    array->children[i]->release(array->children[i]);
  }
  std::free(array->private_data);
  array->release = nullptr;
}

/// Hands out memory that belongs to somebody else.
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
  auto const count = static_cast<std::size_t>(table.num_columns());
  auto* block      = std::malloc(count * (sizeof(array_cell) + sizeof(ArrowArray*)) + 1);
  if (block == nullptr) { throw std::bad_alloc{}; }
  auto* cells    = static_cast<array_cell*>(block);
  auto* children = reinterpret_cast<ArrowArray**>(cells + count);
  for (std::size_t i = 0; i < count; ++i) {
    auto const& column = table.column(static_cast<cudf::size_type>(i));
    auto& cell         = cells[i];
    cell.buffers[0]    = nullptr;
    cell.buffers[1]    = column.data<std::int64_t>();
    cell.array         = ArrowArray{
      column.size(), 0, 0, 2, 0, cell.buffers, nullptr, nullptr, release_column, nullptr};
    children[i] = &cell.array;
  }
  static void const* no_mask[1] = {nullptr};
  result                        = ArrowDeviceArray{};
  result.array                  = ArrowArray{table.num_rows(),
                                             0,
                                             0,
                                             1,
                                             static_cast<std::int64_t>(count),
                                             no_mask,
                                             children,
                                             nullptr,
                                             release_table,
                                             block};
  result.device_id              = -1;
  result.device_type            = ARROW_DEVICE_CPU;
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
