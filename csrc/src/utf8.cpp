// SPDX-License-Identifier: Apache-2.0
#include "utf8.hpp"

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

bool is_ascii(std::byte const* bytes)
{
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

}  // namespace

bool is_utf8(std::span<std::byte const> bytes) noexcept
{
  auto const at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  for (std::size_t i = 0; i < bytes.size();) {
    if (bytes.size() - i >= 8 && is_ascii(&bytes[i])) {
      i += 8;
      continue;
    }
    auto const [others, least, most] = lead_of(at(i));
    if (others >= bytes.size() - i) { return false; }
    if (others > 0 && (at(i + 1) < least || at(i + 1) > most)) { return false; }
    for (std::size_t k = 2; k <= others; ++k) {
      if ((at(i + k) & 0xc0) != 0x80) { return false; }
    }
    i += 1 + others;
  }
  return true;
}

}  // namespace cudf_arrow_bridge::detail
