// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/column_importer.hpp"

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/// INT32 offsets of lists, and the range of elements they cover.
struct list_offsets {
  std::unique_ptr<cudf::column> column;  ///< empty if there are no rows
  std::int64_t begin;                    ///< index of the element that offset 0 refers to
  std::int64_t size;                     ///< number of elements
};

/// Address of the first stored row's offset.
std::byte const* first_offset(import_level const& level);

/**
 * @brief The first and last offset of a level's stored rows; zeros if there are none.
 *
 * For device memory this waits, unless they are in `facts`.
 *
 * @throws std::invalid_argument for offsets that are negative or descend
 */
offset_ends find_ends(import_level const& level, import_facts const& facts, execution const& exec);

/**
 * @brief The value to subtract from the producer's offsets; also the element or byte at which the
 * column's child or chars begin.
 *
 * It is 0 if the offsets can be used unchanged: the column has an offset itself (`rows.sliced`), or
 * the first offset is 0. Otherwise, and for 64-bit offsets of lists, which are narrowed to 32 bits
 * in any case, it is the first offset: {7, 9, 12} become {0, 2, 5}.
 */
std::int64_t origin_of(parsed_type const& type, row_range const& rows, offset_ends const& ends);

/// The producer's offsets minus `origin`, as `type` (INT32 or INT64). Adopted if they are equal.
/// There must be at least one row.
std::unique_ptr<cudf::column> import_offsets(column_importer const& importer,
                                             import_level const& level,
                                             std::int64_t origin,
                                             cudf::type_id type);

/**
 * @brief INT32 offsets of a list or binary array.
 *
 * They begin at `origin_of`, so only the elements of these rows are limited by `cudf::size_type`.
 *
 * @throws std::invalid_argument for offsets that are negative or descend
 * @throws std::overflow_error for more elements than `cudf::size_type` can count
 */
list_offsets import_list_offsets(column_importer const& importer, import_level const& level);

/// Offsets of lists of `list_size` elements each: {0, list_size, 2 * list_size, ...}.
list_offsets make_offsets(column_importer const& importer,
                          import_level const& level,
                          std::int64_t list_size);

}  // namespace cudf_arrow_bridge::detail
