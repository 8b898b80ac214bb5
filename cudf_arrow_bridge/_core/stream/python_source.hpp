// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "finalization.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {

/**
 * @brief Requests the next source of batches from a Python object; null at the end.
 *
 * @return 0, or an `errno` code with a message. Called without the GIL, never throws.
 */
using pull_function = int (*)(void const* object,
                              std::unique_ptr<batch_source>& source,
                              std::string& message);

/// The batches of all sources of a Python object, one source after the other.
inline std::unique_ptr<batch_source> python_source(std::shared_ptr<void const> object,
                                                   pull_function pull)
{
  return chain([object = std::move(object), pull] {
    auto source     = std::unique_ptr<batch_source>{};
    auto message    = std::string{};
    auto const code = call_with_gil([&] { return pull(object.get(), source, message); });
    if (code != 0) { throw stream_error{code, message}; }
    return source;
  });
}

/// A callback that passes a Python object to `call`, which is called without the GIL.
inline std::function<void()> callback_of(std::shared_ptr<void const> object,
                                         void (*call)(void const*))
{
  return [object = std::move(object), call] { call_with_gil([&] { call(object.get()); }); };
}

/// Holds a stream that a consumer returned without pulling a batch. Thread-safe.
class returned_stream {
 public:
  void put(device_array_stream&& stream)
  {
    auto const lock = std::lock_guard{mutex_};
    stream_.emplace(std::move(stream));
  }

  /// @return Whether there was one; it is moved to `stream`
  bool take(device_array_stream& stream)
  {
    auto const lock = std::lock_guard{mutex_};
    if (!stream_) { return false; }
    stream = std::move(*stream_);
    stream_.reset();
    return true;
  }

 private:
  std::mutex mutex_;
  std::optional<device_array_stream> stream_;
};

/// Returns a stream to its holder if that still exists; otherwise destroys it.
inline return_function give_back_to(std::weak_ptr<returned_stream> owner)
{
  return [owner = std::move(owner)](device_array_stream&& stream) {
    if (auto const place = owner.lock()) { place->put(std::move(stream)); }
  };
}

}  // namespace cudf_arrow_bridge
