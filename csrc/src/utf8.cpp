// SPDX-License-Identifier: Apache-2.0
#include "utf8.hpp"

namespace cudf_arrow_bridge::detail {
namespace {

/// @return The bytes of the character that a text begins with; 0 if it begins with none
std::size_t first_character(std::string_view text) noexcept
{
  auto const byte   = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const lead   = byte(0);
  auto const length = lead < 0x80   ? std::size_t{1}
                      : lead < 0xc2 ? std::size_t{0}
                      : lead < 0xe0 ? std::size_t{2}
                      : lead < 0xf0 ? std::size_t{3}
                      : lead < 0xf5 ? std::size_t{4}
                                    : std::size_t{0};
  if (length < 2) { return length; }
  if (text.size() < length) { return 0; }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) { return 0; }
  }
  // Longer than need be, halves of a pair, and what is beyond the last character.
  auto const second  = byte(1);
  auto const strange = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                       (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return strange ? 0 : length;
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) noexcept
{
  auto size = std::size_t{0};
  while (size < text.size()) {
    auto const length = first_character(text.substr(size));
    if (length == 0) { break; }
    size += length;
  }
  return size;
}

std::string to_utf8(std::string_view text)
{
  static constexpr auto digits = std::string_view{"0123456789abcdef"};
  auto result                  = std::string{};
  for (;;) {
    auto const size = utf8_prefix(text);
    result += text.substr(0, size);
    if (size == text.size()) { return result; }
    auto const byte = static_cast<unsigned char>(text[size]);
    result += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    text.remove_prefix(size + 1);
  }
}

}  // namespace cudf_arrow_bridge::detail
