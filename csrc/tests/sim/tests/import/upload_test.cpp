// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host arrays are uploaded and device arrays copied to the host, with waits only where documented.
#include "sim/tests/ipc/bodies.hpp"

#include <cudf_arrow_bridge/ordering.hpp>

#include <rmm/error.hpp>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

/// An export of a host column whose values are overwritten on release.
class host_source {
 public:
  host_source(shape const& type, rows const& values)
  {
    auto owner = std::shared_ptr<cudf::column>(make_column(type, values).release(),
                                               [count = released_](cudf::column* column) {
                                                 overwrite(column->view());
                                                 delete column;
                                                 ++*count;
                                               });
    array = to_arrow_device(owner->view(), owner, {}, stream(), host_memory_resource()).to_arrow();
  }

  [[nodiscard]] int released() const { return *released_; }

  unique_device_array array;

 private:
  static void overwrite(cudf::column_view const& column)
  {
    if (column.num_children() == 0 && column.size() > 0) {
      std::memset(
        const_cast<void*>(column.head<void>()), 0x77, static_cast<std::size_t>(column.size()));
    }
    std::for_each(column.child_begin(), column.child_end(), overwrite);
  }

  std::shared_ptr<int> released_{std::make_shared<int>(0)};
};

class Upload : public bridge_test {
 protected:
  /// Delays the copies that are enqueued next.
  static void enqueue_long_kernel(cudaStream_t stream)
  {
    sim::enqueue(stream, [] { std::this_thread::sleep_for(std::chrono::milliseconds{2}); });
  }

  /// Exports a table in host memory. All bytes of a column are equal to its index.
  unique_device_array export_bytes(shape const& type, cudf::size_type num_rows)
  {
    auto columns = std::vector<std::unique_ptr<cudf::column>>{};
    for (auto const& field : type.children) {
      auto const size = static_cast<std::size_t>(num_rows) * cudf::size_of(field.type());
      auto const byte = static_cast<char>(columns.size());
      columns.push_back(std::make_unique<cudf::column>(field.type(),
                                                       num_rows,
                                                       host_buffer(std::vector<char>(size, byte)),
                                                       host_buffer(std::vector<char>{}),
                                                       0));
    }
    auto owner = std::make_shared<cudf::column>(type.type(),
                                                num_rows,
                                                host_buffer(std::vector<char>{}),
                                                host_buffer(std::vector<char>{}),
                                                0,
                                                std::move(columns));
    return to_arrow(std::move(owner), cudaStream_t{}).to_arrow();
  }

  void expect_arrives(shape const& type, rows const& values, cudaStream_t stream)
  {
    auto source   = host_source{type, values};
    auto imported = import(source.array, type, stream);
    EXPECT_EQ(source.released(), 1);
    expect_rows(std::move(imported), type, values, stream);
  }
};

TEST_F(Upload, SourceCanBeReleasedBeforeTheCopyHasRun)
{
  for (auto const& type : {flat("int32"), flat("bool8"), struct_of({list_of(flat("int16"))})}) {
    auto const values = samples(type, 60, 25);
    for_seeds(many_seeds, [&](cudaStream_t stream) {
      enqueue_long_kernel(stream);
      expect_arrives(type, values, stream);
    });
  }
}

TEST_F(Upload, DoesNotWaitForTheStream)
{
  auto const stream = lasting_stream{};
  auto source       = host_source{flat("int32"), integer_rows({1, 2, 3})};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto const before = sim::host_syncs_here();
  auto imported     = import(source.array, flat("int32"), stream.get());
  EXPECT_EQ(sim::host_syncs_here(), before);
  EXPECT_EQ(source.released(), 1);
  slow.reset();
  expect_rows(imported.view(), flat("int32"), integer_rows({1, 2, 3}), stream.get());
}

TEST_F(Upload, IsRejectedIfCopiesAreForbidden)
{
  auto const stream = lasting_stream{};
  auto source       = host_source{flat("int32"), integer_rows({1, 2, 3})};
  auto const text   = message_of(
    [&] { (void)import(source.array, flat("int32"), stream.get(), {.copy = copy_policy::never}); });
  EXPECT_EQ(text,
            "copy=False: the data is in CPU memory, not in memory of CUDA device 0: "
            "copy=None uploads it");
}

TEST_F(Upload, OfBorrowedColumnsCopiesThem)
{
  auto const stream   = lasting_stream{};
  auto const values   = rows{number(1), number(0), number(1)};
  auto source         = host_source{flat("bool8"), values};
  auto const uploaded = import(source.array, flat("bool8"), stream.get(), {.borrow = true});
  EXPECT_EQ(source.released(), 1);
  EXPECT_EQ(uploaded.owner, nullptr);
  // Not the bytes in host memory that the bits were converted to before the upload.
  ASSERT_EQ(uploaded.copied.size(), 1U);
  EXPECT_EQ(uploaded.copied[0].address, uploaded.view().head<void>());
  expect_rows(uploaded.view(), flat("bool8"), values, stream.get());
}

