// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"

#include <cudf_arrow_bridge/copies.hpp>

#include <cudf/column/column_view.hpp>

#include <rmm/device_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// Why a buffer is created rather than shared.
enum class copy_reason : std::uint8_t {
  none,  ///< it is shared
  no_rows,
  bools,
  bool_bytes,
  days,
  halves,
  times,
  mask_position,
  nulls_of_structs,
  null_rows,
  alignment,
  first_offset,
  wide_offsets,
  no_offsets,
  offset_width,
  views,
  list_views,
  runs,
  index_width,
  null_values,
  nested_dictionary,
  decoded,
  encoded,
  cast,
  lengths,
  upload,
  asked
};

/// The text for users; empty for `none`.
std::string_view text_of(copy_reason reason) noexcept;

/// A column needs a copy that the caller forbids.
struct copy_refused : std::runtime_error {
  using std::runtime_error::runtime_error;  ///< of the path and the reason
};

/// Rejects one copy. Kept out of line, because most imports and exports never call it.
[[noreturn]] inline void refuse_copy(copy_reason reason, column_path const& path)
{ throw copy_refused{"'" + path.to_string() + "' (" + std::string{text_of(reason)} + ")"}; }

/**
 * @brief The copies of one import or export. Rejects them if the caller forbids copies.
 *
 * A rejected copy ends its column. `collect` continues with the next column, so that the error
 * names all columns.
 */
class copy_log {
 public:
  explicit copy_log(copy_policy policy) : policy_{policy} {}

  [[nodiscard]] bool are_forbidden() const noexcept { return policy_ == copy_policy::never; }

  /**
   * @brief Call this before a buffer is created rather than shared.
   *
   * @throws copy_refused if copies are forbidden; see `collect`
   */
  void need(copy_reason reason, column_path const& path) const
  {
    if (are_forbidden()) { refuse_copy(reason, path); }
  }

  /// Records a buffer that was created rather than shared.
  void note(void const* address, std::size_t size, copy_reason reason)
  {
    if (size > 0) {
      copied_.push_back({address, static_cast<std::int64_t>(size), text_of(reason)});
    }
  }

  /// Records all buffers of a column that was created.
  void note(cudf::column_view const& column, copy_reason reason);

  /// Creates a column, unless it needs a forbidden copy.
  template <typename Make>
  void collect(Make make)
  {
    try {
      make();
    } catch (copy_refused const& refused) {
      if (!refusals_.empty()) { refusals_ += ", "; }
      refusals_ += refused.what();
    }
  }

  /// @throws std::invalid_argument that names all columns that were refused, if there are any
  void check() const;

  /// The memory that was created.
  [[nodiscard]] std::vector<copied_buffer> take() { return std::move(copied_); }

 private:
  copy_policy policy_;
  std::vector<copied_buffer> copied_;
  std::string refusals_;
};

}  // namespace cudf_arrow_bridge::detail
