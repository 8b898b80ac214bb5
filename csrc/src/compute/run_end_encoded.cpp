// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <cudf/utilities/traits.hpp>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::size_type;

/// Repeats the results of `value_at` for the index of each run for the rows of their runs.
template <typename ValueAt>
rmm::device_buffer repeat_values(run_rows const& rows,
                                 column_path const& path,
                                 execution const& exec,
                                 ValueAt value_at)
{
  using value_type  = decltype(value_at(std::int64_t{}));
  auto const end_of = [&](std::int64_t run) {
    return read_integer(static_cast<std::byte const*>(rows.ends) + run * rows.width, rows.width);
  };
  // Find the first run by binary search, since a slice may begin far inside; step through the rest.
  auto const runs   = std::views::iota(std::int64_t{0}, rows.num_runs);
  auto const before = [&](std::int64_t run) { return end_of(run) <= rows.begin; };
  auto const first  = std::ranges::partition_point(runs, before);
  auto result       = allocate(std::int64_t{rows.size} * std::int64_t{sizeof(value_type)}, exec);
  auto* out         = static_cast<value_type*>(result.data());
  auto row          = std::int64_t{0};
  for (auto run = static_cast<std::int64_t>(first - runs.begin()); row < rows.size; ++run) {
    if (run == rows.num_runs) {
      fail_invalid(
        path,
        "row " + std::to_string(row) + " is after the last of " + std::to_string(run) + " runs");
    }
    // The ends of invalid runs are in any order.
    auto const end = std::clamp(end_of(run), rows.begin + row, rows.begin + rows.size) - rows.begin;
    std::fill(out + row, out + end, value_at(run));
    row = end;
  }
  return result;
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
  auto const number_of = [](std::int64_t run) { return static_cast<size_type>(run); };
  return make_column(cudf::data_type{cudf::type_id::INT32},
                     rows.size,
                     repeat_values(rows, path, exec, number_of),
                     exec);
}

std::unique_ptr<cudf::column> repeat_runs(cudf::column_view const& values,
                                          run_rows const& rows,
                                          column_path const& path,
                                          execution const& exec)
{
  auto const is_null = values.type().id() == cudf::type_id::EMPTY;
  if (is_null || !exec.host) { check_last_run(rows, path, exec); }
  // Excluded first: `cudf::is_fixed_width` throws for it.
  if (is_null) { return null_rows_like(values, rows.size, exec); }
  if (!exec.host || !cudf::is_fixed_width(values.type())) {
    auto const runs =
      exec.host ? host::runs_of_rows(rows, path, exec) : device::runs_of_rows(rows, path, exec);
    return gather_rows(values, runs->view(), path, exec);
  }
  auto data   = with_width(values.type(), [&]<typename T>(T) {
    auto const* source = values.head<T>() + values.offset();
    return repeat_values(rows, path, exec, [=](std::int64_t run) { return load<T>(source, run); });
  });
  auto result = make_column(values.type(), rows.size, std::move(data), exec);
  if (values.null_count() > 0) {
    auto const is_valid   = [&](std::int64_t run) { return !is_null_row(values, run); };
    auto const valid      = repeat_values(rows, path, exec, is_valid);
    auto mask             = pack_bools(valid.data(), rows.size, exec);
    auto const null_count = count_nulls({mask.data(), 0, rows.size}, exec);
    // Only runs without rows may be null.
    if (null_count > 0) { result->set_null_mask(std::move(mask), null_count); }
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail
