// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/owners.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/types.hpp>

#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cerrno>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace cudf_arrow_bridge {

/// @addtogroup stream Streams
/// @{

/// An error that the producer of a stream reported: an `errno` code and a message.
class CUDF_ARROW_BRIDGE_EXPORT stream_error : public std::runtime_error {
 public:
  /// @param code The `errno` code; EIO if it is 0, which would mean success
  /// @param message Description of the error
  stream_error(int code, std::string const& message)
    : std::runtime_error{message}, code_{code == 0 ? EIO : code}
  {
  }

  /// @return The `errno` code; never 0
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// One batch of a stream.
struct stream_batch {
  shared_schema schema;  ///< schema of the batch; empty: it has the stream's schema
  device_array array;    ///< a released handle marks the end of the stream

  /// @return Whether there are no more batches
  [[nodiscard]] bool is_end() const noexcept { return array.is_released(); }
};

/// Creates the batches of a stream. May be called from any thread, by one thread at a time.
class CUDF_ARROW_BRIDGE_EXPORT batch_source {
 public:
  batch_source()                               = default;
  batch_source(batch_source const&)            = delete;
  batch_source& operator=(batch_source const&) = delete;
  virtual ~batch_source();

  /**
   * @brief Creates the next batch. Not called again after the end or an exception.
   *
   * @throws stream_error to choose the `errno` code for consumers; otherwise any exception
   */
  [[nodiscard]] virtual stream_batch next() = 0;
};

/**
 * @brief Splits a column or table into batches, each a zero-copy slice. Costs O(columns) for each
 * batch.
 *
 * Without rows there is one batch without rows. Each batch is exported by `to_arrow_device` when it
 * is pulled, and has its own event. The first pull counts the nulls of all batches, for which the
 * host waits once on a device.
 *
 * @throws std::invalid_argument if `max_rows` is not positive, or `input` is neither one column nor
 *   a table whose columns all have its number of rows
 *
 * @param input Data to split; its views are copied
 * @param owner Keeps the memory of `input` alive; held by the source and by each batch
 * @param max_rows Maximum number of rows of a batch. Batches begin at multiples of 512 rows if it
 *   is at least 512, otherwise at multiples of 64 if it is at least 64, so that few of their arrays
 *   have an offset
 * @param options As in `to_arrow_device`; their schema is that of each batch
 * @param stream As in `to_arrow_device`; must outlive the source as well. `cudaStreamPerThread`
 *   means that of the calling thread: batches that another thread pulls are exported on the legacy
 *   default stream, which waits for it
 * @param mr As in `to_arrow_device`
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::unique_ptr<batch_source> slices(
  export_input const& input,
  std::shared_ptr<void const> owner,
  cudf::size_type max_rows,
  export_options const& options,
  cuda::stream_ref stream,
  rmm::device_async_resource_ref mr);

/// A source of one existing batch.
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::unique_ptr<batch_source> single(stream_batch batch);

/**
 * @brief The batches of several sources, one source after the other.
 *
 * @param next Called for the next source when the previous one has ended; returns null at the end.
 *   May throw the exceptions of `batch_source::next`.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::unique_ptr<batch_source> chain(
  std::function<std::unique_ptr<batch_source>()> next);

class device_array_stream;

/// Receives a stream from which a consumer pulled no batch. Called from any thread.
using return_function = std::function<void(device_array_stream&&)>;

/**
 * @brief A stream of batches of one schema and one kind of memory, pulled one at a time.
 *
 * Pulls at most one batch ahead: the first one, if the schema or the kind of memory is requested. A
 * batch that fails, or that has another schema or is in another kind of memory, ends the stream:
 * each further call throws the same error. In a stream of CUDA memory, pinned and managed memory
 * counts as CUDA memory; a batch without rows counts as any memory of CUDA.
 *
 * Not for use by several threads at once.
 */
class CUDF_ARROW_BRIDGE_EXPORT device_array_stream {
 public:
  /// An empty handle, as left by `reset` and `to_arrow`.
  device_array_stream() = default;

  /**
   * @param source Makes the batches
   * @param default_schema The schema of the stream if there are no batches, or the first has none
   */
  explicit device_array_stream(std::unique_ptr<batch_source> source,
                               shared_schema default_schema = {});

  /// Replaces the default schema. Has no effect after the first batch was pulled.
  void set_default_schema(shared_schema schema) { default_schema_ = std::move(schema); }

  /**
   * @brief The schema of all batches, which is the schema of the first. Pulls the first batch.
   *
   * @throws std::invalid_argument if the stream has no default schema, and either no batch or a
   *   first batch without a schema
   * @throws std::exception the exceptions of the source for the first batch
   */
  [[nodiscard]] shared_schema const& schema();

