// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf/utilities/error.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge {

/**
 * @brief Where a column stands in a tree, for messages such as `orders.items[].price`.
 *
 * A chain of stack objects: nothing is built unless an error is.
 */
class column_path {
 public:
  /// The top level.
  column_path() = default;

  /// A field, or with the name "[]" the element of a list.
  column_path(column_path const& parent, std::string_view name) : parent_{&parent}, name_{name} {}

  [[nodiscard]] std::string to_string() const
  {
    auto path = std::string{};
    if (parent_ != nullptr) { path = parent_->append(name_); }
    return path.empty() ? std::string{"(top level)"} : path;
  }

 private:
  [[nodiscard]] std::string append(std::string_view name) const
  {
    auto path = parent_ == nullptr ? std::string{} : parent_->append(name_);
    if (!path.empty() && !name.starts_with('[')) { path += '.'; }
    return path += name;
  }

  column_path const* parent_{nullptr};
  std::string_view name_;
};

/// `Error`'s message names the column, then says what was found and what was expected.
template <typename Error>
[[noreturn]] void fail(column_path const& path, std::string const& what)
{ throw Error{"column '" + path.to_string() + "': " + what}; }

/// For structs that contradict their schema or the specification.
[[noreturn]] inline void fail_invalid(column_path const& path, std::string const& what)
{ fail<std::invalid_argument>(path, what); }

}  // namespace cudf_arrow_bridge
