// SPDX-License-Identifier: Apache-2.0
/// @file
/// Unusual and invalid numbers, format strings, names and pointers.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

namespace cudf_arrow_bridge::fuzz {

constexpr auto int64_max = std::numeric_limits<std::int64_t>::max();

/// An invalid address, for pointers of released structs, which must not be followed.
constexpr std::uintptr_t invalid_address = 16;

// clang-format off
constexpr auto strange_numbers = std::to_array<std::int64_t>({
  -1, -2, 0, 1, 2, 127, 128, 1 << 20, (1LL << 31) - 2, (1LL << 31) - 1, 1LL << 31, 1LL << 32,
  1LL << 40, int64_max / 32, int64_max / 32 + 1, int64_max / 8, int64_max - 1, int64_max,
  -int64_max - 1});

constexpr auto strange_formats = std::to_array<std::string_view>({
  "", "x", "+", "+x", "+v", "+w", "+w:", "+w:-1", "+w:0", "+w:99999999999", "w", "w:",
  "w:-3", "w:0", "w:2147483647", "d", "d:", "d:1", "d:,", "d:9,2,33", "d:0,0", "d:-1,5",
  "d:99,2", "d:9,99999999999", "d:9,-2147483648,32", "d:38,2147483647", "t", "ts", "tss",
  "tsx:", "td", "tD", "ti", "tiX", "+us:", "+ud:1,2", "+us:300", "+ud:a", "i ", "ii", "u\n",
  "\xff\xfe", "+s+s", "vx", "v", "nn", "+r:", "%s%n", "+us:0", "+ud:0,1",
  "tiM", "tiD", "tin", "d:70,5,256", "tsn:Europe/Berlin"});

constexpr auto strange_names = std::to_array<std::string_view>({
  "", "\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "a\nb", "%s%n", "[]",
  ".", "\xe2\x82\xac"});
// clang-format on

}  // namespace cudf_arrow_bridge::fuzz