  /**
   * @brief The kind of memory of all batches.
   *
   * For a stream without batches: CUDA, or CPU without a GPU.
   *
   * @throws std::exception the exceptions of the source for the first batch
   */
  [[nodiscard]] ArrowDeviceType device_type();

  /**
   * @brief Pulls the next batch.
   *
   * @throws std::invalid_argument if the batch has another schema or kind of memory
   * @throws std::exception the exceptions of the source
   */
  [[nodiscard]] stream_batch next();

  /// @return Whether a batch failed, after which there are no more batches
  [[nodiscard]] bool has_failed() const noexcept { return failure_ != nullptr; }

  /// Destroys the source and the batch that was pulled ahead.
  void reset() noexcept;

  /**
   * @brief Moves the remaining batches to an `ArrowDeviceArrayStream`. Its callbacks never throw.
   *
   * They may be called from any thread, one at a time. An exception becomes an `errno` code and a
   * message, which stays valid until the next call: stream_error's own code, ENOMEM for
   * std::bad_alloc, EINVAL for std::logic_error, else EIO.
   * Source: Arrow specification, "The Arrow C Device data interface", "Device stream interface".
   *
   * @throws std::exception the exceptions of `device_type`; the stream is then unchanged
   *
   * @param give_back Receives the stream if it is released before the first call of `get_next`; if
   *   empty, the stream is destroyed
   */
  [[nodiscard]] unique_device_array_stream to_arrow(return_function give_back = {});

  /**
   * @brief Moves the remaining batches to an `ArrowArrayStream`, in memory that the CPU can read.
   *
   * Its `get_next` makes each batch with `device_array::to_arrow_host`.
   *
   * @param give_back As in `to_arrow`
   */
  [[nodiscard]] unique_array_stream to_arrow_host(return_function give_back = {});

 private:
  void peek();
  stream_batch pull();
  void check(stream_batch& batch);

  std::unique_ptr<batch_source> source_;  ///< null: ended
  shared_schema schema_;
  shared_schema default_schema_;
  stream_batch ahead_;
  std::int64_t num_pulled_{0};
  ArrowDeviceType device_type_{0};  ///< 0: unknown
  std::exception_ptr failure_;
};

/**
 * @brief Adopts a stream of another library and pulls its arrays, one at a time.
 *
 * The stream is released exactly once: at its end, after an error, or with this object. The caller
 * owns each array and imports it with `schema()` by `from_arrow_device_table` or
 * `from_arrow_device_column`.
 *
 * Not for use by several threads at once.
 */
class CUDF_ARROW_BRIDGE_EXPORT array_stream_reader {
 public:
  /// An empty handle.
  array_stream_reader() = default;

  /**
   * @brief Takes ownership of a stream of device arrays.
   *
   * @throws std::invalid_argument if the stream was released already or lacks a callback; the
   *   caller then still owns it
   *
   * @param stream Stream to adopt; marked released
   */
  explicit array_stream_reader(ArrowDeviceArrayStream* stream);

  /**
   * @brief Takes ownership of a stream of host arrays, which are returned as device arrays with the
   * device type CPU.
   *
   * @throws std::invalid_argument if the stream was released already or lacks a callback; the
   *   caller then still owns it
   *
   * @param stream Stream to adopt; marked released
   */
  explicit array_stream_reader(ArrowArrayStream* stream);

  /**
   * @brief The schema of all arrays. It is requested from the producer once.
   *
   * @throws stream_error if the producer reports an error
   * @throws std::invalid_argument if the producer returns a released schema, or this handle is
   * empty
   *
   * @return Valid while this object lives
   */
  [[nodiscard]] ArrowSchema const& schema();

  /// @return The kind of memory of all arrays, as stated by the producer
  [[nodiscard]] ArrowDeviceType device_type() const noexcept { return device_type_; }

  /**
   * @brief Pulls the next array.
   *
   * @throws stream_error if the producer reports an error; again at each further call
   *
   * @return The array; a released one marks the end of the stream
   */
  [[nodiscard]] unique_device_array next();

  /// @return The code of the `stream_error` that ended the stream; 0 if none did
  [[nodiscard]] int error_code() const noexcept { return failure_ ? failure_->code() : 0; }

  /// Releases the stream now.
  void reset() noexcept;

 private:
  template <typename Ask>
  void ask(Ask const& ask);

  std::variant<unique_device_array_stream, unique_array_stream> stream_;
  ArrowDeviceType device_type_{ARROW_DEVICE_CPU};
  unique_schema schema_;
  std::optional<stream_error> failure_;
};

/// @}

}  // namespace cudf_arrow_bridge
