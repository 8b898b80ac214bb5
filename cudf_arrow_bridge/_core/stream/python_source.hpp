// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/stream.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {

/**
 * @brief Asks a Python object for the next source of batches; null at the end.
 *
 * @return 0, or an `errno` code with a message. Called without the GIL, never throws.
 */
using pull_function = int (*)(void const* object,
                              std::unique_ptr<batch_source>& source,
                              std::string& message);

/// A source of the batches of all sources that a Python object gives, one after the other.
inline std::unique_ptr<batch_source> python_source(std::shared_ptr<void const> object,
                                                   pull_function pull)
{
  return chain([object = std::move(object), pull] {
    auto source     = std::unique_ptr<batch_source>{};
    auto message    = std::string{};
    auto const code = pull(object.get(), source, message);
    if (code != 0) { throw stream_error{code, message}; }
    return source;
  });
}

/// Where a stream lies that a consumer gave back, having pulled no batch. For any number of
/// threads.
class returned_stream {
 public:
  void put(device_array_stream&& stream)
  {
    auto const lock = std::lock_guard{mutex_};
    stream_.emplace(std::move(stream));
  }

  /// @return Whether there was one, which is in `stream` now
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

/// Gives a stream back to whoever still waits for it; else it is destroyed.
inline return_function give_back_to(std::weak_ptr<returned_stream> owner)
{
  return [owner = std::move(owner)](device_array_stream&& stream) {
    if (auto const place = owner.lock()) { place->put(std::move(stream)); }
  };
}

/// `device_array_stream::to_arrow`, which leaves nothing in the stream.
inline unique_device_array_stream move_to_arrow(device_array_stream& stream,
                                                std::shared_ptr<returned_stream> const& owner)
{ return std::move(stream).to_arrow(give_back_to(owner)); }

/// `device_array_stream::to_arrow_host`, which leaves nothing in the stream.
inline unique_array_stream move_to_arrow_host(device_array_stream& stream,
                                              std::shared_ptr<returned_stream> const& owner)
{ return std::move(stream).to_arrow_host(give_back_to(owner)); }

}  // namespace cudf_arrow_bridge
