// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

/// Copies the text to a heap buffer, so that AddressSanitizer detects reads past its end.
bool is_utf8(std::string const& text)
{
  auto const bytes = std::vector<char>(text.begin(), text.end());
  return detail::is_utf8({bytes.data(), bytes.size()});
}

/// Return a number encoded as UTF-8, even if it is not a code point.
std::string encode(std::uint32_t point)
{
  auto const tail = [&](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) { return {static_cast<char>(point)}; }
  if (point < 0x800) { return {static_cast<char>(0xc0 | (point >> 6)), tail(0)}; }
  if (point < 0x10000) { return {static_cast<char>(0xe0 | (point >> 12)), tail(6), tail(0)}; }
  return {static_cast<char>(0xf0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, AcceptsEveryCodePointExceptSurrogates)
{
  for (std::uint32_t point = 0; point <= 0x110100; ++point) {
    auto const expected = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    ASSERT_EQ(is_utf8(encode(point)), expected) << point;
    if (point % 97 == 0) {
      ASSERT_EQ(is_utf8("seven.." + encode(point) + "eight..."), expected) << point;
    }
  }
}

TEST(Utf8, RejectsTruncatedAndOverlongCharacters)
{
  for (auto const* text : {"é", "€", "\xf0\x9f\x98\x80"}) {
    auto const whole = std::string{text};
    for (std::size_t size = 1; size < whole.size(); ++size) {
      EXPECT_FALSE(is_utf8(whole.substr(0, size)));
      EXPECT_FALSE(is_utf8(whole.substr(0, size) + "a"));
      EXPECT_FALSE(is_utf8("12345678" + whole.substr(0, size)));
    }
    EXPECT_FALSE(is_utf8(whole.substr(1)));
  }
  for (auto const* text : {"\xc0\x80",
                           "\xc1\xbf",
                           "\xe0\x80\x80",
                           "\xe0\x9f\xbf",
                           "\xf0\x80\x80\x80",
                           "\xf0\x8f\xbf\xbf",
                           "\xf8\x88\x80\x80\x80",
                           "\xfe",
                           "\xff",
                           "\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string(1, '\0')));
}

TEST(Utf8, EscapesInvalidBytes)
{
  EXPECT_EQ(detail::to_utf8("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
  EXPECT_EQ(detail::to_utf8("a\xff\xc3\xa9\xe2\x82"), "a\\xff\xc3\xa9\\xe2\\x82");
  EXPECT_EQ(detail::to_utf8("a\x1b\xff\n\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81"),
            "a\\x1b\\xff\\x0a\\xc2\\x9b\\xe2\\x80\\xae\\xf3\\xa0\\x80\\x81");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
