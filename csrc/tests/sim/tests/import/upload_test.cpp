// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host arrays are uploaded and device arrays copied to the host, with waits only where documented.
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/ordering.hpp>

#include <cudf/table/table_view.hpp>

#include <rmm/error.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
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
    schema     = schema_of(owner->view());
    array = to_arrow_device(owner->view(), owner, {}, stream(), host_memory_resource()).to_arrow();
  }

  [[nodiscard]] int released() const { return *released_; }

  unique_schema schema;
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

class upload : public bridge_test {
 protected:
  /// Delays the copies that are enqueued next.
  static void enqueue_long_kernel(cudaStream_t stream)
  {
    sim::enqueue(stream, [] { std::this_thread::sleep_for(std::chrono::milliseconds{2}); });
  }

  void expect_arrives(shape const& type, rows const& values, cudaStream_t stream)
  {
    auto source   = host_source{type, values};
    auto imported = import(source.array.get(), *source.schema.get(), stream);
    EXPECT_EQ(source.released(), 1);
    auto const seen = read_later(imported.view(), type, stream);
    imported.storage.reset();
    synchronize(stream);
    EXPECT_EQ(*seen, values);
  }
};

TEST_F(upload, source_can_be_released_before_the_copy_has_run)
{
  for (auto const& type : {flat("int32"), flat("bool8"), struct_of({list_of(flat("int16"))})}) {
    auto const values = samples(type, 60, 25);
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const stream = lasting_stream{};
      enqueue_long_kernel(stream.get());
      expect_arrives(type, values, stream.get());
    }
  }
}

TEST_F(upload, does_not_wait_for_the_stream)
{
  auto const stream = lasting_stream{};
  auto source       = host_source{flat("int32"), integer_rows({1, 2, 3})};
  auto slow         = std::optional<sim::slow_stream>{stream.get()};
  auto const before = sim::host_syncs_here();
  auto imported     = import(source.array.get(), *source.schema.get(), stream.get());
  EXPECT_EQ(sim::host_syncs_here(), before);
  EXPECT_EQ(source.released(), 1);
  slow.reset();
  auto const seen = read_later(imported.view(), flat("int32"), stream.get());
  synchronize(stream.get());
  EXPECT_EQ(*seen, integer_rows({1, 2, 3}));
}

TEST_F(upload, of_borrowed_columns_copies_them)
{
  auto const stream = lasting_stream{};
  auto const values = rows{number(1), number(0), number(1)};
  auto source       = host_source{flat("bool8"), values};
  auto const uploaded =
    import(source.array.get(), *source.schema.get(), stream.get(), import_options{.borrow = true});
  EXPECT_EQ(source.released(), 1);
  EXPECT_EQ(uploaded.owner, nullptr);
  // Not the bytes in host memory that the bits were converted to before the upload.
  ASSERT_EQ(uploaded.copied.size(), 1U);
  EXPECT_EQ(uploaded.copied[0].address, uploaded.view().head<void>());
  auto const seen = read_later(uploaded.view(), flat("bool8"), stream.get());
  synchronize(stream.get());
  EXPECT_EQ(*seen, values);
}

TEST_F(upload, pinned_memory_is_kept_for_copies_in_flight)
{
  auto const slow_one = lasting_stream{};
  auto const other    = lasting_stream{};
  auto slow           = std::optional<sim::slow_stream>{slow_one.get()};
  auto first          = host_source{flat("int32"), integer_rows({1, 2, 3})};
  auto second         = host_source{flat("int32"), integer_rows({7, 8, 9})};
  auto one            = import(first.array.get(), *first.schema.get(), slow_one.get());
  auto two            = import(second.array.get(), *second.schema.get(), other.get());
  synchronize(other.get());
  slow.reset();
  auto const seen = read_later(one.view(), flat("int32"), slow_one.get());
  synchronize(slow_one.get());
  EXPECT_EQ(*seen, integer_rows({1, 2, 3}));
}

TEST_F(upload, memory_is_pinned_once_for_uploads_of_all_sizes)
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

