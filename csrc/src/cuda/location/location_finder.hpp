// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>
#include <map>
#include <optional>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Finds the kind and device of the memory that holds all buffers of some columns.
 *
 * CUDA is asked once per allocation, not per buffer: all columns of a table from a memory pool may
 * be in one. The answers are not kept longer than the finder, because addresses may be freed and
 * reused for another kind of memory.
 */
class location_finder {
 public:
  /**
   * @brief Adds the buffers of a column and of its children.
   *
   * @throws std::invalid_argument if their memory is of another kind or device than that added
   * before
   * @throws rmm::cuda_error if `cudaPointerGetAttributes` fails
   */
  void add(cudf::column_view const& column);

  /// @return The location of all buffers; if there are none, that of new columns
  [[nodiscard]] memory_location result() const;

 private:
  struct allocation {
    std::uintptr_t end;
    memory_location location;
  };

  memory_location find(void const* pointer);

  std::map<std::uintptr_t, allocation> allocations_;  ///< by their first address
  std::optional<memory_location> location_;           ///< of the buffers added so far
};

}  // namespace cudf_arrow_bridge::detail
