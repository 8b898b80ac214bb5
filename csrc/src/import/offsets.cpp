// SPDX-License-Identifier: Apache-2.0
#include "import/offsets.hpp"

#include "validate/validate.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::int64_t max_elements = std::numeric_limits<cudf::size_type>::max();

void check_elements(std::int64_t elements, column_path const& path)
{
  if (elements > max_elements) {
    fail<std::overflow_error>(path,
                              "expected at most " + std::to_string(max_elements) +
                                " list elements, got " + std::to_string(elements) +
                                ": import it as a stream of smaller arrays");
  }
}

list_offsets no_rows(column_importer const& importer)
{ return {importer.flat_column(cudf::type_id::INT32, 0, importer.no_buffer()), 0, 0}; }

}  // namespace

std::byte const* first_offset(import_level const& level)
{
  return static_cast<std::byte const*>(level.array.buffers[1]) +
         level.rows.storage_begin() * offset_width(level.type().layout);
}

offset_ends find_ends(import_level const& level, import_facts const& facts, execution const& exec)
{
  auto const size = level.rows.storage_size();
  if (size == 0) { return {}; }
  auto const* known = facts.find(level.types, level.rows);
  auto const ends =
    known != nullptr && known->ends
      ? *known->ends
      : read_ends(first_offset(level), size, offset_width(level.type().layout), exec);
  check_offset_ends(ends.first, ends.last, level.path);
  return ends;
}

std::int64_t origin_of(parsed_type const& type, row_range const& rows, offset_ends const& ends)
{
  auto const narrowed = type.column.id() == cudf::type_id::LIST && offset_width(type.layout) == 8;
  return rows.sliced && !narrowed ? 0 : ends.first;
}

std::unique_ptr<cudf::column> import_offsets(column_importer const& importer,
                                             import_level const& level,
                                             std::int64_t origin,
                                             cudf::type_id type)
{
  auto const width  = offset_width(level.type().layout);
  auto const stored = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
  auto const count  = level.rows.storage_size() + 1;
  auto const* first = first_offset(level);
  if (origin == 0 && stored == type) {
    return importer.flat_column(
      type, count, importer.take_aligned(first, count * width, width, level.path));
  }
  auto const reason = stored == type ? copy_reason::first_offset : copy_reason::wide_offsets;
  auto const rebase = [&] {
    return rebase_offsets({first, count, stored}, origin, type, importer.exec());
  };
  return importer.flat_column(type, count, importer.make(reason, level.path, rebase));
}

list_offsets import_list_offsets(column_importer const& importer, import_level const& level)
{
  if (level.rows.storage_size() == 0) { return no_rows(importer); }
  auto const ends   = importer.ends_of(level);
  auto const origin = origin_of(level.type(), level.rows, ends);
  check_elements(ends.last - origin, level.path);
  return {
    import_offsets(importer, level, origin, cudf::type_id::INT32), origin, ends.last - origin};
}

list_offsets make_offsets(column_importer const& importer,
                          import_level const& level,
                          std::int64_t list_size)
{
  auto const rows = level.rows.storage_size();
  if (rows == 0) { return no_rows(importer); }
  check_elements(rows * list_size, level.path);
  auto const count = [&] {
    return count_up(rows + 1, static_cast<std::int32_t>(list_size), importer.exec());
  };
  return {
    importer.flat_column(
      cudf::type_id::INT32, rows + 1, importer.make(copy_reason::no_offsets, level.path, count)),
    level.rows.storage_begin() * list_size,
    rows * list_size};
}

}  // namespace cudf_arrow_bridge::detail
