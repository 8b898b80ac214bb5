// SPDX-License-Identifier: Apache-2.0
/// @file
/// Conversions that the core implements with operations of libcudf and CUDA.
#include "compute/device/buffers.hpp"
#include "cuda/transfer/read_back.hpp"
#include "sim/tests/bridge_test.hpp"

#include <cudf/unary.hpp>

#include <rmm/error.hpp>

#include <span>

namespace cudf_arrow_bridge::test {
namespace {

class Conversions : public bridge_test {
 protected:
  /// Copies bytes to device memory of the same size.
  rmm::device_buffer upload(std::vector<std::uint8_t> const& bytes, cudaStream_t stream)
  { return sim::upload(host_buffer(bytes), {false, stream, pool_}); }
};

/// @return Bytes of which about half are 0; the others are 1, 128 or 255
std::vector<std::uint8_t> random_bools(std::size_t size, engine& random)
{
  auto result = std::vector<std::uint8_t>(size);
  for (auto& byte : result) {
    byte = below(random, 2) == 0 ? 0 : static_cast<std::uint8_t>(below(random, 3) * 127 + 1);
  }
  return result;
}

TEST_F(Conversions, BoolsArePackedInTheOrderOfRows)
{
  auto random = engine{1};
  for (auto size : {0, 1, 2, 7, 8, 9, 31, 32, 63, 64, 65, 511, 512, 513, 1024, 1500}) {
    for (auto begin : {0, 1, 5}) {
      sim::reset(static_cast<unsigned>(size + begin));
      auto const stream = lasting_stream{};
      auto const bools  = random_bools(static_cast<std::size_t>(begin + size), random);
      auto const source = upload(bools, stream.get());
      auto const before = sim::host_syncs_here();
      auto const packed = detail::device::pack_bools(
        static_cast<std::byte const*>(source.data()) + begin, size, {false, stream.get(), pool_});
      EXPECT_EQ(sim::host_syncs_here(), before);
      EXPECT_EQ(packed.size() % 64, 0U);
      EXPECT_EQ(packed.size() == 0, size == 0);
      synchronize(stream.get());
      auto const bits = std::span{static_cast<std::uint8_t const*>(packed.data()), packed.size()};
      for (std::size_t i = 0; i < bits.size() * 8; ++i) {
        auto const at       = static_cast<std::size_t>(begin) + i;
        auto const expected = i < static_cast<std::size_t>(size) && bools[at] != 0;
        ASSERT_EQ((bits[i / 8] >> (i % 8) & 1) != 0, expected) << i << " of " << size;
      }
    }
  }
}

TEST_F(Conversions, LibcudfSupportsCastsFromUint8ToBool8)
{
  EXPECT_TRUE(cudf::is_supported_cast(cudf::data_type{cudf::type_id::UINT8},
                                      cudf::data_type{cudf::type_id::BOOL8}));
}

TEST_F(Conversions, MisalignedValuesAreCopiedBeforeKernelsReadThem)
{
  if (!sim::simulates_copies_of_rmm) { GTEST_SKIP() << "rmm calls CUDA"; }
  auto const stream  = lasting_stream{};
  auto const source  = upload({0xFF, 1, 0x3C, 2, 0x40}, stream.get());
  auto const* values = static_cast<std::byte const*>(source.data()) + 1;
  auto const exec    = detail::execution{false, stream.get(), pool_};
  auto const before  = sim::host_syncs_here();
  auto const wide =
    detail::cast_values(values, 2, cudf::type_id::UINT16, cudf::type_id::INT32, exec);
  auto const floats = detail::widen_halves(values, 2, exec);
  EXPECT_EQ(sim::host_syncs_here(), before);
  synchronize(stream.get());
  auto const* integers = static_cast<std::int32_t const*>(wide.data());
  auto const* numbers  = static_cast<float const*>(floats.data());
  EXPECT_EQ((std::vector{integers[0], integers[1]}), (std::vector{0x3C01, 0x4002}));
  EXPECT_EQ((std::vector{numbers[0], numbers[1]}), (std::vector{1.0009765625F, 2.00390625F}));
}

TEST_F(Conversions, ReadIntegerReturnsAValueFromDeviceMemory)
{
  auto const stream = lasting_stream{};
  auto const values = std::vector<std::uint8_t>{0xFE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0};
  auto const source = upload(values, stream.get());
  EXPECT_EQ(detail::device::read_integer(source.data(), 4, stream.get()), -2);
  EXPECT_EQ(detail::device::read_integer(source.data(), 8, stream.get()), 0x1'FFFF'FFFE);
}

TEST_F(Conversions, ReadIntegerWorksWhileNoPinnedMemoryIsFree)
{
  auto const stream = lasting_stream{};
  auto const source = upload({7, 0, 0, 0}, stream.get());
  auto const others =
    detail::pinned_memory{1, std::size_t{1} << 20, detail::transfer_kind::read_back};
  EXPECT_EQ(others.size(), std::size_t{1} << 20);
  auto const pinned = sim::pinned_bytes();
  EXPECT_EQ(detail::device::read_integer(source.data(), 4, stream.get()), 7);
  EXPECT_EQ(sim::pinned_bytes(), pinned);
}

TEST_F(Conversions, ReadIntegerKeepsItsPinnedMemoryAfterAFailedWait)
{
  for_seeds(50, [&](cudaStream_t stream) {
    auto const source  = upload({1, 0, 0, 0}, stream);
    auto const records = sim::calls("cudaEventRecord");
    sim::fail_next("cudaStreamSynchronize", cudaErrorInvalidValue);
    EXPECT_THROW((void)detail::device::read_integer(source.data(), 4, stream), rmm::cuda_error);
    // The event keeps the pinned memory until the copy has run.
    EXPECT_EQ(sim::calls("cudaEventRecord"), records + 1);
    sim::drain();
  });
}

TEST_F(Conversions, ReadEndsKeepsItsPinnedMemoryIfTheSecondCopyFails)
{
  for_seeds(50, [&](cudaStream_t stream) {
    auto const source  = upload({1, 0, 0, 0, 2, 0, 0, 0}, stream);
    auto const records = sim::calls("cudaEventRecord");
    sim::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue, 1);
    EXPECT_THROW((void)detail::read_ends(source.data(), 1, 4, {false, stream, pool_}),
                 rmm::cuda_error);
    EXPECT_EQ(sim::calls("cudaEventRecord"), records + 1);
    sim::drain();
  });
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
