// SPDX-License-Identifier: Apache-2.0
#include "compute/bits.hpp"
#include "compute/cast.hpp"
#include "compute/host_access.hpp"

#include <cudf/utilities/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::type_id;

template <std::int64_t Count>
using ticks = std::integral_constant<std::int64_t, Count>;

/// Calls `use` with the number of units of a timestamp in a day as a constant of the type, because
/// dividing by a variable takes ten times as long.
template <typename Use>
auto with_ticks_a_day(type_id unit, Use use)
{
  constexpr auto seconds = std::int64_t{86'400};
  switch (unit) {
    case type_id::TIMESTAMP_DAYS: return use(ticks<1>{});
    case type_id::TIMESTAMP_SECONDS: return use(ticks<seconds>{});
    case type_id::TIMESTAMP_MILLISECONDS: return use(ticks<seconds * 1'000>{});
    case type_id::TIMESTAMP_MICROSECONDS: return use(ticks<seconds * 1'000'000>{});
    case type_id::TIMESTAMP_NANOSECONDS: return use(ticks<seconds * 1'000'000'000>{});
    default: throw cudf::logic_error{"not a timestamp"};
  }
}

/// Divides and rounds down. Negative values are divided by their complement, which is not negative:
/// -1 by 10 is ~(~-1 / 10) = ~(0 / 10) = -1. Unsigned constants take fewer instructions.
template <std::int64_t By>
std::int64_t floor_divide(std::int64_t value, ticks<By>)
{
  auto const sign      = value < 0 ? std::int64_t{-1} : 0;
  auto const magnitude = static_cast<std::uint64_t>(value ^ sign);
  return static_cast<std::int64_t>(magnitude / std::uint64_t{By}) ^ sign;
}

/// The greatest value; its complement is the least. `std::numeric_limits` does not support 128-bit
/// integers.
template <typename T>
constexpr T max_of = static_cast<T>(~(static_cast<__uint128_t>(1) << (8 * sizeof(T) - 1)));

/// Calls `use` with a value of the integer type that stores a number, decimal, duration or
/// timestamp.
template <typename Use>
auto with_storage(cudf::data_type type, Use use)
{
  switch (cudf::size_of(type)) {
    case 1: return use(std::int8_t{});
    case 2: return use(std::int16_t{});
    case 4: return use(std::int32_t{});
    case 8: return use(std::int64_t{});
    case 16: return use(__int128_t{});
    default: throw cudf::logic_error{"neither a decimal nor a time"};
  }
}

/// Calls `use` with each valid value.
template <typename T, typename Use>
void visit_valid(cudf::column_view const& column, Use use)
{
  auto const* values = column.head<T>() + column.offset();
  if (column.null_count() == 0) {
    for (std::int64_t i = 0; i < column.size(); ++i) { use(load<T>(values, i)); }
  } else {
    for_each_one({column.null_mask(), column.offset(), column.size()},
                 [&](std::int64_t i) { use(load<T>(values, i)); });
  }
}

template <typename From, typename To, typename Convert>
rmm::device_buffer transform(cudf::column_view const& column,
                             execution const& exec,
                             Convert convert)
{
  auto result        = allocate(std::int64_t{column.size()} * std::int64_t{sizeof(To)}, exec);
  auto const* values = column.head<From>() + column.offset();
  auto* out          = static_cast<To*>(result.data());
  for (std::int64_t i = 0; i < column.size(); ++i) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): 8-bit values are numbers here.
    out[i] = static_cast<To>(convert(load<From>(values, i)));
  }
  return result;
}

rmm::device_buffer cast_decimals(cudf::column_view const& column,
                                 cudf::data_type type,
                                 execution const& exec)
{
  return with_storage(column.type(), [&](auto from) {
    return with_storage(type, [&](auto to) {
      return transform<decltype(from), decltype(to)>(column, exec, std::identity{});
    });
  });
}

rmm::device_buffer cast_timestamps(cudf::column_view const& column,
                                   cudf::data_type type,
                                   execution const& exec)
{
  auto const multiply = with_ticks_a_day(type.id(), [](std::int64_t count) { return count; });
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

/// The least and the greatest of some values; reversed if there are none.
template <typename T>
struct extremes {
  T least{max_of<T>};
  T greatest{static_cast<T>(~max_of<T>)};

  void add(T value) { add({value, value}); }
  void add(extremes const& other)
  {
    least    = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
  }
};

}  // namespace

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec)
{
  if (!exec.host) { return device::cast_column(column, type, exec); }
  auto data = cudf::is_fixed_point(type) ? cast_decimals(column, type, exec)
                                         : cast_timestamps(column, type, exec);
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, exec.stream, exec.mr}
                : copy_bits({column.null_mask(), column.offset(), column.size()}, exec);
  return std::make_unique<cudf::column>(
    type, column.size(), std::move(data), std::move(mask), column.null_count());
}

value_range range_of(cudf::column_view const& column, execution const& exec)
{
  if (!exec.host) { return device::range_of(column, exec); }
  return with_storage(column.type(), [&](auto stored) {
    using value_type = decltype(stored);
    // With a single pair, every value would depend on the previous one.
    auto lanes = std::array<extremes<value_type>, 4>{};
    if (column.null_count() == 0) {
      auto const* values = column.head<value_type>() + column.offset();
      auto const count   = static_cast<std::size_t>(column.size());
      auto const whole   = count - count % lanes.size();
      for (std::size_t i = 0; i < whole; i += lanes.size()) {
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
          lanes[lane].add(load<value_type>(values, static_cast<std::int64_t>(i + lane)));
        }
      }
      for (auto i = whole; i < count; ++i) {
        lanes.front().add(load<value_type>(values, static_cast<std::int64_t>(i)));
      }
    } else {
      visit_valid<value_type>(column, [&](auto value) { lanes.front().add(value); });
    }
    for (auto const& lane : lanes) { lanes.front().add(lane); }
    auto const [least, greatest] = lanes.front();
    return least > greatest ? value_range{false, 0, 0} : value_range{true, least, greatest};
  });
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
