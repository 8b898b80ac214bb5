// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {

/// @return Whether a text is valid UTF-8
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Replaces bytes that are not valid UTF-8, controls and invisible characters by `\xNN` for each
/// byte, for messages.
[[nodiscard]] std::string to_utf8(std::string_view text);

}  // namespace cudf_arrow_bridge::detail
