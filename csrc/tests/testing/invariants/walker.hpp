// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/invariants.hpp"

#include <utility>

namespace cudf_arrow_bridge::test {

/// Visits all levels of a column and collects violations.
class walker {
 public:
  explicit walker(invariant_options const& options) : options_{options} {}

  void visit(cudf::column_view const& column, std::string const& path);

  [[nodiscard]] std::vector<violation> take() && { return std::move(violations_); }

 private:
  bool check_shape(cudf::column_view const& column, std::string const& path);
  void check_mask(cudf::column_view const& column, std::string const& path);
  void check_data(cudf::column_view const& column, std::string const& path);
  bool check_offsets(cudf::column_view const& column, std::string const& path);
  void visit_strings(cudf::column_view const& column, std::string const& path);
  void visit_lists(cudf::column_view const& column, std::string const& path);
  void visit_fields(cudf::column_view const& column, std::string const& path);
  void visit_dictionary(cudf::column_view const& column, std::string const& path);
  void check_empty_nulls(cudf::column_view const& column, std::string const& path);

  /// @return Whether `size` bytes are allocated; true if this is not known
  [[nodiscard]] bool is_allocated(void const* begin, std::int64_t size) const;

  /// Adds a violation unless `holds`. @return `holds`
  bool expect(bool holds, invariant which, std::string const& path, std::string found);

  invariant_options const& options_;
  std::vector<violation> violations_;
};

/// Return a value of a signed integer column, by its index from the head of the buffer.
[[nodiscard]] std::int64_t integer_at(cudf::column_view const& column, std::int64_t index);

/// Return the number of rows of a view and before its offset.
[[nodiscard]] inline std::int64_t end_of_rows(cudf::column_view const& column)
{ return std::int64_t{column.offset()} + column.size(); }

}  // namespace cudf_arrow_bridge::test
