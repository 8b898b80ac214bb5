// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace sim::detail {

/// A piece of memory, given out or not.
struct block {
  std::byte* data;
  std::size_t capacity;
  memory_kind kind;
  int device;
  std::size_t size{0};  ///< as asked for
  bool live{false};
  bool lasting{false};        ///< neither counted nor taken away: somebody's pool has it
  std::uint64_t num_uses{0};  ///< how often it was given out
};

/// Fills memory with a byte, whoever may use it by now: so freed memory is overwritten.
void scribble(std::byte* data, std::size_t size, std::byte value);

/**
 * @brief All memory of the machine. Nothing here locks: the machine's mutex guards it.
 *
 * Blocks are kept in lists, newest first: one per size class for those that anybody may take, one
 * more per stream for those whose stream has not got to the point where they were freed.
 */
class memory_table {
 public:
  memory_table() = default;
  ~memory_table() { clear(); }

  memory_table(memory_table const&)            = delete;
  memory_table& operator=(memory_table const&) = delete;

  /// @param stream Where the memory is going to be used, by the stream's `id`, or 0 for anywhere
  void* allocate(memory_kind kind, int device, std::size_t size, std::uint64_t stream);

  /// @return The block that `address` is in, if it is given out
  [[nodiscard]] block const* find(void const* address) const;

  /// Takes memory back for everybody, overwritten. @return Whether it was given out
  bool deallocate(void* memory);

  /// Takes memory back for `stream` alone. @return The block, or null if it was not given out
  block* deallocate_on(std::uint64_t stream, void* memory);

  /// To be called once `stream` got there: the block is everybody's, unless it was given out again.
  void stream_passed(std::uint64_t stream, block* freed, std::uint64_t num_uses);

  [[nodiscard]] std::size_t num_live() const { return num_live_; }

  [[nodiscard]] std::string describe_live() const;

  /// Takes all memory away but what lasts.
  void clear();

  /// Lets memory that was just given out last.
  void* keep(void* memory);

 private:
  using size_class = std::tuple<std::uint64_t, memory_kind, int, std::size_t>;

  block* take_free(size_class const& wanted);
  block* live_block(void* memory);

  std::map<std::uintptr_t, block> blocks_;
  std::map<size_class, std::vector<block*>> free_;
  std::size_t num_live_{0};
};

}  // namespace sim::detail
