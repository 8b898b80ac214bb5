// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/large_blocks.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr auto huge_page     = std::size_t{2} << 20;
constexpr auto least_advised = 2 * huge_page;
/// glibc's malloc keeps smaller blocks, and returns larger ones to the kernel immediately.
constexpr auto least_kept    = std::size_t{32} << 20;
constexpr auto most_of_block = std::size_t{128} << 20;
constexpr auto most_of_all   = std::size_t{256} << 20;

/// Calls `madvise` for the whole pages of a block.
void advise(void* memory, std::size_t bytes, std::size_t page, int advice) noexcept
{
  auto const before = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  auto const whole  = (bytes - before) / page * page;
  (void)madvise(static_cast<std::byte*>(memory) + before, whole, advice);
}

struct spare_block {
  void* memory;
  std::size_t bytes;
};

/// Trivially destructible, so that buffers may be freed at any time during the exit. The lock is
/// only tried, because in a forked child it may be held by a thread that does not exist there.
std::mutex lock;
std::array<spare_block, 4> spares{};  ///< empty ones first, then the oldest
std::size_t bytes_of_all{0};

spare_block remove(std::size_t index) noexcept
{
  auto const block = spares[index];
  for (; index > 0; --index) { spares[index] = spares[index - 1]; }
  spares[0] = {};
  bytes_of_all -= block.bytes;
  return block;
}

}  // namespace

void use_huge_pages(void* memory, std::size_t bytes) noexcept
{
  if (bytes < least_advised) { return; }
  advise(memory, bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), MADV_HUGEPAGE);
  // malloc may have reused a block with small pages, which would stay small.
  if (bytes >= least_kept) { advise(memory, bytes, huge_page, MADV_DONTNEED); }
}

bool keep_spare_block(void* memory) noexcept
{
  auto const bytes = malloc_usable_size(memory);
  if (bytes < least_kept || bytes > most_of_block) { return false; }
  auto const guard = std::unique_lock{lock, std::try_to_lock};
  if (!guard.owns_lock()) { return false; }
  for (std::size_t i = 0; i < spares.size(); ++i) {
    auto const is_full = bytes_of_all + bytes > most_of_all || spares[0].memory != nullptr;
    if (is_full && spares[i].memory != nullptr) { std::free(remove(i).memory); }
  }
  // Only whole huge pages, because others would be split.
  advise(memory, bytes, huge_page, MADV_FREE);
  for (std::size_t i = 0; i + 1 < spares.size(); ++i) { spares[i] = spares[i + 1]; }
  spares.back() = {memory, bytes};
  bytes_of_all += bytes;
  return true;
}

void* take_spare_block(std::size_t bytes, std::size_t alignment) noexcept
{
  if (bytes < least_kept || bytes > most_of_block) { return nullptr; }
  auto const guard = std::unique_lock{lock, std::try_to_lock};
  if (!guard.owns_lock()) { return nullptr; }
  for (auto i = spares.size(); i-- > 0;) {
    auto const& [memory, size] = spares[i];
    auto const is_aligned      = reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
    if (is_aligned && size >= bytes && size - bytes <= bytes / 4) { return remove(i).memory; }
  }
  return nullptr;
}

}  // namespace cudf_arrow_bridge::detail
