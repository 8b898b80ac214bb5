// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/column/column_view.hpp>

#include <memory>
#include <span>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief The schema of a column, with the steps that an export uses to create an array of it.
 *
 * @throws cudf::data_type_error for a type that Arrow lacks
 * @throws std::invalid_argument for metadata that does not fit the column, or a request of other
 *   fields
 *
 * @param column Column to describe; no buffer is read
 * @param metadata Its name, parameters and children
 * @param requested Requested schema, which can be traversed; null: none
 */
std::shared_ptr<schema_tree const> build_column_schema(cudf::column_view const& column,
                                                       column_metadata const& metadata,
                                                       ArrowSchema const* requested);

/**
 * @brief The schema of a table; see `build_column_schema`.
 *
 * @param columns Columns to describe; no buffer is read
 * @param fields Metadata of the first columns, in order
 * @param metadata Metadata of the schema itself
 * @param requested Requested schema with the same number of fields; null: none
 */
std::shared_ptr<schema_tree const> build_table_schema(std::span<cudf::column_view const> columns,
                                                      std::vector<column_metadata> const& fields,
                                                      key_value_metadata const& metadata,
                                                      ArrowSchema const* requested);

}  // namespace cudf_arrow_bridge::detail
