// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "column_importer.hpp"

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/// Offsets of lists, and which of the elements they count.
struct list_offsets {
  std::unique_ptr<cudf::column> column;  ///< INT32; none where there are no rows
  std::int64_t begin;                    ///< element that offset 0 stands for
  std::int64_t size;                     ///< elements from there up to the last one
};

/// The producer's offsets, of the width they have; at least one row.
std::unique_ptr<cudf::column> adopt_offsets(column_importer const& importer,
                                            import_level const& level);

/**
 * @brief Offsets of 32 bits, adopted if they are, else narrowed.
 *
 * Where 64-bit offsets don't fit, they are counted from the first of the rows on, so it is these
 * rows alone that must have fewer elements than `cudf::size_type` can count. On device memory this
 * waits for the last offset, and of 64 bits also for the first.
 *
 * @throws std::invalid_argument for offsets that are negative or descend
 * @throws std::overflow_error for more elements than `cudf::size_type` can count
 *
 * @param importer Takes the buffers
 * @param level Lists or bytes
 */
list_offsets import_offsets(column_importer const& importer, import_level const& level);

/// Offsets of lists of `list_size` elements each, the first of the rows being element 0.
list_offsets make_offsets(column_importer const& importer,
                          import_level const& level,
                          std::int64_t list_size);

}  // namespace cudf_arrow_bridge::detail
