// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace cudf_arrow_bridge::detail {
namespace {

/// A character at the begin of a text.
struct character {
  std::uint32_t point;  ///< Unicode code point
  std::size_t size;     ///< in bytes; 0: the text does not begin with valid UTF-8
};

/// @param text Text of at least one byte
character first_character(std::string_view text)
{
  // The least code point that needs each number of bytes.
  constexpr auto least = std::array{0x0U, 0x80U, 0x800U, 0x10000U};
  auto const first     = static_cast<std::uint8_t>(text.front());
  auto const size     = std::size_t{first < 0x80 ? 1U : first < 0xe0 ? 2U : first < 0xf0 ? 3U : 4U};
  auto const is_first = first < 0x80 || (first >= 0xc0 && first < 0xf8);
  if (!is_first || size > text.size()) { return {0, 0}; }
  auto point = size == 1 ? first : first & (0x7fU >> size);
  for (auto const each : text.substr(1, size - 1)) {
    auto const byte = static_cast<std::uint8_t>(each);
    if ((byte & 0xc0U) != 0x80) { return {0, 0}; }
    point = (point << 6U) | (byte & 0x3fU);
  }
  auto const is_surrogate = point >= 0xd800 && point < 0xe000;
  auto const is_valid     = point >= least[size - 1] && point <= 0x10ffff && !is_surrogate;
  return {point, is_valid ? size : 0};
}

/// @return Whether 8 ASCII characters are first
bool begins_with_ascii(std::string_view text)
{
  std::uint64_t word;
  if (text.size() < sizeof word) { return false; }
  std::memcpy(&word, text.data(), sizeof word);
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

bool is_printable(std::uint32_t point)
{
  return std::ranges::none_of(
    unprintable, [&](auto const& each) { return each.first <= point && point <= each.last; });
}

}  // namespace

bool is_utf8(std::string_view text) noexcept
{
  while (!text.empty()) {
    auto const size = begins_with_ascii(text) ? std::size_t{8} : first_character(text).size;
    if (size == 0) { return false; }
    text.remove_prefix(size);
  }
  return true;
}

std::string to_utf8(std::string_view text)
{
  static constexpr auto digits = std::string_view{"0123456789abcdef"};
  auto result                  = std::string{};
  while (!text.empty()) {
    auto const [point, size] = first_character(text);
    auto const bytes         = text.substr(0, std::max(size, std::size_t{1}));
    text.remove_prefix(bytes.size());
    if (size > 0 && is_printable(point)) {
      result += bytes;
      continue;
    }
    for (auto const each : bytes) {
      auto const byte = static_cast<std::uint8_t>(each);
      result += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    }
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
