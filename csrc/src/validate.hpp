// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.hpp"
#include "parsed_type.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Checks an array against its schema, all levels, before anybody follows a pointer in it.
 *
 * Looks at the C structs alone, never at a buffer, so the memory may be anywhere.
 *
 * @return The types of all levels, which an import goes by
 *
 * @throws cudf::data_type_error for a type that the type table refuses
 * @throws std::invalid_argument for a contradiction
 * @throws std::overflow_error for more rows than `cudf::size_type` holds
 */
parsed_tree validate(ArrowSchema const& schema, ArrowArray const& array, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
