// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exports report the kind and the device of their memory, and query CUDA once per allocation.
#include "cuda/location/location.hpp"

#include "ipc/produced_batch.hpp"
#include "sim/tests/bridge_test.hpp"

#include <cudf/table/table_view.hpp>

#include <rmm/error.hpp>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

auto const kinds = std::array{std::pair{memory_kind::device, ARROW_DEVICE_CUDA},
                              std::pair{memory_kind::managed, ARROW_DEVICE_CUDA_MANAGED},
                              std::pair{memory_kind::pinned, ARROW_DEVICE_CUDA_HOST}};

class Location : public bridge_test {
 protected:
  std::shared_ptr<cudf::column> column_in(memory_kind kind, int device, char const* type = "int32")
  { return late_column(flat(type), integer_rows({1, 0}), cudaStreamLegacy, pool_of(kind, device)); }

  rmm::device_async_resource_ref pool_of(memory_kind kind, int device)
  { return *pools_.emplace_back(std::make_unique<sim::pool_resource>(kind, device)); }

 private:
  std::vector<std::unique_ptr<sim::pool_resource>> pools_;
};

TEST_F(Location, ExportsAreLabelledWithTheKindOfTheirMemory)
{
  for (auto const& [kind, type] : kinds) {
    auto const array = to_arrow(column_in(kind, 0), cudaStreamLegacy).to_arrow();
    EXPECT_EQ(array->device_type, type);
    EXPECT_EQ(array->device_id, 0);
    EXPECT_NE(array->sync_event, nullptr);
  }
}

TEST_F(Location, ImportsShareMemoryOfTheCurrentDeviceAndPinnedMemory)
{
  auto const is_shared = [](cudf::column_view const& column) {
    return can_share(std::vector{column});
  };
  for (auto const& [kind, type] : kinds) {
    EXPECT_TRUE(is_shared(*column_in(kind, 0)));
    EXPECT_EQ(is_shared(*column_in(kind, 1)), kind == memory_kind::pinned);
  }
  EXPECT_FALSE(is_shared(*make_column(flat("int32"), integer_rows({1, 0}))));
  EXPECT_TRUE(can_share({}));
}

TEST_F(Location, CopiesAndConvertedExportsAreLabelledWithTheMemoryOfTheResource)
{
  for (auto const& [kind, unused] : kinds) {
    auto const source = column_in(kind, 0, "bool8");
    for (auto const& [target, label] : kinds) {
      auto const mr    = pool_of(target, 0);
      auto const array = to_arrow_device(source->view(), source, {}, cudaStreamLegacy, mr);
      auto const copy  = array.copy(nullptr, cudaStreamLegacy, mr);
      EXPECT_EQ(copy.location(), (memory_location{label, 0}));
      // Kernels can read the buffers of other exports, which are in two kinds of memory.
      if (target != kind && target != memory_kind::device) { continue; }
      EXPECT_EQ(array.location(), copy.location());
      EXPECT_EQ(locate(array.to_arrow()->array.buffers[1]), copy.location());
    }
  }
}

TEST_F(Location, ErrorForATableInMixedMemoryNamesBothLocations)
{
  auto const mixed = [&](memory_kind kind, int device) {
    auto const near  = column_in(memory_kind::device, 0);
    auto const other = column_in(kind, device);
    auto const table = cudf::table_view{{near->view(), other->view()}};
    return message_of([&] { (void)to_arrow_device(table, nullptr, {}, cudaStreamLegacy, pool_); });
  };
  auto const near = std::string{"in memory of CUDA device 0 and in "};
  expect_in(near + "memory of CUDA device 1", mixed(memory_kind::device, 1));
  expect_in(near + "managed memory", mixed(memory_kind::managed, 0));
}

TEST_F(Location, ExportQueriesCudaOncePerAllocation)
{
  auto columns   = std::vector<cudf::column_view>{};
  auto const two = std::array{column_in(memory_kind::device, 0), column_in(memory_kind::device, 0)};
  for (auto i = 0U; i < 100; ++i) { columns.push_back(two[i % 2]->view()); }
  auto const runtime = sim::calls("cudaPointerGetAttributes");
  auto const driver  = sim::calls("cuPointerGetAttributes");
  (void)to_arrow_device(cudf::table_view{columns}, two[0], {}, cudaStreamLegacy, pool_);
  EXPECT_EQ(sim::calls("cudaPointerGetAttributes"), runtime);
  EXPECT_EQ(sim::calls("cuPointerGetAttributes"), driver + 2);
}

TEST_F(Location, OfHostArraysIsNotQueried)
{
  auto const views   = as(cudf::type_id::STRING, "string_view", "vu");
  auto const source  = produced_batch{views, rows(3, value{std::string(26, 'x')})};
  auto const array   = source.decode();
  auto const queries = sim::calls("cuPointerGetAttributes");
  EXPECT_EQ(array.child(0).buffers().size(), 4);
  (void)array.copy(nullptr, stream(), host_memory_resource());
  (void)describe_body(array, true, stream(), host_memory_resource());
  EXPECT_EQ(sim::calls("cuPointerGetAttributes"), queries);
}

TEST_F(Location, IsThatOfTheRuntimeIfTheDriverCannotTell)
{
  auto const fail = [] { sim::fail_next("cuPointerGetAttributes", cudaErrorDeviceUninitialized); };
  for (auto const& [kind, type] : kinds) {
    auto const column   = column_in(kind, 1);
    auto const* address = column->view().head<std::byte>();
    EXPECT_EQ(locate(address + 7), (memory_location{type, 1}));
    fail();
    EXPECT_EQ(locate(address), (memory_location{type, 1}));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    fail();
    EXPECT_FALSE(detail::ends_before(address, 1U << 20)) << "size unknown";
  }
  auto const here = 0;
  fail();
  EXPECT_EQ(locate(&here), memory_location{});
  fail();
  sim::fail_next("cudaPointerGetAttributes", cudaErrorInvalidValue);
  EXPECT_THROW((void)locate(&here), rmm::cuda_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
