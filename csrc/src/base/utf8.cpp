// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace cudf_arrow_bridge::detail {
namespace {

/// What the first byte of a code point says of the others.
struct lead {
  std::size_t others;     ///< bytes that follow
  std::uint8_t least{0};  ///< first of these
  std::uint8_t most{0};
};

/// Table 3-7 of the Unicode standard; `others` is 4 for what no code point begins with.
lead lead_of(std::uint8_t byte)
{
  if (byte < 0x80) { return {0}; }
  if (byte < 0xc2) { return {4}; }
  if (byte < 0xe0) { return {1, 0x80, 0xbf}; }
  if (byte == 0xe0) { return {2, 0xa0, 0xbf}; }
  if (byte == 0xed) { return {2, 0x80, 0x9f}; }
  if (byte < 0xf0) { return {2, 0x80, 0xbf}; }
  if (byte == 0xf0) { return {3, 0x90, 0xbf}; }
  if (byte < 0xf4) { return {3, 0x80, 0xbf}; }
  if (byte == 0xf4) { return {3, 0x80, 0x8f}; }
  return {4};
}

bool is_ascii(char const* bytes)
{
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) noexcept
{
  auto const at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  auto i        = std::size_t{0};
  while (i < text.size()) {
    if (text.size() - i >= 8 && is_ascii(&text[i])) {
      i += 8;
      continue;
    }
    auto const [others, least, most] = lead_of(at(i));
    if (others >= text.size() - i) { break; }
    if (others > 0 && (at(i + 1) < least || at(i + 1) > most)) { break; }
    auto followed = std::size_t{2};
    while (followed <= others && (at(i + followed) & 0xc0) == 0x80) { ++followed; }
    if (followed <= others) { break; }
    i += 1 + others;
  }
  return i;
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
