// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts the temporary memory of exports and imports with a resource like rmm's default, whose
/// `cudaFree` waits for the device. Temporary memory within functions of libcudf is not simulated.
#include "compute/buffers.hpp"
#include "sim/tests/bridge_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

/// Allocations and frees of temporary memory, operations (kernels, memory copies and memsets), and
/// waits of the host, including those of `cudaFree`.
using call_counts = std::array<std::size_t, 4>;

template <typename Run>
call_counts calls_of(Run run)
{
  auto const now = [] {
    return call_counts{
      sim::calls("cudaMalloc"),
      sim::calls("cudaFree"),
      sim::calls("sim::enqueue") + sim::calls("cudaMemcpyAsync") + sim::calls("cudaMemsetAsync"),
      sim::host_syncs_here()};
  };
  auto const before = now();
  run();
  auto result = now();
  for (std::size_t i = 0; i < result.size(); ++i) { result[i] -= before[i]; }
  return result;
}

class Temporaries : public bridge_test {
 protected:
  void SetUp() override
  {
    bridge_test::SetUp();
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, immediate_resource{});
  }

  /// A table of columns of one type, in memory of the pool, so that only temporary memory counts.
  static shape table_of(shape const& type, std::size_t num_columns)
  { return struct_of(std::vector<shape>(num_columns, type)); }
};

TEST_F(Temporaries, OfExportedBools)
{
  for (auto const num_columns : {std::size_t{1}, std::size_t{100}}) {
    auto const stream = lasting_stream{};
    auto const type   = table_of(flat("bool8"), num_columns);
    auto const source = column(type, table_samples(type, 1'000, 30), stream.get());
    EXPECT_EQ(calls_of([&] { (void)to_arrow(source, stream.get()); }),
              (call_counts{1, 1, 7 * num_columns, 1}));
  }
}

TEST_F(Temporaries, OfImportedStringsAndListsWithNulls)
{
  for (auto const& each : {flat("string"), list_of(flat("int32"))}) {
    for (auto const num_columns : {std::size_t{1}, std::size_t{100}}) {
      auto const stream = lasting_stream{};
      auto const type   = table_of(each, num_columns);
      auto array = export_rows(type, table_samples(type, 1'000, 30), stream.get()).to_arrow();
      // One wait is that of the import, the other that of `cudaFree`.
      EXPECT_EQ(calls_of([&] { (void)import_table(array, type, stream.get()); }),
                (call_counts{1, 1, 11 * num_columns + 1, 2}))
        << each.name;
    }
  }
}

TEST_F(Temporaries, OfLargeBoolColumnsAreInOneBlock)
{
  constexpr auto size = cudf::size_type{10'000'000};
  auto const stream   = lasting_stream{};
  auto const bools    = rmm::device_buffer{std::size_t{size}, stream.get(), pool_};
  EXPECT_EQ(calls_of([&] {
              auto const exec = detail::execution{false, stream.get(), pool_};
              for (auto i = 0; i < 3; ++i) { (void)detail::pack_bools(bools.data(), size, exec); }
            }),
            (call_counts{1, 1, 21, 1}));
}

TEST_F(Temporaries, DoNotOverlapAndAreReused)
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
  EXPECT_EQ(sim::calls("cudaFree"), 0U);
  // All memory is free again: an allocation of a whole block fits.
  auto const blocks = sim::calls("cudaMalloc");
  EXPECT_LE(blocks, 7U);
  auto* const whole = scratch->allocate(stream.get(), std::size_t{1} << 20);
  EXPECT_EQ(sim::calls("cudaMalloc"), blocks);
  scratch->deallocate(stream.get(), whole, std::size_t{1} << 20);
  scratch.reset();
  EXPECT_EQ(sim::calls("cudaFree"), blocks);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
