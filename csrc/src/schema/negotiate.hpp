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
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// Arrow type of one level of an exported column, and how the column is converted to it.
struct chosen_type {
  std::string format;
  export_step step;
};

/// @return The metadata of a dictionary's values; default metadata if there is none
column_metadata const& values_metadata(column_metadata const& metadata);

/// The step that exports a column with its plain type, which depends on `cudf::data_type` and the
/// widths of offsets and indices. It describes only this level, not its children.
export_step plain_step(cudf::column_view const& column, column_path const& path);

/**
 * @brief The plain Arrow type of a column, which is exported if no schema is requested.
 *
 * @throws std::invalid_argument for a precision that the decimal's width cannot hold
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
 * @throws std::invalid_argument for a schema that the specification does not allow, or a request
 *   for a struct of another number of fields, or for a struct, list or flat type for a column that
 *   is another of these
 *
 * @param column Column to export; no buffer is read
 * @param wanted The requested schema's level for this column; has passed `check_traversable`
 * @param source The origin of `wanted`, for errors
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
 * A column that was decoded, from runs or a dictionary, gets the type of its values. Strings that
 * are all null get the null type if it is the origin, because frames have no null type.
 *
 * The values are known to fit and are not checked, except the number of a dictionary's keys: an
 * index type is restored if it can represent all keys, and plain values become a dictionary again
 * if it can represent the keys of any column. String and binary views are restored only if an
 * extension type requires them as its storage, because the import has copied them to one buffer.
 *
 * @throws std::invalid_argument for an origin that the specification does not allow
 *
 * @param column Column to export; no buffer is read
 * @param origin The imported schema's level for this column; must be valid
 * @param exact Whether this level is part of the storage of an extension type
 * @return Empty if the column must be exported with another type
 */
std::optional<chosen_type> restore(cudf::column_view const& column,
                                   column_metadata const& metadata,
                                   ArrowSchema const& origin,
                                   bool exact,
                                   column_path const& path);

/// The maximum number of keys for indices of a type: 128 for INT8, 256 for UINT8.
std::int64_t max_keys(cudf::type_id index);

/// @return A child of a schema; null if `schema` is null or has no such child
ArrowSchema const* child_schema(ArrowSchema const* schema, std::int64_t index);

/// One level of the two schemas that determine a column's exported type; null if there is none.
struct requested_types {
  ArrowSchema const* wanted;  ///< requested by the consumer
  ArrowSchema const* origin;  ///< schema that the column was imported with
  bool exact{false};  ///< whether the origin is storage of an extension type: restored exactly

  /// For use with `child`: drops a schema whose children do not match a column of type `parent`.
  /// @param parent STRUCT, or LIST
  /// @param is_map Whether a list is exported as a map
  [[nodiscard]] requested_types below(cudf::type_id parent, bool is_map) const;

  [[nodiscard]] requested_types child(std::int64_t index) const
  { return {child_schema(wanted, index), child_schema(origin, index), exact}; }

  [[nodiscard]] std::string_view name(std::string_view own) const
  {
    auto const named = wanted != nullptr && wanted->name != nullptr && *wanted->name != '\0';
    return named ? std::string_view{wanted->name} : own;
  }

  [[nodiscard]] bool is_nullable(bool own) const
  { return wanted == nullptr ? own : (wanted->flags & ARROW_FLAG_NULLABLE) != 0; }

  [[nodiscard]] requested_types dictionary() const
  {
    return {wanted == nullptr ? nullptr : wanted->dictionary,
            origin == nullptr ? nullptr : origin->dictionary,
            exact};
  }
};

/// Compares the chosen types of a level and its descendants with the requested and original types.
struct negotiation_result {
  bool met{true};       ///< all have the requested types
  bool changed{false};  ///< a level has another type than without a request
  bool kept{true};      ///< all imported levels keep the types of their origin

  negotiation_result& operator&=(negotiation_result const& below)
  {
    met     = met && below.met;
    changed = changed || below.changed;
    kept    = kept && below.kept;
    return *this;
  }
};

/// @return Whether metadata has the name or metadata of an extension type
bool has_extension(key_value_metadata const& metadata);

/**
 * @brief Sets the metadata of an exported level.
 *
 * Requested metadata replaces the column's. An extension name is kept only with the storage type it
 * was stated for: the requested one if `agreed.met`, the column's if its type has not changed. An
 * empty requested name removes the extension type.
 *
 * @throws std::invalid_argument for metadata beyond 2 GiB
 *
 * @param own The column's metadata
 * @param wanted Requested level; null: none requested
 */
void set_negotiated_metadata(ArrowSchema& schema,
                             key_value_metadata const& own,
                             ArrowSchema const* wanted,
                             negotiation_result const& agreed);

}  // namespace cudf_arrow_bridge::detail
