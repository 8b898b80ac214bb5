// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/array_tree.hpp"
#include "base/errors.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
 */
class batch_reader {
 public:
  batch_reader(ipc_batch const& batch,
               known_dictionaries const& dictionaries,
               ipc_memory const& memory,
               cuda::stream_ref stream);

  /**
   * @brief Reads the batch. Call it once.
   *
   * @throws std::invalid_argument if metadata, types and buffers contradict each other
   *
   * @param types Types of the batch
   * @param is_table Whether it is a record batch: then the root has no node of its own
   * @param path Names the top level in errors
   */
  [[nodiscard]] std::shared_ptr<array_tree> read(parsed_tree const& types,
                                                 bool is_table,
                                                 column_path const& path);

 private:
  /// The objects that the tree keeps alive.
  struct kept_memory {
    std::shared_ptr<void const> buffers;
    std::vector<device_array> dictionaries;
    std::vector<std::unique_ptr<std::int64_t[]>> sizes;  ///< of the data of views
  };

  void read_node(std::size_t index, parsed_tree const& types, column_path const& path);
  void read_children(std::size_t index, parsed_tree const& types, column_path const& path);
  void read_buffers(array_node& node, parsed_type const& type, column_path const& path);
  void read_validity(array_node& node, column_path const& path);
  void read_offsets(array_node& node, column_path const& path);
  void read_views(array_node& node, column_path const& path);
  void read_dictionary(array_node& node, column_path const& path);
  /// Checks that a node has the number of rows of the batch.
  void check_length(std::size_t index, column_path const& path) const;
  void check_child(array_node const& node, parsed_type const& type, column_path const& path) const;

  /// Takes the next buffer, which must have `required` bytes. @return Null if it has none
  ipc_buffer take(char const* name, std::int64_t required, column_path const& path);

  /// Adds nodes that share the values of a dictionary.
  void graft(std::size_t index, array_tree const& source, array_node const& from);

  ipc_batch batch_;
  known_dictionaries dictionaries_;
  cuda::stream_ref stream_;
  std::shared_ptr<kept_memory> kept_;
  std::shared_ptr<array_tree> tree_;
  std::size_t next_node_{0};
  std::size_t next_buffer_{0};
  std::size_t next_count_{0};
};

}  // namespace cudf_arrow_bridge::detail
