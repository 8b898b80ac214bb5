// SPDX-License-Identifier: Apache-2.0
#include "compute/null_rows.hpp"

#include "base/child_column.hpp"
#include "base/parsed_type.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

/// Null rows have no value: numbers and offsets are 0.
std::unique_ptr<cudf::column> zeros_of(cudf::data_type type,
                                       cudf::size_type size,
                                       execution const& exec)
{
  return std::make_unique<cudf::column>(
    type, size, zeros(size * bits_of(type) / 8, exec), zeros(0, exec), 0);
}

}  // namespace

std::unique_ptr<cudf::column> null_rows_like(cudf::column_view const& column,
                                             cudf::size_type size,
                                             execution const& exec)
{
  auto const id = column.type().id();
  if (id == type_id::EMPTY) {
    return std::make_unique<cudf::column>(
      column.type(), size, zeros(0, exec), zeros(0, exec), size);
  }
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  auto is_fixed = false;
  switch (id) {
    case type_id::STRING: {
      // libcudf's empty string column has no offsets.
      auto const offsets =
        column.num_children() > 0 ? child_of(column, 0).type() : cudf::data_type{type_id::INT32};
      children.push_back(zeros_of(offsets, size + 1, exec));
      break;
    }
    case type_id::LIST:
      children.push_back(zeros_of(child_of(column, 0).type(), size + 1, exec));
      children.push_back(null_rows_like(child_of(column, 1), 0, exec));
      break;
    case type_id::STRUCT:
      for (auto child = column.child_begin(); child != column.child_end(); ++child) {
        children.push_back(null_rows_like(*child, size, exec));
      }
      break;
    case type_id::DICTIONARY32:
      children.push_back(zeros_of(child_of(column, 0).type(), size, exec));
      children.push_back(null_rows_like(child_of(column, 1), 0, exec));
      break;
    default: is_fixed = true;
  }
  auto data = zeros(is_fixed ? size * bits_of(column.type()) / 8 : 0, exec);
  auto mask = size == 0 ? zeros(0, exec) : no_valid_bits(size, exec);
  return std::make_unique<cudf::column>(
    column.type(), size, std::move(data), std::move(mask), size, std::move(children));
}

}  // namespace cudf_arrow_bridge::detail