TEST_F(Upload, MemoryIsPinnedOnceForUploadsOfAllSizes)
{
  auto const stream = lasting_stream{};
  auto const pinned = sim::calls("cudaHostAlloc");
  for (auto const size : {1, 20'000, 100'000, 40'000, 1, 70'000}) {
    auto const values = integers_t(static_cast<std::size_t>(size), size);
    auto const before = sim::host_syncs_here();
    expect_arrives(flat("int32"), integer_rows(values), stream.get());
    EXPECT_EQ(sim::host_syncs_here(), before + 1);  // by `expect_arrives`
    EXPECT_EQ(sim::calls("cudaHostAlloc"), pinned);
  }
}

TEST_F(Upload, WorksWhileNoPinnedMemoryIsFree)
{
  constexpr auto num_blocks = 1024;
  auto const late           = lasting_stream{};
  auto const other          = lasting_stream{};
  drain_releases();
  auto const pinned = sim::calls("cudaHostAlloc");
  {
    auto const slow = sim::slow_stream{late.get()};
    auto imported   = std::vector<imported_column>{};
    for (auto i = 0; i < num_blocks; ++i) {
      auto source = host_source{flat("int32"), integer_rows({i})};
      imported.push_back(import(source.array, flat("int32"), late.get()));
    }
    EXPECT_EQ(detail::pinned_memory{1}.data(), nullptr);
    for (auto i = 0; i < 12; ++i) {
      enqueue_long_kernel(other.get());
      expect_arrives(flat("int32"), integer_rows({i}), other.get());
    }
  }
  settle();
  EXPECT_EQ(sim::calls("cudaHostAlloc"), pinned);
  EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
}

TEST_F(Upload, FreedPinnedMemoryIsMergedInAnyOrder)
{
  drain_releases();
  for (std::size_t first = 0; first < 3; ++first) {
    auto parts = std::array<std::optional<detail::pinned_memory>, 3>{};
    for (auto& part : parts) { part.emplace(std::size_t{1}); }
    EXPECT_LT(free_pinned_memory(), all_pinned_memory);
    for (std::size_t i = 0; i < 3; ++i) { parts[(first + i) % 3].reset(); }
    EXPECT_EQ(free_pinned_memory(), all_pinned_memory);
  }
}

/// Counts of what an import does.
struct import_costs {
  std::size_t allocations{sim::live_allocations()};
  std::size_t copies{sim::calls("cudaMemcpyAsync")};
  std::size_t waits{sim::host_syncs_here()};

  [[nodiscard]] import_costs since() const
  {
    auto const now = import_costs{};
    return {now.allocations - allocations, now.copies - copies, now.waits - waits};
  }

  bool operator==(import_costs const&) const = default;
};

TEST_F(Upload, SmallBuffersShareOneAllocationAndOneCopy)
{
  auto fields = std::vector<shape>{};
  for (auto i = 0; i < 100; ++i) {
    fields.push_back(flat(std::array{"int32", "string", "bool8"}[static_cast<std::size_t>(i % 3)]));
  }
  auto const type   = struct_of(fields);
  auto const values = table_samples(type, 20, 30);
  for_seeds(many_seeds, [&](cudaStream_t stream) {
    auto source       = host_source{type, values};
    auto const before = import_costs{};
    auto table        = import_table(source.array, type, stream);
    EXPECT_EQ(before.since(), (import_costs{1, 1, 0}));
    for (auto i = fields.size(); i-- > 0;) {
      auto const seen = read_later(table.columns.back().view(), fields[i], stream);
      EXPECT_EQ(sim::live_allocations(), before.allocations + 1);
      table.columns.pop_back();
      if (i % 20 != 0) { continue; }
      synchronize(stream);
      EXPECT_EQ(*seen, field_rows(values, i, {}));
    }
    EXPECT_EQ(sim::live_allocations(), before.allocations) << "freed with the last column";
  });
}

TEST_F(Upload, BlocksAreFreedAfterTheReadsOfAllColumns)
{
  auto const type   = struct_of({flat("int32"), flat("int32")});
  auto const values = samples(type, 2, 0);
  for_seeds(many_seeds, [&](cudaStream_t one, cudaStream_t other) {
    auto source = host_source{type, values};
    auto table  = import_table(source.array, type, one);
    order_after(other, one);
    enqueue_long_kernel(other);
    auto const first  = read_later(table.columns[0].view(), flat("int32"), other);
    auto const second = read_later(table.columns[1].view(), flat("int32"), one);
    table.columns[0].storage->release().data->set_stream(other);
    table.columns.clear();
    auto const reused = integer_column(one, {7});
    synchronize(one);
    synchronize(other);
    EXPECT_EQ(*first, field_rows(values, 0, {}));
    EXPECT_EQ(*second, field_rows(values, 1, {}));
  });
}

TEST_F(Upload, LargeBuffersHaveTheirOwnAllocations)
{
  auto const type   = struct_of({flat("int8"), flat("int32"), flat("int64")});
  auto const stream = lasting_stream{};
  auto source       = export_bytes(type, 1 << 17);
  auto const before = import_costs{};
  auto table        = import_table(source, type, stream.get());
  EXPECT_EQ(before.since(), (import_costs{2, 2, 0}));
  table.columns.pop_back();
  EXPECT_EQ(sim::live_allocations(), before.allocations + 1);
  table.columns.clear();
  EXPECT_EQ(sim::live_allocations(), before.allocations);
}

