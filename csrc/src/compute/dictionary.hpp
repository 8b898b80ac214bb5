// SPDX-License-Identifier: Apache-2.0
/// @file
/// Converts dictionaries that Arrow allows but libcudf does not support. Runs on the CPU for host
/// memory and through libcudf's public algorithms for device memory.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"

#include <cudf/column/column.hpp>

#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge::detail {

/// The parts of a dictionary column.
struct dictionary_parts {
  std::unique_ptr<cudf::column> indices;  ///< of a signed type
  std::unique_ptr<cudf::column> keys;
  rmm::device_buffer mask;  ///< of the rows
  cudf::size_type null_count;
};

/// The indices of a dictionary column.
///
/// @throws std::invalid_argument if there are fewer than `count`
cudf::column_view const& indices_of(cudf::column_view const& dictionary,
                                    std::int64_t count,
                                    column_path const& path);

/**
 * @brief Removes null keys from a dictionary. Rows that refer to one become null.
 *
 * @throws std::invalid_argument for an index of a valid row that is out of bounds
 *
 * @param indices Index of each row, with the mask of the rows
 */
dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                column_path const& path,
                                execution const& exec);

/**
 * @brief Decodes a dictionary column. Rows that refer to a null key become null.
 *
 * On device memory this waits if the keys are strings or have nulls. Indices are not checked there,
 * because exports must not wait; libcudf reads no key for one that is out of bounds.
 *
 * @throws std::invalid_argument if there is not an index for each row, including those before a
 *   slice; on host memory also for an index that is out of bounds
 */
std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                execution const& exec);

/// Rejects indices of a dictionary in device memory that are out of bounds in a valid row. Waits.
void check_indices_on_device(cudf::column_view const& dictionary,
                             column_path const& path,
                             execution const& exec);

/// The implementations for device memory, with the same signatures.
namespace device {
decltype(detail::drop_null_keys) drop_null_keys;
decltype(detail::decode_dictionary) decode_dictionary;
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
