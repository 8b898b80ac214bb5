// SPDX-License-Identifier: Apache-2.0
#include "fuzz/oracles/verdict.hpp"

#include <algorithm>
#include <string_view>

namespace cudf_arrow_bridge::fuzz {
namespace {

/// Bytes that a trial may allocate for each level (besides its name) and each byte of the array.
constexpr std::int64_t bytes_per_level = 1024;
constexpr std::int64_t bytes_per_byte  = 64;
constexpr std::int64_t max_name        = 5000;
constexpr std::int64_t max_depth       = 64;

bool is_utf8(std::string_view text)
{
  for (std::size_t i = 0; i < text.size();) {
    auto const first = static_cast<unsigned char>(text[i++]);
    auto const more  = first < 0x80   ? 0
                       : first < 0xc2 ? -1
                       : first < 0xe0 ? 1
                       : first < 0xf0 ? 2
                                      : 3;
    if (more < 0 || first > 0xf4) { return false; }
    for (auto j = 0; j < more; ++j) {
      if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
        return false;
      }
      ++i;
    }
  }
  return true;
}

std::string refusal;

}  // namespace

std::string const& last_refusal() { return refusal; }

void check_message(char const* message)
{
  {
    auto const kept = uncounted{};
    refusal         = message;
  }
  if (*message == '\0' || !is_utf8(message)) {
    throw finding{"an error message that is empty or not UTF-8"};
  }
}

void check_peak(tree const& target, std::int64_t peak)
{
  auto const bytes = static_cast<std::int64_t>(target.pool.num_bytes());
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
