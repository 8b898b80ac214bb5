// SPDX-License-Identifier: Apache-2.0
#include "compute/host/buffers.hpp"
#include "compute/host/cast.hpp"
#include "compute/host_access.hpp"

#include <cudf/utilities/error.hpp>

#include <algorithm>

namespace cudf_arrow_bridge::detail::host {
namespace {

using cudf::type_id;

constexpr std::int64_t seconds_a_day = 86'400;

/// Ticks of a timestamp's unit in a day.
std::int64_t ticks_a_day(type_id unit)
{
  switch (unit) {
    case type_id::TIMESTAMP_DAYS: return 1;
    case type_id::TIMESTAMP_SECONDS: return seconds_a_day;
    case type_id::TIMESTAMP_MILLISECONDS: return seconds_a_day * 1'000;
    case type_id::TIMESTAMP_MICROSECONDS: return seconds_a_day * 1'000'000;
    case type_id::TIMESTAMP_NANOSECONDS: return seconds_a_day * 1'000'000'000;
    default: throw cudf::logic_error{"not a timestamp"};
  }
}

std::int64_t floor_divide(std::int64_t value, std::int64_t by)
{ return value / by - (value % by < 0 ? 1 : 0); }

/// Calls `use` with a value of the integer type that stores a decimal, duration or timestamp.
template <typename Use>
auto with_storage(cudf::data_type type, Use use)
{
  switch (cudf::size_of(type)) {
    case 4: return use(std::int32_t{});
    case 8: return use(std::int64_t{});
    case 16: return use(__int128_t{});
    default: throw cudf::logic_error{"neither a decimal nor a time"};
  }
}

/// Calls `use` with each valid value, until it returns false.
template <typename T, typename Use>
void visit_valid(cudf::column_view const& column, Use use)
{
  auto const* bits =
    column.null_count() == 0 ? nullptr : reinterpret_cast<std::uint8_t const*>(column.null_mask());
  for (std::int64_t i = column.offset(); i < column.offset() + column.size(); ++i) {
    if (bits != nullptr && !bit_at(bits, i)) { continue; }
    if (!use(load<T>(column.head<void>(), i))) { return; }
  }
}

template <typename From, typename To, typename Convert>
rmm::device_buffer transform(cudf::column_view const& column,
                             execution const& exec,
                             Convert convert)
{
  auto result = allocate(std::int64_t{column.size()} * std::int64_t{sizeof(To)}, exec);
  auto row    = std::int64_t{column.offset()};
  for (auto& out : values_of<To>(result)) {
    out = static_cast<To>(convert(load<From>(column.head<void>(), row++)));
  }
  return result;
}

}  // namespace

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec)
{
  auto data = with_storage(column.type(), [&](auto from) {
    return with_storage(type, [&](auto to) {
      using from_type = decltype(from);
      using to_type   = decltype(to);
      if (cudf::is_fixed_point(type)) {
        return transform<from_type, to_type>(column, exec, [](auto value) { return value; });
      }
      auto const divide   = ticks_a_day(column.type().id());
      auto const multiply = ticks_a_day(type.id());
      // Values of null rows may be anything: multiply unsigned, where overflow is defined.
      return transform<from_type, to_type>(column, exec, [=](auto value) {
        auto const days = floor_divide(static_cast<std::int64_t>(value), divide);
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(days) *
                                         static_cast<std::uint64_t>(multiply));
      });
    });
  });
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, exec.stream, exec.mr}
                : host::copy_bits({column.null_mask(), column.offset(), column.size()}, exec);
  return std::make_unique<cudf::column>(
    type, column.size(), std::move(data), std::move(mask), column.null_count());
}

value_range range_of(cudf::column_view const& column)
{
  auto result = value_range{false, 0, 0};
  with_storage(column.type(), [&](auto stored) {
    visit_valid<decltype(stored)>(column, [&](auto value) {
      result.least    = result.any ? std::min<__int128_t>(result.least, value) : value;
      result.greatest = result.any ? std::max<__int128_t>(result.greatest, value) : value;
      result.any      = true;
      return true;
    });
    return 0;
  });
  return result;
}

bool has_whole_days(cudf::column_view const& column)
{
  auto const ticks = ticks_a_day(column.type().id());
  auto result      = true;
  if (ticks > 1) {
    visit_valid<std::int64_t>(column, [&](auto value) { return result = value % ticks == 0; });
  }
  return result;
}

}  // namespace cudf_arrow_bridge::detail::host
