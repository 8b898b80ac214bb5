// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "base/errors.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <cuda/stream>

#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Checks the contents of the buffers of a batch.
 *
 * @throws std::invalid_argument naming the column
 *
 * @param tree Tree of `batch_reader`
 * @param types Its types
 * @param checks The checks to do
 * @param path Names the top level in errors
 * @param stream Stream whose enqueued work writes the buffers
 */
void check_contents(std::shared_ptr<array_tree const> const& tree,
                    parsed_tree const& types,
                    body_checks checks,
                    column_path const& path,
                    cuda::stream_ref stream);

}  // namespace cudf_arrow_bridge::detail
