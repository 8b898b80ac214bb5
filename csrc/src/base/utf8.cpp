// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <algorithm>
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

/// A range of code points, both ends included.
struct range {
  std::uint32_t first, last;
};

/// Controls, line separators, and characters that are invisible or change the direction of text.
constexpr range unprintable[]{{0x00, 0x1f},
                              {0x7f, 0x9f},
                              {0xad, 0xad},
                              {0x61c, 0x61c},
                              {0x180e, 0x180e},
                              {0x200b, 0x200f},
                              {0x2028, 0x202e},
                              {0x2060, 0x206f},
                              {0xfeff, 0xfeff},
                              {0xfff9, 0xfffb},
                              {0xe0000, 0xe0fff}};

/// The number of bytes of the valid character at the begin of a text.
std::size_t character_size(std::string_view text)
{ return 1 + parse_leading_byte(static_cast<std::uint8_t>(text.front())).num_following; }

bool is_printable(std::string_view character)
{
  auto const size = character.size();
  auto point      = static_cast<std::uint32_t>(static_cast<std::uint8_t>(character.front()));
  if (size > 1) { point &= 0x7fU >> size; }
  for (auto const byte : character.substr(1)) {
    point = (point << 6U) | (static_cast<std::uint8_t>(byte) & 0x3fU);
  }
  return std::ranges::none_of(
    unprintable, [&](auto const& each) { return each.first <= point && point <= each.last; });
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
  auto valid                   = utf8_prefix(text);
  while (!text.empty()) {
    auto const character = text.substr(0, valid == 0 ? 1 : character_size(text));
    if (valid != 0 && is_printable(character)) {
      result += character;
    } else {
      for (auto const each : character) {
        auto const byte = static_cast<std::uint8_t>(each);
        result += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
      }
    }
    text.remove_prefix(character.size());
    valid = valid == 0 ? utf8_prefix(text) : valid - character.size();
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
