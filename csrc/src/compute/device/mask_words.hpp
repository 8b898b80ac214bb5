// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compute/buffers.hpp"

#include <cudf/types.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// A range of bits as libcudf requires it: in aligned words, with 32-bit bit indices. Arrow
/// guarantees neither.
struct mask_words {
  cudf::bitmask_type const* words;  ///< aligned
  cudf::size_type begin;            ///< first bit, counted from `words`; less than 32
  cudf::size_type size;             ///< bits

  [[nodiscard]] cudf::size_type end() const { return begin + size; }
};

/// Bits of each part except the last: a multiple of 64 bytes, to which libcudf pads masks.
constexpr std::int64_t most_bits_of_part = std::int64_t{1} << 30;

/**
 * @brief Splits a range into parts whose bit indices fit `cudf::size_type`.
 *
 * A column has up to 2^31 - 1 rows. Counted from the start of the word with the first bit, the last
 * bit may have a greater index; then there are two parts.
 */
inline std::vector<mask_words> mask_words_of(bit_range const& range)
{
  auto parts = std::vector<mask_words>{};
  auto done  = std::int64_t{0};
  do {
    auto const left         = range.size - done;
    auto const begin        = range.begin + done;
    auto const* first       = static_cast<std::byte const*>(range.bits) + begin / 8;
    auto const misalignment = reinterpret_cast<std::uintptr_t>(first) % sizeof(cudf::bitmask_type);
    auto const skip         = static_cast<std::int64_t>(misalignment) * 8 + begin % 8;
    auto const fits = skip + left <= std::int64_t{std::numeric_limits<cudf::size_type>::max()};
    auto const size = fits ? left : most_bits_of_part;
    parts.push_back({reinterpret_cast<cudf::bitmask_type const*>(first - misalignment),
                     static_cast<cudf::size_type>(skip),
                     static_cast<cudf::size_type>(size)});
    done += size;
  } while (done < range.size);
  return parts;
}

}  // namespace cudf_arrow_bridge::detail
