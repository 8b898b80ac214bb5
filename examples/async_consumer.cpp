// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a stream through Arrow's asynchronous interface, as a program outside of this project
/// does:
///
///     find_package(cudf_arrow_bridge REQUIRED)
///     target_link_libraries(async_consumer PRIVATE cudf_arrow_bridge::cudf_arrow_bridge)
#include <cudf_arrow_bridge/async.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/stream.hpp>

#include <cudf/column/column.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <numeric>

namespace bridge = cudf_arrow_bridge;

namespace {

/// A column of 25 numbers in the CPU's memory; one of the GPU's serves as well.
std::shared_ptr<cudf::column> make_column(cuda::stream_ref stream)
{
  auto const size   = cudf::size_type{25};
  auto const mr     = bridge::host_memory_resource();
  auto values       = rmm::device_buffer{size * sizeof(std::int32_t), stream, mr};
  auto* const first = static_cast<std::int32_t*>(values.data());
  std::iota(first, first + size, 0);
  return std::make_shared<cudf::column>(cudf::data_type{cudf::type_id::INT32},
                                        size,
                                        std::move(values),
                                        rmm::device_buffer{0, stream, mr},
                                        0);
}

}  // namespace

int main()
{
  auto const stream = cuda::stream_ref{cudaStream_t{}};
  auto const column = make_column(stream);
  auto const schema = bridge::make_schema(column->view(), {.name = "number"});
  auto batches      = bridge::slices(
    column->view(), column, 10, {.schema = schema}, stream, bridge::host_memory_resource());

  // At most four batches are asked for and not taken. Any other producer could get the handler.
  auto reader = bridge::async_stream_reader{4, [] { /* is_ready() may be true now */ }};
  bridge::to_arrow_async(bridge::device_array_stream{std::move(batches)}, reader.take_handler());

  while (true) {
    reader.wait();  // an event loop would return here, and be woken by the function above
    auto const batch = reader.next();
    if (batch->is_end()) { break; }
    std::cout << batch->array->array.length << " rows of format " << reader.schema().format << '\n';
  }
}
