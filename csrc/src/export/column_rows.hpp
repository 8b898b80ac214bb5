// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <cudf/column/column_view.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// Null mask of a struct with nulls, and of its enclosing structs. A row that is null in any of
/// them has no value in the fields below, whatever their masks contain.
struct outer_mask {
  bit_range mask;           ///< a bit for each used row
  outer_mask const* outer;  ///< null: no struct around has nulls
};

/// Range of rows of a column, counted from the head of its buffers: `column.offset()` is included.
struct column_rows {
  std::int64_t begin;
  std::int64_t size;
  std::int64_t null_count;  ///< -1: unknown
  std::int64_t used_begin;  ///< first of the rows that the parent array refers to; only these are
                            ///< checked, as values of the others are unspecified
  std::int64_t used_size;   ///< number of these rows
  outer_mask const* outer{nullptr};  ///< of the enclosing structs; null: they have no nulls
  bool is_field{false};              ///< rows of a struct's field
};

/// Whether the mask of buffers that begin at a row starts at a block of 64 bytes, counted from the
/// start of the column's mask.
constexpr bool is_on_mask_block(std::int64_t row) { return row % 512 == 0; }

/// All rows of a column.
inline column_rows own_rows(cudf::column_view const& column)
{
  auto const begin = std::int64_t{column.offset()};
  auto const size  = std::int64_t{column.size()};
  return {begin, size, column.null_count(), begin, size};
}

/**
 * @brief The rows before a slice that its array includes, as `ArrowArray.offset`.
 *
 * libcudf reads the array as a column with this offset, so its invariants for columns apply
 * (docs/invariants.md):
 *
 * - It reads masks in words, and masks without an offset in blocks of 64 bytes. So the buffers
 *   begin at such a block, or at a word with at least one row before the slice.
 * - Without an offset, it assumes that the first offset of strings and lists is 0. So at least one
 *   row precedes the slice.
 * - It ignores offsets of fields. So fields begin with their struct.
 *
 * For example, 6 rows precede 10 rows from row 70, none precede those from row 512, and 32 precede
 * those from row 544.
 */
std::int64_t rows_before(cudf::column_view const& column, column_rows const& rows);

/// Returns only the used rows, all of them used.
column_rows used_rows(column_rows const& rows);

/**
 * @brief Returns the rows of a struct's field that belong to `rows` of the struct.
 *
 * @param begin First row of the struct's array, counted from the head of the buffers
 * @param size Number of rows of the struct's array, including those before its offset
 * @param outer Masks of the struct and its enclosing structs
 */
column_rows field_rows(cudf::column_view const& field,
                       std::int64_t begin,
                       std::int64_t size,
                       column_rows const& rows,
                       outer_mask const* outer);

inline bit_range mask_of(cudf::column_view const& column, column_rows const& rows)
{ return {column.null_mask(), rows.begin, rows.size}; }

/// Returns a view of only these rows. Counts their nulls if unknown, because libcudf's algorithms
/// need the count.
cudf::column_view view_of(cudf::column_view const& column,
                          column_rows const& rows,
                          execution const& exec);

/**
 * @brief Null counts of ranges of masks, counted together.
 *
 * The batches of a stream are slices, whose null counts libcudf does not know.
 */
class null_counts {
 public:
  /// Adds the ranges that an export of `rows` has to count: the rows, and those of a struct's
  /// fields. The masks are not read here.
  void add(cudf::column_view const& column, column_rows const& rows, bool compact);

  /// Counts. Waits once on device memory, if there is something to count.
  void count(execution const& exec);

  /// @return The null count of an added and counted range; -1 for others
  [[nodiscard]] std::int64_t find(bit_range const& range) const;

 private:
  /// The address of a range's first bit, and its size. Several pairs of a mask and a first bit may
  /// name one range.
  using key = std::pair<std::uintptr_t, std::int64_t>;

  static key key_of(bit_range const& range)
  {
    auto const address = reinterpret_cast<std::uintptr_t>(range.bits);
    return {address * 8 + static_cast<std::uintptr_t>(range.begin), range.size};
  }

  std::vector<bit_range> ranges_;
  std::map<key, cudf::size_type> counts_;
};

/// Counts nulls on the device of the columns, whose masks the ranges are in. Waits once on a
/// device, if there is something to count.
void count_nulls_of(std::span<cudf::column_view const> columns,
                    null_counts& counts,
                    cuda::stream_ref stream,
                    rmm::device_async_resource_ref mr);

/// `to_arrow_device` of a checked input with known null counts.
device_array export_counted(export_input const& input,
                            std::shared_ptr<void const> owner,
                            export_options const& options,
                            null_counts const& known,
                            cuda::stream_ref stream,
                            rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
