// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <cstdint>
#include <functional>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

/// Mixes the bits of an integer, so that each bit of the result depends on all of them.
std::uint32_t hash_of(std::uint64_t value)
{
  constexpr auto odd = std::uint64_t{0x9e37'79b9'7f4a'7c15};
  value *= odd;
  value = (value ^ value >> 32) * odd;
  return static_cast<std::uint32_t>(value >> 32);
}

std::uint32_t hash_of(__uint128_t value)
{
  auto const high = static_cast<std::uint64_t>(value >> 64);
  return hash_of(static_cast<std::uint64_t>(value) ^ (std::uint64_t{hash_of(high)} << 32));
}

std::uint32_t hash_of(std::string_view value)
{ return static_cast<std::uint32_t>(std::hash<std::string_view>{}(value)); }

/**
 * @brief Numbers distinct values in the order of their first occurrence.
 *
 * A hash table with linear probing. A slot has the number of a value and its hash, so that most
 * other values are distinguished without reading the value.
 */
template <typename Value>
class numbering {
 public:
  std::int32_t number_of(Value const& value)
  {
    auto const hash = hash_of(value);
    auto index      = hash & last_slot();
    for (; slots_[index].number != none; index = (index + 1) & last_slot()) {
      auto const& [number, stored_hash] = slots_[index];
      if (stored_hash == hash && values_[static_cast<std::size_t>(number)] == value) {
        return number;
      }
    }
    auto const number = static_cast<std::int32_t>(values_.size());
    values_.push_back(value);
    slots_[index] = {number, hash};
    if (values_.size() * 2 > slots_.size()) { grow(); }
    return number;
  }

  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  static constexpr std::int32_t none = -1;

  struct slot {
    std::int32_t number{none};
    std::uint32_t hash{0};
  };

  [[nodiscard]] std::size_t last_slot() const { return slots_.size() - 1; }

  void grow()
  {
    auto old = std::exchange(slots_, std::vector<slot>(slots_.size() * 4));
    for (auto const& one : old) {
      if (one.number == none) { continue; }
      auto index = one.hash & last_slot();
      while (slots_[index].number != none) { index = (index + 1) & last_slot(); }
      slots_[index] = one;
    }
  }

  std::vector<slot> slots_ = std::vector<slot>(1024);  ///< always a power of two, at most half full
  std::vector<Value> values_;
};

/// Numbers the distinct values of the valid rows.
///
/// @param value_at Returns the value of a row, counted from the column's offset
/// @param numbers Receives the number of each row; 0 for null rows
/// @return The first row of each distinct value
template <typename ValueAt>
std::vector<cudf::size_type> number_rows(cudf::column_view const& column,
                                         std::int32_t* numbers,
                                         ValueAt value_at)
{
  auto values     = numbering<decltype(value_at(std::int64_t{}))>{};
  auto first_rows = std::vector<cudf::size_type>{};
  for (cudf::size_type row = 0; row < column.size(); ++row) {
    numbers[row] = is_null_row(column, row) ? 0 : values.number_of(value_at(row));
    if (values.size() > first_rows.size()) { first_rows.push_back(row); }
  }
  return first_rows;
}

template <typename Offset>
std::vector<cudf::size_type> number_strings(cudf::column_view const& column, std::int32_t* numbers)
{
  if (column.size() == 0) { return {}; }  // it may have no offsets
  auto const* chars   = column.head<char>();
  auto const* offsets = child_of(column, 0).begin<Offset>() + column.offset();
  return number_rows(column, numbers, [&](std::int64_t row) {
    auto const first = load<Offset>(offsets, row);
    auto const size  = static_cast<std::size_t>(load<Offset>(offsets, row + 1) - first);
    return size == 0 ? std::string_view{} : std::string_view{chars + first, size};
  });
}

std::vector<cudf::size_type> number_rows(cudf::column_view const& column, std::int32_t* numbers)
{
  if (column.type().id() == cudf::type_id::STRING) {
    auto const large =
      column.num_children() > 0 && child_of(column, 0).type().id() == cudf::type_id::INT64;
    return large ? number_strings<std::int64_t>(column, numbers)
                 : number_strings<std::int32_t>(column, numbers);
  }
  return with_width(column.type(), [&]<typename T>(T) {
    using value_type   = std::conditional_t<sizeof(T) == 16, __uint128_t, std::uint64_t>;
    auto const* values = column.head<T>() + column.offset();
    return number_rows(column, numbers, [&](std::int64_t row) {
      return static_cast<value_type>(load<T>(values, row));
    });
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
