// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bodies are downloaded in pieces, in stream order, through a limited amount of pinned memory.
#include "cuda/transfer/pinned_chunks.hpp"
#include "sim/tests/ipc/bodies.hpp"

#include <rmm/error.hpp>

#include <optional>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

class ipc_download : public bridge_test {
 protected:
  static bytes_t read_all(body_download& download, std::size_t chunk_size)
  {
    auto result = bytes_t{};
    for (auto piece = download.next(); !piece.empty(); piece = download.next()) {
      EXPECT_LE(piece.size(), chunk_size);
      result.insert(result.end(), piece.begin(), piece.end());
    }
    EXPECT_TRUE(download.next().empty());
    return result;
  }

  static bytes_t read_all(ipc_body const& body, std::size_t chunk_size, cudaStream_t stream)
  {
    auto download = body_download{body, chunk_size, cuda::stream_ref{stream}};
    return read_all(download, chunk_size);
  }
};

TEST_F(ipc_download, returns_the_bytes_that_the_stream_wrote)
{
  for (auto seed = 0U; seed < 4 * many_seeds; ++seed) {
    sim::reset(seed);
    auto random       = std::mt19937{seed};
    auto const stream = lasting_stream{};
    auto const kind   = random() % 4 == 0 ? memory_kind::managed : memory_kind::device;
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
  auto download     = body_download{source.body, 1024, cuda::stream_ref{stream.get()}};
  auto const copies = [] { return sim::calls("cudaMemcpyAsync"); };
  auto const first  = copies();
  auto const waits  = sim::host_syncs_here();
  EXPECT_EQ(download.next().size(), 1024U);
  EXPECT_EQ(copies(), first + 1);  // of the second piece
  EXPECT_EQ(download.next().size(), 1024U);
  EXPECT_EQ(copies(), first + 2);
  EXPECT_EQ(download.next().size(), 1024U);
  EXPECT_EQ(copies(), first + 2);
  EXPECT_EQ(sim::host_syncs_here(), waits + 3);
  EXPECT_TRUE(download.next().empty());
}

TEST_F(ipc_download, waits_only_for_the_copy_of_the_piece)
{
  auto const stream = lasting_stream{};
  auto const source = filled_body{{200}, stream.get()};
  auto download     = body_download{source.body, 256, cuda::stream_ref{stream.get()}};
  auto is_done      = false;
  sim::enqueue(stream.get(), [&] { is_done = true; });
  synchronize(stream.get());
  auto const slow = sim::slow_stream{stream.get()};
  sim::enqueue(stream.get(), [] {});
  EXPECT_EQ(download.next().size(), 256U);  // hangs if it waits for more
  EXPECT_TRUE(is_done);
}

TEST_F(ipc_download, allocates_two_pieces_of_pinned_memory)
{
  constexpr auto chunk = std::size_t{1} << 20;
  auto const stream    = lasting_stream{};
  auto const source    = filled_body{{3 * chunk, 100, chunk}, stream.get()};
  settle();
  auto const pinned = sim::calls("cudaHostAlloc");
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
  {
    auto download = body_download{source.body, chunk, cuda::stream_ref{stream.get()}};
    EXPECT_EQ(free_pinned_memory(), all_pinned_memory - 2 * chunk);
    EXPECT_EQ(read_all(download, chunk), source.packed);
    EXPECT_EQ(free_pinned_memory(), all_pinned_memory - 2 * chunk);
  }
  // The download has waited for all copies.
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
  EXPECT_EQ(sim::calls("cudaHostAlloc"), pinned);
  auto const small = filled_body{{100, 100}, stream.get()};
  auto download    = body_download{small.body, chunk, cuda::stream_ref{stream.get()}};
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - pinned_block);
}

