// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/visibility.hpp>

#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cudf_arrow_bridge {

namespace detail {
class fence_board;
class pooled_event;
}  // namespace detail

/// Identifies a fence within its set. Never 0, and never used again.
using fence_id = std::uint64_t;

/// How a fence ended.
enum class fence_state : std::int8_t {
  reached,    ///< the work before it is done
  cancelled,  ///< `cancel` came first
  failed      ///< CUDA reported an error of the work before it, or of an earlier one
};

/// What is told of a fence, once.
struct fence_result {
  fence_id fence;
  fence_state state;
  cudaError_t error;  ///< cudaSuccess unless `state` is `failed`
};

/// @return The name and the description of an error of CUDA
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::string error_text(cudaError_t error);

/**
 * @brief Fences in the work of streams, which tell through one file descriptor when it is done.
 *
 * For event loops: the descriptor is readable while `poll` has something to return. It is an
 * eventfd, written by threads of the library that block in CUDA until an event completes; nothing
 * polls. A fence of one stream does not wait for those of another as long as no more than 8 streams
 * have unfinished fences.
 *
 * A handle: copies are the same set. Any number of threads may use it. When the last handle goes,
 * fences that have not ended are forgotten.
 *
 * A forked child has a copy of the parent's descriptor, but none of its fences: there, `add` and
 * `poll` throw std::logic_error, and the other methods do nothing.
 */
class CUDF_ARROW_BRIDGE_EXPORT fence_set {
 public:
  /// An empty handle, to be assigned to or destroyed only.
  fence_set() noexcept = default;

  /**
   * @brief A new set.
   *
   * @throws std::system_error if the kernel gives no eventfd
   */
  [[nodiscard]] static fence_set make();

  /// @return The descriptor, which this object owns; for `poll(2)` and the like, never to be read
  [[nodiscard]] int fileno() const noexcept;

  /**
   * @brief Adds a fence behind the work enqueued on `stream` so far.
   *
   * Reached at once without a GPU.
   *
   * @throws rmm::cuda_error if CUDA cannot record an event
   * @throws std::system_error if no thread can be started
   *
   * @param stream Stream of the current device
   */
  fence_id add(cuda::stream_ref stream);

  /**
   * @brief Adds a fence at the point that an event of another library recorded, such as the
   * `sync_event` of an array.
   *
   * @throws std::system_error if no thread can be started
   *
   * @param event Event, which stays the other library's
   * @param device Device of the event
   * @param lane Any number, such as one for each producer: fences of one number are reached in the
   *   order in which they were added
   * @param keeper Keeps the event, and is held until that point is reached
   * @return The fence; 0 if that point is reached already, and there is no fence
   */
  fence_id add(cudaEvent_t event,
               int device,
               std::uint64_t lane,
               std::shared_ptr<void const> keeper);

  /// Adds a fence that the program itself ends, by `complete`.
  fence_id add();

  /// Ends a fence of `add()` as reached. Does nothing if it has ended. Takes no memory.
  void complete(fence_id fence) noexcept;

  /**
   * @brief Ends a fence as cancelled. The work before it goes on.
   *
   * @return Whether it had not ended; if so, its one result says cancelled
   */
  bool cancel(fence_id fence) noexcept;

  /// @return How many fences have not ended
  [[nodiscard]] std::size_t num_pending() const noexcept;

  /**
   * @brief Takes the results of all fences that have ended, in the order in which they did.
   *
   * @param timeout How long to wait for one, or for `wake`; 0: not at all, none: for ever
   * @return Each fence once; none after a timeout or `wake`
   */
  [[nodiscard]] std::vector<fence_result> poll(std::optional<std::chrono::nanoseconds> timeout);

  /// Makes the descriptor readable, and one `poll`, also a later one, return at once.
  void wake() noexcept;

 private:
  friend class device_array;

  /// Adds a fence at the point that `event` recorded; reached at once if there is no event.
  /// `keeper` keeps the event, and is held until that point is reached.
  fence_id add(detail::pooled_event const& event,
               std::uint64_t stream_id,
               std::shared_ptr<void const> keeper);

  std::shared_ptr<detail::fence_board> board_;
};

}  // namespace cudf_arrow_bridge
