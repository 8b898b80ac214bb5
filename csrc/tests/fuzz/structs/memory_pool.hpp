// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cudf_arrow_bridge::fuzz {

/// What a buffer holds, as far as its contents must make sense.
enum class content : std::int8_t {
  text,        ///< strings of schemas, metadata
  bits,        ///< validity or bools
  values,      ///< any bytes will do
  offsets,     ///< ascending, within the child or the data behind them
  bytes,       ///< what offsets point into
  list_views,  ///< offsets or sizes of list views
  views,       ///< string views
  view_sizes,  ///< sizes of the buffers that string views point into
  indices,     ///< of a dictionary
  run_ends,    ///< ascending, up to the length of the parent
};

/// A buffer, and which rows of which kind it has memory for.
struct block {
  std::byte* memory;
  std::size_t size;
  content kind;
  std::int64_t row_bits;
  std::int64_t first_row;
  std::int64_t end_row;
};

/**
 * @brief Memory of one case, each block of exactly the size that was asked for.
 *
 * So the address sanitizer sees whoever reads a byte more. `conceal` makes it see whoever reads at
 * all.
 */
class memory_pool {
 public:
  memory_pool()                              = default;
  memory_pool(memory_pool const&)            = delete;
  memory_pool& operator=(memory_pool const&) = delete;
  ~memory_pool() { truncate(0); }

  /// Memory that the rows from `first_row` on have, addressed as if there were rows before it.
  std::byte* rows(content kind,
                  std::int64_t row_bits,
                  std::int64_t first_row,
                  std::int64_t end_row,
                  void const** address);

  std::byte* allocate(content kind, std::size_t size);

  /// Makes an address within a block known as holding what another block does.
  void const* add_alias(std::byte const* address, block const& like);

  char const* text(std::string_view text);

  /// @return Null for an address that is no block's
  [[nodiscard]] block const* find(void const* address) const;

  [[nodiscard]] std::size_t size() const { return order_.size(); }

  [[nodiscard]] std::size_t num_bytes() const { return num_bytes_; }

  /// Frees all blocks but the first `size`.
  void truncate(std::size_t size);

  /// Of texts, which are schemas', whoever releases an array reads on.
  void conceal() const;
  void reveal() const;

 private:
  std::vector<void const*> order_;
  std::unordered_map<void const*, block> blocks_;
  std::size_t num_bytes_{0};
};

/// Makes the address sanitizer report any access to an object, or no longer.
void conceal(void const* memory, std::size_t size);
void reveal(void const* memory, std::size_t size);

}  // namespace cudf_arrow_bridge::fuzz
