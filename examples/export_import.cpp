// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exports a libcudf column through Arrow's C device interface and imports it again, as a program
/// outside of this project does. docs/how-to/cpp.md describes it.
#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/column/column.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <numeric>

namespace bridge = cudf_arrow_bridge;

namespace {

/// A column of 25 numbers in host memory, so that the program also runs without a GPU.
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
  auto const mr     = bridge::host_memory_resource();  // on a GPU: rmm's current resource
  auto const column = make_column(stream);

  // Export: the second argument keeps the memory alive.
  auto const schema = bridge::make_schema(column->view(), {.name = "number"});
  auto const array =
    bridge::to_arrow_device(column->view(), column, {.schema = schema}, stream, mr);

  // Any other library can consume these two structs.
  auto c_schema = schema.to_arrow();
  auto c_array  = array.to_arrow();
  std::cout << c_schema->name << ": " << c_array->array.length << " rows of format "
            << c_schema->format << '\n';

  // Import: moves the array, whose memory is released with the imported column.
  auto const imported =
    bridge::from_arrow_device_column(*c_schema.get(), c_array.get(), {}, stream, mr);
  auto const is_shared =
    imported.view().head<std::int32_t>() == column->view().head<std::int32_t>();
  std::cout << imported.size << " rows, " << (is_shared ? "shared" : "copied") << '\n';
}
