// SPDX-License-Identifier: Apache-2.0
/// @file
/// Chooses the Arrow type with which a column is exported: its plain type, a requested type, or the
/// type that it was imported with.
#pragma once

#include "base/errors.hpp"
#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>

namespace cudf_arrow_bridge::detail {

/// Arrow type of one level of an exported column, and how the column is converted to it.
struct chosen_type {
  std::string format;
  export_step step;
};

/**
 * @brief The step that exports a column with its plain type, which depends on `cudf::data_type` and
 * the widths of offsets and indices. It describes only this level, not its children.
 *
 * @throws std::invalid_argument for a missing child
 * @throws cudf::data_type_error for a type that Arrow lacks
 */
export_step plain_step(cudf::column_view const& column, column_path const& path);

/// @return Bits of a value, if the step exports fixed-width values zero-copy and without checks;
///   else 0
std::int64_t shared_bits(export_step const& step);

/// `shared_bits` of the plain step of each type, indexed by `cudf::type_id`.
std::span<std::int64_t const> shared_bits_of_types();

/**
 * @brief The plain Arrow type of a column, which is exported if no schema is requested.
 *
 * @throws std::invalid_argument for a precision that the decimal's width cannot hold, or a missing
 *   child
 * @throws cudf::data_type_error for a type that Arrow lacks
 */
chosen_type plain_type(cudf::column_view const& column,
                       column_metadata const& metadata,
                       column_path const& path);

/// The origin of a schema that is not the column's own.
enum class schema_source : std::int8_t {
  requested,  ///< a consumer requests it
  imported    ///< the column was imported with it
};

/// @return The text of an error about a schema, prefixed with its origin
std::string in_schema(schema_source source, std::exception const& error);

/**
 * @brief The requested type, if a column can be exported with it.
 *
 * Depends only on types, so that all batches of a stream get the same type. The export checks
 * whether the values fit. The caller checks whether views can be created in the memory of the
 * column.
 *
 * @throws std::invalid_argument for a schema that the specification does not allow, or a struct of
 *   another number of fields
 *
 * @param column Column to export; no buffer is read
 * @param metadata The column's metadata (time zone, precision)
 * @param wanted The requested schema's level for this column; has passed `check_structure`
 * @param source The origin of `wanted`, for errors
 * @param path Names the column in errors
 * @return Empty if the column cannot be converted to that type. String and binary views are chosen
 *   here, but are created only in host memory.
 */
std::optional<chosen_type> negotiate(cudf::column_view const& column,
                                     column_metadata const& metadata,
                                     ArrowSchema const& wanted,
                                     schema_source source,
                                     column_path const& path);

/**
 * @brief The type that a column was imported with, if it can still be exported with it.
 *
 * The values are known to fit and are not checked, except the number of a dictionary's keys: an
 * index type is restored if it can represent all keys, and plain values become a dictionary again
 * if it can represent the keys of any column. String and binary views are restored only if an
 * extension type requires them as its storage, because the import has copied them to one buffer.
 *
 * @throws std::invalid_argument for an origin that the specification does not allow
 *
 * @param column Column to export; no buffer is read
 * @param metadata The column's metadata (time zone, precision)
 * @param origin The imported schema's level for this column; has passed `check_structure`
 * @param exact Whether this level is part of the storage of an extension type
 * @param path Names the column in errors
 * @return Empty if the column must be exported with another type
 */
std::optional<chosen_type> restore(cudf::column_view const& column,
                                   column_metadata const& metadata,
                                   ArrowSchema const& origin,
                                   bool exact,
                                   column_path const& path);

/// @return Whether an Arrow type has the same children as a libcudf LIST or STRUCT
///
/// @param schema The Arrow type
/// @param parent `LIST` or `STRUCT`
/// @param is_map Whether the LIST can be a map
bool has_children_of(ArrowSchema const& schema, cudf::type_id parent, bool is_map);

/// The maximum number of keys for indices of a type: 128 for INT8, 256 for UINT8.
std::int64_t max_keys(cudf::type_id index);

/// @return A child of a schema; null if `schema` is null or has no such child
ArrowSchema const* child_schema(ArrowSchema const* schema, std::int64_t index);

}  // namespace cudf_arrow_bridge::detail
