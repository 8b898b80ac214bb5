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
 * @brief Copies a tree to another place: within host memory, from a device to it or to a device.
 *
 * Copies the rows that the tree has, from a byte boundary of its masks on, with all the elements
 * and dictionary values that they could refer to. How many bytes strings take is in their last
 * offsets: on device memory these are read first, all together, which waits once. Copies to the
 * host are done when this returns, which waits; any others are only enqueued.
 *
 * @throws std::invalid_argument for negative string offsets
 *
 * @param source Tree to copy
 * @param node Node of it that becomes the root
 * @param target CPU memory, or CUDA memory of the current device
 * @param stream Stream that copies are enqueued on; what it did so far comes first
 * @param mr Resource for the copies
 */
std::shared_ptr<array_tree> copy_tree(array_tree const& source,
                                      std::size_t node,
                                      memory_location const& target,
                                      cuda::stream_ref stream,
                                      rmm::device_async_resource_ref mr);

/**
 * @brief Copies a tree within host memory, or within a device's, as an array of its own.
 *
 * The copy is ready after the work that is enqueued on the stream then; the source is kept until
 * copies from it are done.
 *
 * @throws std::invalid_argument as `copy_tree`
 *
 * @param source Tree to copy, ready on the stream
 * @param node Node of it that becomes the root
 * @param owner What the copy keeps, such as the owner of its memory resource
 * @param exec Where to work: on the host, or on the current device, which has the source
 */
std::shared_ptr<array_tree> copy_beside(std::shared_ptr<array_tree const> const& source,
                                        std::size_t node,
                                        std::shared_ptr<void const> owner,
                                        execution const& exec);

}  // namespace cudf_arrow_bridge::detail
