// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/visibility.hpp>

#include <rmm/cuda_device.hpp>

#include <cuda/stream>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cudf_arrow_bridge {

namespace detail {
class fence_board;
class pooled_event;
}  // namespace detail

/// @addtogroup fences Fences
/// @{

/// Identifies a fence within its set. Never 0, and never reused.
using fence_id = std::uint64_t;

/// The state of an ended fence.
enum class fence_state : std::int8_t {
  reached,    ///< the work before it is done
  cancelled,  ///< `cancel` came first
  failed      ///< CUDA reported an error of the work before it, or of earlier work
};

/// The result of a fence, reported once.
struct fence_result {
  fence_id fence;     ///< the fence
  fence_state state;  ///< its final state
  cudaError_t error;  ///< cudaSuccess unless `state` is `failed`
};

/// @return The name and the description of an error of CUDA
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::string error_text(cudaError_t error);

/**
 * @brief Fences in streams, whose completion is signaled through one file descriptor.
 *
 * For event loops: the descriptor is readable while `poll` has results. It is an eventfd. While
 * fences are unfinished, a thread of the library queries their events every 50 microseconds. Each
 * fence is independent of the others.
 *
 * A handle: copies refer to the same set. Any number of threads may use it. When the last handle is
 * destroyed, unfinished fences are discarded.
 *
 * A forked child has a copy of the parent's descriptor, but none of its fences: there, `add` and
 * `poll` throw std::logic_error, and the other methods do nothing.
 */
class CUDF_ARROW_BRIDGE_EXPORT fence_set {
 public:
  /// An empty handle, which may only be assigned to or destroyed.
  fence_set() noexcept = default;

  /**
   * @brief Creates a set.
   *
   * @throws std::system_error if the kernel cannot create an eventfd
   */
  [[nodiscard]] static fence_set make();

  /// @return The descriptor, which this object owns; for `poll(2)` and the like, never to be read
  [[nodiscard]] int fileno() const noexcept;

  /**
   * @brief Adds a fence after the work that is enqueued on `stream`.
   *
   * It is reached immediately without a GPU.
   *
   * @throws rmm::cuda_error if CUDA cannot record an event
   * @throws std::system_error if no thread can be started
   *
   * @param stream Stream
   * @param device Device of the stream; a negative number is the current device
   */
  fence_id add(cuda::stream_ref stream, rmm::cuda_device_id device = rmm::cuda_device_id{-1});

  /**
   * @brief Adds a fence at the point recorded by an event of another library, such as the
   * `sync_event` of an array.
   *
   * @throws std::system_error if no thread can be started
   *
   * @param event Event; the other library keeps ownership
   * @param device Device of the event
   * @param keeper Keeps the event alive; held until that point is reached
   * @return The fence; 0 without a fence if that point is already reached
   */
  fence_id add(cudaEvent_t event, int device, std::shared_ptr<void const> keeper);

  /// Adds a fence that the program ends with `complete`.
  fence_id add();

  /// Ends a fence of `add()` as reached. Does nothing if it has ended. Does not allocate.
  void complete(fence_id fence) noexcept;

  /**
   * @brief Cancels a fence. The work before it continues.
   *
   * @return Whether it was unfinished; if so, its result is `cancelled`
   */
  bool cancel(fence_id fence) noexcept;

  /// @return The number of unfinished fences
  [[nodiscard]] std::size_t num_pending() const noexcept;

  /**
   * @brief Returns the results of all ended fences, without waiting.
   *
   * To wait for results, call `poll(2)` on the descriptor before.
   *
   * @return Each result once; empty if no fence has ended since the last call
   */
  [[nodiscard]] std::vector<fence_result> poll();

  /// Makes the descriptor readable until the next `poll`.
  void wake() noexcept;

 private:
  friend class device_array;

  /// Adds a fence at the point recorded by `event`; reached immediately if there is no event.
  /// `keeper` keeps the event alive and is held until that point is reached.
  fence_id add(detail::pooled_event const& event, std::shared_ptr<void const> keeper);

  std::shared_ptr<detail::fence_board> board_;
};

/// @}

}  // namespace cudf_arrow_bridge
