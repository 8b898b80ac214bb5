// SPDX-License-Identifier: Apache-2.0
#include "fuzz/checks.hpp"

#include <iconv.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

/// Bytes that a trial may allocate for each level (besides its name) and each byte of the array.
constexpr std::int64_t bytes_per_level = 1024;
constexpr std::int64_t bytes_per_byte  = 64;
constexpr std::int64_t max_name        = 5000;
constexpr std::int64_t max_depth       = 64;

bool is_utf8(char const* text)
{
  static auto* const converter = iconv_open("WCHAR_T", "UTF-8");
  auto characters              = std::vector<wchar_t>(std::strlen(text) + 1);
  auto* from                   = const_cast<char*>(text);
  auto* to                     = reinterpret_cast<char*>(characters.data());
  auto left                    = std::strlen(text);
  auto room                    = characters.size() * sizeof(wchar_t);
  (void)iconv(converter, nullptr, nullptr, nullptr, nullptr);
  return iconv(converter, &from, &left, &to, &room) != static_cast<std::size_t>(-1);
}

}  // namespace

void check_message(char const* message)
{
  auto const examined = uncounted{};
  if (*message == '\0' || !is_utf8(message)) {
    throw finding{"an error message that is empty or not UTF-8"};
  }
}

void check_peak(tree const& target, std::int64_t peak)
{
  auto const bytes = target.num_bytes;
  // Many levels may share one struct. nanoarrow copies its strings for each level, once for a
  // `shared_schema` and once for the struct that a trial makes of it.
  auto const per_level = bytes_per_level + 2 * std::min(bytes, max_name);
  // The message of an error has the names of all levels of its path, at which a cycle has the same
  // struct. Its parts are joined, escaped and copied.
  auto const message = 4 * max_depth * std::min(bytes, max_name);
  auto const most =
    (std::int64_t{1} << 20) + bytes * bytes_per_byte + target.num_levels * per_level + message;
  if (peak > most) {
    throw finding{std::to_string(peak) + " bytes allocated for an array of " +
                  std::to_string(bytes)};
  }
}

void check_nothing_is_left()
{
  heap().stop();
  if (heap().num_live != 0) {
    throw finding{std::to_string(heap().num_live) + " blocks of memory lost"};
  }
}

}  // namespace cudf_arrow_bridge::fuzz
