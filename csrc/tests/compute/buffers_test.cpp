// SPDX-License-Identifier: Apache-2.0
#include "compute/buffers.hpp"

#include "compute/on_host.hpp"
#include "testing/columns.hpp"
#include "testing/sample.hpp"

#include <cudf/utilities/error.hpp>

#include <gtest/gtest.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <cmath>
#include <utility>

namespace cudf_arrow_bridge::test {
namespace {

using detail::bit_range;
using detail::execution;

std::uint8_t byte_at(rmm::device_buffer const& buffer, std::int64_t index)
{ return static_cast<std::uint8_t const*>(buffer.data())[index]; }

bool bit_at(std::uint8_t const* bytes, std::int64_t index)
{ return ((bytes[index / 8] >> (index % 8)) & 1) != 0; }

/// Bits that end with their allocation, so that AddressSanitizer detects reads past the end.
struct bits {
  std::int64_t begin;
  std::int64_t size;
  std::unique_ptr<std::uint8_t[]> bytes;

  [[nodiscard]] bit_range range() const { return {bytes.get(), begin, size}; }
  [[nodiscard]] bool at(std::int64_t i) const { return bit_at(bytes.get(), begin + i); }

  void set(std::int64_t i, bool value)
  {
    auto& byte     = bytes[static_cast<std::size_t>((begin + i) / 8)];
    auto const bit = 1U << ((begin + i) % 8);
    byte           = static_cast<std::uint8_t>(value ? byte | bit : byte & ~bit);
  }
};

class HostBits : public ::testing::TestWithParam<std::int64_t> {
 protected:
  bits random_bits(std::int64_t begin)
  {
    auto const count = static_cast<std::size_t>(detail::bytes_for_bits(begin + GetParam()));
    auto result      = bits{begin, GetParam(), std::make_unique<std::uint8_t[]>(count)};
    for (std::size_t i = 0; i < count; ++i) {
      result.bytes[i] = static_cast<std::uint8_t>(random_());
    }
    return result;
  }

  /// Checks a mask of `GetParam()` bits and its padding, which is zero up to 64 bytes.
  template <typename Expected>
  static void expect_bits(rmm::device_buffer const& found, Expected expected)
  {
    ASSERT_EQ(static_cast<std::int64_t>(found.size()), detail::padded_mask_size(GetParam()));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(found.size()) * 8; ++i) {
      ASSERT_EQ(bit_at(static_cast<std::uint8_t const*>(found.data()), i),
                i < GetParam() && expected(i))
        << "bit " << i;
    }
  }

  static constexpr std::int64_t last_begin = 70;

 private:
  engine random_{42};
};

TEST_P(HostBits, CopiedBitsBeginAtBitZero)
{
  for (std::int64_t begin = 0; begin < last_begin; ++begin) {
    auto const source = random_bits(begin);
    auto const copy   = detail::copy_bits(source.range(), on_host());
    expect_bits(copy, [&](std::int64_t i) { return source.at(i); });
  }
}

TEST_P(HostBits, ValidInBothIsTheAndOfTwoMasks)
{
  for (std::int64_t begin = 0; begin < last_begin; ++begin) {
    auto const left  = random_bits(begin);
    auto const right = random_bits(last_begin - begin);
    auto const both  = detail::valid_in_both(left.range(), right.range(), on_host());
    expect_bits(both, [&](std::int64_t i) { return left.at(i) && right.at(i); });
  }
}

TEST_P(HostBits, CountNullsCountsZeroBits)
{
  for (std::int64_t begin = 0; begin < last_begin; ++begin) {
    auto const source = random_bits(begin);
    auto expected     = 0;
    for (std::int64_t i = 0; i < source.size; ++i) { expected += source.at(i) ? 0 : 1; }
    EXPECT_EQ(detail::count_nulls(source.range(), on_host()), expected) << "from " << begin;
  }
}

TEST_P(HostBits, UnpackedBoolsAreZeroOrOne)
{
  for (std::int64_t begin = 0; begin < last_begin; ++begin) {
    auto const source = random_bits(begin);
    auto const bools  = detail::unpack_bools(source.range(), on_host());
    ASSERT_EQ(static_cast<std::int64_t>(bools.size()), source.size);
    for (std::int64_t i = 0; i < source.size; ++i) {
      ASSERT_EQ(byte_at(bools, i), source.at(i) ? 1 : 0) << "bit " << i << " from " << begin;
    }
  }
}

TEST_P(HostBits, PackedBoolsAreTrueUnlessZero)
{
  auto random = engine{7};
  // Bytes 0 and 1; bytes 0, 127 and 254; any byte.
  for (auto const& [kinds, factor] : {std::pair{2, 1}, {3, 0x7f}, {256, 1}}) {
    auto bools = std::vector<std::uint8_t>(static_cast<std::size_t>(GetParam()));
    for (auto& b : bools) { b = static_cast<std::uint8_t>(below(random, kinds) * factor); }
    auto const packed =
      detail::pack_bools(bools.data(), static_cast<cudf::size_type>(GetParam()), on_host());
    expect_bits(packed, [&](std::int64_t i) { return bools[static_cast<std::size_t>(i)] != 0; });
  }
}

INSTANTIATE_TEST_SUITE_P(
  Sizes,
  HostBits,
  ::testing::Values(0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 1000));

template <typename From, typename To>
void expect_cast(cudf::type_id from, cudf::type_id to, std::vector<From> const& values, To factor)
{
  // Misaligned by one byte, which Arrow allows.
  auto memory = std::vector<char>(values.size() * sizeof(From) + 1);
  std::copy_n(
    reinterpret_cast<char const*>(values.data()), values.size() * sizeof(From), memory.begin() + 1);
  auto const result = detail::cast_values(
    memory.data() + 1, static_cast<cudf::size_type>(values.size()), from, to, on_host());
  ASSERT_EQ(result.size(), values.size() * sizeof(To));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto value = To{};
    std::memcpy(&value, static_cast<char const*>(result.data()) + i * sizeof(To), sizeof(To));
    EXPECT_EQ(value, static_cast<To>(static_cast<To>(values[i]) * factor));
  }
}

