// SPDX-License-Identifier: Apache-2.0
/// @file
/// What an Arrow type a column leaves as: its own, or one that somebody would rather have.
#pragma once

#include "base/errors.hpp"
#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cudf_arrow_bridge::detail {

/// One level of an exported column.
struct chosen_type {
  std::string format;
  export_step step;
};

/**
 * @brief How a column leaves as what its type stands for by itself, whatever its children do.
 *
 * @throws std::invalid_argument for a missing child
 * @throws cudf::data_type_error for a type that Arrow lacks
 */
export_step plain_step(cudf::column_view const& column, column_path const& path);

/// Bits of a value of a fixed width, where a step has them leave as they are and looks at none;
/// else 0.
std::int64_t shared_bits(export_step const& step);

/// Likewise, of what the types stand for by themselves, by `cudf::type_id`.
std::span<std::int64_t const> shared_bits_of_types();

/**
 * @brief The type that libcudf's type stands for by itself.
 *
 * @throws std::invalid_argument for a precision that the decimal's width cannot hold, or a missing
 *   child
 * @throws cudf::data_type_error for a type that Arrow lacks
 */
chosen_type plain_type(cudf::column_view const& column,
                       column_metadata const& metadata,
                       column_path const& path);

/**
 * @brief The type that a schema asks for, where a column can leave as it.
 *
 * Decided by types alone, so that batches of a stream agree. Whether the values allow it is for the
 * export to find out.
 *
 * @throws std::invalid_argument for a schema that the specification does not allow, or a struct of
 *   another number of fields
 *
 * @param column Column to export; no buffer is read
 * @param metadata What is known of it
 * @param wanted One level of a schema
 * @param path Names the column in errors
 * @return Nothing if there is no way to that type; to views there is one in host memory only
 */
std::optional<chosen_type> negotiate(cudf::column_view const& column,
                                     column_metadata const& metadata,
                                     ArrowSchema const& wanted,
                                     column_path const& path);

/**
 * @brief The type that a column was imported from, where it can still leave as it.
 *
 * Its values are known to fit, so none is looked at. Views are not made again unless an extension
 * type's name depends on them: their rows lie one after the other now.
 *
 * @throws std::invalid_argument as `negotiate`
 *
 * @param column As in `negotiate`
 * @param metadata As in `negotiate`
 * @param origin One level of the schema that it came with
 * @param exact Whether it is, or is below, the storage of an extension type
 * @param path As in `negotiate`
 */
std::optional<chosen_type> restore(cudf::column_view const& column,
                                   column_metadata const& metadata,
                                   ArrowSchema const& origin,
                                   bool exact,
                                   column_path const& path);

/// Whether the children of an Arrow type are those of libcudf's LIST or STRUCT, whose LIST may
/// leave as a map.
bool has_children_of(ArrowSchema const& schema, cudf::type_id parent, bool is_map);

/// How many values the indices of a dictionary can tell apart.
std::int64_t most_keys(cudf::type_id index);

/// A child of a schema, or null where there is no such level.
ArrowSchema const* child_schema(ArrowSchema const* schema, std::int64_t index);

}  // namespace cudf_arrow_bridge::detail
