// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dictionaries that Arrow allows and libcudf does not, made into ones that it does; on the CPU or
/// the GPU as in convert.hpp.
#pragma once

#include "base/errors.hpp"
#include "compute/convert.hpp"
#include "compute/convert_views.hpp"

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
 * @param where Where all of it is
 */
dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                placement const& where);

/**
 * @brief A dictionary column's values; a row is null where its value is.
 *
 * On device memory this waits for the sizes of strings, and where the dictionary holds nulls.
 *
 * @throws std::invalid_argument on host memory for an index that no key goes with
 */
std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                placement const& where);

namespace host {
dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                placement const& where);
std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                placement const& where);
}  // namespace host

namespace device {
dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                placement const& where);
std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                placement const& where);
}  // namespace device

}  // namespace cudf_arrow_bridge::detail
