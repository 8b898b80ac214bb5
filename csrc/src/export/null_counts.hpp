// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"
#include "export/column_rows.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <cudf/column/column_view.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Null counts of ranges of masks, counted together.
 *
 * The batches of a stream are slices, whose null counts libcudf does not know.
 */
class null_counts {
 public:
  /// Adds a range to count.
  void add(bit_range const& range) { ranges_.push_back(range); }

  /// Adds the ranges that an export of `rows` has to count: the rows, and those of a struct's
  /// fields. The masks are not read here.
  void add(cudf::column_view const& column, column_rows const& rows, bool compact);

  /// Counts. Waits once on device memory, if there is something to count.
  void count(execution const& exec);

  /// @return The null count of an added and counted range; -1 for others
  [[nodiscard]] std::int64_t find(bit_range const& range) const;

 private:
  /// The address of a range's first bit, and its size. Several pairs of a mask and a first bit may
  /// name one range.
  using key = std::pair<std::uintptr_t, std::int64_t>;

  static key key_of(bit_range const& range)
  {
    auto const address = reinterpret_cast<std::uintptr_t>(range.bits);
    return {address * 8 + static_cast<std::uintptr_t>(range.begin), range.size};
  }

  std::vector<bit_range> ranges_;
  std::map<key, cudf::size_type> counts_;
};

/// Counts nulls on the device of the columns, whose masks the ranges are in. Waits once on a
/// device, if there is something to count.
void count_nulls_of(std::span<cudf::column_view const> columns,
                    null_counts& counts,
                    cuda::stream_ref stream,
                    rmm::device_async_resource_ref mr);

/// `to_arrow_device` of a checked input with known null counts.
device_array export_counted(export_input const& input,
                            std::shared_ptr<void const> owner,
                            export_options const& options,
                            null_counts const& known,
                            cuda::stream_ref stream,
                            rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