TEST_F(upload, works_while_no_pinned_memory_is_free)
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
      imported.push_back(import(source.array.get(), *source.schema.get(), late.get()));
    }
    EXPECT_EQ(detail::pinned_memory{1}.data(), nullptr);
    for (auto i = 0; i < 12; ++i) {
      enqueue_long_kernel(other.get());
      expect_arrives(flat("int32"), integer_rows({i}), other.get());
    }
  }
  settle();
  EXPECT_EQ(sim::calls("cudaHostAlloc"), pinned);
  // All pinned memory is free again, as one block.
  auto const before = sim::host_syncs_here();
  auto const all    = integers_t((std::size_t{1} << 24) - 16, 7);
  auto const view   = cudf::column_view{cudf::data_type{cudf::type_id::INT32},
                                        static_cast<cudf::size_type>(all.size()),
                                        all.data(),
                                        nullptr,
                                        0};
  auto array = to_arrow_device(view, nullptr, {}, cuda::stream_ref{other.get()}, pool_).to_arrow();
  import(array.get(), *integer_schema().get(), other.get()).storage.reset();
  EXPECT_EQ(sim::host_syncs_here(), before);
}

TEST_F(upload, freed_pinned_memory_is_merged_in_any_order)
{
  constexpr auto all = std::size_t{1} << 26;
  drain_releases();
  for (std::size_t first = 0; first < 3; ++first) {
    auto parts = std::array<std::optional<detail::pinned_memory>, 3>{};
    for (auto& part : parts) { part.emplace(std::size_t{1}); }
    EXPECT_EQ(detail::pinned_memory{all}.data(), nullptr);
    for (std::size_t i = 0; i < 3; ++i) { parts[(first + i) % 3].reset(); }
    EXPECT_NE(detail::pinned_memory{all}.data(), nullptr);
  }
}

/// A table in host memory, exported.
class host_table {
 public:
  explicit host_table(std::vector<std::unique_ptr<cudf::column>> columns)
    : owner_{std::make_shared<std::vector<std::unique_ptr<cudf::column>>>(std::move(columns))}
  {
    auto views = std::vector<cudf::column_view>{};
    for (auto const& column : *owner_) { views.push_back(column->view()); }
    auto const table = cudf::table_view{views};
    schema           = to_arrow_schema(table, std::vector<column_metadata>(views.size()), {});
    array = to_arrow_device(table, owner_, {}, stream(), host_memory_resource()).to_arrow();
  }

  unique_schema schema;
  unique_device_array array;

 private:
  std::shared_ptr<std::vector<std::unique_ptr<cudf::column>>> owner_;
};

rmm::device_buffer host_buffer(std::size_t size)
{ return rmm::device_buffer{size, cuda::stream_ref{cudaStream_t{}}, host_memory_resource()}; }

/// A host column of `size` equal bytes.
std::unique_ptr<cudf::column> bytes_of(std::size_t size,
                                       int value,
                                       cudf::type_id type = cudf::type_id::INT8)
{
  auto data = host_buffer(size);
  std::memset(data.data(), value, size);
  auto const rows = static_cast<cudf::size_type>(size / cudf::size_of(cudf::data_type{type}));
  return std::make_unique<cudf::column>(
    cudf::data_type{type}, rows, std::move(data), host_buffer(0), 0);
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

TEST_F(upload, small_buffers_share_one_allocation_and_one_copy)
{
  auto const types = std::array{flat("int32"), flat("string"), flat("bool8")};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto columns      = std::vector<std::unique_ptr<cudf::column>>{};
    for (auto i = 0U; i < 100; ++i) {
      columns.push_back(make_column(types[i % 3], samples(types[i % 3], 20, i)));
    }
    auto source       = host_table{std::move(columns)};
    auto const before = import_costs{};
    auto table        = from_arrow_device_table(
      *source.schema.get(), source.array.get(), {}, cuda::stream_ref{stream.get()}, pool_);
    EXPECT_EQ(before.since(), (import_costs{1, 1, 0}));
    for (auto i = 100U; i-- > 0;) {
      auto const& type = types[i % 3];
      auto const seen  = read_later(table.columns.back().view(), type, stream.get());
      EXPECT_EQ(sim::live_allocations(), before.allocations + 1);
      table.columns.pop_back();
      if (i % 20 == 0) { synchronize(stream.get()); }
      if (i % 20 == 0) { EXPECT_EQ(*seen, samples(type, 20, i)); }
    }
    EXPECT_EQ(sim::live_allocations(), before.allocations) << "freed with the last column";
  }
}

