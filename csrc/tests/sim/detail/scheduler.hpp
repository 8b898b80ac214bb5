// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/detail/generator.hpp"
#include "sim/detail/streams.hpp"
#include "sim/world.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sim::detail {

/**
 * @brief Runs operations, one at a time, each on its stream's thread.
 *
 * Nothing runs by itself: operations run while some thread waits for one, a few of them during
 * other calls, and whatever is left when the program has made no call for a while. So when an
 * operation runs doesn't depend on how fast this machine is, only on the seed and on the calls.
 *
 * All functions want the machine's mutex locked. Those that take the lock let go of it while they
 * wait.
 */
class scheduler {
 public:
  using lock_type = std::unique_lock<std::mutex>;

  explicit scheduler(std::mutex& mutex) : mutex_{mutex} {}

  /// Begins anew with a seed; nothing may be running.
  void restart(std::uint64_t seed);

  cudaStream_t create_stream(int device, stream_type type);

  operation_ptr enqueue(stream_state& stream,
                        std::function<void()> work,
                        std::vector<operation_ptr> after = {});

  void hold(stream_state& stream, bool held);

  /// Runs operations until `op` is done.
  void wait(lock_type& lock, operation_ptr const& op);

  /// Runs some operations, or none, as an asynchronous call leaves the device time to.
  void advance(lock_type& lock);

  /// Runs an operation, or not, so that who asks again and again gets there.
  void poll(lock_type& lock);

  /// Runs all that can run.
  void drain(lock_type& lock);

  /// Ends the threads of the streams given.
  static void join(lock_type& lock, stream_table::streams const& ended);

  /// Leaves the streams behind whose threads a forked child does not have.
  void forget_streams();

  /// To be called by whatever shows that the program is busy with the runtime.
  void note_activity() { ++activity_; }

  /// @return Whether the calling thread is running an operation
  static bool in_operation();

  [[nodiscard]] generator& random() { return random_; }

  [[nodiscard]] stream_table& streams() { return streams_; }

  [[nodiscard]] std::vector<step> const& history() const { return history_; }

  /// @return What operations threw since the last call of this
  [[nodiscard]] std::vector<std::string> take_exceptions()
  { return std::exchange(exceptions_, {}); }

 private:
  stream_state* pick();
  operation_ptr start(stream_state& stream);
  bool run_one(lock_type& lock);
  void run_stream(stream_state& stream);
  void run_when_idle();
  [[noreturn]] void report_standstill() const;

  std::mutex& mutex_;
  std::condition_variable changed_;
  generator random_{0};
  std::uint64_t eagerness_{0};  ///< of 8 calls, how many let operations run
  stream_table streams_;
  stream_state const* running_{nullptr};
  std::vector<step> history_;
  std::vector<std::string> exceptions_;
  std::uint64_t activity_{0};
  bool watches_idleness_{false};
};

}  // namespace sim::detail
