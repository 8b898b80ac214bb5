// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bitmasks in host memory, 64 bits at a time.
#pragma once

#include "compute/host_access.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace cudf_arrow_bridge::detail::host {

// Bit i of a mask is bit i % 64 of its word i / 64 only on little-endian hosts.
static_assert(std::endian::native == std::endian::little);

constexpr std::int64_t word_bits = 64;

/// A range of bits as words: its first bit is bit 0 of the first word, and the bits of the last
/// word beyond the range are 0. No byte outside the range is read.
class bit_words {
 public:
  explicit bit_words(bit_range const& range)
    : bytes_{static_cast<std::byte const*>(range.bits) + range.begin / 8},
      shift_{static_cast<unsigned>(range.begin % 8)},
      bits_{range.size}
  {
  }

  /// @return The number of words
  [[nodiscard]] std::int64_t size() const { return (bits_ + word_bits - 1) / word_bits; }

  [[nodiscard]] std::uint64_t operator[](std::int64_t index) const
  {
    auto const* source = bytes_ + index * word_bits / 8;
    auto const left    = bits_ - index * word_bits;
    if (left < word_bits) { return part(source, left); }
    // 64 bits starting at bit `shift_` extend into a ninth byte. If the shift is 0, the last byte
    // is read again, and the two shifts, 64 in total, remove it.
    auto const next = load<std::uint8_t>(source, shift_ == 0 ? 7 : 8);
    return load<std::uint64_t>(source, 0) >> shift_ | std::uint64_t{next} << 1 << (63 - shift_);
  }

 private:
  /// @param count At least 0 and less than 64
  static std::uint64_t low_bits(std::int64_t count)
  { return (std::uint64_t{1} << static_cast<std::uint64_t>(count)) - 1; }

  [[nodiscard]] std::uint64_t part(std::byte const* source, std::int64_t count) const
  {
    auto bytes = std::array<std::uint64_t, 2>{};
    std::memcpy(bytes.data(), source, static_cast<std::size_t>(bytes_for_bits(count + shift_)));
    return (bytes[0] >> shift_ | bytes[1] << 1 << (63 - shift_)) & low_bits(count);
  }

  std::byte const* bytes_;
  unsigned shift_;  ///< bits before the range in its first byte
  std::int64_t bits_;
};

/// @return The number of bits of a range that are 0
inline std::int64_t count_zeros(bit_range const& range)
{
  auto const words = bit_words{range};
  auto zeros       = range.size;
  for (std::int64_t i = 0; i < words.size(); ++i) { zeros -= std::popcount(words[i]); }
  return zeros;
}

/// Makes a mask of `bits` bits from the results of `word_at` for the index of each word. The
/// padding to 64 bytes, as libcudf's masks have and Arrow recommends, is zero.
template <typename WordAt>
rmm::device_buffer make_bits(std::int64_t bits, execution const& exec, WordAt word_at)
{
  auto result      = allocate(padded_mask_size(bits), exec);
  auto const words = values_of<std::uint64_t>(result);
  auto const used  = (bits + word_bits - 1) / word_bits;
  for (std::int64_t i = 0; i < used; ++i) { words[static_cast<std::size_t>(i)] = word_at(i); }
  std::fill(words.begin() + used, words.end(), 0);
  return result;
}

/// Packs 64 bools into bits. Any byte but 0 is true.
inline std::uint64_t pack(std::uint8_t const* bools)
{
  auto word = std::uint64_t{0};
#ifdef __SSE2__
  // Compilers do not generate the instruction that gathers the highest bits of 16 bytes.
  for (int i = 0; i < 4; ++i) {
    auto const sixteen = _mm_loadu_si128(reinterpret_cast<__m128i const*>(bools) + i);
    auto const zeros   = _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, _mm_setzero_si128()));
    word |= std::uint64_t{static_cast<std::uint32_t>(zeros ^ 0xffff)} << (16 * i);
  }
#else
  for (int i = 0; i < word_bits; ++i) { word |= std::uint64_t{bools[i] != 0} << i; }
#endif
  return word;
}

/// Makes a mask in which bit i is `is_one(i)`.
template <typename IsOne>
rmm::device_buffer make_bits_of(std::int64_t bits, execution const& exec, IsOne is_one)
{
  return make_bits(bits, exec, [&](std::int64_t word) {
    auto const begin = word * word_bits;
    auto const fill  = [&](std::int64_t count) {
      auto bools = std::array<std::uint8_t, word_bits>{};
      for (std::int64_t i = 0; i < count; ++i) {
        bools[static_cast<std::size_t>(i)] = is_one(begin + i) ? 1 : 0;
      }
      return pack(bools.data());
    };
    // Compilers vectorise the loop if its length is a constant.
    return bits - begin < word_bits ? fill(bits - begin) : fill(word_bits);
  });
}

}  // namespace cudf_arrow_bridge::detail::host
