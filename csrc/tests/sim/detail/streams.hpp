// SPDX-License-Identifier: Apache-2.0
/// @file
/// Streams and their queued operations. The machine's mutex guards them.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace sim::detail {

/// One operation of a stream. Events and waits are operations without work.
struct operation {
  std::function<void()> work;
  std::vector<std::shared_ptr<operation>> after;  ///< operations of other streams to wait for
  bool done{false};
};

using operation_ptr = std::shared_ptr<operation>;

inline bool is_done(operation_ptr const& op) { return op == nullptr || op->done; }

enum class stream_type : std::uint8_t { blocking, non_blocking, legacy };

struct stream_state;

/// A capture of operations into a graph, between `cudaStreamBeginCapture` and `EndCapture`.
struct capture {
  stream_state const* origin;  ///< the stream on which it began
  std::thread::id thread;      ///< on which it began
  cudaStreamCaptureMode mode;
  bool valid{true};          ///< false also after its end
  std::size_t num_nodes{0};  ///< captured operations, which do not run
};

struct stream_state {
  std::uint64_t id;      ///< unique in the process
  std::uint64_t number;  ///< position among the streams since the last reset
  int device;
  stream_type type;
  std::uint64_t weight;  ///< the scheduler's preference
  std::deque<operation_ptr> queue{};
  operation_ptr last{};  ///< the newest operation, done or not
  bool held{false};
  bool destroyed{false};
  bool retired{false};                     ///< whether the worker thread must end
  std::shared_ptr<capture> captured_by{};  ///< null: its operations run
  std::condition_variable wake{};
  std::thread worker{};

  [[nodiscard]] bool is_ready() const;
};

/// All streams of the machine, including default streams.
class stream_table {
 public:
  using streams = std::vector<std::unique_ptr<stream_state>>;

  cudaStream_t create(int device, stream_type type, std::uint64_t weight);

  /// Invalidates the handle; queued operations still run. @return Whether the stream existed
  bool destroy(cudaStream_t handle);

  /// @return The stream of a handle, or null; for a default stream, that of `device`
  stream_state* find(cudaStream_t handle, int device);

  operation_ptr enqueue(stream_state& stream,
                        std::function<void()> work,
                        std::vector<operation_ptr> after = {});

  [[nodiscard]] streams const& all() const { return all_; }

  [[nodiscard]] std::size_t num_created() const { return handles_.size(); }

  /// Removes and returns the streams that are destroyed and idle.
  [[nodiscard]] streams take_retired();

  /// Removes and returns all streams.
  [[nodiscard]] streams take_all();

 private:
  stream_state& add(int device, stream_type type, std::uint64_t weight);

  std::uint64_t next_number_{0};
  streams all_;
  std::map<cudaStream_t, stream_state*> handles_;
  std::map<int, stream_state*> legacy_;
  std::map<std::pair<int, std::uint64_t>, stream_state*> per_thread_;  ///< by device and thread
};

}  // namespace sim::detail
