// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bodies are downloaded in pieces, in stream order, through a limited amount of pinned memory.
#include "cuda/transfer/pinned_chunks.hpp"
#include "sim/tests/ipc/bodies.hpp"

#include <rmm/error.hpp>

#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::test {
namespace {

class IpcDownload : public bridge_test {
 protected:
  static bytes_t read_all(ipc_body const& body, std::size_t chunk_size, cudaStream_t stream)
  {
    auto result = bytes_t{};
    download_body(
      body,
      chunk_size,
      [&](std::span<std::byte> piece, auto const& /*owner*/) {
        EXPECT_LE(piece.size(), chunk_size);
        result.insert(result.end(), piece.begin(), piece.end());
      },
      stream);
    return result;
  }
};

TEST_F(IpcDownload, ReturnsTheBytesThatTheStreamWrote)
{
  for_seeds(4 * many_seeds, [&](unsigned seed) {
    auto random       = std::mt19937{seed};
    auto const stream = lasting_stream{};
    auto const kind =
      std::array{memory_kind::device, memory_kind::managed, memory_kind::pinned}[random() % 3];
    auto const source = filled_body{random_sizes(random), stream.get(), seed, kind};
    auto const chunk  = std::size_t{1} + random() % (random() % 2 == 0 ? 200 : 9000);
    ASSERT_EQ(read_all(source.body, chunk, stream.get()), source.packed);
    ASSERT_EQ(static_cast<std::size_t>(source.body.packed_size()), source.packed.size());
  });
}

TEST_F(IpcDownload, CopiesTheNextPieceWhileTheCallerUsesOne)
{
  auto const stream = lasting_stream{};
  auto const source = filled_body{{1000, 1000, 1000}, stream.get()};
  auto const copies = sim::calls("cudaMemcpyAsync");
  auto const waits  = sim::host_syncs_here();
  auto enqueued     = std::vector<std::size_t>{};
  download_body(
    source.body,
    1024,
    [&](auto...) { enqueued.push_back(sim::calls("cudaMemcpyAsync") - copies); },
    stream.get());
  EXPECT_EQ(enqueued, (std::vector<std::size_t>{2, 3, 3}));
  EXPECT_EQ(sim::host_syncs_here(), waits + 3);
}

TEST_F(IpcDownload, WaitsOnlyForTheCopyOfThePiece)
{
  auto const stream = lasting_stream{};
  auto const source = filled_body{{256, 256}, stream.get()};
  auto slow         = std::optional<sim::slow_stream>{};
  auto num_pieces   = 0;
  download_body(
    source.body,
    256,
    [&](auto...) {
      ++num_pieces;
      if (num_pieces == 2) { return; }
      synchronize(stream.get());
      slow.emplace(stream.get());  // the next wait hangs if it is for more than the second copy
      sim::enqueue(stream.get(), [] {});
    },
    stream.get());
  EXPECT_EQ(num_pieces, 2);
}

TEST_F(IpcDownload, BorrowsTwoPiecesOfPinnedMemory)
{
  constexpr auto chunk = std::size_t{1} << 20;
  auto const stream    = lasting_stream{};
  auto const used      = [&](filled_body const& source) {
    auto result = std::size_t{0};
    settle();
    download_body(
      source.body,
      chunk,
      [&](auto...) { result = all_pinned_memory - free_pinned_memory(); },
      stream.get());
    // The download has waited for all copies.
    EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
    return result;
  };
  auto const pinned = sim::calls("cudaHostAlloc");
  EXPECT_EQ(used(filled_body{{3 * chunk, 100, chunk}, stream.get()}), 2 * chunk);
  EXPECT_EQ(used(filled_body{{100, 100}, stream.get()}), pinned_block);
  EXPECT_EQ(sim::calls("cudaHostAlloc"), pinned);
}

TEST_F(IpcDownload, LimitsTheSizeOfAPiece)
{
  constexpr auto size = 3 * detail::largest_chunk;
  auto const stream   = lasting_stream{};
  auto const source   = filled_body{{size}, stream.get()};
  auto received       = std::size_t{0};
  download_body(
    source.body,
    size,
    [&](std::span<std::byte> piece, auto const& /*owner*/) {
      EXPECT_LE(piece.size(), detail::largest_chunk);
      EXPECT_EQ(std::memcmp(piece.data(), source.packed.data() + received, piece.size()), 0);
      received += piece.size();
    },
    stream.get());
  EXPECT_EQ(received, size);
}

TEST_F(IpcDownload, WorksWithLittleOrNoFreePinnedMemory)
{
  constexpr auto size = std::size_t{300'000};
  for (auto const left : {2 * pinned_block, pinned_block, std::size_t{0}}) {
    for_seeds(4, [&](unsigned seed) {
      auto const stream = lasting_stream{};
      auto const source = filled_body{{size}, stream.get(), seed};
      settle();
      auto const others = detail::pinned_memory{all_pinned_memory - left};
      ASSERT_NE(others.data(), nullptr);
      for (auto const chunk : {size / 4, 2 * size}) {
        ASSERT_EQ(read_all(source.body, chunk, stream.get()), source.packed);
      }
    });
  }
}

TEST_F(IpcDownload, FailedWriterEndsTheDownload)
{
  auto const stream = lasting_stream{};
  auto source =
    std::optional<filled_body>{std::in_place, std::vector<std::size_t>{5000}, stream.get()};
  settle();
  auto slow        = std::optional<sim::slow_stream>{};
  auto kept        = std::shared_ptr<void const>{};
  auto const write = [&](std::span<std::byte> /*piece*/, auto const& owner) {
    if (slow) { throw std::domain_error{"the sink is full"}; }
    kept = owner;
    synchronize(stream.get());
    slow.emplace(stream.get());
  };
  EXPECT_THROW(download_body(std::exchange(source->body, {}), 2000, write, stream.get()),
               std::domain_error);
  // The copy of the third piece has not run: neither its source nor its target may be reused.
  EXPECT_FALSE(source->is_released());
  slow.reset();
  settle();
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - pinned_block) << "the owner is kept";
  kept.reset();
  settle();
  EXPECT_TRUE(source->is_released());
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
}

TEST_F(IpcDownload, DefaultStreamsAreOnTheBodysDevice)
{
  for_seeds(many_seeds, [&](unsigned seed) {
    auto const stream = cudaStream_t{};
    auto const source = filled_body{{256, 256, 256}, stream, seed, memory_kind::device, 1};
    auto received     = bytes_t{};
    download_body(
      source.body,
      256,
      [&](std::span<std::byte> piece, auto const& /*owner*/) {
        EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
        if (received.empty()) {
          // This runs before the copy of the third piece.
          sim::enqueue(stream, [target = const_cast<void*>(source.body.buffers[2].address)] {
            std::memset(target, 7, 256);
          });
        }
        EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
        received.insert(received.end(), piece.begin(), piece.end());
      },
      stream);
    auto expected = source.packed;
    std::fill(expected.end() - 256, expected.end(), std::byte{7});
    ASSERT_EQ(received, expected);
  });
}

TEST_F(IpcDownload, FailedDownloadFreesItsMemory)
{
  for (auto const* function :
       {"cudaMemcpyAsync", "cudaEventRecord", "cudaEventSynchronize", "cudaEventCreateWithFlags"}) {
    for (auto after = 0; after < 6; ++after) {
      SCOPED_TRACE(function + std::string{" "} + std::to_string(after));
      sim::reset(1);
      auto const stream = lasting_stream{};
      auto source       = filled_body{{900, 500, 200}, stream.get()};
      sim::drain();
      auto const none = empty_pool{};
      sim::fail_next(function, cudaErrorInvalidValue, after);
      auto const error = message_of<rmm::cuda_error>([&] {
        EXPECT_EQ(read_all(std::exchange(source.body, {}), 400, stream.get()), source.packed);
      });
      EXPECT_TRUE(!error.empty() || after > 2);
      settle();
      EXPECT_TRUE(source.is_released());
      EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
      sim::reset(1);  // removes the remaining faults
    }
  }
}

TEST_F(IpcDownload, ClearsTheBitsOfOtherRowsWithoutKernels)
{
  auto const type   = struct_of({flat("int8"), flat("string"), flat("int32")});
  auto const values = samples(type, 60, 30);
  for (auto const size : {41U, 56U, 59U}) {
    auto const first = part(values, 0, size);
    auto const host  = std::shared_ptr{make_column(type, first)};
    auto const on_host =
      describe_body(to_arrow(host, cudaStream_t{}), false, test::stream(), host_memory_resource());
    auto expected = bytes_t{};
    for (auto const& buffer : on_host.buffers) {
      auto const* bytes = static_cast<std::byte const*>(buffer.address);
      expected.insert(expected.end(), bytes, bytes + buffer.size);
      expected.resize((expected.size() + 63) / 64 * 64);
    }
    for_seeds(many_seeds, [&](unsigned seed) {
      auto const stream = lasting_stream{};
      auto const source = column(type, values, stream.get());
      auto const array =
        to_arrow_device(slice_later(source->view(), 0, first), source, {}, stream.get(), pool_);
      auto const live = sim::live_allocations();
      auto const body = describe_body(array, false, stream.get(), pool_, true);
      EXPECT_EQ(sim::live_allocations(), live) << "no buffer is copied on the device";
      EXPECT_EQ(read_all(body, seed % 2 == 0 ? 64 : 1000, stream.get()), expected);
    });
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
