// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/utf8.hpp"

#include <cudf/utilities/error.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

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

  /// A field, or with the name "[]" the element of a list; null: a field without a name.
  column_path(column_path const& parent, char const* name) : parent_{&parent}, name_{name} {}

  /// A field that is known by its position alone.
  column_path(column_path const& parent, std::size_t position)
    : parent_{&parent}, position_{position}
  {
  }

  [[nodiscard]] std::string to_string() const
  {
    auto path = std::string{};
    if (parent_ != nullptr) { path = parent_->append(name()); }
    return path.empty() ? std::string{"(top level)"} : path;
  }

 private:
  [[nodiscard]] std::string name() const
  {
    if (position_.has_value()) { return std::to_string(*position_); }
    return name_ == nullptr ? "" : name_;
  }

  [[nodiscard]] std::string append(std::string const& name) const
  {
    auto path = parent_ == nullptr ? std::string{} : parent_->append(this->name());
    if (!path.empty() && !name.starts_with('[')) { path += '.'; }
    return path += name;
  }

  column_path const* parent_{nullptr};
  char const* name_{nullptr};  ///< not measured: it may be far away, and only errors need it
  std::optional<std::size_t> position_{};
};

/// `Error`'s message names the column, then says what was found and what was expected. Whatever
/// names a producer uses, it is UTF-8.
template <typename Error>
[[noreturn]] void fail(column_path const& path, std::string const& what)
{ throw Error{detail::to_utf8("column '" + path.to_string() + "': " + what)}; }

/// For structs that contradict their schema or the specification.
[[noreturn]] inline void fail_invalid(column_path const& path, std::string const& what)
{ fail<std::invalid_argument>(path, what); }

}  // namespace cudf_arrow_bridge
