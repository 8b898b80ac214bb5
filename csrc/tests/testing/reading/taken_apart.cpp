// SPDX-License-Identifier: Apache-2.0
#include "testing/reading.hpp"
#include "testing/reading/offsets.hpp"
#include "testing/views.hpp"

namespace cudf_arrow_bridge::test {
namespace {

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
