// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// @return How many bytes the text has, from its start on, before the first that is not UTF-8
[[nodiscard]] std::size_t utf8_prefix(std::string_view text) noexcept;

/// @return Whether a text is UTF-8 throughout
[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept
{ return utf8_prefix(text) == text.size(); }

/// The text with each byte that is not UTF-8 written as `\xNN`, as messages need it.
[[nodiscard]] std::string to_utf8(std::string_view text);

}  // namespace cudf_arrow_bridge::detail
