// SPDX-License-Identifier: Apache-2.0
#include "testing/reading.hpp"
#include "testing/reading/offsets.hpp"
#include "testing/views.hpp"

#include <algorithm>

namespace cudf_arrow_bridge::test {
namespace {

using columns_view = std::span<cudf::column_view const>;

/// Masks are read only if the null count of a column is not 0.
std::vector<bool> concatenated_nulls(columns_view columns)
{
  auto const has_nulls =
    std::any_of(columns.begin(), columns.end(), [](auto const& c) { return c.has_nulls(); });
  auto result = std::vector<bool>{};
  for (auto const& column : columns) {
    for (cudf::size_type row = 0; row < column.size(); ++row) {
      result.push_back(has_nulls && is_null_at(column, std::int64_t{column.offset()} + row));
    }
  }
  return result;
}

/// Return the offsets of all columns, each shifted by the elements of the columns before it.
std::vector<std::int64_t> merged_offsets(columns_view columns, std::size_t num_rows)
{
  auto result = std::vector<std::int64_t>(num_rows + 1);
  auto shift  = std::int64_t{0};
  auto count  = std::size_t{0};
  for (auto const& lists : columns) {
    if (lists.size() == 0) { continue; }
    auto const begin = lists.offset() > 0 ? offset_at(lists, lists.offset()) : 0;
    for (cudf::size_type row = 0; row <= lists.size(); ++row) {
      result[count + static_cast<std::size_t>(row)] =
        shift - begin + offset_at(lists, std::int64_t{lists.offset()} + row);
    }
    shift += sliced_child(lists).size();
    count += static_cast<std::size_t>(lists.size());
  }
  return result;
}

rows concatenate_lists(columns_view columns, shape const& type, std::size_t num_rows)
{
  auto children = std::vector<cudf::column_view>{};
  for (auto const& lists : columns) { children.push_back(sliced_child(lists)); }
  auto const elements = read_concatenated(children, type.children[0]);
  auto const offsets  = merged_offsets(columns, num_rows);
  auto result         = rows{};
  for (std::size_t row = 0; row < num_rows; ++row) {
    auto items = rows{};
    for (auto i = offsets[row]; i < offsets[row + 1]; ++i) {
      auto const index = static_cast<std::size_t>(i);
      items.push_back(index < elements.size() ? elements[index] : nothing_there());
    }
    result.push_back({std::move(items)});
  }
  return result;
}

rows concatenate_strings(columns_view columns)
{
  auto result = rows{};
  for (auto const& strings : columns) {
    if (strings.size() == 0) { continue; }
    // Unlike other algorithms, this one reads the first offset instead of assuming 0.
    auto const* characters = strings.head<char>();
    for (cudf::size_type row = 0; row < strings.size(); ++row) {
      auto const index = std::int64_t{strings.offset()} + row;
      auto const begin = offset_at(strings, index);
      auto const size  = static_cast<std::size_t>(offset_at(strings, index + 1) - begin);
      result.push_back({size == 0 ? std::string{} : std::string{characters + begin, size}});
    }
  }
  return result;
}

rows concatenate_structs(columns_view columns, shape const& type, std::size_t num_rows)
{
  auto result = rows(num_rows, value{rows{}});
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    auto fields = std::vector<cudf::column_view>{};
    for (auto const& structs : columns) {
      fields.push_back(sliced_field(structs, static_cast<cudf::size_type>(i)));
    }
    auto const found = read_concatenated(fields, type.children[i]);
    for (std::size_t row = 0; row < num_rows; ++row) {
      std::get<rows>(result[row].content).push_back(found.at(row));
    }
  }
  return result;
}

rows concatenate_dictionaries(columns_view columns, shape const& type)
{
  auto keys = std::vector<cudf::column_view>{};
  for (auto const& dictionary : columns) {
    if (dictionary.size() > 0) { keys.push_back(dictionary.child(1)); }
  }
  auto const all = read_concatenated(keys, type.children[0]);
  auto result    = rows{};
  auto first_key = std::int64_t{0};
  for (auto const& dictionary : columns) {
    if (dictionary.size() == 0) { continue; }
    auto const indices = dictionary.child(0);
    for (cudf::size_type row = 0; row < dictionary.size(); ++row) {
      auto const key   = first_key + static_cast<std::int64_t>(
                                       read_integer_at(indices.head<void>(),
                                                       std::int64_t{dictionary.offset()} + row,
                                                       cudf::size_of(indices.type()),
                                                       true));
      auto const index = static_cast<std::size_t>(key);
      result.push_back(index < all.size() ? all[index] : nothing_there());
    }
    first_key += dictionary.child(1).size();
  }
  return result;
}

rows concatenate_values(columns_view columns, shape const& type)
{
  auto result = rows{};
  for (auto const& column : columns) {
    auto const part = read_rows(column, type);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

rows concatenate_all(columns_view columns, shape const& type, std::size_t num_rows)
{
  switch (type.id) {
    case cudf::type_id::LIST: return concatenate_lists(columns, type, num_rows);
    case cudf::type_id::STRING: return concatenate_strings(columns);
    case cudf::type_id::STRUCT: return concatenate_structs(columns, type, num_rows);
    case cudf::type_id::DICTIONARY32: return concatenate_dictionaries(columns, type);
    default: return concatenate_values(columns, type);
  }
}

}  // namespace

rows read_concatenated(columns_view columns, shape const& type)
{
  auto const nulls = concatenated_nulls(columns);
  if (nulls.empty()) { return {}; }
  auto result = concatenate_all(columns, type, nulls.size());
  for (std::size_t row = 0; row < nulls.size(); ++row) {
    if (nulls[row]) { result[row] = {}; }
  }
  return result;
}

}  // namespace cudf_arrow_bridge::test
