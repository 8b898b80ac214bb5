// SPDX-License-Identifier: Apache-2.0
#include "fuzz/oracles/value_writer.hpp"
#include "fuzz/oracles/values.hpp"

#include <cudf/utilities/traits.hpp>

#include <cstring>

namespace cudf_arrow_bridge::fuzz {
namespace {

template <typename T>
T load(void const* head, std::int64_t index)
{
  T value;
  std::memcpy(
    &value, static_cast<std::byte const*>(head) + index * std::int64_t{sizeof(T)}, sizeof(T));
  return value;
}

__int128_t load_integer(cudf::column_view const& column, std::int64_t index)
{
  auto const* head       = column.head<void>();
  auto const is_unsigned = cudf::is_unsigned(column.type());
  switch (cudf::size_of(column.type())) {
    case 1: return is_unsigned ? load<std::uint8_t>(head, index) : load<std::int8_t>(head, index);
    case 2: return is_unsigned ? load<std::uint16_t>(head, index) : load<std::int16_t>(head, index);
    case 4:
      return is_unsigned ? __int128_t{load<std::uint32_t>(head, index)}
                         : load<std::int32_t>(head, index);
    case 8:
      return is_unsigned ? __int128_t{load<std::uint64_t>(head, index)}
                         : load<std::int64_t>(head, index);
    default: return load<__int128_t>(head, index);
  }
}

/// `row` is counted from the head of the buffers: it is also the row of a struct's children.
void read_row(cudf::column_view const& column, std::int64_t row, value_writer& out)
{
  if (column.type().id() == cudf::type_id::EMPTY) { return out.null(); }
  // Byte by byte: masks of imported columns need not fill their last word.
  auto const* mask = reinterpret_cast<std::uint8_t const*>(column.null_mask());
  if (mask != nullptr && ((mask[row / 8] >> (row % 8)) & 1) == 0) { return out.null(); }
  auto const offset_at = [&](std::int64_t i) {
    auto const offsets = column.child(0);
    return static_cast<std::int64_t>(load_integer(offsets, offsets.offset() + i));
  };
  switch (column.type().id()) {
    case cudf::type_id::FLOAT32: return out.real(load<float>(column.head<void>(), row));
    case cudf::type_id::FLOAT64: return out.real(load<double>(column.head<void>(), row));
    case cudf::type_id::STRING: {
      auto const begin = offset_at(row);
      auto const size  = static_cast<std::size_t>(offset_at(row + 1) - begin);
      return out.text(size == 0 ? std::string_view{}
                                : std::string_view{column.head<char>() + begin, size});
    }
    case cudf::type_id::LIST: {
      auto const element = column.child(1);
      auto const end     = offset_at(row + 1);
      out.list(end - offset_at(row));
      for (auto i = offset_at(row); i < end; ++i) { read_row(element, element.offset() + i, out); }
      return;
    }
    case cudf::type_id::STRUCT:
      out.structure();
      for (auto child = column.child_begin(); child != column.child_end(); ++child) {
        read_row(*child, row, out);
      }
      return;
    case cudf::type_id::DICTIONARY32: {
      auto const keys  = column.child(1);
      auto const index = static_cast<std::int64_t>(load_integer(column.child(0), row));
      return read_row(keys, keys.offset() + index, out);
    }
    default: return out.number(load_integer(column, row));
  }
}

}  // namespace

void read_column(cudf::column_view const& column, std::string& result)
{
  auto out = value_writer{result};
  for (cudf::size_type i = 0; i < column.size(); ++i) {
    read_row(column, std::int64_t{column.offset()} + i, out);
  }
}

}  // namespace cudf_arrow_bridge::fuzz
