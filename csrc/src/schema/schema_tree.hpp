// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/array_layout.hpp"
#include "base/tree_links.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/types.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// What must be true of the values that are not null, before they are exported as a narrower type.
enum class value_check : std::int8_t {
  none,         ///< the type alone makes sure, or an import has
  whole_days,   ///< timestamps: every value is at midnight
  time_of_day,  ///< durations: none is negative, or a day or longer
  digits        ///< decimals: no more digits than the precision
};

/// Whether a level may hold nulls, and if not, who forbids them.
enum class null_rule : std::int8_t {
  allowed,
  forbidden_by_request,  ///< the requested field is not nullable
  forbidden_by_map       ///< the level is the entries or the keys of a map
};

/// How a column gets to what its level of the schema says.
struct export_step {
  cudf::data_type column{cudf::type_id::EMPTY};  ///< type of the column that the schema is for
  array_layout layout{array_layout::null};       ///< of the array's buffers
  std::int64_t element_bits{0};                  ///< of the data buffer of a fixed layout
  std::int64_t list_size{0};                     ///< elements of each row of lists of a fixed size
  bool decode{false};                            ///< a dictionary leaves as its values
  cudf::data_type values{cudf::type_id::EMPTY};  ///< type of these, where it does
  cudf::data_type cast{cudf::type_id::EMPTY};    ///< type to convert to first; EMPTY: as it is
  cudf::type_id index{cudf::type_id::EMPTY};     ///< of a dictionary's indices
  value_check check{value_check::none};
  int digits{0};
  bool trusted{true};  ///< lists of a fixed size are known to be of it
  null_rule nulls{null_rule::allowed};
  bool checks_below{false};     ///< whether values or nulls of a level below are checked
  std::int64_t shared_bits{0};  ///< bits of a value if the buffer is shared without checks, else 0

  [[nodiscard]] bool forbids_nulls() const noexcept { return nulls != null_rule::allowed; }

  /// @return Whether the column leaves as it is, as far as this level goes
  [[nodiscard]] bool is_plain() const noexcept
  {
    return !decode && !forbids_nulls() && check == value_check::none &&
           cast.id() == cudf::type_id::EMPTY;
  }
};

/// One level of a schema, and how the export gets there.
struct schema_node : tree_links {
  ArrowSchema* schema{nullptr};  ///< of the tree
  export_step step;
};

/// A schema: immutable once built, copied for each consumer.
struct schema_tree {
  nanoarrow::UniqueSchema schema;
  std::vector<schema_node> nodes;  ///< the root first; none where it is a copy of anybody's schema
};

/// What imports and exports see of a schema that users cannot.
struct schema_access {
  /// The struct behind a handle that is not empty; it stays the handle's.
  static ArrowSchema const& struct_of(shared_schema const& schema)
  { return *schema.tree_->schema.get(); }

  /// The levels of a schema that is not empty; it was made for columns.
  static schema_tree const& tree_of(shared_schema const& schema)
  {
    if (schema.tree_->nodes.empty()) {
      throw std::invalid_argument{"a copy of a schema found, one made for the columns expected"};
    }
    return *schema.tree_;
  }
};

}  // namespace cudf_arrow_bridge::detail
