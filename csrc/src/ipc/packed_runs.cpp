// SPDX-License-Identifier: Apache-2.0
#include "ipc/packed_runs.hpp"

#include <algorithm>

namespace cudf_arrow_bridge {

std::int64_t ipc_body::packed_size() const noexcept
{
  auto size = std::int64_t{0};
  for (auto const& buffer : buffers) { size += ipc_padded(buffer.size); }
  return size;
}

namespace detail {

packed_run packed_runs::take(std::size_t limit) noexcept
{
  for (; buffer_ < body_.buffers.size(); ++buffer_, taken_ = 0) {
    auto const& buffer = body_.buffers[buffer_];
    auto const size    = static_cast<std::size_t>(buffer.size);
    auto const padded  = static_cast<std::size_t>(ipc_padded(buffer.size));
    if (taken_ == padded) { continue; }
    auto const is_data = taken_ < size;
    auto const run =
      packed_run{is_data ? static_cast<std::byte const*>(buffer.address) + taken_ : nullptr,
                 std::min(limit, (is_data ? size : padded) - taken_)};
    taken_ += run.size;
    return run;
  }
  return {nullptr, 0};
}

}  // namespace detail
}  // namespace cudf_arrow_bridge
