// SPDX-License-Identifier: Apache-2.0
/// @file
/// `async_streams COLUMNS BATCHES ROUNDS` measures streams of slices of one table through the
/// synchronous and the asynchronous interface in alternation, and prints a JSON object.
#include <cudf_arrow_bridge/async.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/stream.hpp>

#include <cuda/stream>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bridge = cudf_arrow_bridge;

namespace {

constexpr cudf::size_type rows_per_batch = 10;
constexpr auto prefetch                  = 4;

/// A flat table of int64 columns in host memory.
class table {
 public:
  table(int num_columns, int num_batches)
    : num_batches_{num_batches}, values_(static_cast<std::size_t>(num_batches * rows_per_batch))
  {
    auto views = std::vector<cudf::column_view>{};
    for (int i = 0; i < num_columns; ++i) {
      views.emplace_back(cudf::data_type{cudf::type_id::INT64},
                         num_batches * rows_per_batch,
                         values_.data(),
                         nullptr,
                         0);
    }
    view_   = cudf::table_view{views};
    schema_ = bridge::make_schema(
      view_, std::vector<bridge::column_metadata>(static_cast<std::size_t>(num_columns)), {});
  }

  [[nodiscard]] bridge::device_array_stream stream() const
  {
    return bridge::device_array_stream{bridge::slices(view_,
                                                      nullptr,
                                                      rows_per_batch,
                                                      {.schema = schema_},
                                                      cuda::stream_ref{cudaStream_t{}},
                                                      bridge::host_memory_resource())};
  }

  void check(int num_read) const
  {
    if (num_read != num_batches_) { throw std::runtime_error{"batches are missing"}; }
  }

 private:
  int num_batches_;
  std::vector<std::int64_t> values_;
  cudf::table_view view_;
  bridge::shared_schema schema_;
};

int read_sync(table const& source)
{
  auto stream   = source.stream().to_arrow();
  auto reader   = bridge::array_stream_reader{stream.get()};
  auto num_read = 0;
  while (!reader.next().is_released()) { ++num_read; }
  return num_read;
}

int read_async(table const& source)
{
  auto reader = bridge::async_stream_reader{prefetch, {}};
  bridge::to_arrow_async(source.stream(), reader.take_handler());
  for (auto num_read = 0;; ++num_read) {
    reader.wait();
    if (reader.next()->is_end()) { return num_read; }
  }
}

}  // namespace

int main(int argc, char** argv)
{
  if (argc != 4) {
    std::cerr << "usage: async_streams COLUMNS BATCHES ROUNDS\n";
    return 2;
  }
  auto const num_batches = std::stoi(argv[2]);
  auto const source      = table{std::stoi(argv[1]), num_batches};
  auto const jobs        = std::map<std::string, std::function<int(table const&)>>{
    {"synchronous", read_sync}, {"asynchronous", read_async}};
  auto samples = std::map<std::string, std::vector<double>>{};
  for (auto i = 0; i < std::stoi(argv[3]); ++i) {
    for (auto const& [name, job] : jobs) {
      auto const start = std::chrono::steady_clock::now();
      source.check(job(source));
      auto const taken =
        std::chrono::duration<double, std::nano>{std::chrono::steady_clock::now() - start};
      samples[name].push_back(taken.count() / num_batches);
    }
  }
  auto separator = "{";
  for (auto& [name, values] : samples) {
    std::sort(values.begin(), values.end());
    std::cout << separator << '"' << name << R"(": {"ns_per_batch": )" << values[values.size() / 2]
              << '}';
    separator = ", ";
  }
  std::cout << "}\n";
}
