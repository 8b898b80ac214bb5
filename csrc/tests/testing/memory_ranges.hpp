// SPDX-License-Identifier: Apache-2.0
/// @file
/// The memory of a column or a producer's array: tests look up addresses to find shared buffers.
#pragma once

#include <cudf_arrow_bridge/export.hpp>

#include <cudf/column/column_view.hpp>
#include <cudf/utilities/traits.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {

/// Ranges of addresses.
class memory_ranges {
 public:
  void add(void const* memory, std::int64_t size)
  {
    if (memory != nullptr && size > 0) {
      ranges_.emplace_back(reinterpret_cast<std::uintptr_t>(memory), size);
    }
  }

  [[nodiscard]] bool have(void const* memory) const
  {
    auto const address = reinterpret_cast<std::uintptr_t>(memory);
    return std::any_of(ranges_.begin(), ranges_.end(), [address](auto const& range) {
      return address >= range.first && address < range.first + range.second;
    });
  }

 private:
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges_;
};

/// Return the memory of an array that nanoarrow has built.
inline memory_ranges memory_of(ArrowArray& array)
{
  auto result    = memory_ranges{};
  auto const add = [&](ArrowArray* level, auto const& next) -> void {
    auto const fixed = std::min<std::int64_t>(level->n_buffers, NANOARROW_MAX_FIXED_BUFFERS);
    for (std::int64_t i = 0; i < fixed; ++i) {
      auto const* buffer = ArrowArrayBuffer(level, i);
      result.add(buffer->data, buffer->size_bytes);
    }
    for (std::int64_t i = 0; i < level->n_children; ++i) { next(level->children[i], next); }
    if (level->dictionary != nullptr) { next(level->dictionary, next); }
  };
  add(&array, add);
  return result;
}

inline void add_buffers(memory_ranges& ranges, cudf::column_view const& column)
{
  auto const size = std::int64_t{column.offset()} + column.size();
  if (column.type().id() == cudf::type_id::EMPTY) { return; }
  if (cudf::is_fixed_width(column.type())) {
    ranges.add(column.head<void>(), size * static_cast<std::int64_t>(cudf::size_of(column.type())));
  } else if (column.type().id() == cudf::type_id::STRING && column.num_children() > 0) {
    auto const offsets = column.child(0);
    auto const wide    = offsets.type().id() == cudf::type_id::INT64;
    ranges.add(column.head<void>(),
               wide ? offsets.head<std::int64_t>()[size] : offsets.head<std::int32_t>()[size]);
  }
  ranges.add(column.null_mask(), (size + 7) / 8);
  for (auto child = column.child_begin(); child != column.child_end(); ++child) {
    add_buffers(ranges, *child);
  }
}

/// Return the memory of a column.
inline memory_ranges memory_of(cudf::column_view const& column)
{
  auto result = memory_ranges{};
  add_buffers(result, column);
  return result;
}

/// Return whether all buffers of a column are in `memory`. A column without rows needs no buffers.
inline bool is_within(cudf::column_view const& column, memory_ranges const& memory)
{
  auto const any = column.size() > 0;
  // Strings without rows may have one offset, which only gives the width of the offsets.
  if (!any && column.type().id() == cudf::type_id::STRING) { return true; }
  auto const* head = any ? column.head<void>() : nullptr;
  auto const* mask = any && column.null_count() > 0 ? column.null_mask() : nullptr;
  return (head == nullptr || memory.have(head)) && (mask == nullptr || memory.have(mask)) &&
         std::all_of(column.child_begin(), column.child_end(), [&](auto const& child) {
           return is_within(child, memory);
         });
}

/// Call a function with each buffer of an exported array, at all levels that have rows.
template <typename Visit>
void visit_buffers(device_array const& array, Visit visit)
{
  for (auto const& buffer : array.buffers()) {
    if (array.length() > 0 && buffer.address != nullptr && buffer.size > 0) { visit(buffer); }
  }
  for (std::int64_t i = 0; i < array.num_children(); ++i) { visit_buffers(array.child(i), visit); }
  if (auto const values = array.dictionary(); !values.is_released()) {
    visit_buffers(values, visit);
  }
}

}  // namespace cudf_arrow_bridge::test
