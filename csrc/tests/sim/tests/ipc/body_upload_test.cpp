// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bodies are uploaded in pieces, in stream order, through a limited amount of pinned memory.
#include "sim/tests/ipc/bodies.hpp"

#include <rmm/error.hpp>

#include <optional>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

class ipc_upload : public bridge_test {
 protected:
  std::unique_ptr<body_upload> make(std::size_t size, std::size_t chunk_size, cudaStream_t stream)
  { return std::make_unique<body_upload>(size, chunk_size, cuda::stream_ref{stream}, pool_); }

  /// Fills each piece with the next values, at most `limit()` of them.
  template <typename Limit>
  static void fill(body_upload& upload, bytes_t const& values, Limit limit)
  {
    auto filled = std::size_t{0};
    for (auto piece = upload.next(); !piece.empty(); piece = upload.next()) {
      ASSERT_LE(filled + piece.size(), values.size());
      auto const count = std::min(piece.size(), std::size_t{limit()});
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(filled), count, piece.begin());
      upload.commit(count);
      filled += count;
    }
    ASSERT_EQ(filled, values.size());
  }

  static void fill(body_upload& upload, bytes_t const& values)
  {
    fill(upload, values, [&] { return values.size(); });
  }

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

TEST_F(ipc_upload, stream_reads_the_uploaded_bytes)
{
  for (auto seed = 0U; seed < 4 * many_seeds; ++seed) {
    sim::reset(seed);
    auto random        = std::mt19937{seed};
    auto const stream  = lasting_stream{};
    auto const values  = random_bytes(random() % 5000, random);
    auto const chunk   = std::size_t{1} + random() % 3000;
    auto const is_slow = random() % 2 == 0;
    auto upload        = make(values.size(), chunk, stream.get());
    fill(*upload, values, [&] { return is_slow ? random() % 400 : values.size(); });
    auto const memory = upload->finish();
    upload.reset();
    auto const seen = read_later(memory, stream.get());
    synchronize(stream.get());
    ASSERT_EQ(*seen, values);
  }
}

TEST_F(ipc_upload, default_streams_are_on_the_memorys_device)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto random       = std::mt19937{seed};
    auto const stream = cudaStream_t{};
    auto const values = random_bytes(1000, random);
    auto guard        = std::optional<on_device>{std::in_place, rmm::cuda_device_id{1}};
    auto upload = std::make_unique<body_upload>(1000, 300, cuda::stream_ref{stream}, far_pool_);
    guard.reset();
    fill(*upload, values);
    auto const memory = upload->finish();
    upload.reset();
    guard.emplace(rmm::cuda_device_id{1});
    auto const seen = read_later(memory, stream);
    synchronize(stream);
    ASSERT_EQ(*seen, values);
  }
}

TEST_F(ipc_upload, does_not_wait_if_it_reuses_no_piece)
{
  auto const stream = lasting_stream{};
  auto random       = std::mt19937{1};
  auto const values = random_bytes(500, random);
  auto upload       = make(500, 250, stream.get());
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto const waits  = sim::host_syncs_here();
  fill(*upload, values);
  auto const memory = upload->finish();
  upload.reset();
  EXPECT_EQ(sim::host_syncs_here(), waits);
  // The copies have not run.
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - pinned_block);
  auto const seen = read_later(memory, stream.get());
  slow.reset();
  synchronize(stream.get());
  EXPECT_EQ(*seen, values);
  settle();
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
}

TEST_F(ipc_upload, allocates_two_pieces_of_pinned_memory)
{
  constexpr auto chunk = std::size_t{1} << 20;
  auto const stream    = lasting_stream{};
  auto random          = std::mt19937{1};
  auto const values    = random_bytes(5 * chunk + 1, random);
  settle();
  auto upload = make(values.size(), chunk, stream.get());
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - 2 * chunk);
  fill(*upload, values);
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - 2 * chunk);
  auto const memory = upload->finish();
  auto const seen   = read_later(memory, stream.get());
  synchronize(stream.get());
  EXPECT_EQ(*seen, values);
}

