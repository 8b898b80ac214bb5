// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

/// Numbers the distinct values of the valid rows in the order of their first occurrence.
///
/// @param numbers Receives the number of each row; 0 for null rows
/// @return The first row of each distinct value
std::vector<cudf::size_type> number_rows(cudf::column_view const& column, std::int32_t* numbers)
{
  auto first_rows = std::vector<cudf::size_type>{};
  if (column.size() == 0) { return first_rows; }  // a string column may have no offsets
  auto const is_text  = column.type().id() == cudf::type_id::STRING;
  auto const measured = is_text ? child_of(column, 0) : column;
  auto const width    = static_cast<std::int64_t>(cudf::size_of(measured.type()));
  auto const* bytes   = column.head<char>();
  auto const* offsets = measured.head<std::byte>() + measured.offset() * width;
  auto const begin_of = [&](std::int64_t row) {
    return is_text ? host::read_integer(offsets + row * width, width) : row * width;
  };
  auto const value_of = [&](cudf::size_type row) {
    auto const begin = begin_of(std::int64_t{column.offset()} + row);
    auto const size  = begin_of(std::int64_t{column.offset()} + row + 1) - begin;
    return size == 0 ? std::string_view{}
                     : std::string_view{bytes + begin, static_cast<std::size_t>(size)};
  };
  // A hash table with linear probing, at most half full. Its size is always a power of two.
  constexpr auto none = std::int32_t{-1};
  auto slots          = std::vector<std::int32_t>(1024, none);
  auto const slot_of  = [&](std::string_view value) -> std::int32_t& {
    for (auto index = std::hash<std::string_view>{}(value);; ++index) {
      auto& slot = slots[index & (slots.size() - 1)];
      if (slot == none || value_of(first_rows[static_cast<std::size_t>(slot)]) == value) {
        return slot;
      }
    }
  };
  for (cudf::size_type row = 0; row < column.size(); ++row) {
    numbers[row] = 0;
    if (host::is_null_row(column, row)) { continue; }
    auto& slot = slot_of(value_of(row));
    if (slot != none) {
      numbers[row] = slot;
      continue;
    }
    numbers[row] = slot = static_cast<std::int32_t>(first_rows.size());
    first_rows.push_back(row);
    if (first_rows.size() * 2 > slots.size()) {
      slots.assign(slots.size() * 4, none);
      for (std::int32_t number = 0; auto const first : first_rows) {
        slot_of(value_of(first)) = number++;
      }
    }
  }
  return first_rows;
}

}  // namespace

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec)
{
  if (!exec.host) { return device::encode_dictionary(column, exec); }
  auto const int32 = cudf::type_id::INT32;
  auto indices =
    host::allocate(std::int64_t{column.size()} * std::int64_t{sizeof(std::int32_t)}, exec);
  auto const rows = number_rows(column, static_cast<std::int32_t*>(indices.data()));
  auto const keys = flat_view(int32, std::ssize(rows), rows.data());
  auto children   = std::vector<std::unique_ptr<cudf::column>>{};
  children.push_back(make_column(cudf::data_type{int32}, column.size(), std::move(indices), exec));
  children.push_back(gather_rows(column, keys, column_path{}, exec));
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, exec.stream, exec.mr}
                : copy_bits({column.null_mask(), column.offset(), column.size()}, exec);
  return std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::DICTIONARY32},
                                        column.size(),
                                        rmm::device_buffer{0, exec.stream, exec.mr},
                                        std::move(mask),
                                        column.null_count(),
                                        std::move(children));
}

}  // namespace cudf_arrow_bridge::detail
