// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "base/errors.hpp"
#include "compute/buffers.hpp"
#include "schema/negotiate.hpp"
#include "schema/schema_tree.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace cudf_arrow_bridge::detail {

/// Rows of a column counted from the head of its buffers, whatever offset the column claims.
struct column_rows {
  std::int64_t begin;
  std::int64_t size;
  std::int64_t null_count;  ///< -1: nobody knows
  std::int64_t used_begin;  ///< of the rows that those of the array above refer to
  std::int64_t used_size;
};

/// All rows that a column says it has.
inline column_rows own_rows(cudf::column_view const& column)
{
  auto const begin = std::int64_t{column.offset()};
  auto const size  = std::int64_t{column.size()};
  return {begin, size, column.null_count(), begin, size};
}

/// The part of the rows that is used, as rows of its own.
column_rows used_rows(column_rows const& rows);

/// The rows as a column of their own, whose nulls libcudf's algorithms want counted.
cudf::column_view view_of(cudf::column_view const& column,
                          column_rows const& rows,
                          execution const& exec);

/// Some rows of a column, and what is to become of them.
struct export_level {
  cudf::column_view const& column;
  column_rows rows;
  export_step const& step;
  schema_node const* as;  ///< whose children those of the column leave as; null: as they are
  column_path const& path;
};

/// What the mask of a column makes of its array.
struct array_validity {
  void const* mask;         ///< null: no row is null
  bool made;                ///< whether the mask is a copy
  std::int64_t null_count;  ///< -1: nobody knows
  std::int64_t offset;
  std::int64_t begin;  ///< row of the column at which the other buffers begin
};

/// The address of a row of so many bits, counted from the head of a column's buffer.
inline std::byte const* row_of(cudf::column_view const& column,
                               std::int64_t index,
                               std::int64_t bits)
{
  auto const* head = column.head<std::byte>();
  return head == nullptr ? nullptr : head + index * (bits / 8);
}

/// Fills the nodes of a tree from column views.
class array_builder {
 public:
  /**
   * @param tree Has no nodes yet
   * @param schema Made for the columns; null: they leave as what their types stand for
   * @param options Of the export
   * @param exec Where the columns are, and where what is converted goes
   */
  array_builder(array_tree& tree,
                schema_tree const* schema,
                export_options const& options,
                execution const& exec)
    : tree_{tree},
      schema_{schema},
      options_{options},
      exec_{exec},
      shared_bits_{shared_bits_of_types()}
  {
  }

  /// The root and all below, of a column.
  void add_column(cudf::column_view const& column);

  /// The root and all below, of a record batch: a struct without a mask over columns side by side.
  void add_table(std::span<cudf::column_view const> columns, std::int64_t num_rows);

 private:
  /// Fills a node and all below from rows of a column.
  void fill(std::size_t index,
            cudf::column_view const& column,
            column_rows const& rows,
            schema_node const* as,
            column_path const& path,
            std::optional<bit_range> const& parent_mask = {});

  /// Likewise, of a field of a table or struct, whose path matters only if there is more to do than
  /// to share values.
  void fill_field(std::size_t index,
                  cudf::column_view const& column,
                  column_rows const& rows,
                  schema_node const* as,
                  column_path const& parent,
                  std::size_t position,
                  std::optional<bit_range> const& parent_mask = {});

  /// Fills a node, if that takes no more than pointing at the values of a column.
  bool share_values(array_node& node,
                    cudf::column_view const& column,
                    column_rows const& rows,
                    schema_node const* as);

  /// Likewise, of a column that must be checked or converted as a whole first.
  void prepare_and_fill(std::size_t index,
                        export_level const& level,
                        std::optional<bit_range> const& parent_mask);

  /// Likewise, of a column that needs nothing of the kind any more.
  void fill_rows(std::size_t index, export_level const& level);

  array_validity validity_of(cudf::column_view const& column,
                             column_rows const& rows,
                             bool compact);
  void fill_values(array_node& node, export_level const& level, std::int64_t begin);
  std::int64_t fill_offsets(array_node& node,
                            cudf::column_view const* offsets,
                            std::int64_t begin,
                            column_path const& path);
  void fill_string(array_node& node, export_level const& level, std::int64_t begin);
  void fill_views(array_node& node, export_level const& level, std::int64_t begin);
  void fill_fixed_size(array_node& node, export_level const& level);
  void fill_list(array_node& node, export_level const& level, std::int64_t begin);
  void fill_struct(array_node& node, export_level const& level, std::int64_t begin);
  void fill_dictionary(array_node& node, export_level const& level, std::int64_t begin);
  void fill_indices(array_node& node,
                    cudf::column_view const& indices,
                    std::int64_t begin,
                    std::int64_t num_keys,
                    export_level const& level);

  [[nodiscard]] std::int64_t shared_bits(cudf::type_id type) const
  {
    auto const index = static_cast<std::size_t>(type);
    return index < shared_bits_.size() ? shared_bits_[index] : 0;
  }

  [[nodiscard]] schema_node const* level_below(schema_node const* as, std::size_t index) const
  { return as == nullptr ? nullptr : &schema_->nodes[as->first_child + index]; }

  /// A field goes by the name in the schema, or by its position.
  static column_path path_of(column_path const& parent, schema_node const* as, std::size_t index)
  { return as == nullptr ? column_path{parent, index} : column_path{parent, as->schema->name}; }

  void const* keep(rmm::device_buffer&& buffer);
  void set_made(array_node& node, std::size_t slot, rmm::device_buffer&& buffer);

  array_tree& tree_;
  schema_tree const* schema_;
  export_options const& options_;
  execution const& exec_;
  std::span<std::int64_t const> shared_bits_;
  bool in_converted_{false};  ///< whether the columns at hand are not the source's own
};

}  // namespace cudf_arrow_bridge::detail
