// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace cudf_arrow_bridge::detail {

/// A callback that a call of the peer may still run while its owner drops it; null for an empty
/// function.
using shared_callback = std::shared_ptr<std::function<void()> const>;

inline shared_callback share_of(std::function<void()> callback)
{ return callback ? std::make_shared<std::function<void()> const>(std::move(callback)) : nullptr; }

}  // namespace cudf_arrow_bridge::detail
