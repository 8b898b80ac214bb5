// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cudf_arrow_bridge::fuzz {

/// Kind of a buffer's contents, and what makes them valid.
enum class content : std::int8_t {
  text,        ///< strings of schemas, metadata
  bits,        ///< validity or bools
  values,      ///< any bytes are valid
  offsets,     ///< ascending, within the child or the data behind them
  bytes,       ///< what offsets point into
  list_views,  ///< offsets or sizes of list views
  views,       ///< string views
  view_sizes,  ///< sizes of the buffers that string views point into
  indices,     ///< of a dictionary
  run_ends,    ///< ascending, up to the length of the parent
};

/// A buffer, and the rows that it has memory for.
struct block {
  std::byte* memory;
  std::size_t size;
  content kind;
  std::int64_t row_bits;
  std::int64_t first_row;
  std::int64_t end_row;
};

/**
 * @brief Memory of one tree, each block of exactly the requested size.
 *
 * So AddressSanitizer detects reads past a block. After `poison` it detects any access.
 */
class memory_pool {
 public:
  memory_pool()                              = default;
  memory_pool(memory_pool const&)            = delete;
  memory_pool& operator=(memory_pool const&) = delete;
  ~memory_pool() { truncate(0); }

  /// Allocates memory for rows `first_row` to `end_row`. `address` is set to where row 0 would be,
  /// so that a buffer for rows 1'000'000 to 1'000'010 needs memory only for 10 rows.
  std::byte* rows(content kind,
                  std::int64_t row_bits,
                  std::int64_t first_row,
                  std::int64_t end_row,
                  void const** address);

  std::byte* allocate(content kind, std::size_t size);

  /// Registers an address within a block, with the rows and kind of another block.
  void const* add_alias(std::byte const* address, block const& like);

  char const* text(std::string_view text);

  /// @return Null if no block is registered for the address
  [[nodiscard]] block const* find(void const* address) const;

  [[nodiscard]] std::size_t size() const { return order_.size(); }

  [[nodiscard]] std::size_t num_bytes() const { return num_bytes_; }

  /// Frees all blocks but the first `size`.
  void truncate(std::size_t size);

  /// Poisons all blocks but those of schemas, which may be read after the array's release.
  void poison() const;
  void unpoison() const;

 private:
  std::vector<void const*> order_;
  std::unordered_map<void const*, block> blocks_;
  std::size_t num_bytes_{0};
};

/// Poison or unpoison memory for AddressSanitizer.
void poison(void const* memory, std::size_t size);
void unpoison(void const* memory, std::size_t size);

}  // namespace cudf_arrow_bridge::fuzz
