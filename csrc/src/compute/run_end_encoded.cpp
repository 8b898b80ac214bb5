// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <cudf/utilities/traits.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::size_type;

/// Repeats fixed-width values, one for each run, for the rows of their runs.
rmm::device_buffer repeat_values(cudf::column_view const& values,
                                 run_rows const& rows,
                                 column_path const& path,
                                 execution const& exec)
{
  auto const end_of = [&](std::int64_t run) {
    return read_integer(static_cast<std::byte const*>(rows.ends) + run * rows.width, rows.width);
  };
  // Find the first run by binary search, since a slice may begin far inside; step through the rest.
  auto const runs   = std::views::iota(std::int64_t{0}, rows.num_runs);
  auto const before = [&](std::int64_t run) { return end_of(run) <= rows.begin; };
  auto const first  = std::ranges::partition_point(runs, before);
  return with_width(values.type(), [&]<typename T>(T) {
    auto const* source = values.head<T>() + values.offset();
    auto result        = allocate(std::int64_t{rows.size} * std::int64_t{sizeof(T)}, exec);
    auto* out          = static_cast<T*>(result.data());
    auto row           = std::int64_t{0};
    for (auto run = static_cast<std::int64_t>(first - runs.begin()); row < rows.size; ++run) {
      if (run == rows.num_runs) {
        fail_invalid(
          path,
          "row " + std::to_string(row) + " is after the last of " + std::to_string(run) + " runs");
      }
      // The ends of invalid runs are in any order.
      auto const end =
        std::clamp(end_of(run), rows.begin + row, rows.begin + rows.size) - rows.begin;
      std::fill(out + row, out + end, load<T>(source, run));
      row = end;
    }
    return result;
  });
}

/// Checks only the last run end: if it is after the last row, no search for a row passes it,
/// whatever the other run ends are.
void check_last_run(run_rows const& rows, column_path const& path, execution const& exec)
{
  auto const last = read_offset(rows.ends, rows.num_runs - 1, rows.width, exec.host, exec.stream);
  if (last < rows.begin + rows.size) {
    fail_invalid(path,
                 "expected a last run end of at least " + std::to_string(rows.begin + rows.size) +
                   ", got " + std::to_string(last));
  }
}

}  // namespace

std::unique_ptr<cudf::column> host::runs_of_rows(run_rows const& rows,
                                                 column_path const& path,
                                                 execution const& exec)
{
  auto const int32   = cudf::type_id::INT32;
  auto const numbers = count_up(rows.num_runs, 1, exec);
  auto const view    = flat_view(int32, rows.num_runs, numbers.data());
  return make_column(
    cudf::data_type{int32}, rows.size, repeat_values(view, rows, path, exec), exec);
}

std::unique_ptr<cudf::column> repeat_runs(cudf::column_view const& values,
                                          run_rows const& rows,
                                          column_path const& path,
                                          execution const& exec)
{
  auto const is_null = values.type().id() == cudf::type_id::EMPTY;
  if (is_null || !exec.host) { check_last_run(rows, path, exec); }
  if (is_null) {  // excluded first: `cudf::is_fixed_width` throws for it
    return std::make_unique<cudf::column>(
      values.type(), rows.size, allocate(0, exec), allocate(0, exec), rows.size);
  }
  if (!exec.host || !cudf::is_fixed_width(values.type())) {
    auto const runs =
      exec.host ? host::runs_of_rows(rows, path, exec) : device::runs_of_rows(rows, path, exec);
    return gather_rows(values, runs->view(), path, exec);
  }
  auto result =
    make_column(values.type(), rows.size, repeat_values(values, rows, path, exec), exec);
  if (values.null_count() > 0) {
    auto const bools = unpack_bools({values.null_mask(), values.offset(), values.size()}, exec);
    auto const valid =
      repeat_values(flat_view(cudf::type_id::UINT8, values.size(), bools.data()), rows, path, exec);
    auto mask             = pack_bools(valid.data(), rows.size, exec);
    auto const null_count = count_nulls({mask.data(), 0, rows.size}, exec);
    // Only runs without rows may be null.
    if (null_count > 0) { result->set_null_mask(std::move(mask), null_count); }
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
