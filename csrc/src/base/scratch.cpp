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

/// At least one unit, so that each allocation lies within its block.
std::size_t round_up(std::size_t bytes)
{
  constexpr auto unit = scratch_resource::granularity;
  return std::max((bytes + unit - 1) / unit, std::size_t{1}) * unit;
}

}  // namespace

void* scratch_resource::allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t)
{
  auto const size = round_up(bytes);
  auto const fits = [&](block const& one) { return one.memory.size() - one.used >= size; };
  auto found      = std::ranges::find_if(*blocks_, fits);
  if (found == blocks_->end()) {
    auto const whole = size + std::clamp(size, least_reserve, most_reserve);
    blocks_->push_back(
      {rmm::device_buffer{whole, stream, rmm::mr::get_current_device_resource_ref()}});
    found = std::prev(blocks_->end());
  }
  auto* const result = static_cast<std::byte*>(found->memory.data()) + found->used;
  found->used += size;
  ++found->num_allocations;
  return result;
}

void scratch_resource::deallocate(cuda::stream_ref,
                                  void* memory,
                                  std::size_t bytes,
                                  std::size_t) noexcept
{
  auto* const freed = static_cast<std::byte*>(memory);
  auto const holds  = [&](block const& one) {
    auto const* first = static_cast<std::byte const*>(one.memory.data());
    return first <= freed && freed < first + one.memory.size();
  };
  auto const found = std::ranges::find_if(*blocks_, holds);
  auto const begin =
    static_cast<std::size_t>(freed - static_cast<std::byte*>(found->memory.data()));
  if (--found->num_allocations == 0) {
    found->used = 0;
  } else if (begin + round_up(bytes) == found->used) {
    found->used = begin;
  }
}

void* scratch_resource::allocate_sync(std::size_t, std::size_t)
{ throw rmm::bad_alloc{"temporary memory is allocated on a stream"}; }

void scratch_resource::deallocate_sync(void* memory,
                                       std::size_t bytes,
                                       std::size_t alignment) noexcept
{ deallocate(cuda::stream_ref{cudaStream_t{}}, memory, bytes, alignment); }

}  // namespace cudf_arrow_bridge::detail
