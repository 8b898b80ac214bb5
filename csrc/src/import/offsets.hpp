// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/column_importer.hpp"

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/// Offsets of lists, and which of the elements they count.
struct list_offsets {
  std::unique_ptr<cudf::column> column;  ///< INT32; none where there are no rows
  std::int64_t begin;                    ///< element that offset 0 stands for
  std::int64_t size;                     ///< elements from there up to the last one
};

/// The address of the offset of the first stored row.
std::byte const* first_offset(import_level const& level);

/**
 * @brief The first and last offset of a level's stored rows; zeros if there are none.
 *
 * On device memory this waits, unless the facts tell.
 *
 * @throws std::invalid_argument for offsets that are negative or descend
 */
offset_ends find_ends(import_level const& level, import_facts const& facts, execution const& exec);

/**
 * @brief The element, or byte, that offset 0 of a column stands for.
 *
 * 0 where the producer's offsets serve as they are: of rows that are seen through an offset, and
 * wherever the first one is 0. Offsets that are narrowed anyway count from the first element on.
 */
std::int64_t origin_of(parsed_type const& type, row_range const& rows, offset_ends const& ends);

/// The producer's offsets less `origin`, as INT32 or INT64; at least one row. Adopted if they are
/// that already.
std::unique_ptr<cudf::column> import_offsets(column_importer const& importer,
                                             import_level const& level,
                                             std::int64_t origin,
                                             cudf::type_id type);

/**
 * @brief Offsets of lists or bytes, of 32 bits.
 *
 * They count from `origin_of` on, so it is these rows alone that must have fewer elements than
 * `cudf::size_type` can count.
 *
 * @throws std::invalid_argument for offsets that are negative or descend
 * @throws std::overflow_error for more elements than `cudf::size_type` can count
 */
list_offsets import_list_offsets(column_importer const& importer, import_level const& level);

/// Offsets of lists of `list_size` elements each, the first of the rows being element 0.
list_offsets make_offsets(column_importer const& importer,
                          import_level const& level,
                          std::int64_t list_size);

}  // namespace cudf_arrow_bridge::detail
