// SPDX-License-Identifier: Apache-2.0
#include "base/scratch.hpp"

#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <algorithm>
#include <iterator>

namespace cudf_arrow_bridge::detail {
namespace {

/// Bytes that a block has beyond the first allocation. Later allocations of a call are rarely
/// larger in total than the first one.
constexpr std::size_t least_reserve = std::size_t{1} << 20;
constexpr std::size_t most_reserve  = std::size_t{1} << 26;

std::size_t round_up(std::size_t bytes)
{
  constexpr auto unit = scratch_resource::granularity;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

void scratch_resource::state::add_free(range freed) noexcept
{
  auto const goes_on = [&](range const& left, range const& right) {
    return left.first + left.size == right.first &&
           std::ranges::none_of(blocks, [&](auto& block) { return block.data() == right.first; });
  };
  auto next = std::ranges::lower_bound(free, freed.first, {}, &range::first);
  if (next != free.end() && goes_on(freed, *next)) {
    freed.size += next->size;
    next = free.erase(next);
  }
  if (next != free.begin() && goes_on(*std::prev(next), freed)) {
    std::prev(next)->size += freed.size;
  } else {
    free.insert(next, freed);
  }
}

void* scratch_resource::allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t)
{
  auto& [blocks, free, num_taken] = *state_;
  // Reserve the elements that `deallocate` adds, because it must not fail.
  auto const most_free = num_taken + blocks.size() + 2;
  if (free.capacity() < most_free) { free.reserve(2 * most_free); }
  auto const size = round_up(bytes);
  auto const fits = [&](range const& one) { return one.size >= size; };
  auto found      = std::ranges::find_if(free, fits);
  if (found == free.end()) {
    auto const whole = size + std::clamp(size, least_reserve, most_reserve);
    auto& block = blocks.emplace_back(whole, stream, rmm::mr::get_current_device_resource_ref());
    state_->add_free({static_cast<std::byte*>(block.data()), whole});
    found = std::ranges::find_if(free, fits);
  }
  auto* const result = found->first;
  found->first += size;
  found->size -= size;
  if (found->size == 0) { free.erase(found); }
  ++num_taken;
  return result;
}

void scratch_resource::deallocate(cuda::stream_ref,
                                  void* memory,
                                  std::size_t bytes,
                                  std::size_t) noexcept
{
  state_->add_free({static_cast<std::byte*>(memory), round_up(bytes)});
  --state_->num_taken;
}

void* scratch_resource::allocate_sync(std::size_t, std::size_t)
{ throw rmm::bad_alloc{"temporary memory is allocated on a stream"}; }

void scratch_resource::deallocate_sync(void* memory,
                                       std::size_t bytes,
                                       std::size_t alignment) noexcept
{ deallocate(cuda::stream_ref{cudaStream_t{}}, memory, bytes, alignment); }

}  // namespace cudf_arrow_bridge::detail
