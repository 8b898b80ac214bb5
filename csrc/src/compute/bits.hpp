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
#include <span>

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

  /// @return A word with a set bit for each bit of the range that is 0
  [[nodiscard]] std::uint64_t zeros(std::int64_t index) const
  {
    auto const left = bits_ - index * word_bits;
    return ~(*this)[index] & (left < word_bits ? low_bits(left) : ~std::uint64_t{0});
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

/// Calls `use` with the index of each bit of a range that is 1.
template <typename Use>
void for_each_one(bit_range const& range, Use use)
{
  auto const words = bit_words{range};
  for (std::int64_t i = 0; i < words.size(); ++i) {
    for (auto word = words[i]; word != 0; word &= word - 1) {
      use(i * word_bits + std::countr_zero(word));
    }
  }
}

/// Without a popcount instruction, which some x86-64 CPUs lack, `std::popcount` is a function call.
inline std::int64_t count_ones(std::uint64_t word)
{
  word -= word >> 1 & 0x5555'5555'5555'5555;
  word = (word & 0x3333'3333'3333'3333) + (word >> 2 & 0x3333'3333'3333'3333);
  word = (word + (word >> 4)) & 0x0f0f'0f0f'0f0f'0f0f;
  return static_cast<std::int64_t>(word * 0x0101'0101'0101'0101 >> 56);
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

/// Sets the bits `[begin, end)`, at least one.
inline void set_bits(std::span<std::uint64_t> words, std::int64_t begin, std::int64_t end)
{
  auto const first = static_cast<std::size_t>(begin / word_bits);
  auto const last  = static_cast<std::size_t>((end - 1) / word_bits);
  auto const from  = ~std::uint64_t{0} << (begin % word_bits);
  auto const upto  = ~std::uint64_t{0} >> ((word_bits - end % word_bits) % word_bits);
  if (first == last) {
    words[first] |= from & upto;
    return;
  }
  words[first] |= from;
  std::ranges::fill(words.subspan(first + 1, last - first - 1), ~std::uint64_t{0});
  words[last] |= upto;
}

/**
 * @brief Transposes a matrix of 8 by 8 bits, a row in each byte.
 *
 * Swaps blocks off the diagonal in three steps: single bits, blocks of 2 by 2, and blocks of 4 by
 * 4.
 */
inline std::uint64_t transpose(std::uint64_t word)
{
  auto const swap = [&](int distance, std::uint64_t mask) {
    auto const changed = (word ^ word >> distance) & mask;
    word ^= changed ^ changed << distance;
  };
  swap(7, 0x00aa'00aa'00aa'00aa);
  swap(14, 0x0000'cccc'0000'cccc);
  swap(28, 0x0000'0000'f0f0'f0f0);
  return word;
}

/// 64 bools as bits, and whether all bytes are 0 or 1, as the method requires.
struct packed_bools {
  std::uint64_t word;
  bool is_normal;
};

/// Packs bools into bits on any CPU. Shifted by j, 8 bools become bit j of each of 8 bytes, which
/// is the transpose of the result, in which they are the bits of byte j.
inline packed_bools pack_by_words(void const* bools)
{
  auto word = std::uint64_t{0};
  auto all  = std::uint64_t{0};
  for (int j = 0; j < 8; ++j) {
    auto const eight = load<std::uint64_t>(bools, j);
    word |= eight << j;
    all |= eight;
  }
  return {transpose(word), (all & ~std::uint64_t{0x0101'0101'0101'0101}) == 0};
}

/// Packs bools into bits.
inline packed_bools pack(void const* bools)
{
#ifdef __SSE2__
  // Compilers do not generate this instruction, which gathers the highest bits of 16 bytes.
  auto word       = std::uint64_t{0};
  auto all        = _mm_setzero_si128();
  auto const ones = _mm_set1_epi8(1);
  for (int i = 0; i < 4; ++i) {
    auto const sixteen = _mm_loadu_si128(static_cast<__m128i const*>(bools) + i);
    auto const bits    = _mm_movemask_epi8(_mm_slli_epi16(sixteen, 7));
    word |= std::uint64_t{static_cast<std::uint32_t>(bits)} << (16 * i);
    all = _mm_or_si128(all, sixteen);
  }
  // As unsigned bytes none is greater than 1.
  auto const most = _mm_cmpeq_epi8(_mm_max_epu8(all, ones), ones);
  return {word, _mm_movemask_epi8(most) == 0xffff};
#else
  return pack_by_words(bools);
#endif
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
      return pack(bools.data()).word;
    };
    // Compilers vectorise the loop if its length is a constant.
    return bits - begin < word_bits ? fill(bits - begin) : fill(word_bits);
  });
}

}  // namespace cudf_arrow_bridge::detail::host
