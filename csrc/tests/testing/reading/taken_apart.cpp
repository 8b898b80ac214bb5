// SPDX-License-Identifier: Apache-2.0
#include "testing/reading.hpp"
#include "testing/views.hpp"

namespace cudf_arrow_bridge::test {
namespace {

/// The value used for an element read out of bounds.
value nothing_there() { return {std::string{"nothing there"}}; }

/// Return an offset of a list or string column, by its index from the head of the buffer.
std::int64_t offset_at(cudf::column_view const& column, std::int64_t index)
{
  auto const offsets = column.child(0);
  return static_cast<std::int64_t>(
    read_integer_at(offsets.head<void>(), index, cudf::size_of(offsets.type()), true));
}

/// The elements of lists as `lists_column_view::get_sliced_child` gives them.
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

/// A field of structs as `structs_column_view::get_sliced_child` gives it.
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

/// The row that `cudf::explode` repeats beside each element of `sliced_child`.
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

/// All characters of the rows, between the two offsets that
/// `strings::detail::get_first_and_last_offset` returns.
std::string characters(cudf::column_view const& strings)
{
  if (strings.size() == 0) { return {}; }
  auto const first = strings.offset() == 0 ? 0 : offset_at(strings, strings.offset());
  auto const last  = offset_at(strings, std::int64_t{strings.offset()} + strings.size());
  if (first == last) { return {}; }
  return {strings.head<char>() + first, static_cast<std::size_t>(last - first)};
}

bool is_null_row(cudf::column_view const& column, cudf::size_type row)
{ return is_null_at(column, std::int64_t{column.offset()} + row); }

rows read_lists(cudf::column_view const& lists, shape const& type)
{
  auto const elements = read_taken_apart(sliced_child(lists), type.children[0]);
  auto const map      = explode_map(lists);
  auto items          = std::vector<rows>(static_cast<std::size_t>(lists.size()) + 1);
  for (std::size_t i = 0; i < map.size(); ++i) {
    items[static_cast<std::size_t>(map[i])].push_back(elements.at(i));
  }
  // Elements without an entry in the map become the additional row.
  for (auto i = map.size(); i < elements.size(); ++i) { items.back().push_back(elements[i]); }
  auto result = rows{};
  for (cudf::size_type row = 0; row < lists.size(); ++row) {
    auto& found = items[static_cast<std::size_t>(row)];
    result.push_back(is_null_row(lists, row) && found.empty() ? value{} : value{std::move(found)});
  }
  if (!items.back().empty()) { result.push_back({std::move(items.back())}); }
  return result;
}

rows read_strings(cudf::column_view const& strings)
{
  auto const all = characters(strings);
  auto result    = rows{};
  auto begin     = std::int64_t{0};
  // A row begins where the previous one ended, as in libcudf's tokenizers.
  for (cudf::size_type row = 0; row < strings.size(); ++row) {
    auto const index = std::int64_t{strings.offset()} + row;
    auto const end   = begin + offset_at(strings, index + 1) - offset_at(strings, index);
    auto const size  = static_cast<std::size_t>(end - begin);
    result.push_back(is_null_row(strings, row)
                       ? value{}
                       : value{all.substr(static_cast<std::size_t>(begin), size)});
    begin = end;
  }
  if (static_cast<std::size_t>(begin) < all.size()) {
    result.push_back({all.substr(static_cast<std::size_t>(begin))});
  }
  return result;
}

rows read_structs(cudf::column_view const& structs, shape const& type)
{
  auto const size = static_cast<std::size_t>(structs.size());
  auto result     = rows(size, value{rows{}});
  for (cudf::size_type i = 0; i < structs.num_children(); ++i) {
    auto const field =
      read_taken_apart(sliced_field(structs, i), type.children[static_cast<std::size_t>(i)]);
    for (std::size_t row = 0; row < size; ++row) {
      std::get<rows>(result[row].content)
        .push_back(row < field.size() ? field[row] : nothing_there());
    }
    if (field.size() > size) { result.push_back(field[size]); }
  }
  for (cudf::size_type row = 0; row < structs.size(); ++row) {
    if (is_null_row(structs, row)) { result[static_cast<std::size_t>(row)] = {}; }
  }
  return result;
}

/// Read like `cudf::dictionary::decode`: apply the dictionary's mask and offset to the indices.
rows read_dictionary(cudf::column_view const& dictionary, shape const& type)
{
  if (dictionary.size() == 0) { return {}; }
  auto const indices = dictionary.child(0);
  auto const keys    = read_taken_apart(dictionary.child(1), type.children[0]);
  auto result        = rows{};
  for (cudf::size_type row = 0; row < dictionary.size(); ++row) {
    auto const index =
      static_cast<std::size_t>(read_integer_at(indices.head<void>(),
                                               std::int64_t{dictionary.offset()} + row,
                                               cudf::size_of(indices.type()),
                                               true));
    result.push_back(is_null_row(dictionary, row) ? value{}
                     : index < keys.size()        ? keys[index]
                                                  : nothing_there());
  }
  return result;
}

}  // namespace

rows read_taken_apart(cudf::column_view const& column, shape const& type)
{
  switch (type.id) {
    case cudf::type_id::LIST: return read_lists(column, type);
    case cudf::type_id::STRING: return read_strings(column);
    case cudf::type_id::STRUCT: return read_structs(column, type);
    case cudf::type_id::DICTIONARY32: return read_dictionary(column, type);
    default: return read_rows(column, type);
  }
}

}  // namespace cudf_arrow_bridge::test
