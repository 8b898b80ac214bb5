// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/types.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// A range of bits as libcudf takes it: in aligned words, counted in 32 bits. Arrow promises
/// neither.
struct mask_words {
  cudf::bitmask_type const* words;
  cudf::size_type begin;  ///< less than a word's bits
  cudf::size_type size;

  [[nodiscard]] cudf::size_type end() const { return begin + size; }
};

/// How many bits one of several parts has: whole blocks of 64 bytes, which libcudf pads masks to.
constexpr std::int64_t most_bits_of_part = std::int64_t{1} << 30;

/**
 * @brief A range in parts, in their order, that each end within 32 bits.
 *
 * A column has up to 2^31 - 1 rows. Counted from the word in which the first one's bit is, the last
 * one's may be beyond that: then there are two parts.
 */
inline std::vector<mask_words> mask_words_of(bit_range const& range)
{
  auto parts = std::vector<mask_words>{};
  auto done  = std::int64_t{0};
  do {
    auto const left    = range.size - done;
    auto const begin   = range.begin + done;
    auto const* first  = static_cast<std::byte const*>(range.bits) + begin / 8;
    auto const crooked = reinterpret_cast<std::uintptr_t>(first) % sizeof(cudf::bitmask_type);
    auto const skip    = static_cast<std::int64_t>(crooked) * 8 + begin % 8;
    auto const fits    = skip + left <= std::int64_t{std::numeric_limits<cudf::size_type>::max()};
    auto const size    = fits ? left : most_bits_of_part;
    parts.push_back({reinterpret_cast<cudf::bitmask_type const*>(first - crooked),
                     static_cast<cudf::size_type>(skip),
                     static_cast<cudf::size_type>(size)});
    done += size;
  } while (done < range.size);
  return parts;
}

}  // namespace cudf_arrow_bridge::detail