TEST(HostCast, KeepsValues)
{
  using enum cudf::type_id;
  expect_cast<std::uint8_t, std::int16_t>(UINT8, INT16, {0, 1, 127, 128, 255}, 1);
  expect_cast<std::uint16_t, std::int32_t>(UINT16, INT32, {0, 1, 32'767, 32'768, 65'535}, 1);
  expect_cast<std::int32_t, std::int64_t>(
    DURATION_DAYS, DURATION_SECONDS, {0, -1, 1, 2'147'483'647, -2'147'483'647 - 1}, 86'400);
  expect_cast<std::int32_t, std::int64_t>(
    INT32, DURATION_MILLISECONDS, {0, -1, 2'147'483'647, -2'147'483'647 - 1}, 1);
  expect_cast<std::uint8_t, std::int16_t>(UINT8, INT16, {}, 1);
  EXPECT_THROW((void)detail::cast_values(nullptr, 0, INT8, FLOAT64, on_host()), cudf::logic_error);
}

#ifdef __SSE2__
TEST(HostHalves, SubnormalsAreKeptIfTheThreadReadsSubnormalFloatsAsZeros)
{
  constexpr auto denormals_are_zeros = 0x40U;
  auto const control                 = _mm_getcsr();
  auto const halves                  = std::array<std::uint16_t, 3>{1, 0x3FF, 0x83FF};
  _mm_setcsr(control | denormals_are_zeros);
  auto const floats = detail::widen_halves(halves.data(), std::ssize(halves), on_host());
  _mm_setcsr(control);
  auto const* found = static_cast<float const*>(floats.data());
  EXPECT_EQ(found[0], std::ldexp(1.0F, -24));
  EXPECT_EQ(found[1], std::ldexp(1023.0F, -24));
  EXPECT_EQ(found[2], -found[1]);
}
#endif

TEST(HostOffsets, AreReadFromAnyAddress)
{
  auto const narrow = std::array<std::int32_t, 3>{0, -5, 7};
  auto const wide   = std::array<std::int64_t, 3>{0, -5, std::int64_t{1} << 40};
  auto memory       = std::array<char, 32>{};
  std::memcpy(memory.data() + 1, wide.data(), sizeof wide);
  auto const read = [](void const* offsets, std::int64_t index, std::int64_t width) {
    return detail::read_offset(offsets, index, width, true, stream());
  };
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read(narrow.data(), static_cast<std::int64_t>(i), 4), narrow[i]);
    EXPECT_EQ(read(memory.data() + 1, static_cast<std::int64_t>(i), 8), wide[i]);
  }
}

TEST(HostOffsets, AreRebasedToZero)
{
  auto const base = std::int64_t{1} << 40;
  auto const wide = std::array<std::int64_t, 4>{base, base + 3, base + 3, base + 2'147'483'647};
  auto memory     = std::array<char, 33>{};
  std::memcpy(memory.data() + 1, wide.data(), sizeof wide);
  auto const ends = detail::read_ends(memory.data() + 1, 3, 8, on_host());
  EXPECT_EQ(ends.first, wide.front());
  EXPECT_EQ(ends.last, wide.back());
  auto const narrow = detail::rebase_offsets(
    {memory.data() + 1, 4, cudf::type_id::INT64}, base, cudf::type_id::INT32, on_host());
  auto const* found = static_cast<std::int32_t const*>(narrow.data());
  EXPECT_EQ(std::vector(found, found + 4), (std::vector<std::int32_t>{0, 3, 3, 2'147'483'647}));
}

TEST(HostOffsets, CountUpInEqualSteps)
{
  auto const made   = detail::count_up(4, 715'827'882, on_host());
  auto const* found = static_cast<std::int32_t const*>(made.data());
  EXPECT_EQ(std::vector(found, found + 4),
            (std::vector<std::int32_t>{0, 715'827'882, 1'431'655'764, 2'147'483'646}));
  EXPECT_EQ(detail::count_up(0, 5, on_host()).size(), 0U);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
