// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace cudf_arrow_bridge::detail {
namespace {

/// The constraints of the first byte of a code point on the following bytes.
struct leading_byte {
  std::size_t num_following;   ///< continuation bytes
  std::uint8_t min_second{0};  ///< least value of the second byte
  std::uint8_t max_second{0};  ///< greatest value of the second byte
};

/// Table 3-7 of the Unicode standard. `num_following` is 4 for bytes that begin no code point.
leading_byte parse_leading_byte(std::uint8_t byte)
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
    auto const [num_following, min_second, max_second] = parse_leading_byte(at(i));
    if (num_following >= text.size() - i) { break; }
    if (num_following > 0 && (at(i + 1) < min_second || at(i + 1) > max_second)) { break; }
    auto next = std::size_t{2};
    while (next <= num_following && (at(i + next) & 0xc0) == 0x80) { ++next; }
    if (next <= num_following) { break; }
    i += 1 + num_following;
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