TEST_F(ipc_download, limits_the_size_of_a_piece)
{
  constexpr auto size = 3 * detail::largest_chunk;
  auto const stream   = lasting_stream{};
  auto source         = filled_body{{size}, stream.get()};
  settle();
  auto download = body_download{source.body, size, cuda::stream_ref{stream.get()}};
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - 2 * detail::largest_chunk);
  EXPECT_EQ(read_all(download, detail::largest_chunk), source.packed);
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

TEST_F(ipc_download, can_be_destroyed_before_the_end)
{
  for (auto num_pieces = 0; num_pieces < 3; ++num_pieces) {
    auto const stream = lasting_stream{};
    auto source =
      std::optional<filled_body>{std::in_place, std::vector<std::size_t>{5000}, stream.get()};
    settle();
    auto download = std::optional<body_download>{
      std::in_place, source->body, std::size_t{2048}, cuda::stream_ref{stream.get()}};
    auto slow = std::optional<sim::slow_stream>{};
    for (auto i = 0; i < num_pieces; ++i) { (void)download->next(); }
    if (num_pieces == 0) { slow.emplace(stream.get()); }
    source->body.owner.reset();
    source->body.buffers.clear();
    auto const waits = sim::host_syncs_here();
    download.reset();
    EXPECT_EQ(sim::host_syncs_here(), waits);
    if (num_pieces == 0) {
      // The copies have not run: neither their source nor their target may be reused.
      EXPECT_FALSE(source->is_released());
      EXPECT_EQ(free_pinned_memory(), all_pinned_memory - pinned_block);
    }
    slow.reset();
    settle();
    EXPECT_TRUE(source->is_released());
    EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
  }
}

TEST_F(ipc_download, releases_the_body_at_the_end)
{
  auto const stream = lasting_stream{};
  auto source       = filled_body{{500}, stream.get()};
  {
    auto download = body_download{std::move(source.body), 100, cuda::stream_ref{stream.get()}};
    EXPECT_EQ(read_all(download, 100), source.packed);
  }
  EXPECT_TRUE(source.is_released());
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
    auto download     = body_download{source.body, 256, cuda::stream_ref{stream}};
    (void)download.next();
    {
      // This runs before the copy of the third piece.
      auto const guard = on_device{rmm::cuda_device_id{1}};
      sim::enqueue(stream, [target = const_cast<void*>(source.body.buffers[2].address)] {
        std::memset(target, 7, 256);
      });
    }
    (void)download.next();
    auto const third = download.next();
    ASSERT_EQ(bytes_t(third.begin(), third.end()), bytes_t(256, std::byte{7}));
  }
}

TEST_F(ipc_download, returns_pinned_memory_without_a_copy)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto const source = filled_body{{700, 64}, stream.get(), seed, memory_kind::pinned};
    auto download     = body_download{source.body, 100, cuda::stream_ref{stream.get()}};
    auto const first  = download.next();
    ASSERT_EQ(first.data(), source.body.buffers[0].address);
    ASSERT_EQ(first.size(), 700U);
    ASSERT_TRUE(std::equal(first.begin(), first.end(), source.packed.begin()));
    auto const waits = sim::host_syncs_here();
    ASSERT_EQ(download.next().size(), 4U);
    ASSERT_EQ(download.next().data(), source.body.buffers[1].address);
    ASSERT_TRUE(download.next().empty());
    ASSERT_EQ(sim::host_syncs_here(), waits);
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
        auto download = body_download{std::move(source.body), 400, cuda::stream_ref{stream.get()}};
        try {
          EXPECT_EQ(read_all(download, 400), source.packed);
        } catch (rmm::cuda_error const&) {
          has_failed = true;
          EXPECT_THROW((void)download.next(), std::logic_error);
        }
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

TEST_F(ipc_download, rejects_a_piece_size_of_zero)
{
  auto const stream = lasting_stream{};
  auto const source = filled_body{{900}, stream.get()};
  sim::drain();
  EXPECT_THROW(body_download(source.body, 0, cuda::stream_ref{stream.get()}),
               std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
