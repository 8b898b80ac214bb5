// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/utf8.hpp"

#include <cudf/types.hpp>
#include <cudf/utilities/error.hpp>

#include <nanoarrow/nanoarrow.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge {

/**
 * @brief The path of a column in a tree, for messages such as `orders.items[].price`.
 *
 * A linked list of objects on the stack. The string is built only if an error is thrown.
 */
class column_path {
 public:
  /// The top level.
  column_path() = default;

  /// @param name Name of a field, null if it has none; "[]" for the element of a list
  column_path(column_path const& parent, char const* name) : parent_{&parent}, name_{name} {}

  /// A field without a name in the schema, by its position.
  column_path(column_path const& parent, std::size_t position)
    : parent_{&parent}, position_{position}
  {
  }

  /// @return The path, shortened in the middle if it is longer than `longest` bytes, as it is for a
  /// schema that contains itself
  [[nodiscard]] std::string to_string() const
  {
    auto path = std::string{};
    if (parent_ != nullptr) { path = parent_->append(name()); }
    if (path.size() > longest) { path.replace(longest / 2, path.size() - longest, "..."); }
    return path.empty() ? std::string{"(top level)"} : path;
  }

  static constexpr std::size_t longest = 1000;

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
  char const* name_{nullptr};  ///< borrowed from the schema; only read to build a message
  std::optional<std::size_t> position_{};
};

/// Throws an `Error` whose message begins with the path of the column. Bytes of names that are not
/// UTF-8 are escaped, so the message is UTF-8.
template <typename Error>
[[noreturn]] void fail(column_path const& path, std::string const& what)
{ throw Error{detail::to_utf8("column '" + path.to_string() + "': " + what)}; }

/// Throws the error for structs that contradict their schema or the specification.
[[noreturn]] inline void fail_invalid(column_path const& path, std::string const& what)
{ fail<std::invalid_argument>(path, what); }

}  // namespace cudf_arrow_bridge

namespace cudf_arrow_bridge::detail {

/// The most elements or bytes that the 32-bit offsets of a column count.
inline constexpr std::int64_t max_offset = std::numeric_limits<cudf::size_type>::max();

/// The most rows of a column, which may have one more offset.
inline constexpr std::int64_t max_rows = max_offset - 1;

/// Throws the error for more rows, elements or bytes than numbers of 32 bits count.
[[noreturn]] inline void fail_too_many(
  column_path const& path,
  std::int64_t found,
  std::int64_t most,
  std::string const& what,
  std::string const& advice = "import it as a stream of smaller arrays")
{
  fail<std::overflow_error>(path,
                            "expected at most " + std::to_string(most) + " " + what + ", got " +
                              std::to_string(found) + ": " + advice);
}

/// Throws if a call of nanoarrow's builders returned an error. They fail only if memory runs out,
/// or for arguments that the caller should have rejected.
inline void check_nanoarrow(ArrowErrorCode code, char const* what)
{
  if (code == NANOARROW_OK) { return; }
  if (code == ENOMEM) { throw std::bad_alloc{}; }
  throw std::invalid_argument{std::string{"nanoarrow failed to build "} + what};
}

}  // namespace cudf_arrow_bridge::detail
