// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

/// Mixes the bits of an integer, so that each bit of the result depends on all of them.
std::size_t hash_of(__int128_t value)
{
  constexpr auto odd = std::uint64_t{0x9e37'79b9'7f4a'7c15};
  auto const high    = static_cast<std::uint64_t>(value >> 64) * odd;
  auto const mixed   = (static_cast<std::uint64_t>(value) ^ high) * odd;
  return (mixed ^ mixed >> 32) * odd >> 32;
}

std::size_t hash_of(std::string_view value) { return std::hash<std::string_view>{}(value); }

/// Numbers the distinct values of the valid rows in the order of their first occurrence.
///
/// @param numbers Receives the number of each row; 0 for null rows
/// @param value_at Returns the value of a row, counted from the column's offset
/// @return The first row of each distinct value
template <typename ValueAt>
std::vector<cudf::size_type> number_rows(cudf::column_view const& column,
                                         std::int32_t* numbers,
                                         ValueAt value_at)
{
  auto first_rows = std::vector<cudf::size_type>{};
  // A hash table with linear probing, at most half full. Its size is always a power of two.
  constexpr auto none = std::int32_t{-1};
  auto slots          = std::vector<std::int32_t>(1024, none);
  auto const slot_of  = [&](auto value) -> std::int32_t& {
    for (auto index = hash_of(value);; ++index) {
      auto& slot = slots[index & (slots.size() - 1)];
      if (slot == none || value_at(first_rows[static_cast<std::size_t>(slot)]) == value) {
        return slot;
      }
    }
  };
  for (cudf::size_type row = 0; row < column.size(); ++row) {
    numbers[row] = 0;
    if (is_null_row(column, row)) { continue; }
    auto& slot = slot_of(value_at(row));
    if (slot != none) {
      numbers[row] = slot;
      continue;
    }
    numbers[row] = slot = static_cast<std::int32_t>(first_rows.size());
    first_rows.push_back(row);
    if (first_rows.size() * 2 > slots.size()) {
      slots.assign(slots.size() * 4, none);
      for (std::int32_t number = 0; auto const first : first_rows) {
        slot_of(value_at(first)) = number++;
      }
    }
  }
  return first_rows;
}

std::vector<cudf::size_type> number_rows(cudf::column_view const& column, std::int32_t* numbers)
{
  if (column.type().id() != cudf::type_id::STRING) {
    return with_width(column.type(), [&]<typename T>(T) {
      auto const* values = column.head<T>() + column.offset();
      return number_rows(column, numbers, [=](std::int64_t row) { return load<T>(values, row); });
    });
  }
  if (column.size() == 0) { return {}; }  // it may have no offsets
  auto const offsets = child_of(column, 0);
  auto const width   = static_cast<std::int64_t>(cudf::size_of(offsets.type()));
  auto const* begins = offsets.head<std::byte>() + (offsets.offset() + column.offset()) * width;
  auto const* chars  = column.head<char>();
  return number_rows(column, numbers, [=](std::int64_t row) {
    auto const begin = read_integer(begins + row * width, width);
    auto const size  = read_integer(begins + (row + 1) * width, width) - begin;
    return size == 0 ? std::string_view{}
                     : std::string_view{chars + begin, static_cast<std::size_t>(size)};
  });
}

}  // namespace

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec)
{
  if (!exec.host) { return device::encode_dictionary(column, exec); }
  auto const int32 = cudf::type_id::INT32;
  auto indices = allocate(std::int64_t{column.size()} * std::int64_t{sizeof(std::int32_t)}, exec);
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
