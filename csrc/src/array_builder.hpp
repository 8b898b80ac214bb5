// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "array_tree.hpp"
#include "convert.hpp"
#include "errors.hpp"
#include "schema_tree.hpp"

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

/// The rows as a column of their own, whose nulls libcudf's algorithms want counted.
cudf::column_view view_of(cudf::column_view const& column,
                          column_rows const& rows,
                          placement const& where);

/// Fills the nodes of a tree from column views, as a schema says that was made for them.
class array_builder {
 public:
  array_builder(array_tree& tree,
                schema_tree const& schema,
                export_options const& options,
                placement const& where)
    : tree_{tree}, schema_{schema}, options_{options}, where_{where}
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
            schema_node const& as,
            column_path const& path,
            std::optional<bit_range> const& parent_mask = {});

  /// Likewise, of a column that needs no conversion as a whole any more.
  void fill_rows(std::size_t index,
                 cudf::column_view const& column,
                 column_rows const& rows,
                 schema_node const& as,
                 column_path const& path);

  std::int64_t fill_validity(array_node& node,
                             cudf::column_view const& column,
                             column_rows const& rows,
                             bool compact);
  void fill_fixed(array_node& node, cudf::column_view const& column, std::int64_t begin);
  void fill_converted(array_node& node, std::int64_t element_bits, rmm::device_buffer&& data);
  void fill_values(array_node& node,
                   cudf::column_view const& column,
                   std::int64_t begin,
                   schema_node const& as,
                   column_path const& path);
  std::int64_t fill_offsets(array_node& node,
                            std::optional<cudf::column_view> const& offsets,
                            std::int64_t begin,
                            column_path const& path);
  void fill_string(array_node& node,
                   cudf::column_view const& column,
                   column_rows const& rows,
                   std::int64_t begin,
                   column_path const& path);
  void fill_views(array_node& node,
                  cudf::column_view const& column,
                  column_rows const& rows,
                  std::int64_t begin,
                  column_path const& path);
  void fill_fixed_size(array_node& node,
                       cudf::column_view const& column,
                       column_rows const& rows,
                       export_step const& step,
                       column_path const& path);
  void fill_list(array_node& node,
                 cudf::column_view const& column,
                 column_rows const& rows,
                 std::int64_t begin,
                 schema_node const& as,
                 column_path const& path);
  void fill_struct(array_node& node,
                   cudf::column_view const& column,
                   column_rows const& rows,
                   std::int64_t begin,
                   schema_node const& as,
                   column_path const& path);
  void fill_dictionary(array_node& node,
                       cudf::column_view const& column,
                       std::int64_t begin,
                       schema_node const& as,
                       column_path const& path);
  void fill_indices(array_node& node,
                    cudf::column_view const& indices,
                    std::int64_t begin,
                    std::int64_t num_keys,
                    export_step const& step,
                    column_path const& path);

  [[nodiscard]] schema_node const& child_of(schema_node const& as, std::size_t index) const
  { return schema_.nodes[as.first_child + index]; }

  /// An empty node, of what the export makes itself where it has converted a whole column.
  [[nodiscard]] array_node new_node() const;
  void const* keep(rmm::device_buffer&& buffer);
  void set_made(array_node& node, std::size_t slot, rmm::device_buffer&& buffer);

  array_tree& tree_;
  schema_tree const& schema_;
  export_options const& options_;
  placement const& where_;
  bool in_converted_{false};  ///< whether the columns at hand are not the source's own
};

}  // namespace cudf_arrow_bridge::detail
