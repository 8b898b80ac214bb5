// SPDX-License-Identifier: Apache-2.0
#include "offsets.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::int64_t max_elements = std::numeric_limits<cudf::size_type>::max();

void check_elements(std::int64_t elements, column_path const& path)
{
  if (elements > max_elements) {
    fail<std::overflow_error>(path,
                              std::to_string(elements) + " elements of lists found, at most " +
                                std::to_string(max_elements) +
                                " expected: import it as a stream of smaller arrays");
  }
}

list_offsets no_rows(column_importer const& importer)
{ return {importer.flat_column(cudf::type_id::INT32, 0, importer.no_buffer()), 0, 0}; }

}  // namespace

std::unique_ptr<cudf::column> adopt_offsets(column_importer const& importer,
                                            import_level const& level)
{
  auto const width = offset_width(level.type().layout);
  auto const count = level.rows.storage_size() + 1;
  auto const* head =
    static_cast<std::byte const*>(level.array.buffers[1]) + level.rows.storage_begin() * width;
  return importer.flat_column(width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32,
                              count,
                              importer.take_aligned(head, count * width, width));
}

list_offsets import_offsets(column_importer const& importer, import_level const& level)
{
  auto const& rows = level.rows;
  if (rows.storage_size() == 0) { return no_rows(importer); }
  auto const width   = offset_width(level.type().layout);
  auto const* memory = static_cast<std::byte const*>(level.array.buffers[1]);
  auto const* first  = memory + rows.storage_begin() * width;
  auto const found   = read_ends(first, rows.storage_size(), width, importer.where());
  if (found.first < 0 || found.last < found.first) {
    fail_invalid(level.path,
                 "offsets from " + std::to_string(found.first) + " to " +
                   std::to_string(found.last) + " found, not negative and ascending expected");
  }
  if (width == 4) { return {adopt_offsets(importer, level), 0, found.last}; }
  auto const begin = found.last <= max_elements ? 0 : found.first;
  check_elements(found.last - begin, level.path);
  auto const count = rows.storage_size() + 1;
  return {importer.flat_column(
            cudf::type_id::INT32, count, narrow_offsets(first, count, begin, importer.where())),
          begin,
          found.last - begin};
}

list_offsets make_offsets(column_importer const& importer,
                          import_level const& level,
                          std::int64_t list_size)
{
  auto const rows = level.rows.storage_size();
  if (rows == 0) { return no_rows(importer); }
  check_elements(rows * list_size, level.path);
  return {importer.flat_column(
            cudf::type_id::INT32,
            rows + 1,
            count_up(rows + 1, static_cast<std::int32_t>(list_size), importer.where())),
          level.rows.storage_begin() * list_size,
          rows * list_size};
}

}  // namespace cudf_arrow_bridge::detail
