// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts the calls of CUDA. `python -m benchmarks.reporting.cuda_calls` shows the counts in
/// docs/speed.md.
#include "sim/detail/machine.hpp"
#include "sim/tests/ipc/bodies.hpp"

#include <mutex>
#include <optional>
#include <string>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_rows = 1'001;

/// @return The number of calls of each function
auto all_calls()
{
  auto& machine   = sim::detail::machine::instance();
  auto const lock = std::unique_lock{machine.mutex};
  return machine.calls;
}

class CudaCalls : public bridge_test {
 protected:
  /// Waits for the work that was enqueued, and for the thread that releases memory after it.
  static void wait_for_releases()
  {
    sim::drain();
    drain_releases();
  }

  /// Records the calls of each function by `way`, for some number of columns.
  template <typename Way>
  static void count(std::string const& name, int num_columns, Way&& way)
  {
    auto const before = all_calls();
    way();
    wait_for_releases();
    for (auto const& [function, number] : all_calls()) {
      auto const found = before.find(function);
      auto const made  = number - (found == before.end() ? 0 : found->second);
      if (made == 0) { continue; }
      RecordProperty(name + "/" + std::to_string(num_columns) + "/" + function,
                     static_cast<int>(made));
    }
  }

  static shape table_of(int num_columns)
  { return struct_of(std::vector<shape>(static_cast<std::size_t>(num_columns), flat("int32"))); }

  /// Makes an array that was exported here look like one of another library.
  static ArrowDeviceArray disguise(unique_device_array structs)
  {
    auto const inner          = new unique_device_array{std::move(structs)};
    auto result               = *inner->get();
    result.array.private_data = inner;
    result.array.release      = [](ArrowArray* array) {
      delete static_cast<unique_device_array*>(array->private_data);
      array->release = nullptr;
    };
    return result;
  }
};

TEST_F(CudaCalls, OfEachWay)
{
  for (auto const num_columns : {1, 100}) {
    sim::reset(1);
    auto const stream   = lasting_stream{};
    auto const ref      = stream.get();
    auto const type     = table_of(num_columns);
    auto const values   = table_samples(type, num_rows, 10);
    auto const host     = make_column(type, values);
    auto const column   = late_column(type, values, stream.get(), pool_);
    auto const view     = column->view();
    auto const views    = std::vector<cudf::column_view>{view.child_begin(), view.child_end()};
    auto const input    = export_input{views, column->size()};
    auto const schema   = cudf_arrow_bridge::make_schema(column->view(), {}).to_arrow();
    auto const importer = array_importer{*schema.get()};
    auto export_table = [&] { return to_arrow_device(input, nullptr, {}, ref, pool_).to_arrow(); };
    auto import_table = [&](ArrowDeviceArray* array) {
      return importer.import_array(array, true, {.borrow = true}, ref, pool_);
    };
    for (auto const is_counted : {false, true}) {  // the first use creates events
      auto const each = [&](std::string const& name, auto&& way) {
        is_counted ? count(name, num_columns, way) : way();
        wait_for_releases();
      };
      auto structs = unique_device_array{};
      each("table, export", [&] { structs = export_table(); });
      each("table, release of the export", [&] { structs = {}; });

      auto foreign  = disguise(export_table());
      auto imported = std::optional<imported_table>{};
      each("table, import", [&] { imported = import_table(&foreign); });
      each("table, drop of the import", [&] { imported.reset(); });

      auto source =
        to_arrow_device(host->view(), nullptr, {}, ref, host_memory_resource()).to_arrow();
      each("host table, upload", [&] { imported = import_table(source.get()); });
      imported.reset();

      auto const bytes = bytes_t(static_cast<std::size_t>(num_columns) << 14);
      each("IPC body, upload",
           [&] { (void)upload_body(std::span{bytes}, bytes.size(), ref, pool_); });

      auto const array = to_arrow_device(input, nullptr, {}, ref, pool_);
      each("IPC body, download", [&] {
        auto const body = describe_body(array, true, ref, pool_, true);
        download_body(body, 1 << 20, [](auto...) {}, ref);
      });
      settle();
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
