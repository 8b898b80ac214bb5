// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace cudf_arrow_bridge::detail {

/// Rows of an array that become a column: `leading` rows that nobody asked for stand before them.
struct row_range {
  std::int64_t begin;  ///< in the array's buffers, its own offset included
  std::int64_t size;
  std::int64_t leading;
  /// Whether the rows will be seen through an offset only, their own or that of a struct above.
  /// Without one libcudf takes it that lists begin with the first row of their child
  /// (`lists_column_view::get_sliced_child`) and strings with the first of their bytes.
  bool sliced{leading > 0};

  bool operator==(row_range const&) const = default;

  [[nodiscard]] std::int64_t storage_begin() const { return begin - leading; }

  [[nodiscard]] std::int64_t storage_size() const { return size + leading; }

  [[nodiscard]] cudf::size_type num_rows() const
  { return static_cast<cudf::size_type>(storage_size()); }
};

/// What an import must know of the contents of some rows of an array.
struct level_facts {
  row_range rows;
  cudf::size_type null_count;       ///< of the rows
  std::optional<offset_ends> ends;  ///< of the offsets of all stored rows, if they have any
  /// Whether nothing has to be rewritten for `sanitize`; of this level alone
  bool is_clean{false};
  /// In place of the producer's mask, where nulls of structs above have to be pushed into it; for
  /// whoever comes first
  std::shared_ptr<rmm::device_buffer> mask{};
};

/// What was found out about the arrays of a producer's struct, before columns are made of them.
class import_facts {
 public:
  void set(ArrowArray const& array, level_facts const& facts)
  { facts_.insert_or_assign(&array, facts); }

  void forget(ArrowArray const& array) { facts_.erase(&array); }

  /// @return Null if these rows of the array were not looked at
  [[nodiscard]] level_facts const* find(ArrowArray const& array, row_range const& rows) const
  {
    auto const found = facts_.find(&array);
    return found != facts_.end() && found->second.rows == rows ? &found->second : nullptr;
  }

  /// @return Null if the array was not looked at
  [[nodiscard]] level_facts const* find(ArrowArray const& array) const
  {
    auto const found = facts_.find(&array);
    return found != facts_.end() ? &found->second : nullptr;
  }

 private:
  std::unordered_map<ArrowArray const*, level_facts> facts_;
};

}  // namespace cudf_arrow_bridge::detail
