// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bodies of Arrow IPC messages, on a device or in host memory, without copies.
///
/// The metadata of a body is a flatbuffer, which other libraries read and write. Source: Arrow
/// columnar format, "Serialization and Interprocess Communication".
#pragma once

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <rmm/device_buffer.hpp>
#include <rmm/resource_ref.hpp>

#include <cuda/stream>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cudf_arrow_bridge {

/// @addtogroup ipc Arrow IPC
/// @{

/// The alignment in bytes of buffers in a packed body, as Arrow recommends.
inline constexpr std::int64_t ipc_alignment = 64;

/// @return `size` rounded up to a multiple of `ipc_alignment`
constexpr std::int64_t ipc_padded(std::int64_t size) noexcept
{ return (size + ipc_alignment - 1) / ipc_alignment * ipc_alignment; }

/// One array of a record batch, as the flatbuffer struct `FieldNode` describes it.
struct ipc_node {
  std::int64_t length;      ///< rows
  std::int64_t null_count;  ///< null rows
};

/// One buffer of a body.
struct ipc_buffer {
  void const* address;  ///< null if the buffer is absent
  std::int64_t size;    ///< bytes; 0 if the buffer is absent
  /// The bits of the last byte that belong to the body; `download_body` clears the others.
  std::byte last_byte{0xFF};
};

/**
 * @brief The body of a message: buffers in the order of the specification, in place.
 *
 * Cheap to copy except for the lists.
 */
struct ipc_body {
  std::int64_t length{0};                     ///< rows
  std::vector<ipc_node> nodes{};              ///< depth first
  std::vector<ipc_buffer> buffers{};          ///< the buffers of the nodes, including absent ones
  std::vector<std::int64_t> variadic_counts;  ///< data buffers of each array of views
  std::vector<device_array> dictionaries{};   ///< values of each dictionary, depth first
  memory_location location{};                 ///< location of the buffers
  std::shared_ptr<void const> owner{};        ///< keeps their memory alive

