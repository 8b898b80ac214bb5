// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "base/errors.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <cuda/stream>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cudf_arrow_bridge::detail {

/// The values of one dictionary of a schema.
struct dictionary_types {
  parsed_tree const* values;
  std::size_t end;   ///< index after those of the dictionaries within the values
  std::string path;  ///< names the column in errors
};

/// The dictionaries of a schema, depth first, and their values.
struct known_dictionaries {
  std::span<dictionary_types const> types;
  std::span<device_array const> values;
  std::size_t next;  ///< the first one that the batch may refer to
};

/**
 * @brief Creates a tree over the buffers of one batch. Checks all metadata against the types and
 * the sizes of the buffers; reads no buffer.
 *
 * @throws std::invalid_argument if metadata, types and buffers contradict each other
 *
 * @param types Types of the batch
 * @param is_table Whether it is a record batch: then the root has no node of its own
 * @param keeps_masks Whether columns without nulls keep their masks, to be checked
 * @param path Names the top level in errors
 */
std::shared_ptr<array_tree> read_batch(ipc_batch const& batch,
                                       known_dictionaries const& dictionaries,
                                       ipc_memory const& memory,
                                       parsed_tree const& types,
                                       bool is_table,
                                       bool keeps_masks,
                                       column_path const& path,
                                       cuda::stream_ref stream);

/**
 * @brief Checks the contents of the buffers of a batch, except the values of its dictionaries,
 * which have been checked when they were read.
 *
 * @throws std::invalid_argument naming the column
 *
 * @param tree Tree of `read_batch`
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
