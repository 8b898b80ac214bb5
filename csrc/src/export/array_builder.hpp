// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "base/copy_log.hpp"
#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "export/column_rows.hpp"
#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// Rows of a column and how to export them.
struct export_level {
  cudf::column_view const& column;
  column_rows rows;
  export_step const& step;
  schema_node const* target;  ///< level of the schema to export as; null: the column's plain type
  column_path const& path;
};

/// The address of row `index`, counted from the head of the data buffer, for values of `bits` bits
/// (a multiple of 8).
inline std::byte const* row_of(cudf::column_view const& column,
                               std::int64_t index,
                               std::int64_t bits)
{
  auto const* head = column.head<std::byte>();
  return head == nullptr ? nullptr : head + index * (bits / 8);
}

/// Builds the nodes of an `array_tree` from column views.
class array_builder {
 public:
  /// @param tree Tree to fill, without nodes yet
  array_builder(array_tree& tree,
                export_options const& options,
                null_counts const& known,
                execution const& exec)
    : tree_{tree},
      schema_{options.schema.is_empty() ? nullptr : &schema_access::tree_of(options.schema)},
      options_{options},
      known_{known},
      exec_{exec},
      copies_{options.copy}
  {
  }

  /// Adds a column, or a record batch: a root of struct type without a mask, whose children are the
  /// columns.
  void add(export_input const& input);

 private:
  /// Fills a node and its descendants from rows of a column. First checks and casts the rows, if
  /// the schema's step says so.
  void fill(std::size_t index,
            cudf::column_view const& column,
            column_rows const& rows,
            schema_node const* target,
            column_path const& path);

  /// Fills a node from a column that needs no more checks or casts.
  void fill_rows(std::size_t index, export_level const& level);

  /// Sets the validity buffer and the array offset that follows from it.
  /// @return The row of the column at which the array's other buffers begin
  std::int64_t fill_validity(array_node& node, export_level const& level, bool compact);
  void fill_values(array_node& node, export_level const& level, std::int64_t begin);
  std::int64_t fill_offsets(array_node& node,
                            cudf::column_view const* offsets,
                            std::int64_t begin,
                            column_path const& path);
  void fill_string(array_node& node, export_level const& level, std::int64_t begin);
  void fill_views(array_node& node, export_level const& level, std::int64_t begin);
  void fill_fixed_lists(array_node& node, export_level const& level);
  void fill_list(array_node& node, export_level const& level, std::int64_t begin);
  void fill_struct(array_node& node, export_level const& level, std::int64_t begin);
  void fill_dictionary(array_node& node, export_level const& level, std::int64_t begin);

  [[nodiscard]] schema_node const* level_below(schema_node const* target, std::size_t index) const
  { return target == nullptr ? nullptr : &schema_->nodes[target->first_child + index]; }

  /// Errors name a field by its name in the schema, or without a schema by its position.
  static column_path path_of(column_path const& parent,
                             schema_node const* target,
                             std::size_t index)
  {
    return target == nullptr ? column_path{parent, index}
                             : column_path{parent, target->schema->name};
  }

  /// Moves a buffer to the tree. @return Its address
  void const* keep(rmm::device_buffer&& buffer);
  /// Sets the second buffer to one that was created.
  void set_copied(array_node& node, std::string_view reason, rmm::device_buffer&& buffer);

  /// Sets the second buffer to the result of `make`. It is a copy if the array has rows.
  template <typename Make>
  void set_converted(array_node& node, std::string_view reason, column_path const& path, Make make)
  {
    if (node.offset + node.length > 0) { copies_.need(reason, path); }
    set_copied(node, reason, make());
  }

  array_tree& tree_;
  schema_tree const* schema_;
  export_options const& options_;
  null_counts const& known_;
  execution const& exec_;
  copy_log copies_;
  std::string_view in_copy_{};  ///< why the current level belongs to a created column, if it does
};

}  // namespace cudf_arrow_bridge::detail
