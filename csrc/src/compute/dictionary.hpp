// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dictionaries that Arrow allows and libcudf does not, made into ones that it does; on the CPU or
/// the GPU as in buffers.hpp.
#pragma once

#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "compute/views.hpp"

#include <cudf/column/column.hpp>

#include <memory>

namespace cudf_arrow_bridge::detail {

/// A dictionary column in parts.
struct dictionary_parts {
  std::unique_ptr<cudf::column> indices;  ///< of a signed type
  std::unique_ptr<cudf::column> keys;
  rmm::device_buffer mask;
  cudf::size_type null_count;
};

/**
 * @brief Takes the nulls out of a dictionary's keys: rows that refer to one become null rows.
 *
 * @throws std::invalid_argument on host memory for an index that no key goes with
 *
 * @param indices Those of the rows, without nulls of their own
 * @param keys Keys, some of them null
 * @param mask Of the rows
 * @param path Names the column in errors
 * @param exec Where all of it is
 */
dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                execution const& exec);

/**
 * @brief A dictionary column's values; a row is null where its value is.
 *
 * On device memory this waits for the sizes of strings, and where the dictionary holds nulls.
 *
 * @throws std::invalid_argument on host memory for an index that no key goes with
 */
std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                execution const& exec);

namespace host {
dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                execution const& exec);
std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                execution const& exec);
}  // namespace host

namespace device {
dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                execution const& exec);
std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                execution const& exec);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
