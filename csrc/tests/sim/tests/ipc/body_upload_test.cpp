// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bodies are uploaded in pieces, in stream order, through a limited amount of pinned memory.
#include "sim/tests/ipc/bodies.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

class IpcUpload : public bridge_test {
 protected:
  rmm::device_buffer upload(bytes_t const& values, std::size_t chunk_size, cudaStream_t stream)
  { return upload_body(std::span{values}, chunk_size, stream, pool_); }

  /// A reader that fills each piece with the next values.
  static body_transfer reader_of(bytes_t const& values)
  {
    return [rest = std::span{values}](std::span<std::byte> piece, auto const& /*owner*/) mutable {
      ASSERT_LE(piece.size(), rest.size());
      std::copy_n(rest.begin(), piece.size(), piece.begin());
      rest = rest.subspan(piece.size());
    };
  }

  rmm::device_buffer read(bytes_t const& values, std::size_t chunk_size, cudaStream_t stream)
  { return upload_body(values.size(), chunk_size, reader_of(values), stream, pool_); }

  /// Enqueues a kernel that reads. @return The bytes, set when the kernel has run
  static std::shared_ptr<bytes_t> read_later(rmm::device_buffer const& memory, cudaStream_t stream)
  {
    auto result = std::make_shared<bytes_t>();
    sim::enqueue(stream, [result, data = memory.data(), size = memory.size()] {
      result->resize(size);
      if (size > 0) { std::memcpy(result->data(), data, size); }
    });
    return result;
  }
};

TEST_F(IpcUpload, StreamReadsTheUploadedBytes)
{
  for_seeds(4 * many_seeds, [&](unsigned seed) {
    auto random       = std::mt19937{seed};
    auto const stream = lasting_stream{};
    auto const values = random_bytes(random() % 5000, random);
    auto const chunk  = std::size_t{1} + random() % 3000;
    for (auto const from_memory : {false, true}) {
      auto source = values;
      auto const memory =
        from_memory ? upload(source, chunk, stream.get()) : read(source, chunk, stream.get());
      std::fill(source.begin(), source.end(), std::byte{0});
      auto const seen = read_later(memory, stream.get());
      synchronize(stream.get());
      ASSERT_EQ(*seen, values);
    }
  });
}

TEST_F(IpcUpload, DefaultStreamsAreOnTheMemorysDevice)
{
  for (auto* const stream : {cudaStream_t{}, cudaStreamPerThread}) {
    for_seeds(many_seeds, [&](unsigned seed) {
      auto random       = std::mt19937{seed};
      auto const values = random_bytes(1000, random);
      auto const fill   = reader_of(values);
      auto const guard  = on_device{rmm::cuda_device_id{1}};
      auto const leave  = [&](std::span<std::byte> piece, auto const& owner) {
        fill(piece, owner);
        EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
      };
      auto const one  = upload_body(values.size(), 300, leave, stream, far_pool_);
      auto const back = on_device{rmm::cuda_device_id{1}};
      auto const two  = upload_body(std::span{values}, 300, stream, far_pool_);
      for (auto const* memory : {&one, &two}) {
        auto const seen = read_later(*memory, stream);
        synchronize(stream);
        ASSERT_EQ(*seen, values);
      }
    });
  }
}

TEST_F(IpcUpload, UsesThePerThreadDefaultStreamOfTheCaller)
{
  auto random       = std::mt19937{1};
  auto const values = random_bytes(1000, random);
  auto slow         = std::optional<sim::slow_stream>{cudaStreamPerThread};
  auto const memory = upload(values, 600, cudaStreamPerThread);
  auto const seen   = std::span{static_cast<std::byte const*>(memory.data()), memory.size()};
  sim::drain();
  EXPECT_EQ(bytes_t(seen.begin(), seen.end()), bytes_t(1000, sim::fresh_byte));
  slow.reset();
  synchronize(cudaStreamPerThread);
  EXPECT_EQ(bytes_t(seen.begin(), seen.end()), values);
}

