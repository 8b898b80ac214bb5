// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/parsed_type.hpp"
#include "compute/buffers.hpp"

#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace cudf_arrow_bridge::detail {

/// Range of requested rows of an array. A column stores `leading` more rows before them, which it
/// skips with its offset.
struct row_range {
  std::int64_t begin;  ///< first requested row in the array's buffers, `array.offset` included
  std::int64_t size;
  std::int64_t leading;
  /// Whether the column will have an offset, its own or that of an enclosing struct. Without one
  /// libcudf assumes that the first offset of lists (`lists_column_view::get_sliced_child`) and
  /// strings is 0.
  bool sliced{leading > 0};

  bool operator==(row_range const&) const = default;

  [[nodiscard]] std::int64_t storage_begin() const { return begin - leading; }

  [[nodiscard]] std::int64_t storage_size() const { return size + leading; }

  [[nodiscard]] cudf::size_type num_rows() const
  { return static_cast<cudf::size_type>(storage_size()); }
};

/// Facts about the contents of a range of rows, which an import must know.
struct level_facts {
  row_range rows;
  cudf::size_type null_count;  ///< of the requested rows
  std::optional<offset_ends>
    ends;  ///< first and last offset of all stored rows, if they have offsets
  /// Whether `sanitize` has nothing to rewrite at this level, not including lower levels
  bool is_clean{false};
  /// Replaces the producer's mask if nulls of enclosing structs were added; moved out at the first
  /// use
  std::shared_ptr<rmm::device_buffer> mask{};
};

/// Facts about the arrays of a producer's struct, collected before columns are created. The key is
/// the types of a level, because several parents with different nulls may point to one array.
class import_facts {
 public:
  void set(parsed_tree const& level, level_facts const& facts)
  { facts_.insert_or_assign(&level, facts); }

  void forget(parsed_tree const& level) { facts_.erase(&level); }

  /// @return Null if nothing is known about exactly this range of rows
  [[nodiscard]] level_facts const* find(parsed_tree const& level, row_range const& rows) const
  {
    auto const entry = facts_.find(&level);
    return entry != facts_.end() && entry->second.rows == rows ? &entry->second : nullptr;
  }

  /// @return The facts of the surveyed rows, whatever their range; null if there are none
  [[nodiscard]] level_facts const* find(parsed_tree const& level) const
  {
    auto const entry = facts_.find(&level);
    return entry != facts_.end() ? &entry->second : nullptr;
  }

 private:
  std::unordered_map<parsed_tree const*, level_facts> facts_;
};

}  // namespace cudf_arrow_bridge::detail
