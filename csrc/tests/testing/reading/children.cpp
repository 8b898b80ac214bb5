// SPDX-License-Identifier: Apache-2.0
#include "testing/reading.hpp"
#include "testing/reading/offsets.hpp"
#include "testing/views.hpp"

namespace cudf_arrow_bridge::test {

value nothing_there() { return {std::string{"nothing there"}}; }

std::int64_t offset_at(cudf::column_view const& column, std::int64_t index)
{
  auto const offsets = column.child(0);
  return static_cast<std::int64_t>(
    read_integer_at(offsets.head<void>(), index, cudf::size_of(offsets.type()), true));
}

cudf::column_view sliced_child(cudf::column_view const& lists)
{
  auto const elements = lists.child(1);
  auto const sliced   = [&](std::int64_t begin, std::int64_t end) {
    return slice(elements, static_cast<cudf::size_type>(begin), static_cast<cudf::size_type>(end));
  };
  if (lists.offset() > 0) {
    return sliced(offset_at(lists, lists.offset()),
                  offset_at(lists, std::int64_t{lists.offset()} + lists.size()));
  }
  if (lists.size() < lists.child(0).size() - 1) {
    return sliced(0, offset_at(lists, lists.size()));
  }
  return elements;
}

cudf::column_view sliced_field(cudf::column_view const& structs, cudf::size_type index)
{
  auto const field = structs.child(index);
  auto const end   = structs.offset() + structs.size();
  return {field.type(),
          structs.size(),
          field.head<void>(),
          field.null_mask(),
          field.null_count() == 0 ? 0 : count_nulls_in(field, structs.offset(), end),
          structs.offset(),
          {field.child_begin(), field.child_end()}};
}

std::vector<cudf::size_type> explode_map(cudf::column_view const& lists)
{
  auto const elements = sliced_child(lists).size();
  auto result         = std::vector<cudf::size_type>(static_cast<std::size_t>(elements));
  auto const size     = lists.size();
  auto const first    = size == 0 ? 0 : offset_at(lists, lists.offset());
  // libcudf uses a binary search. The ends ascend, so a linear search finds the same row.
  auto row = cudf::size_type{0};
  for (cudf::size_type element = 0; element < elements; ++element) {
    while (row < size &&
           offset_at(lists, std::int64_t{lists.offset()} + row + 1) - first <= element) {
      ++row;
    }
    result[static_cast<std::size_t>(element)] = row;
  }
  return result;
}

std::string characters(cudf::column_view const& strings)
{
  if (strings.size() == 0) { return {}; }
  auto const first = strings.offset() == 0 ? 0 : offset_at(strings, strings.offset());
  auto const last  = offset_at(strings, std::int64_t{strings.offset()} + strings.size());
  if (first == last) { return {}; }
  return {strings.head<char>() + first, static_cast<std::size_t>(last - first)};
}

}  // namespace cudf_arrow_bridge::test
