// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/copy_reason.hpp"
#include "base/errors.hpp"

#include <cudf_arrow_bridge/copies.hpp>

#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// A column needs a copy that the caller forbids.
struct copy_refused : std::runtime_error {
  using std::runtime_error::runtime_error;  ///< of its path, and why
};

/// Refuses one copy. Kept out of line: most imports and exports never call it.
[[noreturn]] inline void refuse_copy(copy_reason reason, column_path const& path)
{ throw copy_refused{"'" + path.to_string() + "' (" + std::string{text_of(reason)} + ")"}; }

/**
 * @brief The copies of one import or export: refused if the caller forbids them.
 *
 * A refusal ends the column that it is about. `collect` goes on with the next one, so that the
 * error names all columns.
 */
class copy_log {
 public:
  explicit copy_log(copy_policy policy) : policy_{policy} {}

  [[nodiscard]] bool are_forbidden() const noexcept { return policy_ == copy_policy::never; }

  /**
   * @brief Called before a buffer is made instead of shared.
   *
   * @throws copy_refused if copies are forbidden; see `collect`
   */
  void need(copy_reason reason, column_path const& path) const
  {
    if (are_forbidden()) { refuse_copy(reason, path); }
  }

  /// Notes a buffer that was made instead of shared.
  void note(void const* address, std::size_t size, copy_reason reason)
  {
    if (size > 0) { made_.push_back({address, static_cast<std::int64_t>(size), text_of(reason)}); }
  }

  /// Notes all buffers of a column that was made.
  void note(cudf::column_view const& column, copy_reason reason);

  /// Makes a column. @return Whether that needed no copy that is forbidden
  template <typename Make>
  bool collect(Make make)
  {
    try {
      make();
      return true;
    } catch (copy_refused const& refused) {
      if (!refusals_.empty()) { refusals_ += ", "; }
      refusals_ += refused.what();
      return false;
    }
  }

  /// @throws std::invalid_argument that names all columns that were refused, if there are any
  void check() const;

  /// What was made so far.
  [[nodiscard]] std::vector<made_memory> take_made() { return std::move(made_); }

 private:
  copy_policy policy_;
  std::vector<made_memory> made_;
  std::string refusals_;
};

}  // namespace cudf_arrow_bridge::detail
