// SPDX-License-Identifier: Apache-2.0
#include "bookkeeping.hpp"

#include "floor.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cuda/stream>

#include <cstdint>
#include <memory>
#include <vector>

namespace bridge = cudf_arrow_bridge;

namespace {

constexpr cudf::size_type num_rows = 1000;

/// The table, and objects that are reused between measurements.
struct fixture {
  std::vector<std::int64_t> values;
  cudf::table_view table;
  bridge::shared_schema schema;
  bridge::unique_schema c_schema;
  cuda::stream_ref stream{cudaStream_t{}};

  explicit fixture(int num_columns)
    : values(static_cast<std::size_t>(num_columns) * num_rows), table{views(num_columns)}
  {
    schema = bridge::make_schema(
      table, std::vector<bridge::column_metadata>(static_cast<std::size_t>(num_columns)), {});
    c_schema = schema.to_arrow();
  }

  [[nodiscard]] std::vector<cudf::column_view> views(int num_columns) const
  {
    auto result = std::vector<cudf::column_view>{};
    for (int i = 0; i < num_columns; ++i) {
      result.emplace_back(cudf::data_type{cudf::type_id::INT64},
                          num_rows,
                          values.data() + static_cast<std::size_t>(i) * num_rows,
                          nullptr,
                          0);
    }
    return result;
  }

  /// Exports the plain types, without a requested schema.
  [[nodiscard]] bridge::unique_device_array exported() const
  {
    return bridge::to_arrow_device(
             table, nullptr, bridge::export_options{}, stream, bridge::host_memory_resource())
      .to_arrow();
  }

  /// Exports with an existing schema.
  [[nodiscard]] bridge::unique_device_array exported_by_schema() const
  {
    return bridge::to_arrow_device(
             table, nullptr, {.schema = schema}, stream, bridge::host_memory_resource())
      .to_arrow();
  }
};

}  // namespace

bookkeeping::bookkeeping(int num_columns)
{
  auto const shared = std::make_shared<fixture>(num_columns);
  auto const floor  = [shared] {
    auto array = bridge::unique_device_array{};
    export_floor(shared->table, *array.get());
    return array;
  };
  jobs_["export"]           = [shared] { (void)shared->exported(); };
  jobs_["export by schema"] = [shared] { (void)shared->exported_by_schema(); };
  jobs_["export floor"]     = [floor] { (void)floor(); };
  // Both import the result of the export's floor, so that everything else is equal.
  jobs_["import"] = [shared, floor] {
    auto array = floor();
    (void)bridge::from_arrow_device_table(*shared->c_schema.get(),
                                          array.get(),
                                          bridge::import_options{},
                                          shared->stream,
                                          bridge::host_memory_resource());
  };
  jobs_["borrow"] = [shared, floor] {
    auto array = floor();
    (void)bridge::from_arrow_device_table(*shared->c_schema.get(),
                                          array.get(),
                                          {.borrow = true},
                                          shared->stream,
                                          bridge::host_memory_resource());
  };
  jobs_["import floor"] = [floor] {
    auto array = floor();
    (void)import_floor(*array.get());
  };
}
