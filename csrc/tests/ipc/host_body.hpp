// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/ipc.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::test {

using bytes_t = std::vector<std::byte>;

inline cuda::stream_ref no_stream() { return cuda::stream_ref{cudaStream_t{}}; }

/// A body in host memory, and its packed bytes.
struct host_body {
  explicit host_body(std::vector<std::size_t> const& sizes)
  {
    auto const buffers = std::make_shared<std::vector<bytes_t>>();
    auto value         = 0U;
    for (auto const size : sizes) {
      auto& buffer = buffers->emplace_back(size);
      std::generate(
        buffer.begin(), buffer.end(), [&] { return static_cast<std::byte>(value++ % 251 + 1); });
      packed.insert(packed.end(), buffer.begin(), buffer.end());
      packed.resize((packed.size() + 63) / 64 * 64);
      body.buffers.push_back({buffer.data(), static_cast<std::int64_t>(size)});
    }
    body.owner = buffers;
  }

  ipc_body body;
  bytes_t packed;
};

}  // namespace cudf_arrow_bridge::test
