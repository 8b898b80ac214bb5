// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/column/column_view.hpp>

#include <cstdint>
#include <map>
#include <optional>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Finds the one place where the buffers of some columns are.
 *
 * CUDA is asked once per allocation, not per buffer: a wide table out of a pool has one. What it
 * said is kept no longer than the finder, since memory may be freed and come back as another kind.
 */
class location_finder {
 public:
  /**
   * @brief Adds the buffers of a column and of those below.
   *
   * @throws std::invalid_argument if they are elsewhere than what was added before
   * @throws rmm::cuda_error if CUDA cannot tell
   */
  void add(cudf::column_view const& column);

  /// @return Where everything added is; where new columns go if none has a buffer
  [[nodiscard]] memory_location result() const;

 private:
  struct allocation {
    std::uintptr_t end;
    memory_location location;
  };

  memory_location find(void const* pointer);

  std::map<std::uintptr_t, allocation> known_;  ///< by where they begin
  std::optional<memory_location> found_;
};

}  // namespace cudf_arrow_bridge::detail
