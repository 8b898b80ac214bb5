// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Checks the contents of the buffers of an array in host memory, all rows and levels.
 *
 * Offsets ascend and stay within the elements; views lie in their data buffers and have the right
 * prefix; list views lie within the elements; run ends ascend; dictionary indices are in bounds;
 * null counts match the masks; strings are UTF-8. Values of null rows are not checked. Sizes of
 * buffers other than the data of views are not part of Arrow's structs, so they cannot be checked.
 *
 * Run ends are checked by nanoarrow's `ArrowArrayViewValidate`. It is not used for the rest: for
 * offsets it reports the row but not the value; it does not check views, indices, null counts and
 * UTF-8; it rejects list views with arbitrary values in null rows, which Arrow allows; and it
 * checks all rows of a child, even if the slice that is imported refers to few of them.
 *
 * @throws std::invalid_argument naming the column and the row
 *
 * @param types Types that the array has been validated for
 * @param array Array that has passed `validate` and `validate_offsets`
 * @param path Column that errors name
 */
void validate_values(parsed_tree const& types, ArrowArray const& array, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