TEST_F(IpcUpload, DoesNotWaitIfItReusesNoPiece)
{
  auto const stream = lasting_stream{};
  auto random       = std::mt19937{1};
  auto const values = random_bytes(500, random);
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto const waits  = sim::host_syncs_here();
  auto const memory = read(values, 250, stream.get());
  auto const other  = upload(values, 250, stream.get());
  EXPECT_EQ(sim::host_syncs_here(), waits);
  auto const seen       = read_later(memory, stream.get());
  auto const other_seen = read_later(other, stream.get());
  // The copies have not run.
  EXPECT_LT(free_pinned_memory(), all_pinned_memory);
  slow.reset();
  synchronize(stream.get());
  EXPECT_EQ(*seen, values);
  EXPECT_EQ(*other_seen, values);
  settle();
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
}

TEST_F(IpcUpload, WritesOnlyToItsOwnPinnedMemory)
{
  for_seeds(many_seeds, [&](unsigned seed) {
    auto const stream = lasting_stream{};
    auto random       = std::mt19937{seed};
    auto const values = random_bytes(pinned_block, random);
    settle();
    auto const first = detail::pinned_memory{pinned_block};
    auto const others =
      detail::pinned_memory{1, all_pinned_memory - 2 * pinned_block, detail::transfer_kind::body};
    EXPECT_EQ((detail::pinned_memory{2 * pinned_block}.data()), nullptr) << "one block is free";
    auto const all = std::array{std::span{first.data(), first.size()},
                                std::span{others.data(), others.size()}.first(pinned_block)};
    for (auto const& each : all) { std::memset(each.data(), 0, each.size()); }
    auto const memory = upload(values, 1 + random() % (2 * values.size()), stream.get());
    auto const seen   = read_later(memory, stream.get());
    synchronize(stream.get());
    ASSERT_EQ(*seen, values);
    for (auto const& each : all) {
      ASSERT_TRUE(
        std::all_of(each.begin(), each.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    }
  });
}

TEST_F(IpcUpload, FailedReaderEndsTheUpload)
{
  auto const stream = lasting_stream{};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto kept         = std::shared_ptr<void const>{};
  auto const read   = [&, count = 0](std::span<std::byte> /*piece*/, auto const& owner) mutable {
    kept = owner;
    if (++count == 2) { throw std::domain_error{"the source has ended"}; }
  };
  EXPECT_THROW((void)upload_body(1000, 100, read, stream.get(), pool_), std::domain_error);
  slow.reset();
  settle();
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - pinned_block) << "the owner is kept";
  kept.reset();
  settle();
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
}

TEST_F(IpcUpload, RejectsInvalidCalls)
{
  auto const stream = lasting_stream{};
  EXPECT_THROW((void)upload({}, 0, stream.get()), std::invalid_argument);
  EXPECT_THROW((void)read({}, 0, stream.get()), std::invalid_argument);
  EXPECT_EQ(upload({}, 1, stream.get()).size(), 0U);
  EXPECT_EQ(read({}, 1, stream.get()).size(), 0U);
}

TEST_F(IpcUpload, FailedUploadFreesItsMemory)
{
  for (auto const* function : {"cudaMemcpyAsync",
                               "cudaEventRecord",
                               "cudaEventSynchronize",
                               "cudaEventCreateWithFlags",
                               "sim::allocate"}) {
    for (auto const from_memory : {false, true}) {
      for (auto after = 0; after < 3; ++after) {
        sim::reset(1);
        auto const stream = lasting_stream{};
        auto const none   = empty_pool{};
        auto random       = std::mt19937{1};
        auto const values = random_bytes(2000, random);
        sim::fail_next(function, cudaErrorInvalidValue, after);
        auto const error = message_of<std::exception>([&] {
          (void)(from_memory ? upload(values, 150, stream.get()) : read(values, 150, stream.get()));
        });
        EXPECT_TRUE(!error.empty() || after > 0) << function;
        settle();
        EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
        sim::reset(1);  // removes the remaining faults
      }
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
