// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Checks what the buffers of an array in host memory hold, of all rows and all levels.
 *
 * Offsets ascend and stay within the elements; views lie in their data buffers, and repeat its
 * first bytes; list views lie within the elements; run ends ascend; indices have a dictionary
 * value; masks have as many nulls as the struct says; strings and field names are UTF-8. What
 * stands under nulls is not looked at. Sizes of other buffers are nowhere said, so these are
 * trusted.
 *
 * Run ends are nanoarrow's to check. Its `ArrowArrayViewValidate` says less of the others: of
 * offsets which row is wrong but not what was found; nothing of views, indices, null counts and
 * UTF-8; and of list views it refuses what stands under nulls. It looks at all rows of a child,
 * where only those that a slice refers to are imported.
 *
 * @throws std::invalid_argument naming the column and the row
 *
 * @param types Types that the array has been validated for
 * @param array Array that has passed `validate` and `validate_offsets`
 * @param path Names the column in errors
 */
void validate_values(parsed_tree const& types, ArrowArray const& array, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
