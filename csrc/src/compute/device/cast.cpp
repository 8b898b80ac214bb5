// SPDX-License-Identifier: Apache-2.0
#include "compute/cast.hpp"

#include "compute/device/buffers.hpp"

#include <cudf/binaryop.hpp>
#include <cudf/dictionary/encode.hpp>
#include <cudf/reduction.hpp>
#include <cudf/replace.hpp>
#include <cudf/scalar/scalar.hpp>
#include <cudf/unary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cudf_arrow_bridge::detail::device {

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec)
{
  return cudf::dictionary::encode(
    column, cudf::data_type{cudf::type_id::INT32}, exec.stream, exec.mr);
}

std::unique_ptr<cudf::column> cast_column(cudf::column_view const& column,
                                          cudf::data_type type,
                                          execution const& exec)
{ return cudf::cast(column, type, exec.stream, exec.mr); }

value_range range_of(cudf::column_view const& column, read_back& others, execution const& exec)
{
  auto const range = [&]<typename T>(cudf::data_type type) {
    auto const [least, greatest] =
      cudf::minmax(cudf::bit_cast(column, type), exec.stream, exec.scratch().mr);
    constexpr auto width = std::int64_t{sizeof(cudf::device_storage_type_t<T>)};
    constexpr auto word  = std::int64_t{sizeof(std::int64_t)};
    // Values of 16 bytes are read as two words.
    auto const add = [&](cudf::scalar const& scalar) {
      auto const* value = static_cast<cudf::scalar_type_t<T> const&>(scalar).data();
      auto const number = others.add(value, std::min(width, word));
      if (width > word) { others.add(reinterpret_cast<std::byte const*>(value) + word, word); }
      return number;
    };
    auto const value_at = [&](std::size_t number) -> __int128_t {
      if (width == 1) { return static_cast<std::int8_t>(others.at(number)); }
      if (width <= word) { return others.at(number); }
      return __int128_t{others.at(number + 1)} << 64 |
             static_cast<std::uint64_t>(others.at(number));
    };
    auto const first = add(*least);
    auto const last  = add(*greatest);
    others.enqueue();
    others.wait();
    return value_range{true, value_at(first), value_at(last)};
  };
  switch (cudf::size_of(column.type())) {
    case 1: return range.operator()<std::int8_t>(cudf::data_type{cudf::type_id::INT8});
    case 2: return range.operator()<std::int16_t>(cudf::data_type{cudf::type_id::INT16});
    case 4: return range.operator()<std::int32_t>(cudf::data_type{cudf::type_id::INT32});
    case 8: return range.operator()<std::int64_t>(cudf::data_type{cudf::type_id::INT64});
    default: return range.operator()<numeric::decimal128>(column.type());
  }
}

bool has_whole_days(cudf::column_view const& column, execution const& exec)
{
  auto const scratch = exec.scratch().mr;
  auto const days =
    cudf::cast(column, cudf::data_type{cudf::type_id::TIMESTAMP_DAYS}, exec.stream, scratch);
  auto const rounded = cudf::cast(days->view(), column.type(), exec.stream, scratch);
  auto const int64   = cudf::data_type{cudf::type_id::INT64};
  auto const times =
    cudf::column_view{int64, column.size(), column.head<void>(), nullptr, 0, column.offset()};
  auto const rests = combine(cudf::binary_operator::SUB,
                             times,
                             flat_view(int64.id(), column.size(), rounded->view().head<void>()),
                             int64.id(),
                             exec.scratch());
  auto const valid = cudf::column_view{
    int64, column.size(), rests.data(), days->view().null_mask(), column.null_count()};
  return detail::range_of(valid, exec).is_only(0);
}

rmm::device_buffer rows_of_lists(lists_of_size const& lists, execution const& exec)
{
  auto const number = [&](cudf::size_type value) {
    return cudf::numeric_scalar<std::int32_t>{value, true, exec.stream, exec.scratch().mr};
  };
  auto const begins = flat_view(cudf::type_id::INT32, lists.count, lists.begins);
  auto const rows   = spread(begins, lists.size, 1, exec.scratch());
  auto taken =
    cudf::clamp(rows->view(), number(lists.first), number(lists.last), exec.stream, exec.mr);
  return std::move(*taken->release().data);
}

}  // namespace cudf_arrow_bridge::detail::device
