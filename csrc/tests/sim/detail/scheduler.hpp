// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/detail/generator.hpp"
#include "sim/detail/streams.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sim::detail {

/**
 * @brief Runs operations, one at a time, each on its stream's thread.
 *
 * Operations run while a thread waits for one, a few of them during other calls, and the rest when
 * the program has made no call for a while. So when an operation runs depends on the seed and the
 * calls, not on the speed of the machine.
 *
 * All functions require the machine's mutex to be locked. Those with a `lock` parameter unlock it
 * while they wait.
 */
class scheduler {
 public:
  using lock_type = std::unique_lock<std::mutex>;

  explicit scheduler(std::mutex& mutex) : mutex_{mutex} {}

  /// Resets the scheduler with a seed; nothing may be running.
  void restart(std::uint64_t seed);

  cudaStream_t create_stream(int device, stream_type type);

  operation_ptr enqueue(stream_state& stream,
                        std::function<void()> work,
                        std::vector<operation_ptr> after = {});

  void hold(stream_state& stream, bool held);

  /// Runs operations until `op` is done.
  void wait(lock_type& lock, operation_ptr const& op);

  /// Runs some operations or none, as the device may during an asynchronous call.
  void advance(lock_type& lock);

  /// Runs one operation or none, so that repeated queries make progress.
  void poll(lock_type& lock);

  /// Runs all operations that are not held back.
  void drain(lock_type& lock);

  /// Joins the threads of the given streams.
  static void join(lock_type& lock, stream_table::streams const& ended);

  /// Leaks all streams, whose threads do not exist in a forked child.
  void forget_streams();

  /// To be called when the program uses the runtime, so that it is not taken to be idle.
  void note_activity() { ++activity_; }

  /// @return Whether the calling thread is running an operation
  static bool in_operation();

  [[nodiscard]] generator& random() { return random_; }

  [[nodiscard]] stream_table& streams() { return streams_; }

  [[nodiscard]] stream_table const& streams() const { return streams_; }

  /// @return Messages of exceptions that operations threw since the last call of this
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
  std::unique_ptr<std::condition_variable> changed_{std::make_unique<std::condition_variable>()};
  generator random_{0};
  std::uint64_t eagerness_{0};  ///< of 8 calls, how many let operations run
  stream_table streams_;
  stream_state const* running_{nullptr};
  std::vector<std::string> exceptions_;
  std::uint64_t activity_{0};
  bool watches_idleness_{false};
};

}  // namespace sim::detail