TEST_F(ipc_upload, writes_only_to_its_own_pinned_memory)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto random       = std::mt19937{seed};
    auto const values = random_bytes(pinned_block, random);
    auto upload       = make(values.size(), 2 * values.size(), stream.get());
    auto const others = detail::pinned_memory{1, all_pinned_memory, detail::transfer_kind::body};
    auto const next   = std::span{others.data(), 2 * pinned_block};
    ASSERT_EQ(others.size(), all_pinned_memory - pinned_block);
    std::memset(next.data(), 0, next.size());
    fill(*upload, values, [&] { return random() % pinned_block; });
    auto const memory = upload->finish();
    auto const seen   = read_later(memory, stream.get());
    synchronize(stream.get());
    ASSERT_EQ(*seen, values);
    ASSERT_TRUE(
      std::all_of(next.begin(), next.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

TEST_F(ipc_upload, can_be_destroyed_before_the_end)
{
  auto const stream = lasting_stream{};
  auto upload       = make(1000, 100, stream.get());
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  for (auto i = 0; i < 2; ++i) {
    auto const piece = upload->next();
    upload->commit(piece.size());
  }
  EXPECT_THROW((void)upload->finish(), std::logic_error);
  upload.reset();
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory - pinned_block);
  slow.reset();
  settle();
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
}

TEST_F(ipc_upload, copies_to_the_device_that_was_current_at_construction)
{
  auto const own    = stream_on(1);
  auto random       = std::mt19937{1};
  auto const values = random_bytes(1000, random);
  for (auto* const stream : {own->get(), cudaStream_t{}}) {
    auto upload = std::unique_ptr<body_upload>{};
    {
      auto const guard = on_device{rmm::cuda_device_id{1}};
      upload = std::make_unique<body_upload>(1000, 300, cuda::stream_ref{stream}, far_pool_);
    }
    fill(*upload, values);
    auto const memory = upload->finish();
    upload.reset();
    auto const guard = on_device{rmm::cuda_device_id{1}};
    auto const seen  = read_later(memory, stream);
    synchronize(stream);
    EXPECT_EQ(*seen, values);
  }
}

TEST_F(ipc_upload, rejects_invalid_calls)
{
  auto const stream = lasting_stream{};
  EXPECT_THROW(make(10, 0, stream.get()), std::invalid_argument);
  auto upload = make(100, 60, stream.get());
  EXPECT_THROW(upload->commit(1), std::invalid_argument);
  auto const piece = upload->next();
  EXPECT_EQ(piece.size(), 60U);
  EXPECT_THROW(upload->commit(61), std::invalid_argument);
  upload->commit(0);
  EXPECT_EQ(upload->next().data(), piece.data());
  upload->commit(60);
  EXPECT_EQ(upload->next().size(), 40U);
  EXPECT_THROW((void)upload->finish(), std::logic_error);
  upload->commit(40);
  EXPECT_TRUE(upload->next().empty());
  EXPECT_EQ(upload->finish().size(), 100U);
  EXPECT_THROW((void)upload->finish(), std::logic_error);
}

TEST_F(ipc_upload, failed_upload_frees_its_memory)
{
  for (auto const* function : {"cudaMemcpyAsync",
                               "cudaEventRecord",
                               "cudaEventSynchronize",
                               "cudaEventCreateWithFlags",
                               "sim::allocate"}) {
    for (auto after = 0; after < 3; ++after) {
      sim::reset(1);
      auto const stream = lasting_stream{};
      auto const none   = empty_pool{};
      auto random       = std::mt19937{1};
      auto const values = random_bytes(1000, random);
      sim::fail_next(function, cudaErrorInvalidValue, after);
      auto upload = std::unique_ptr<body_upload>{};
      try {
        upload = make(values.size(), 150, stream.get());
        fill(*upload, values);
        EXPECT_GT(after, 0) << function;
      } catch (std::exception const&) {
        if (upload) { EXPECT_THROW((void)upload->next(), std::logic_error); }
      }
      upload.reset();
      settle();
      EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
      sim::reset(1);  // removes the remaining faults
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
