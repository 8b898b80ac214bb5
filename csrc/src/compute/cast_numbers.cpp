// SPDX-License-Identifier: Apache-2.0
#include "compute/cast.hpp"
#include "compute/host_access.hpp"

#include <cudf/utilities/error.hpp>
#include <cudf/utilities/traits.hpp>

#include <cuda/std/limits>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::type_id;

template <std::int64_t Count>
using ticks = std::integral_constant<std::int64_t, Count>;

/// Calls `use` with the number of units of a timestamp or duration in a day as a constant of the
/// type, because dividing by a variable takes ten times as long.
template <typename Use>
auto with_ticks_a_day(type_id unit, Use use)
{
  constexpr auto seconds = std::int64_t{86'400};
  switch (unit) {
    case type_id::DURATION_DAYS:
    case type_id::TIMESTAMP_DAYS: return use(ticks<1>{});
    case type_id::DURATION_SECONDS:
    case type_id::TIMESTAMP_SECONDS: return use(ticks<seconds>{});
    case type_id::DURATION_MILLISECONDS:
    case type_id::TIMESTAMP_MILLISECONDS: return use(ticks<seconds * 1'000>{});
    case type_id::DURATION_MICROSECONDS:
    case type_id::TIMESTAMP_MICROSECONDS: return use(ticks<seconds * 1'000'000>{});
    case type_id::DURATION_NANOSECONDS:
    case type_id::TIMESTAMP_NANOSECONDS: return use(ticks<seconds * 1'000'000'000>{});
    default: throw cudf::logic_error{"not a type of times"};
  }
}

/// Divides and rounds down.
template <std::int64_t By>
std::int64_t floor_divide(std::int64_t value, ticks<By>)
{ return value / By - (value % By < 0 ? 1 : 0); }

/// Calls `use` with each valid value.
template <typename T, typename Use>
void visit_valid(cudf::column_view const& column, Use use)
{
  auto const* values = column.head<T>() + column.offset();
  for (std::int64_t i = 0; i < column.size(); ++i) {
    if (!is_null_row(column, i)) { use(load<T>(values, i)); }
  }
}

template <typename From, typename To, typename Convert>
rmm::device_buffer transform(cudf::column_view const& column,
                             execution const& exec,
                             Convert convert)
{
  return map_values<From, To>(column.head<From>() + column.offset(), column.size(), exec, convert);
}

rmm::device_buffer cast_integers(cudf::column_view const& column,
                                 cudf::data_type type,
                                 execution const& exec)
{
  CUDF_EXPECTS(!cudf::is_floating_point(column.type()) && !cudf::is_floating_point(type),
               "expected integers");
  return with_stored(column.type(), [&]<typename From>(From) {
    if (type.id() == type_id::BOOL8) {
      return transform<From, bool>(column, exec, [](From value) { return value != 0; });
    }
    return with_width(
      type, [&]<typename To>(To) { return transform<From, To>(column, exec, std::identity{}); });
  });
}

rmm::device_buffer cast_times(cudf::column_view const& column,
                              cudf::data_type type,
                              execution const& exec)
{
  auto const multiply = ticks_a_day(type.id());
  return with_ticks_a_day(column.type().id(), [&](auto divide) {
    using from_type = std::conditional_t<divide == 1, std::int32_t, std::int64_t>;
    // Null rows may have any value, so multiply unsigned numbers, for which overflow is defined.
    auto const convert = [=](std::int64_t value) {
      auto const days = floor_divide(value, divide);
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(days) *
                                       static_cast<std::uint64_t>(multiply));
    };
    return type.id() == type_id::TIMESTAMP_DAYS
             ? transform<from_type, std::int32_t>(column, exec, convert)
             : transform<from_type, std::int64_t>(column, exec, convert);
  });
}

}  // namespace

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec)
{
  if (!exec.host) { return device::cast_column(column, type, exec); }
  auto data = cudf::is_chrono(column.type()) ? cast_times(column, type, exec)
                                             : cast_integers(column, type, exec);
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, exec.stream, exec.mr}
                : copy_bits({column.null_mask(), column.offset(), column.size()}, exec);
  return std::make_unique<cudf::column>(
    type, column.size(), std::move(data), std::move(mask), column.null_count());
}

value_range range_of(cudf::column_view const& column, execution const& exec)
{
  if (column.null_count() == column.size()) { return {}; }
  if (!exec.host) {
    auto no_others = device::read_back{exec.stream};
    return device::range_of(column, no_others, exec);
  }
  return with_width(column.type(), [&](auto stored) {
    // Those of std do not support 128-bit integers.
    using limits  = cuda::std::numeric_limits<decltype(stored)>;
    auto least    = limits::max();
    auto greatest = limits::min();
    visit_valid<decltype(stored)>(column, [&](auto value) {
      least    = std::min(least, value);
      greatest = std::max(greatest, value);
    });
    return least > greatest ? value_range{} : value_range{true, least, greatest};
  });
}

std::int64_t ticks_a_day(cudf::type_id unit)
{
  return with_ticks_a_day(unit, [](std::int64_t count) { return count; });
}

bool has_whole_days(cudf::column_view const& column, execution const& exec)
{
  if (!exec.host) { return device::has_whole_days(column, exec); }
  return with_ticks_a_day(column.type().id(), [&](auto divide) {
    auto result = true;
    if constexpr (divide > 1) {
      visit_valid<std::int64_t>(column, [&](auto value) { result &= value % divide == 0; });
    }
    return result;
  });
}

}  // namespace cudf_arrow_bridge::detail
