// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exports report the kind and the device of their memory, and query CUDA once per allocation.
#include "cuda/location/location.hpp"

#include "sim/tests/bridge_test.hpp"

#include <cudf/table/table_view.hpp>

#include <rmm/error.hpp>

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

class location : public bridge_test {
 protected:
  std::unique_ptr<cudf::column> column_in(memory_kind kind,
                                          int device,
                                          cudaStream_t stream,
                                          shape const& type = flat("int32"))
  {
    auto host = make_column(type, integer_rows({1, 0}));
    return upload_column(std::move(host), stream, pool_of(kind, device));
  }

  rmm::device_async_resource_ref pool_of(memory_kind kind, int device)
  { return *pools_.emplace_back(std::make_unique<sim::pool_resource>(kind, device)); }

 private:
  std::vector<std::unique_ptr<sim::pool_resource>> pools_;
};

TEST_F(location, exports_are_labelled_with_the_kind_of_their_memory)
{
  auto const stream = lasting_stream{};
  for (auto const& [kind, type] : {std::pair{memory_kind::device, ARROW_DEVICE_CUDA},
                                   std::pair{memory_kind::managed, ARROW_DEVICE_CUDA_MANAGED},
                                   std::pair{memory_kind::pinned, ARROW_DEVICE_CUDA_HOST}}) {
    auto const array = to_arrow(column_in(kind, 0, stream.get()), stream.get()).to_arrow();
    EXPECT_EQ(array->device_type, type);
    EXPECT_EQ(array->device_id, 0);
    EXPECT_NE(array->sync_event, nullptr);
  }
}

TEST_F(location, imports_share_memory_of_the_current_device_and_pinned_memory)
{
  auto const stream    = lasting_stream{};
  auto const is_shared = [](std::unique_ptr<cudf::column> const& column) {
    return can_share(std::vector{column->view()});
  };
  for (auto const kind : {memory_kind::device, memory_kind::managed, memory_kind::pinned}) {
    EXPECT_TRUE(is_shared(column_in(kind, 0, stream.get())));
    EXPECT_EQ(is_shared(column_in(kind, 1, stream.get())), kind == memory_kind::pinned);
  }
  EXPECT_FALSE(is_shared(make_column(flat("int32"), integer_rows({1, 0}))));
  EXPECT_TRUE(can_share({}));
}

TEST_F(location, converted_exports_are_labelled_with_the_memory_of_the_resource)
{
  auto const stream = lasting_stream{};
  for (auto const& [kind, type] : {std::pair{memory_kind::managed, ARROW_DEVICE_CUDA_MANAGED},
                                   std::pair{memory_kind::pinned, ARROW_DEVICE_CUDA_HOST}}) {
    for (auto const& [target, label] :
         {std::pair{kind, type}, std::pair{memory_kind::device, ARROW_DEVICE_CUDA}}) {
      auto const source =
        std::shared_ptr<cudf::column>{column_in(kind, 0, stream.get(), flat("bool8"))};
      auto const array =
        to_arrow_device(source->view(), source, {}, stream.get(), pool_of(target, 0)).to_arrow();
      EXPECT_EQ(array->device_type, label);
      EXPECT_EQ(locate(array->array.buffers[1]), (memory_location{label, 0}));
    }
  }
}

TEST_F(location, error_for_a_table_in_mixed_memory_names_both_locations)
{
  auto const stream = lasting_stream{};
  auto const mixed  = [&](memory_kind kind, int device) {
    auto const near  = column_in(memory_kind::device, 0, stream.get());
    auto const other = column_in(kind, device, stream.get());
    auto const table = cudf::table_view{{near->view(), other->view()}};
    try {
      (void)to_arrow_device(table, nullptr, {}, stream.get(), pool_);
    } catch (std::invalid_argument const& error) {
      return std::string{error.what()};
    }
    return std::string{"nothing was thrown"};
  };
  auto const near = std::string{"in memory of CUDA device 0, got one in "};
  EXPECT_NE(mixed(memory_kind::device, 1).find(near + "memory of CUDA device 1"),
            std::string::npos);
  EXPECT_NE(mixed(memory_kind::managed, 0).find(near + "managed memory"), std::string::npos);
}

TEST_F(location, export_queries_cuda_once_per_allocation)
{
  auto const stream = lasting_stream{};
  auto columns      = std::vector<cudf::column_view>{};
  auto const two =
    std::array{std::shared_ptr<cudf::column>{column_in(memory_kind::device, 0, stream.get())},
               std::shared_ptr<cudf::column>{column_in(memory_kind::device, 0, stream.get())}};
  for (auto i = 0U; i < 100; ++i) { columns.push_back(two[i % 2]->view()); }
  auto const runtime = sim::calls("cudaPointerGetAttributes");
  auto const driver  = sim::calls("cuPointerGetAttributes");
  (void)to_arrow_device(cudf::table_view{columns}, two[0], {}, stream.get(), pool_);
  EXPECT_EQ(sim::calls("cudaPointerGetAttributes"), runtime);
  EXPECT_EQ(sim::calls("cuPointerGetAttributes"), driver + 2);
}

TEST_F(location, is_that_of_the_runtime_if_the_driver_cannot_tell)
{
  auto const stream = lasting_stream{};
  for (auto const& [kind, type] : {std::pair{memory_kind::device, ARROW_DEVICE_CUDA},
                                   std::pair{memory_kind::managed, ARROW_DEVICE_CUDA_MANAGED},
                                   std::pair{memory_kind::pinned, ARROW_DEVICE_CUDA_HOST}}) {
    auto const column = column_in(kind, 1, stream.get());
    sim::fail_next("cuPointerGetAttributes", cudaErrorDeviceUninitialized);
    EXPECT_EQ(locate(column->view().head<void>()), (memory_location{type, 1}));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    sim::fail_next("cuPointerGetAttributes", cudaErrorDeviceUninitialized);
    EXPECT_FALSE(detail::ends_before(column->view().head<void>(), 1U << 20)) << "size unknown";
  }
  auto const here = 0;
  sim::fail_next("cuPointerGetAttributes", cudaErrorDeviceUninitialized);
  EXPECT_EQ(locate(&here), memory_location{});
  sim::fail_next("cuPointerGetAttributes", cudaErrorDeviceUninitialized);
  sim::fail_next("cudaPointerGetAttributes", cudaErrorInvalidValue);
  EXPECT_THROW((void)locate(&here), rmm::cuda_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
