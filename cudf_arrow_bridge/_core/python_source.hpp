// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/stream.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {

/**
 * @brief Asks a Python object for the next source of batches; null at the end.
 *
 * @return 0, or an `errno` code with a message. Called without the GIL, never throws.
 */
using pull_function = int (*)(void const* object,
                              std::unique_ptr<batch_source>& source,
                              std::string& message);

/// A source of the batches of all sources that a Python object gives, one after the other.
inline std::unique_ptr<batch_source> python_source(std::shared_ptr<void const> object,
                                                   pull_function pull)
{
  return chain([object = std::move(object), pull] {
    auto source     = std::unique_ptr<batch_source>{};
    auto message    = std::string{};
    auto const code = pull(object.get(), source, message);
    if (code != 0) { throw stream_error{code, message}; }
    return source;
  });
}

/// `device_array_stream::to_arrow`, which leaves nothing in the stream.
inline unique_device_array_stream move_to_arrow(device_array_stream& stream)
{ return std::move(stream).to_arrow(); }

/// `device_array_stream::to_arrow_host`, which leaves nothing in the stream.
inline unique_array_stream move_to_arrow_host(device_array_stream& stream)
{ return std::move(stream).to_arrow_host(); }

}  // namespace cudf_arrow_bridge