TEST_F(upload, blocks_are_freed_after_the_reads_of_all_columns)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const one   = lasting_stream{};
    auto const other = lasting_stream{};
    auto columns     = std::vector<std::unique_ptr<cudf::column>>{};
    for (auto i = 0; i < 2; ++i) {
      columns.push_back(make_column(flat("int32"), integer_rows({i, i + 1})));
    }
    auto source = host_table{std::move(columns)};
    auto table  = from_arrow_device_table(
      *source.schema.get(), source.array.get(), {}, cuda::stream_ref{one.get()}, pool_);
    order_after(cuda::stream_ref{other.get()}, cuda::stream_ref{one.get()});
    enqueue_long_kernel(other.get());
    auto const first  = read_later(table.columns[0].view(), flat("int32"), other.get());
    auto const second = read_later(table.columns[1].view(), flat("int32"), one.get());
    auto contents     = table.columns[0].storage->release();
    contents.data->set_stream(cuda::stream_ref{other.get()});
    contents = {};
    table.columns.clear();
    auto const reused = to_arrow(column(flat("int32"), integer_rows({7}), one.get()), one.get());
    synchronize(one.get());
    synchronize(other.get());
    EXPECT_EQ(*first, integer_rows({0, 1}));
    EXPECT_EQ(*second, integer_rows({1, 2}));
  }
}

TEST_F(upload, large_buffers_have_their_own_allocations)
{
  constexpr auto large = std::size_t{1} << 20;
  auto const stream    = lasting_stream{};
  auto columns         = std::vector<std::unique_ptr<cudf::column>>{};
  columns.push_back(bytes_of(large / 8, 1));
  columns.push_back(bytes_of(large / 2, 2, cudf::type_id::INT32));
  columns.push_back(bytes_of(large, 3, cudf::type_id::INT64));
  auto source       = host_table{std::move(columns)};
  auto const before = import_costs{};
  auto table        = from_arrow_device_table(
    *source.schema.get(), source.array.get(), {}, cuda::stream_ref{stream.get()}, pool_);
  EXPECT_EQ(before.since(), (import_costs{2, 2, 0}));
  table.columns.pop_back();
  EXPECT_EQ(sim::live_allocations(), before.allocations + 1);
  table.columns.clear();
  EXPECT_EQ(sim::live_allocations(), before.allocations);
}

TEST_F(upload, blocks_have_at_most_64_mebibytes)
{
  constexpr auto size = (std::size_t{1} << 20) - 256;
  auto const stream   = lasting_stream{};
  auto columns        = std::vector<std::unique_ptr<cudf::column>>{};
  for (auto i = 0; i < 66; ++i) { columns.push_back(bytes_of(size, i)); }
  auto source       = host_table{std::move(columns)};
  auto const before = import_costs{};
  auto table        = from_arrow_device_table(
    *source.schema.get(), source.array.get(), {}, cuda::stream_ref{stream.get()}, pool_);
  EXPECT_EQ(sim::live_allocations(), before.allocations + 2);
  auto right = std::array<bool, 66>{};
  sim::enqueue(stream.get(), [&] {
    for (auto i = 0U; i < right.size(); ++i) {
      auto const* data = table.columns[i].view().head<std::byte>();
      right[i]         = data[0] == std::byte{static_cast<unsigned char>(i)} &&
                         std::memcmp(data, data + 1, size - 1) == 0;
    }
  });
  synchronize(stream.get());
  for (auto const one : right) { EXPECT_TRUE(one); }
}

