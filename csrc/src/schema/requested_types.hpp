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

/// Two schemas that a column may leave with, each null where there is none.
struct requested_types {
  ArrowSchema const* wanted;  ///< by whom the export is for
  ArrowSchema const* origin;  ///< what an import made the column of
  bool exact{false};  ///< whether the origin is storage of an extension type, which fixes all of it

  /// The requested_types for the children of a column, of which a schema of another shape says
  /// nothing.
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

/// What becomes of a level that somebody asked for.
struct negotiation_result {
  bool met{true};       ///< the level and all below have the types that were asked for
  bool changed{false};  ///< one of them has another type than it would have had
  bool kept{true};      ///< all that came from an import leave as what they were

  negotiation_result& operator&=(negotiation_result const& below)
  {
    met     = met && below.met;
    changed = changed || below.changed;
    kept    = kept && below.kept;
    return *this;
  }
};

/// @return Whether metadata makes a field one of an extension type
bool has_extension(key_value_metadata const& metadata);

/**
 * @brief Sets the metadata that a level leaves with.
 *
 * What was asked for replaces what there is. An extension's name goes with the very type that it
 * was given for, here and there.
 *
 * @throws std::invalid_argument for metadata beyond 2 GiB
 *
 * @param schema The level, which has none yet
 * @param own The column's
 * @param wanted Whose metadata counts; null: nobody's
 * @param agreed What became of the level's type
 */
void set_negotiated_metadata(ArrowSchema& schema,
                             key_value_metadata const& own,
                             ArrowSchema const* wanted,
                             negotiation_result const& agreed);

}  // namespace cudf_arrow_bridge::detail
