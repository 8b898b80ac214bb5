// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"
#include "compute/bits.hpp"
#include "compute/gather.hpp"

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

/// Calls `use` with the index of each run that has rows, its first row and the row after its last.
template <typename End, typename Use>
void visit_runs(run_rows const& rows, column_path const& path, Use use)
{
  auto const end_of = [&](std::int64_t run) -> std::int64_t { return load<End>(rows.ends, run); };
  // Find the first run by binary search, since a slice may begin far inside; step through the rest.
  auto const runs   = std::views::iota(std::int64_t{0}, rows.num_runs);
  auto const before = [&](std::int64_t run) { return end_of(run) <= rows.begin; };
  auto const first  = std::ranges::partition_point(runs, before);
  auto const last   = rows.begin + rows.size;
  auto row          = rows.begin;
  for (auto run = static_cast<std::int64_t>(first - runs.begin()); row < last; ++run) {
    if (run == rows.num_runs) {
      fail_invalid(path,
                   "row " + std::to_string(row - rows.begin) + " is after the last of " +
                     std::to_string(run) + " runs");
    }
    auto const end = std::min(end_of(run), last);
    if (end <= row) { continue; }
    use(run, row - rows.begin, end - rows.begin);
    row = end;
  }
}

template <typename Use>
void visit_runs(run_rows const& rows, column_path const& path, Use use)
{
  switch (rows.width) {
    case 2: visit_runs<std::int16_t>(rows, path, use); break;
    case 4: visit_runs<std::int32_t>(rows, path, use); break;
    default: visit_runs<std::int64_t>(rows, path, use);
  }
}

rmm::device_buffer repeat_values(cudf::column_view const& values,
                                 run_rows const& rows,
                                 column_path const& path,
                                 execution const& exec)
{
  return with_width(values.type(), [&]<typename T>(T) {
    auto const* first = values.head<T>() + values.offset();
    auto result       = allocate(std::int64_t{rows.size} * std::int64_t{sizeof(T)}, exec);
    auto* out         = static_cast<T*>(result.data());
    visit_runs(rows, path, [&](std::int64_t run, std::int64_t begin, std::int64_t end) {
      std::fill(out + begin, out + end, load<T>(first, run));
    });
    return result;
  });
}

rmm::device_buffer repeat_mask(cudf::column_view const& values,
                               run_rows const& rows,
                               column_path const& path,
                               execution const& exec)
{
  auto result      = no_valid_bits(rows.size, exec);
  auto const words = values_of<std::uint64_t>(result);
  visit_runs(rows, path, [&](std::int64_t run, std::int64_t begin, std::int64_t end) {
    if (bit_at(values.null_mask(), values.offset() + run)) { set_bits(words, begin, end); }
  });
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
  auto buffer = allocate(std::int64_t{rows.size} * std::int64_t{sizeof(size_type)}, exec);
  auto* out   = static_cast<size_type*>(buffer.data());
  visit_runs(rows, path, [&](std::int64_t run, std::int64_t begin, std::int64_t end) {
    std::fill(out + begin, out + end, static_cast<size_type>(run));
  });
  return make_column(cudf::data_type{cudf::type_id::INT32}, rows.size, std::move(buffer), exec);
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
  auto data = repeat_values(values, rows, path, exec);
  auto mask = values.null_count() == 0 ? allocate(0, exec) : repeat_mask(values, rows, path, exec);
  auto null_count = mask.is_empty() ? 0 : count_nulls({mask.data(), 0, rows.size}, exec);
  if (null_count == 0) { mask = allocate(0, exec); }
  return std::make_unique<cudf::column>(
    values.type(), rows.size, std::move(data), std::move(mask), null_count);
}

}  // namespace cudf_arrow_bridge::detail