  /// @return The size of the body in bytes, with each buffer padded to `ipc_alignment`
  [[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::int64_t packed_size() const noexcept;

  /**
   * @brief Waits until the buffers are ready, for readers that do not use streams.
   *
   * @throws rmm::cuda_error if work on the stream has failed
   *
   * @param stream The stream of `describe_body`
   */
  CUDF_ARROW_BRIDGE_EXPORT void wait(cuda::stream_ref stream) const;
};

/**
 * @brief Describes an array as the body of a message.
 *
 * Copies buffers of slices: masks that do not begin with a word of 32 rows, and offsets that
 * do not begin at 0. The body contains only data of the rows. Unknown first and last offsets of
 * strings and lists are read; on device memory this waits once for each level of nesting. Unknown
 * nulls are counted.
 *
 * @throws std::invalid_argument for offsets that are negative or descend
 *
 * @param array Array to describe; a record batch is a struct array, whose validity cannot be part
 *   of a message
 * @param is_table Whether it is a record batch, whose first nodes are its children
 * @param stream Stream for reads and copies, after the work that writes the array
 * @param mr Resource for copies
 * @param is_downloaded Whether only `download_body` reads the buffers. It clears the bits after
 *   bitmaps. Otherwise bitmaps that may have bits of other rows in their last byte are copied.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT ipc_body describe_body(device_array const& array,
                                                              bool is_table,
                                                              cuda::stream_ref stream,
                                                              rmm::device_async_resource_ref mr,
                                                              bool is_downloaded = false);

/// The contents of a message's metadata for a record batch, and its buffers.
struct ipc_batch {
  std::int64_t length;                            ///< rows
  std::span<ipc_node const> nodes;                ///< depth first
  std::span<ipc_buffer const> buffers;            ///< the buffers of the nodes, with their sizes
  std::span<std::int64_t const> variadic_counts;  ///< data buffers of each array of views
};

/// The checks of a batch before it is used.
enum class body_checks : std::int8_t {
  sizes,  ///< metadata and sizes of buffers; no buffer is read
  ends,   ///< also the ends of offsets and of runs; on device memory this waits once
  all  ///< also all checks of the full validation of an import; device memory is copied to the host
};

/// The location of the buffers of a batch, and their owner.
struct ipc_memory {
  memory_location location;           ///< location of the buffers
  std::shared_ptr<void const> owner;  ///< keeps them alive
  bool owner_frees_on_stream{false};  ///< as in `export_options`
};

/**
 * @brief Creates arrays from the bodies of messages, over their buffers.
 *
 * A batch is checked before its buffers are read: each buffer must be large enough for the number
 * of rows. Immutable, so any number of threads may use it. Cheap to copy.
 */
class CUDF_ARROW_BRIDGE_EXPORT body_decoder {
 public:
  /**
   * @throws cudf::data_type_error for a type that is not supported
   * @throws std::invalid_argument for a schema that contradicts itself or the specification
   *
   * @param schema Schema of the stream, a struct; only read
   */
  explicit body_decoder(ArrowSchema const& schema);

  /// @return The schema; valid as long as the decoder or a copy of it
  [[nodiscard]] shared_schema const& schema() const noexcept;

  /// @return Dictionaries of the schema, depth first, including those within the values of others
  [[nodiscard]] std::size_t num_dictionaries() const noexcept;

  /// The field of a dictionary's values.
  [[nodiscard]] shared_schema dictionary_schema(std::size_t index) const;

  /// @return The index after the dictionaries within the values of one
  [[nodiscard]] std::size_t end_of_dictionary(std::size_t index) const;

  /**
   * @brief Creates a record batch, a struct array, or the values of a dictionary.
   *
   * @throws std::invalid_argument if metadata, buffers and schema contradict each other, or for
   *   contents that `checks` rejects
   *
   * @param batch Metadata and buffers
   * @param dictionaries Values of all dictionaries, depth first, in the batch's kind of memory; for
   *   a dictionary, those within its values are used
   * @param memory Location and owner of the buffers
   * @param checks The checks
   * @param stream Stream whose enqueued work writes the buffers
   * @param dictionary Index of the dictionary; without a value, a record batch is created
   */
  [[nodiscard]] device_array decode(ipc_batch const& batch,
                                    std::span<device_array const> dictionaries,
                                    ipc_memory const& memory,
                                    body_checks checks,
                                    cuda::stream_ref stream,
                                    std::optional<std::size_t> dictionary = std::nullopt) const;

 private:
  struct state;
  std::shared_ptr<state const> state_;
};

/**
 * @brief Reads or fills a piece of a packed body, from the first to the last.
 *
 * The memory of the piece is reused after the call; `owner` keeps it alive.
 */
using body_transfer =
  std::function<void(std::span<std::byte> piece, std::shared_ptr<void const> const& owner)>;

/**
 * @brief Copies a packed body, the buffers and the zeros between them, to the host through two
 * pieces of pinned memory: while one is used, the next is being copied.
 *
 * If it fails, the body and that memory are kept alive until the copies are done.
 *
 * @throws std::invalid_argument if `chunk_size` is 0, or the body is in CPU memory
 * @throws rmm::cuda_error if a copy, or work before it, has failed
 *
 * @param body Body to read
 * @param chunk_size Maximum size in bytes of each piece, limited to 16 MiB; smaller if that much
 *   pinned memory is not available
 * @param write Called with each piece after its copy; may throw
 * @param stream Stream that copies are enqueued on, the one of `describe_body`
 */
CUDF_ARROW_BRIDGE_EXPORT void download_body(ipc_body const& body,
                                            std::size_t chunk_size,
                                            body_transfer const& write,
                                            cuda::stream_ref stream);

/**
 * @brief Fills memory of the current device from the host through two pieces of pinned memory:
 * while one is filled, the other is copied.
 *
 * @throws std::logic_error without a GPU
 * @throws std::invalid_argument if `chunk_size` is 0
 * @throws rmm::cuda_error if a call of CUDA fails, or work on the stream has failed
 * @throws rmm::bad_alloc if memory runs out
 *
 * @param size Bytes of the body
 * @param chunk_size Bytes of each piece at most, as for `download_body`
 * @param read Fills each piece; may throw
 * @param stream Stream that copies are enqueued on; must outlive the memory
 * @param mr Resource for the memory
 * @return The memory, filled in stream order
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT rmm::device_buffer upload_body(
  std::size_t size,
  std::size_t chunk_size,
  body_transfer const& read,
  cuda::stream_ref stream,
  rmm::device_async_resource_ref mr);

/**
 * @brief Copies pageable host memory to memory of the current device; see above.
 *
 * Up to four threads copy, each through two pieces of pinned memory of at most 2 MiB. Does not
 * access `source` after it returns.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT rmm::device_buffer upload_body(
  std::span<std::byte const> source,
  std::size_t chunk_size,
  cuda::stream_ref stream,
  rmm::device_async_resource_ref mr);

/// @}

}  // namespace cudf_arrow_bridge
