// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"

#include <cudf_arrow_bridge/copies.hpp>

#include <cudf/column/column_view.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// Why a buffer is created rather than shared, as texts for users. The text of shared buffers is
/// empty.
namespace copy_reason {
inline constexpr std::string_view no_rows{"Arrow has one offset for no rows"};
inline constexpr std::string_view bools{"bits in Arrow, bytes in cuDF"};
inline constexpr std::string_view bool_bytes{"a byte of a bool is neither 0 nor 1"};
inline constexpr std::string_view days{"Arrow has no duration in days: counted in seconds"};
inline constexpr std::string_view halves{"cuDF has no floats of 16 bits: widened"};
inline constexpr std::string_view times{"32 bits in Arrow, 64 in cuDF"};
inline constexpr std::string_view mask_position{"the mask begins where it cannot be shared"};
inline constexpr std::string_view nulls_of_structs{"nulls of a struct become nulls of its fields"};
inline constexpr std::string_view null_rows{"null rows that are not empty are rewritten"};
inline constexpr std::string_view alignment{"the buffer is not aligned for its type"};
inline constexpr std::string_view first_offset{"the first offset is not 0: offsets are recomputed"};
inline constexpr std::string_view wide_offsets{"cuDF has 32-bit offsets of lists: narrowed"};
inline constexpr std::string_view no_offsets{"cuDF has offsets where Arrow has none: created"};
inline constexpr std::string_view offset_width{"the Arrow type has offsets of another width"};
inline constexpr std::string_view views{"views in Arrow, one buffer in cuDF"};
inline constexpr std::string_view list_views{"views in Arrow, lists in order in cuDF"};
inline constexpr std::string_view runs{"cuDF has no runs: decoded"};
inline constexpr std::string_view index_width{"indices of another width"};
inline constexpr std::string_view null_values{"cuDF has no nulls among the values of a dictionary"};
inline constexpr std::string_view nested_dictionary{
  "cuDF has no dictionaries of dictionaries: decoded"};
inline constexpr std::string_view decoded{"the dictionary is decoded"};
inline constexpr std::string_view encoded{"values become a dictionary"};
inline constexpr std::string_view cast{"values of another width or unit"};
inline constexpr std::string_view lengths{"lists with nulls have no fixed size: padded"};
inline constexpr std::string_view upload{"CPU memory is copied to the GPU"};
inline constexpr std::string_view asked{"copy=True"};
}  // namespace copy_reason

/// A column needs a copy that the caller forbids.
struct copy_refused : std::runtime_error {
  using std::runtime_error::runtime_error;  ///< of the path and the reason
};

/**
 * @brief The copies of one import or export. Rejects them if the caller forbids copies.
 *
 * A rejected copy ends its column. `collect` continues with the next column, so that the error
 * names all columns.
 */
class copy_log {
 public:
  explicit copy_log(copy_policy policy) : policy_{policy} {}

  /**
   * @brief Call this before a buffer is created rather than shared.
   *
   * @throws copy_refused if copies are forbidden; see `collect`
   */
  void need(std::string_view reason, column_path const& path) const
  {
    if (policy_ == copy_policy::never) {
      throw copy_refused{"'" + path.to_string() + "' (" + std::string{reason} + ")"};
    }
  }

  /// Records a buffer that was created rather than shared.
  void note(void const* address, std::size_t size, std::string_view reason)
  {
    if (size > 0) { copied_.push_back({address, static_cast<std::int64_t>(size), reason}); }
  }

  /// Records all buffers of a column that was created.
  void note(cudf::column_view const& column, std::string_view reason);

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