TEST_F(upload, large_arrays_are_uploaded_in_pieces)
{
  constexpr auto count = (std::size_t{1} << 24) + 1;
  constexpr auto bytes = count * sizeof(std::int32_t);
  for (auto seed = 0U; seed < 2; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    // memset and memcmp instead of loops, which are slow with sanitizers.
    auto owner = std::shared_ptr<void>{std::malloc(bytes), [](void* all) {
                                         std::memset(all, 0, bytes);
                                         std::free(all);
                                       }};
    std::memset(owner.get(), 5, bytes);
    std::memset(static_cast<std::byte*>(owner.get()) + bytes - 4, 6, 4);  // in the second piece
    auto const view = cudf::column_view{cudf::data_type{cudf::type_id::INT32},
                                        static_cast<cudf::size_type>(count),
                                        owner.get(),
                                        nullptr,
                                        0};
    auto array      = to_arrow_device(view, std::move(owner), {}, stream.get(), pool_).to_arrow();
    auto const uses = sim::calls("cudaHostAlloc");
    enqueue_long_kernel(stream.get());
    auto imported = import(array.get(), *integer_schema().get(), stream.get());
    EXPECT_EQ(sim::calls("cudaHostAlloc"), uses);
    auto right = false;
    sim::enqueue(stream.get(), [&, data = imported.view().head<std::byte>()] {
      right = data[0] == std::byte{5} && std::memcmp(data, data + 1, bytes - 5) == 0 &&
              data[bytes - 4] == std::byte{6};
    });
    synchronize(stream.get());
    EXPECT_TRUE(right);
  }
}

TEST_F(upload, to_host_waits_for_the_producer)
{
  for (auto const& type : {flat("int32"), flat("string"), list_of(flat("string"))}) {
    auto const values = samples(type, 40, 20);
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const one    = lasting_stream{};
      auto const other  = lasting_stream{};
      auto source       = column(type, values, one.get());
      auto const schema = schema_of(source->view());
      auto const device = to_arrow(std::move(source), one.get());
      auto const host   = device.to_host(other.get());
      EXPECT_EQ(host.location(), memory_location{});
      auto array = host.to_arrow();
      auto back  = import(array.get(), *schema.get(), other.get());
      auto seen  = read_later(back.view(), type, other.get());
      synchronize(other.get());
      EXPECT_EQ(*seen, values);
    }
  }
}

TEST_F(upload, to_host_waits_on_default_streams_of_the_memorys_device)
{
  auto const values = integer_rows({3, 1, 4});
  for (auto const stream : {cudaStream_t{}, cudaStreamPerThread}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto device = device_array{};
      {
        auto const guard = on_device{rmm::cuda_device_id{1}};
        auto const owner =
          std::shared_ptr{upload_column(make_column(flat("int32"), values), stream, far_pool_)};
        device = to_arrow_device(owner->view(), owner, {}, stream, far_pool_);
      }
      auto const host = device.to_host(stream).to_arrow();
      EXPECT_EQ(rmm::get_current_cuda_device().value(), 0);
      auto const* found = static_cast<std::int32_t const*>(host->array.buffers[1]);
      EXPECT_EQ(integer_rows({found[0], found[1], found[2]}), values);
    }
  }
}

TEST_F(upload, to_host_counts_the_nulls_of_children)
{
  auto const type   = struct_of({flat("int32"), flat("int8")});
  auto const all    = rows{value{rows{value{}, number(1)}},
                           value{rows{number(2), number(3)}},
                           value{rows{number(4), number(5)}}};
  auto const stream = lasting_stream{};
  auto const whole  = to_arrow(column(type, all, stream.get()), stream.get());
  auto const copy   = whole.to_host(stream.get());
  EXPECT_EQ(copy.child(0).null_count(), 1);
  EXPECT_EQ(copy.child(1).null_count(), 0);
  auto source     = std::shared_ptr{column(type, all, stream.get())};
  auto const rest = slice_later(source->view(), 1, {all.begin() + 1, all.end()});
  auto const part = to_arrow_device(rest, std::move(source), {}, stream.get(), pool_);
  EXPECT_EQ(part.to_host(stream.get()).child(0).null_count(), 1) << "of the row before the slice";
  EXPECT_EQ(part.to_host(stream.get()).child(1).null_count(), 0) << "no mask";
}

TEST_F(upload, failed_to_host_waits_for_its_copies)
{
  auto const type = struct_of({flat("int32"), flat("int64"), flat("string")});
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    for (auto after = 0; after < 4; ++after) {
      sim::reset(seed);
      auto const stream = lasting_stream{};
      auto const device = to_arrow(column(type, samples(type, 20, 0), stream.get()), stream.get());
      sim::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue, after);
      EXPECT_THROW((void)device.to_host(stream.get()), rmm::cuda_error);
      if (after > 0) { EXPECT_EQ(sim::leftovers().find("operations"), std::string::npos); }
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
