// SPDX-License-Identifier: Apache-2.0
/// @file
/// Both roles of Arrow's asynchronous C device stream interface, in which the producer calls the
/// consumer.
/// Source: Arrow specification, "The Arrow C Device data interface", "Async Device Stream
/// Interface".
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/owners.hpp>
#include <cudf_arrow_bridge/stream.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cudf_arrow_bridge {

namespace detail {
class async_consumer;
}  // namespace detail

/// @addtogroup async Asynchronous streams
/// @{

/// An error of an asynchronous stream, with the metadata of its producer.
class CUDF_ARROW_BRIDGE_EXPORT async_stream_error : public stream_error {
 public:
  /**
   * @param code The `errno` code; EIO if it is 0
   * @param message Description of the error
   * @param metadata Pairs of keys and values, encoded as in `ArrowSchema.metadata`; may be empty
   */
  async_stream_error(int code, std::string const& message, std::string metadata)
    : stream_error{code, message}, metadata_{std::move(metadata)}
  {
  }

  /// @return Pairs of keys and values, encoded as in `ArrowSchema.metadata`; may be empty
  [[nodiscard]] std::string const& metadata() const noexcept { return metadata_; }

 private:
  std::string metadata_;
};

/// One array of an asynchronous stream.
struct async_batch {
  unique_device_array array;  ///< released: the end of the stream
  std::string metadata;       ///< the producer's, encoded as in `ArrowSchema.metadata`; or empty

  /// @return Whether there are no more arrays
  [[nodiscard]] bool is_end() const noexcept { return array.is_released(); }
};

/**
 * @brief The consumer: reads the arrays that a producer sends to a handler, one at a time.
 *
 * At most `prefetch` arrays are requested or waiting here; taking one requests the next. Methods
 * may be called from any thread; `next` by one thread at a time. No lock is held during calls of
 * the producer in either direction, so that both sides may call back.
 *
 * A handle: copies refer to the same stream. It is cancelled with the last one if it has not ended.
 *
 * A producer that violates the protocol ends the stream with an error: if it sends more arrays than
 * requested, or arrays after the end, or releases the handler without an end.
 */
class CUDF_ARROW_BRIDGE_EXPORT async_stream_reader {
 public:
  /// An empty handle.
  async_stream_reader() noexcept = default;

  /**
   * @throws std::invalid_argument if `prefetch` is not positive
   *
   * @param prefetch Maximum number of arrays that are requested or waiting
   * @param notify Called when `is_ready` may have become true, on the thread on which the producer
   *   calls. Must not throw. Kept alive until the producer has released the handler
   */
  async_stream_reader(std::int64_t prefetch, std::function<void()> notify);

  /**
   * @brief The handler, for one producer.
   *
   * It lives until the producer calls its `release`. If no producer ever gets it, call `abandon`.
   *
   * @throws std::logic_error if it was already taken
   */
  [[nodiscard]] ArrowAsyncDeviceStreamHandler* take_handler();

  /// Releases a handler that was taken but that no producer got.
  void abandon() noexcept;

  /**
   * @brief Ends the stream with an error, unless it has ended.
   *
   * For producers that fail when they may have passed the handler on. The handler lives until its
   * `release` is called.
   */
  void fail(int code, std::string const& message) noexcept;

  /// @return Whether the schema is known, or the stream ended before
  [[nodiscard]] bool has_schema() const noexcept;

  /**
   * @brief The schema of all arrays.
   *
   * @throws async_stream_error if the stream failed before
   * @throws std::logic_error if `has_schema` is false
   *
   * @return Valid while this object lives
   */
  [[nodiscard]] ArrowSchema const& schema() const;

  /// @return The kind of memory of all arrays, once the schema is known
  [[nodiscard]] ArrowDeviceType device_type() const noexcept;

  /// @return The metadata of the producer, once the schema is known; or empty
  [[nodiscard]] std::string const& metadata() const noexcept;

  /// @return Whether `next` has a result: an array, the end or an error
  [[nodiscard]] bool is_ready() const noexcept;

  /// Blocks until `is_ready`.
  void wait() const;

  /**
   * @brief Takes the next array, without waiting for it.
   *
   * Requests another one from the producer and extracts the data.
   *
   * @throws async_stream_error if the producer reported an error; again at each further call
   *
   * @return Empty if no array is ready; after `cancel`, the end
   */
  [[nodiscard]] std::optional<async_batch> next();

  /// Cancels the producer, once, and releases its waiting arrays. May be repeated.
  void cancel() noexcept;

 private:
  std::shared_ptr<detail::async_consumer> consumer_;
};

/**
 * @brief Reads a stream on a thread of its own and sends its arrays to a handler.
 *
 * Arrays are created when they are requested, and before `on_next_task`. The device that is current
 * at the call is current on the thread. An exception of the source becomes `on_error`, with the
 * codes of `device_array_stream::to_arrow`.
 *
 * @throws std::invalid_argument if the handler lacks a callback; the caller then still owns it
 * @throws std::system_error if the thread cannot be started; the caller then still owns it
 *
 * @param source Read to its end, or until the consumer cancels
 * @param handler A consumer's handler, which will be released
 * @param cancelled Called when the consumer cancels, on its thread, also while `source` creates an
 *   array. Must not throw. Destroyed when the handler is released, or when a call that is running
 *   then has returned
 * @return Ends the stream with ECANCELED when no requested array is missing. May be called on any
 *   thread
 */
CUDF_ARROW_BRIDGE_EXPORT std::function<void()> to_arrow_async(
  device_array_stream source,
  ArrowAsyncDeviceStreamHandler* handler,
  std::function<void()> cancelled = {});

/// As above, for a stream of another library.
CUDF_ARROW_BRIDGE_EXPORT void to_arrow_async(array_stream_reader source,
                                             ArrowAsyncDeviceStreamHandler* handler);

/**
 * @brief Stops the streams of `to_arrow_async`, and waits for batches in progress, at most for a
 * second.
 *
 * Handlers are not called any more. Called when the process exits. Call it without holding a lock
 * that a source or handler may take, such as the GIL.
 */
CUDF_ARROW_BRIDGE_EXPORT void stop_async() noexcept;

/// @}

}  // namespace cudf_arrow_bridge