TEST_F(Upload, BlocksHaveAtMost64Mebibytes)
{
  constexpr auto size = (std::size_t{1} << 20) - 256;
  auto const type     = struct_of(std::vector<shape>(66, flat("int8")));
  auto const stream   = lasting_stream{};
  auto source         = export_bytes(type, static_cast<cudf::size_type>(size));
  auto const before   = import_costs{};
  auto table          = import_table(source, type, stream.get());
  EXPECT_EQ(sim::live_allocations(), before.allocations + 2);
  auto num_right = 0U;
  sim::enqueue(stream.get(), [&] {
    for (auto i = 0U; i < table.columns.size(); ++i) {
      auto const* data = table.columns[i].view().head<std::byte>();
      num_right += std::to_integer<unsigned>(data[0]) == i ? 1 : 0;
      num_right += std::memcmp(data, data + 1, size - 1) == 0 ? 1 : 0;
    }
  });
  synchronize(stream.get());
  EXPECT_EQ(num_right, 2 * table.columns.size());
}

TEST_F(Upload, LargeArraysAreUploadedInPieces)
{
  static constexpr auto count = (std::size_t{1} << 24) + 1;
  for_seeds(2, [&](cudaStream_t stream) {
    auto owner    = std::shared_ptr<integers_t>{new integers_t(count, 5), [](integers_t* all) {
                                               std::memset(all->data(), 0, count * 4);
                                               delete all;
                                                }};
    owner->back() = 6;  // in the second piece
    auto const view =
      cudf::column_view{cudf::data_type{cudf::type_id::INT32}, count, owner->data(), nullptr, 0};
    auto array      = to_arrow_device(view, std::move(owner), {}, stream, pool_).to_arrow();
    auto const uses = sim::calls("cudaHostAlloc");
    enqueue_long_kernel(stream);
    auto imported = import(array, flat("int32"), stream);
    EXPECT_EQ(sim::calls("cudaHostAlloc"), uses);
    auto right = false;
    sim::enqueue(stream, [&, data = imported.view().head<std::int32_t>()] {
      // memcmp instead of a loop, which is slow with sanitizers.
      right =
        data[0] == 5 && std::memcmp(data, data + 1, (count - 2) * 4) == 0 && data[count - 1] == 6;
    });
    synchronize(stream);
    EXPECT_TRUE(right);
  });
}

TEST_F(Upload, ToHostWaitsForTheProducer)
{
  for (auto const& type : {flat("int32"), flat("string"), list_of(flat("string"))}) {
    auto const values = samples(type, 40, 20);
    for_seeds(many_seeds, [&](cudaStream_t one, cudaStream_t other) {
      auto const host = export_rows(type, values, one).to_host(other);
      EXPECT_EQ(host.location(), memory_location{});
      EXPECT_EQ(read_arrow(host.to_arrow()->array, type), values);
    });
  }
}

TEST_F(Upload, ToHostWaitsOnDefaultStreamsOfTheMemorysDevice)
{
  auto const values = integer_rows({3, 1, 4});
  for (auto const stream : {cudaStream_t{}, cudaStreamPerThread}) {
    for_seeds(many_seeds, [&] {
      auto const host = export_rows(flat("int32"), values, stream, 1).to_host(stream);
      EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
      EXPECT_EQ(read_arrow(host.to_arrow()->array, flat("int32")), values);
    });
  }
}

TEST_F(Upload, ToHostCountsTheNullsOfChildren)
{
  auto const type   = struct_of({flat("int32"), flat("int8")});
  auto const all    = rows{value{rows{value{}, number(1)}},
                           value{rows{number(2), number(3)}},
                           value{rows{number(4), number(5)}}};
  auto const stream = lasting_stream{};
  auto const copy   = export_rows(type, all, stream.get()).to_host(stream.get());
  EXPECT_EQ(copy.child(0).null_count(), 1);
  EXPECT_EQ(copy.child(1).null_count(), 0);
  auto source     = column(type, all, stream.get());
  auto const rest = slice_later(source->view(), 1, {all.begin() + 1, all.end()});
  auto const part = to_arrow_device(rest, std::move(source), {}, stream.get(), pool_);
  EXPECT_EQ(part.to_host(stream.get()).child(0).null_count(), 1) << "of the row before the slice";
  EXPECT_EQ(part.to_host(stream.get()).child(1).null_count(), 0) << "no mask";
}

TEST_F(Upload, FailedToHostWaitsForItsCopies)
{
  auto const type = struct_of({flat("int32"), flat("int64"), flat("string")});
  for (auto after = 0; after < 4; ++after) {
    for_seeds(many_seeds, [&](cudaStream_t stream) {
      auto const device = export_rows(type, samples(type, 20, 0), stream);
      sim::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue, after);
      EXPECT_THROW((void)device.to_host(stream), rmm::cuda_error);
      if (after > 0) { EXPECT_EQ(sim::leftovers().find("operations"), std::string::npos); }
    });
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
