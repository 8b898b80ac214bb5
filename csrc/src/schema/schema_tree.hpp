// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/array_layout.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/types.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// The condition for valid values that are exported as a narrower type.
enum class value_check : std::int8_t {
  none,         ///< guaranteed by the type or by an import
  whole_days,   ///< timestamps: every value is at midnight
  time_of_day,  ///< durations: none is negative, or a day or longer
  digits        ///< decimals: no more digits than the precision
};

/// Whether a level may have nulls, and if not, the rule that forbids them.
enum class null_rule : std::int8_t {
  allowed,
  forbidden_by_request,  ///< the requested field is not nullable
  forbidden_by_map       ///< the level is the entries or the keys of a map
};

/// The conversion of a column to its level of the schema.
struct export_step {
  cudf::data_type column{cudf::type_id::EMPTY};  ///< type of the column that the schema is for
  array_layout layout{array_layout::null};       ///< of the array's buffers
  std::int64_t element_bits{0};                  ///< of the data buffer of a fixed layout
  std::int64_t list_size{0};                     ///< elements of each row of lists of a fixed size
  bool decode{false};                            ///< a dictionary is exported as its values
  cudf::data_type values{cudf::type_id::EMPTY};  ///< the type of these values
  cudf::data_type cast{cudf::type_id::EMPTY};    ///< type to convert to first; EMPTY: no conversion
  cudf::type_id index{cudf::type_id::EMPTY};     ///< of a dictionary's indices
  value_check check{value_check::none};
  int digits{0};
  bool trusted{true};  ///< lists are known to have the fixed size
  null_rule nulls{null_rule::allowed};
  bool checks_below{false};  ///< whether values or nulls of a lower level are checked

  [[nodiscard]] bool forbids_nulls() const noexcept { return nulls != null_rule::allowed; }
};

/// One level of a schema, and the conversion of the export.
struct schema_node : tree_links {
  ArrowSchema* schema{nullptr};  ///< of the tree
  export_step step;
};

/// A schema: immutable once built, copied for each consumer.
struct schema_tree {
  nanoarrow::UniqueSchema schema;
  std::vector<schema_node> nodes;  ///< the root first; empty for a copy of a foreign schema
};

/// The access of imports and exports to the internals of a schema.
struct schema_access {
  static shared_schema handle(std::shared_ptr<schema_tree const> tree) noexcept
  { return shared_schema{std::move(tree)}; }

  /// The struct of a handle, which keeps ownership. Throws std::invalid_argument for an empty one.
  static ArrowSchema const& struct_of(shared_schema const& schema)
  {
    if (schema.is_empty()) { throw std::invalid_argument{"the schema is empty"}; }
    return *schema.tree_->schema.get();
  }

  /// The levels of a non-empty schema that was made for columns.
  static schema_tree const& tree_of(shared_schema const& schema)
  {
    if (schema.tree_->nodes.empty()) {
      throw std::invalid_argument{"the schema was copied, not made for the columns"};
    }
    return *schema.tree_;
  }
};

/// Keys of the metadata that mark an extension type.
inline constexpr std::array extension_keys{"ARROW:extension:name", "ARROW:extension:metadata"};

// All functions throw std::bad_alloc if memory runs out.

/**
 * @brief Sets the type of a level of a schema and initializes its children, with nanoarrow.
 *
 * Children of lists and maps have the names and flags that the specification recommends; those of
 * structs have none.
 *
 * @param schema Initialized level that has no type yet, or the entries of a map
 * @param format Format string of a type that exports can have
 * @param num_children Number of children of a struct
 */
void set_type(ArrowSchema& schema, std::string const& format, std::int64_t num_children);

/// The format string of libcudf's decimals.
std::string decimal_format(cudf::data_type type, int precision);

void set_name(ArrowSchema& schema, std::string const& name);

/// Sets the metadata of a level that has none; nothing if it is empty.
void set_metadata(ArrowSchema& schema, key_value_metadata const& metadata);

/// Adds an initialized dictionary to a level.
void add_dictionary(ArrowSchema& schema);

}  // namespace cudf_arrow_bridge::detail
