// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/async.hpp>

#include <string>
#include <utility>

namespace cudf_arrow_bridge {

/// The result of `async_stream_reader::next`.
struct async_step {
  unique_device_array array;  ///< released at the end
  int code{0};                ///< of the producer's error; 0: none
  std::string message;
  std::string metadata;
};

/// Waits for the next array.
inline async_step step_of(async_stream_reader& reader)
{
  auto step = async_step{};
  try {
    reader.wait();
    if (auto batch = reader.next()) { step.array = std::move(batch->array); }
  } catch (async_stream_error const& error) {
    step.code     = error.code();
    step.message  = error.what();
    step.metadata = error.metadata();
  }
  return step;
}

}  // namespace cudf_arrow_bridge
