// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "compute/buffers.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstddef>
#include <memory>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Copies a tree within host memory, to host memory from a device, or to a device.
 *
 * Copies the rows of the tree, starting at a byte boundary of its masks, with all elements and
 * dictionary values that they may refer to. The size of strings is in their last offsets. In device
 * memory these are read first, all together, with one synchronization. Copies to the host
 * synchronize and are done when this returns. Other copies are only enqueued.
 *
 * @throws std::invalid_argument for negative string offsets
 *
 * @param node Node of the source that becomes the root
 * @param target CPU memory, or CUDA memory of the current device
 */
std::shared_ptr<array_tree> copy_tree(array_tree const& source,
                                      std::size_t node,
                                      memory_location const& target,
                                      cuda::stream_ref stream,
                                      rmm::device_async_resource_ref mr);

/**
 * @brief Copies a tree within host memory or within a device, as an independent array.
 *
 * The copy is ready after the work that is then enqueued on the stream. The source is kept alive
 * until the copies are done.
 *
 * @throws std::invalid_argument as `copy_tree`
 *
 * @param source Tree to copy, ready on the stream
 * @param owner What the copy keeps, such as the owner of its memory resource
 * @param exec Where to work: on the host, or on the current device, which has the source
 */
std::shared_ptr<array_tree> copy_on_same_device(std::shared_ptr<array_tree const> const& source,
                                                std::size_t node,
                                                std::shared_ptr<void const> owner,
                                                execution const& exec);

}  // namespace cudf_arrow_bridge::detail
