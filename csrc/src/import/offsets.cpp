// SPDX-License-Identifier: Apache-2.0
#include "import/column_importer.hpp"
#include "validate/validate.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

void check_elements(std::int64_t elements, column_path const& path)
{
  if (elements > max_offset) { fail_too_many(path, elements, max_offset, "list elements"); }
}

}  // namespace

list_offsets column_importer::no_offsets() const
{ return {flat_column(cudf::type_id::INT32, 0, no_buffer()), 0, 0}; }

std::byte const* first_offset(import_level const& level)
{
  return static_cast<std::byte const*>(level.array.buffers[1]) +
         level.rows.storage_begin() * offset_width(level.type().layout);
}

offset_ends column_importer::find_ends(import_level const& level) const
{
  auto const size = level.rows.storage_size();
  if (size == 0) { return {}; }
  auto const* known = find_facts(facts_, level.types, &level.rows);
  auto const ends =
    known != nullptr && known->ends
      ? *known->ends
      : read_ends(first_offset(level), size, offset_width(level.type().layout), exec_);
  check_offset_ends(ends.first, ends.last, level.path);
  return ends;
}

std::int64_t origin_of(parsed_type const& type, row_range const& rows, offset_ends const& ends)
{
  auto const narrowed = type.column.id() == cudf::type_id::LIST && offset_width(type.layout) == 8;
  return rows.sliced && !narrowed ? 0 : ends.first;
}

std::unique_ptr<cudf::column> column_importer::import_offsets(import_level const& level,
                                                              std::int64_t origin,
                                                              cudf::type_id type) const
{
  auto const width  = offset_width(level.type().layout);
  auto const stored = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
  auto const count  = level.rows.storage_size() + 1;
  auto const* first = first_offset(level);
  if (origin == 0 && stored == type) {
    return flat_column(type, count, take_aligned(first, count * width, width, level.path));
  }
  auto const reason = stored == type ? copy_reason::first_offset : copy_reason::wide_offsets;
  auto const rebase = [&] { return rebase_offsets({first, count, stored}, origin, type, exec_); };
  return flat_column(type, count, make(reason, level.path, rebase));
}

list_offsets column_importer::import_list_offsets(import_level const& level) const
{
  if (level.rows.storage_size() == 0) { return no_offsets(); }
  auto const ends   = find_ends(level);
  auto const origin = origin_of(level.type(), level.rows, ends);
  check_elements(ends.last - origin, level.path);
  return {import_offsets(level, origin, cudf::type_id::INT32), origin, ends.last - origin};
}

list_offsets column_importer::make_offsets(import_level const& level, std::int64_t list_size) const
{
  auto const rows = level.rows.storage_size();
  if (rows == 0) { return no_offsets(); }
  check_elements(rows * list_size, level.path);
  auto const count = [&] {
    return count_up(rows + 1, static_cast<std::int32_t>(list_size), exec_);
  };
  return {
    flat_column(cudf::type_id::INT32, rows + 1, make(copy_reason::no_offsets, level.path, count)),
    level.rows.storage_begin() * list_size,
    rows * list_size};
}

}  // namespace cudf_arrow_bridge::detail
