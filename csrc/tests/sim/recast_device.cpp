// SPDX-License-Identifier: Apache-2.0
/// @file
/// The core's conversions of whole columns for the simulated device: the ones for the host, but run
/// by the stream. All wait but the casts, as libcudf's do.
#include "recast_device.hpp"

#include "kernels.hpp"
#include "recast_host.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

namespace cudf_arrow_bridge::detail::device {
namespace {

placement on_host(placement const& where) { return {true, where.stream, host_memory_resource()}; }

/// Has the stream run something in its turn, and waits for it.
template <typename Run>
void run_in_turn(placement const& where, Run run)
{
  sim::enqueue(where.stream.get(), run);
  RMM_CUDA_TRY(cudaStreamSynchronize(where.stream.get()));
}

rmm::device_buffer upload(rmm::device_buffer const& made, placement const& where)
{
  auto result = rmm::device_buffer{made.size(), where.stream, where.mr};
  if (made.size() > 0) {
    run_in_turn(where, [&] { std::memcpy(result.data(), made.data(), made.size()); });
  }
  return result;
}

std::unique_ptr<cudf::column> upload(std::unique_ptr<cudf::column> made, placement const& where)
{
  auto const type       = made->type();
  auto const size       = made->size();
  auto const null_count = made->null_count();
  auto contents         = made->release();
  for (auto& child : contents.children) { child = upload(std::move(child), where); }
  return std::make_unique<cudf::column>(type,
                                        size,
                                        upload(*contents.data, where),
                                        upload(*contents.null_mask, where),
                                        null_count,
                                        std::move(contents.children));
}

}  // namespace

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& column,
                                                placement const& where)
{
  auto made = std::unique_ptr<cudf::column>{};
  run_in_turn(where, [&] { made = host::decode_dictionary(column, on_host(where)); });
  return upload(std::move(made), where);
}

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                placement const& where)
{
  auto made = std::unique_ptr<cudf::column>{};
  run_in_turn(where, [&] { made = host::encode_dictionary(column, on_host(where)); });
  return upload(std::move(made), where);
}

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          placement const& where)
{
  auto const bytes = static_cast<std::size_t>(column.size()) * cudf::size_of(type);
  auto data        = rmm::device_buffer{bytes, where.stream, where.mr};
  sim::enqueue(where.stream.get(), [column, type, where = on_host(where), target = data.data()] {
    auto const made = host::cast_column(column, type, where);
    auto const view = made->view();
    if (view.size() > 0) {
      std::memcpy(
        target, view.head<void>(), static_cast<std::size_t>(view.size()) * cudf::size_of(type));
    }
  });
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, where.stream, where.mr}
                : copy_bits({column.null_mask(), column.offset(), column.size()}, where);
  return std::make_unique<cudf::column>(
    type, column.size(), std::move(data), std::move(mask), column.null_count());
}

value_range range_of(cudf::column_view const& column, placement const& where)
{
  auto result = value_range{};
  run_in_turn(where, [&] { result = host::range_of(column); });
  return result;
}

bool has_whole_days(cudf::column_view const& column, placement const& where)
{
  auto result = false;
  run_in_turn(where, [&] { result = host::has_whole_days(column); });
  return result;
}

bool has_lists_of(cudf::column_view const& column, cudf::size_type size, placement const& where)
{
  auto result = false;
  run_in_turn(where, [&] { result = host::has_lists_of(column, size); });
  return result;
}

rmm::device_buffer pad_lists(cudf::column_view const& column,
                             cudf::size_type size,
                             placement const& where)
{
  auto made = rmm::device_buffer{0, where.stream, host_memory_resource()};
  run_in_turn(where, [&] { made = host::pad_lists(column, size, on_host(where)); });
  return upload(made, where);
}

}  // namespace cudf_arrow_bridge::detail::device
