// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exports of several slices of the same columns, whose nulls are counted together.
#pragma once

#include "export/null_counts.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <cudf/column/column_view.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <memory>
#include <span>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Counts nulls where the columns are. Waits once on a device, if there is something to
 * count.
 *
 * @param columns Columns whose masks the ranges are in
 * @param counts Ranges to count
 * @param stream Stream that the columns are ready on
 * @param mr Resource as for `to_arrow_device`
 */
void count_nulls_of(std::span<cudf::column_view const> columns,
                    null_counts& counts,
                    cuda::stream_ref stream,
                    rmm::device_async_resource_ref mr);

/// `to_arrow_device` of an input that has been checked, with null counts that are known.
device_array export_counted(export_input const& input,
                            std::shared_ptr<void const> owner,
                            export_options const& options,
                            null_counts const& known,
                            cuda::stream_ref stream,
                            rmm::device_async_resource_ref mr);

}  // namespace cudf_arrow_bridge::detail
