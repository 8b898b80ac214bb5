// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace cudf_arrow_bridge::detail {

/// What a peer's call may be running while its owner lets it go; null for an empty function.
using shared_callback = std::shared_ptr<std::function<void()> const>;

inline shared_callback share_of(std::function<void()> callback)
{ return callback ? std::make_shared<std::function<void()> const>(std::move(callback)) : nullptr; }

}  // namespace cudf_arrow_bridge::detail
