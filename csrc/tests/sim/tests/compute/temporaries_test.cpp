// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts the temporary memory of exports and imports with a resource like rmm's default, whose
/// `cudaFree` waits for the device. Temporary memory within functions of libcudf is not simulated.
#include "compute/buffers.hpp"
#include "sim/tests/bridge_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

/// Allocates with `cudaMalloc` and frees with `cudaFree`, as `rmm::mr::cuda_memory_resource` does.
class immediate_resource {
 public:
  void* allocate_sync(std::size_t bytes, std::size_t = 256)
  {
    auto* result = static_cast<void*>(nullptr);
    EXPECT_EQ(cudaMalloc(&result, bytes), cudaSuccess);
    return result;
  }

  void deallocate_sync(void* memory, std::size_t, std::size_t = 256) noexcept
  { EXPECT_EQ(cudaFree(memory), cudaSuccess); }

  void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t = 256)
  { return allocate_sync(bytes); }

  void deallocate(cuda::stream_ref, void* memory, std::size_t bytes, std::size_t = 256) noexcept
  { deallocate_sync(memory, bytes); }

  bool operator==(immediate_resource const&) const noexcept = default;

  friend void get_property(immediate_resource const&, cuda::mr::device_accessible) noexcept {}
};

/// Calls of an export or import.
struct call_counts {
  std::size_t allocations;  ///< of temporary memory
  std::size_t frees;
  std::size_t operations;  ///< kernels, memory copies and memsets
  std::size_t waits;       ///< of the host, including those of `cudaFree`

  bool operator==(call_counts const&) const = default;

  friend std::ostream& operator<<(std::ostream& out, call_counts const& counts)
  {
    return out << counts.allocations << " allocations, " << counts.frees << " frees, "
               << counts.operations << " operations, " << counts.waits << " waits";
  }
};

call_counts counts_now()
{
  return {
    sim::calls("cudaMalloc"),
    sim::calls("cudaFree"),
    sim::calls("sim::enqueue") + sim::calls("cudaMemcpyAsync") + sim::calls("cudaMemsetAsync"),
    sim::host_syncs_here()};
}

call_counts operator-(call_counts const& left, call_counts const& right)
{
  return {left.allocations - right.allocations,
          left.frees - right.frees,
          left.operations - right.operations,
          left.waits - right.waits};
}

class temporaries : public bridge_test {
 protected:
  void SetUp() override
  {
    bridge_test::SetUp();
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, immediate_resource{});
  }

  /// Columns of one type in memory of the pool, so that only temporary memory is counted.
  std::shared_ptr<std::vector<std::unique_ptr<cudf::column>>> columns(shape const& type,
                                                                      int count,
                                                                      cudaStream_t stream)
  {
    auto result = std::make_shared<std::vector<std::unique_ptr<cudf::column>>>();
    for (auto i = 0; i < count; ++i) {
      result->push_back(column(type, samples(type, 1'000, 30), stream));
    }
    return result;
  }

  call_counts counts_of_export(shape const& type, int count)
  {
    auto const stream = lasting_stream{};
    auto const made   = columns(type, count, stream.get());
    auto views        = std::vector<cudf::column_view>{};
    for (auto const& one : *made) { views.push_back(one->view()); }
    auto const before = counts_now();
    auto const array  = to_arrow_device(cudf::table_view{views}, made, {}, stream.get(), pool_);
    return counts_now() - before;
  }

  call_counts counts_of_import(shape const& type, int count)
  {
    auto const stream = lasting_stream{};
    auto const made   = columns(type, count, stream.get());
    auto views        = std::vector<cudf::column_view>{};
    for (auto const& one : *made) { views.push_back(one->view()); }
    auto const table    = cudf::table_view{views};
    auto const metadata = std::vector<column_metadata>(views.size());
    auto const schema   = to_arrow_schema(table, metadata, {});
    auto array          = to_arrow_device(table, made, {}, stream.get(), pool_).to_arrow();
    auto const before   = counts_now();
    auto const imported = from_arrow_device_table(
      *schema.get(), array.get(), {}, cuda::stream_ref{stream.get()}, pool_);
    return counts_now() - before;
  }
};

TEST_F(temporaries, of_exported_bools)
{
  EXPECT_EQ(counts_of_export(flat("bool8"), 1), (call_counts{1, 1, 7, 1}));
  EXPECT_EQ(counts_of_export(flat("bool8"), 100), (call_counts{1, 1, 700, 1}));
}

TEST_F(temporaries, of_imported_strings_with_nulls)
{
  // One wait is that of the import, the other that of `cudaFree`.
  EXPECT_EQ(counts_of_import(flat("string"), 1), (call_counts{1, 1, 12, 2}));
  EXPECT_EQ(counts_of_import(flat("string"), 100), (call_counts{1, 1, 1101, 2}));
}

TEST_F(temporaries, of_imported_lists_with_nulls)
{
  EXPECT_EQ(counts_of_import(list_of(flat("int32")), 1), (call_counts{1, 1, 12, 2}));
  EXPECT_EQ(counts_of_import(list_of(flat("int32")), 100), (call_counts{1, 1, 1101, 2}));
}

TEST_F(temporaries, of_large_bool_columns_are_in_one_block)
{
  constexpr auto size = cudf::size_type{40'000'000};
  auto const stream   = lasting_stream{};
  auto const bools    = rmm::device_buffer{std::size_t{size}, stream.get(), pool_};
  auto const before   = counts_now();
  {
    auto const exec = detail::execution{false, stream.get(), pool_};
    for (auto i = 0; i < 3; ++i) { (void)detail::pack_bools(bools.data(), size, exec); }
  }
  EXPECT_EQ(counts_now() - before, (call_counts{1, 1, 21, 1}));
}

TEST_F(temporaries, do_not_overlap_and_are_reused)
{
  struct taken {
    std::byte* first;
    std::size_t size;
    std::byte fill;
  };

  auto const stream = lasting_stream{};
  auto random       = engine{1};
  auto scratch      = std::make_optional<detail::scratch_resource>();
  auto live         = std::vector<taken>{};
  auto const before = counts_now();
  for (auto i = 0; i < 2'000; ++i) {
    if (live.size() < 20 && below(random, 2) == 0) {
      auto const size   = static_cast<std::size_t>(below(random, 200'000)) + 1;
      auto const fill   = static_cast<std::byte>(i);
      auto* const first = static_cast<std::byte*>(scratch->allocate(stream.get(), size));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(first) % 256, 0U);
      std::fill_n(first, size, fill);
      live.push_back({first, size, fill});
    } else if (!live.empty()) {
      std::swap(live[static_cast<std::size_t>(below(random, static_cast<int>(live.size())))],
                live.back());
      auto const [first, size, fill] = live.back();
      ASSERT_EQ(std::count(first, first + size, fill), static_cast<std::ptrdiff_t>(size)) << i;
      scratch->deallocate(stream.get(), first, size);
      live.pop_back();
    }
  }
  for (auto const& one : live) { scratch->deallocate(stream.get(), one.first, one.size); }
  EXPECT_EQ((counts_now() - before).frees, 0U);
  // The memory is merged again: an allocation of a whole block fits.
  auto const blocks = (counts_now() - before).allocations;
  EXPECT_LE(blocks, 6U);
  auto* const whole = scratch->allocate(stream.get(), std::size_t{1} << 20);
  EXPECT_EQ((counts_now() - before).allocations, blocks);
  scratch->deallocate(stream.get(), whole, std::size_t{1} << 20);
  scratch.reset();
  EXPECT_EQ((counts_now() - before).frees, blocks);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
