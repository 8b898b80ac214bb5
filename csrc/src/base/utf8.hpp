// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// @return Length in bytes of the longest prefix that is valid UTF-8
[[nodiscard]] std::size_t utf8_prefix(std::string_view text) noexcept;

/// @return Whether a text is valid UTF-8
[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept
{ return utf8_prefix(text) == text.size(); }

/// Replaces bytes that are not valid UTF-8, controls and invisible characters by `\xNN` for each
/// byte, for messages.
[[nodiscard]] std::string to_utf8(std::string_view text);

}  // namespace cudf_arrow_bridge::detail
