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

class ipc_download : public bridge_test {
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
      cuda::stream_ref{stream});
    return result;
  }
};

TEST_F(ipc_download, returns_the_bytes_that_the_stream_wrote)
{
  for (auto seed = 0U; seed < 4 * many_seeds; ++seed) {
    sim::reset(seed);
    auto random       = std::mt19937{seed};
    auto const stream = lasting_stream{};
    auto const kind =
      std::array{memory_kind::device, memory_kind::managed, memory_kind::pinned}[random() % 3];
    auto const source = filled_body{random_sizes(random), stream.get(), seed, kind};
    auto const chunk  = std::size_t{1} + random() % (random() % 2 == 0 ? 200 : 9000);
    ASSERT_EQ(read_all(source.body, chunk, stream.get()), source.packed);
    ASSERT_EQ(static_cast<std::size_t>(source.body.packed_size()), source.packed.size());
  }
}

TEST_F(ipc_download, copies_the_next_piece_while_the_caller_uses_one)
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
    cuda::stream_ref{stream.get()});
  EXPECT_EQ(enqueued, (std::vector<std::size_t>{2, 3, 3}));
  EXPECT_EQ(sim::host_syncs_here(), waits + 3);
}

TEST_F(ipc_download, waits_only_for_the_copy_of_the_piece)
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
    cuda::stream_ref{stream.get()});
  EXPECT_EQ(num_pieces, 2);
}

TEST_F(ipc_download, borrows_two_pieces_of_pinned_memory)
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
      cuda::stream_ref{stream.get()});
    // The download has waited for all copies.
    EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
    return result;
  };
  auto const pinned = sim::calls("cudaHostAlloc");
  EXPECT_EQ(used(filled_body{{3 * chunk, 100, chunk}, stream.get()}), 2 * chunk);
  EXPECT_EQ(used(filled_body{{100, 100}, stream.get()}), pinned_block);
  EXPECT_EQ(sim::calls("cudaHostAlloc"), pinned);
}

TEST_F(ipc_download, limits_the_size_of_a_piece)
{
  constexpr auto size = 3 * detail::largest_chunk;
  auto const stream   = lasting_stream{};
  auto const source   = filled_body{{size}, stream.get()};
  EXPECT_EQ(read_all(source.body, detail::largest_chunk, stream.get()), source.packed);
  download_body(
    source.body,
    size,
    [&](std::span<std::byte> piece, auto const& /*owner*/) {
      EXPECT_LE(piece.size(), detail::largest_chunk);
    },
    cuda::stream_ref{stream.get()});
}

TEST_F(ipc_download, works_with_little_or_no_free_pinned_memory)
{
  constexpr auto size = std::size_t{300'000};
  for (auto const left : {2 * pinned_block, pinned_block, std::size_t{0}}) {
    for (auto seed = 0U; seed < 4; ++seed) {
      sim::reset(seed);
      auto const stream = lasting_stream{};
      auto const source = filled_body{{size}, stream.get(), seed};
      settle();
      auto const others = detail::pinned_memory{all_pinned_memory - left};
      ASSERT_NE(others.data(), nullptr);
      for (auto const chunk : {size / 4, 2 * size}) {
        ASSERT_EQ(read_all(source.body, chunk, stream.get()), source.packed);
      }
    }
  }
}

TEST_F(ipc_download, failed_writer_ends_the_download)
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
  EXPECT_THROW(
    download_body(std::exchange(source->body, {}), 2000, write, cuda::stream_ref{stream.get()}),
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

TEST_F(ipc_download, reads_a_body_on_another_device)
{
  auto const stream = stream_on(1);
  auto const source = filled_body{{700, 0, 800}, stream->get(), 1, memory_kind::device, 1};
  EXPECT_EQ(read_all(source.body, 256, stream->get()), source.packed);
}

TEST_F(ipc_download, default_streams_are_on_the_bodys_device)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = cudaStream_t{};
    auto const source = filled_body{{256, 256, 256}, stream, seed, memory_kind::device, 1};
    auto last         = bytes_t{};
    download_body(
      source.body,
      256,
      [&](std::span<std::byte> piece, auto const& /*owner*/) {
        EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
        if (last.empty()) {
          // This runs before the copy of the third piece.
          sim::enqueue(stream, [target = const_cast<void*>(source.body.buffers[2].address)] {
            std::memset(target, 7, 256);
          });
        }
        EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
        last = {piece.begin(), piece.end()};
      },
      cuda::stream_ref{stream});
    ASSERT_EQ(last, bytes_t(256, std::byte{7}));
  }
}

TEST_F(ipc_download, failed_download_frees_its_memory)
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
      auto has_failed = false;
      try {
        EXPECT_EQ(read_all(std::exchange(source.body, {}), 400, stream.get()), source.packed);
      } catch (rmm::cuda_error const&) {
        has_failed = true;
      }
      EXPECT_TRUE(has_failed || after > 2);
      settle();
      EXPECT_TRUE(source.is_released());
      EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
      sim::reset(1);  // removes the remaining faults
    }
  }
}

TEST_F(ipc_download, clears_the_bits_of_other_rows_without_kernels)
{
  auto const type   = struct_of({flat("int8"), flat("string"), flat("int32")});
  auto const values = samples(type, 60, 30);
  auto const host   = make_column(type, values);
  auto const sent   = [&](device_array const& array, cudaStream_t stream, std::size_t chunk_size) {
    auto const on   = cuda::stream_ref{stream};
    auto const live = sim::live_allocations();
    auto const body = describe_body(array, false, on, pool_, true);
    EXPECT_EQ(sim::live_allocations(), live) << "no buffer is copied on the device";
    return read_all(body, chunk_size, stream);
  };
  for (auto const size : {41, 56, 59}) {
    auto const on_host = describe_body(
      to_arrow_device(slice(*host, 0, size), nullptr, {}, test::stream(), host_memory_resource()),
      false,
      test::stream(),
      host_memory_resource());
    auto expected = bytes_t{};
    for (auto const& buffer : on_host.buffers) {
      auto const* bytes = static_cast<std::byte const*>(buffer.address);
      expected.insert(expected.end(), bytes, bytes + buffer.size);
      expected.resize(
        static_cast<std::size_t>(ipc_padded(static_cast<std::int64_t>(expected.size()))));
    }
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const stream = lasting_stream{};
      auto const column = upload_column(make_column(type, values), stream.get(), pool_);
      auto const view =
        slice_later(column->view(), 0, part(values, 0, static_cast<std::size_t>(size)));
      auto const array = to_arrow_device(view, nullptr, {}, cuda::stream_ref{stream.get()}, pool_);
      ASSERT_EQ(sent(array, stream.get(), seed % 2 == 0 ? 64 : 1000), expected);
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
