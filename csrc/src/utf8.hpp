// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace cudf_arrow_bridge::detail {

/// @return Whether bytes are UTF-8: no code point in more bytes than it needs, no half of a
///   surrogate pair, none beyond U+10FFFF
bool is_utf8(std::span<std::byte const> bytes) noexcept;

}  // namespace cudf_arrow_bridge::detail
