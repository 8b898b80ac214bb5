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
 * @brief Checks what the buffers of a batch hold, as far as asked.
 *
 * @throws std::invalid_argument naming the column
 *
 * @param tree Tree that `batch_reader` made
 * @param types Its types
 * @param checks What to check
 * @param path Names the top level in errors
 * @param stream Stream after whose work so far the buffers are there
 */
void check_contents(std::shared_ptr<array_tree const> const& tree,
                    parsed_tree const& types,
                    body_checks checks,
                    column_path const& path,
                    cuda::stream_ref stream);

}  // namespace cudf_arrow_bridge::detail
