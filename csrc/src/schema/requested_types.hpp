// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/negotiate.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// One level of the two schemas that determine a column's exported type; null if there is none.
struct requested_types {
  ArrowSchema const* wanted;  ///< requested by the consumer
  ArrowSchema const* origin;  ///< schema that the column was imported with
  bool exact{false};  ///< whether the origin is storage of an extension type: restored exactly

  /// For use with `child`: drops a schema whose children do not match a column of type `parent`.
  [[nodiscard]] requested_types below(cudf::type_id parent, bool is_map = false) const
  {
    auto const fits = [=](ArrowSchema const* schema) {
      return schema != nullptr && has_children_of(*schema, parent, is_map);
    };
    return {fits(wanted) ? wanted : nullptr, fits(origin) ? origin : nullptr, exact};
  }

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
 * was stated for: the requested one if `agreed.met`, the column's if its type has not changed.
 *
 * @throws std::invalid_argument for metadata beyond 2 GiB
 *
 * @param schema Output: the level, without metadata yet
 * @param own The column's metadata
 * @param wanted Requested level, whose metadata takes precedence; null: none requested
 * @param agreed Result of the type negotiation for this level
 */
void set_negotiated_metadata(ArrowSchema& schema,
                             key_value_metadata const& own,
                             ArrowSchema const* wanted,
                             negotiation_result const& agreed);

}  // namespace cudf_arrow_bridge::detail
