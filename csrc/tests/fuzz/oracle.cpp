// SPDX-License-Identifier: Apache-2.0
#include "fuzz/oracle.hpp"

#include "testing/views.hpp"

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::fuzz {
namespace {

using test::value;

constexpr std::int64_t max_rows   = std::int64_t{1} << 15;
constexpr std::int64_t max_values = std::int64_t{1} << 16;

template <typename T>
T load(ArrowArrayView const& view, std::int64_t i, std::size_t buffer = 1)
{
  T loaded;
  auto const* first = view.buffer_views[buffer].data.as_uint8;
  std::memcpy(&loaded, first + (view.offset + i) * std::int64_t{sizeof(T)}, sizeof(T));
  return loaded;
}

/// Reads rows of a nanoarrow view. Functions return false for rows out of bounds.
class reader {
 public:
  [[nodiscard]] bool row(ArrowArrayView const& view, std::int64_t i, value& out)
  {
    if (i < 0 || i >= view.length || ++num_values_ > max_values) { return false; }
    if (view.storage_type == NANOARROW_TYPE_RUN_END_ENCODED) { return run(view, i, out); }
    // A stated null count of 0 takes precedence over the mask.
    if (view.storage_type == NANOARROW_TYPE_NA ||
        (view.null_count != 0 && ArrowArrayViewIsNull(&view, i) != 0)) {
      out = {};
      return true;
    }
    if (view.dictionary != nullptr) {
      return row(*view.dictionary, ArrowArrayViewGetIntUnsafe(&view, i), out);
    }
    auto const at = view.offset + i;
    switch (view.storage_type) {
      case NANOARROW_TYPE_HALF_FLOAT: {
        auto const number = to_float(load<std::uint16_t>(view, i));
        out               = test::number(std::bit_cast<std::uint32_t>(number));
        return !std::isnan(number);
      }
      case NANOARROW_TYPE_FLOAT: out = {load<std::uint32_t>(view, i)}; return true;
      case NANOARROW_TYPE_UINT64:
      case NANOARROW_TYPE_DOUBLE: out = {load<std::uint64_t>(view, i)}; return true;
      case NANOARROW_TYPE_DECIMAL32: out = {load<std::int32_t>(view, i)}; return true;
      case NANOARROW_TYPE_DECIMAL64: out = {load<std::int64_t>(view, i)}; return true;
      case NANOARROW_TYPE_DECIMAL128: out = {load<__int128_t>(view, i)}; return true;
      case NANOARROW_TYPE_STRING:
      case NANOARROW_TYPE_LARGE_STRING:
      case NANOARROW_TYPE_STRING_VIEW: {
        auto const text = ArrowArrayViewGetStringUnsafe(&view, i);
        out             = {std::string(text.size_bytes == 0 ? "" : text.data,
                                       static_cast<std::size_t>(text.size_bytes))};
        return true;
      }
      case NANOARROW_TYPE_BINARY:
      case NANOARROW_TYPE_LARGE_BINARY:
      case NANOARROW_TYPE_FIXED_SIZE_BINARY:
      case NANOARROW_TYPE_BINARY_VIEW: {
        auto const bytes = ArrowArrayViewGetBytesUnsafe(&view, i);
        auto items       = test::rows{};
        for (std::int64_t b = 0; b < bytes.size_bytes; ++b) {
          items.push_back(test::number(bytes.data.as_uint8[b]));
        }
        out = {std::move(items)};
        return true;
      }
      case NANOARROW_TYPE_LIST:
      case NANOARROW_TYPE_LARGE_LIST:
      case NANOARROW_TYPE_MAP: {
        auto const begin = ArrowArrayViewListChildOffset(&view, at);
        return list(view, begin, ArrowArrayViewListChildOffset(&view, at + 1) - begin, out);
      }
      case NANOARROW_TYPE_LIST_VIEW:
        return list(view, load<std::int32_t>(view, i), load<std::int32_t>(view, i, 2), out);
      case NANOARROW_TYPE_LARGE_LIST_VIEW:
        return list(view, load<std::int64_t>(view, i), load<std::int64_t>(view, i, 2), out);
      case NANOARROW_TYPE_FIXED_SIZE_LIST: {
        auto const size = view.layout.child_size_elements;
        return list(view, at * size, size, out);
      }
      case NANOARROW_TYPE_STRUCT: {
        auto fields = test::rows(static_cast<std::size_t>(view.n_children));
        for (std::size_t c = 0; c < fields.size(); ++c) {
          if (!row(*view.children[c], at, fields[c])) { return false; }
        }
        out = {std::move(fields)};
        return true;
      }
      default: out = {ArrowArrayViewGetIntUnsafe(&view, i)}; return true;
    }
  }

 private:
  [[nodiscard]] bool list(ArrowArrayView const& view,
                          std::int64_t begin,
                          std::int64_t size,
                          value& out)
  {
    if (size < 0 || size > max_values) { return false; }
    auto items = test::rows(static_cast<std::size_t>(size));
    for (auto& item : items) {
      if (!row(*view.children[0], begin++, item)) { return false; }
    }
    out = {std::move(items)};
    return true;
  }

  [[nodiscard]] bool run(ArrowArrayView const& view, std::int64_t i, value& out)
  {
    auto const& ends = *view.children[0];
    for (std::int64_t r = 0; r < ends.length; ++r) {
      if (ArrowArrayViewGetIntUnsafe(&ends, r) > view.offset + i) {
        return row(*view.children[1], r, out);
      }
    }
    return false;
  }

  std::int64_t num_values_{0};
};

/// Arrays without runs are not read: nanoarrow's validation reads run -1 of them.
bool has_no_runs(ArrowArrayView const& view)
{
  if (view.storage_type == NANOARROW_TYPE_RUN_END_ENCODED && view.children[0]->length == 0) {
    return true;
  }
  auto const children = std::span{view.children, static_cast<std::size_t>(view.n_children)};
  return std::any_of(
           children.begin(), children.end(), [](auto* child) { return has_no_runs(*child); }) ||
         (view.dictionary != nullptr && has_no_runs(*view.dictionary));
}

/// The type of a column, as far as `test::read_rows` needs it.
test::shape shape_of(cudf::column_view const& column)
{
  auto result          = test::shape{column.type().id(), "", "", 0, {}};
  auto const is_struct = result.id == cudf::type_id::STRUCT;
  auto const has_element =
    result.id == cudf::type_id::LIST || result.id == cudf::type_id::DICTIONARY32;
  auto const first = is_struct ? 0 : has_element ? 1 : column.num_children();
  for (auto i = first; i < column.num_children(); ++i) {
    result.children.push_back(shape_of(column.child(i)));
  }
  return result;
}

}  // namespace

float to_float(std::uint16_t half)
{
  auto const sign     = (half & 0x8000) == 0 ? 1.0F : -1.0F;
  auto const exponent = (half >> 10) & 31;
  auto const fraction = half & 1023;
  if (exponent == 31) { return fraction == 0 ? sign * HUGE_VALF : NAN; }
  auto const digits = static_cast<float>(exponent == 0 ? fraction : fraction + 1024);
  return sign * std::ldexp(digits, std::max(exponent, 1) - 25);
}

bool read_arrow(ArrowSchema const& schema,
                ArrowArray const& array,
                std::int64_t begin,
                std::int64_t size,
                test::rows& result)
{
  if (size > max_rows) { return false; }
  auto view = nanoarrow::UniqueArrayView{};
  if (ArrowArrayViewInitFromSchema(view.get(), &schema, nullptr) != NANOARROW_OK ||
      ArrowArrayViewSetArray(view.get(), &array, nullptr) != NANOARROW_OK ||
      has_no_runs(*view.get()) ||
      ArrowArrayViewValidate(view.get(), NANOARROW_VALIDATION_LEVEL_FULL, nullptr) !=
        NANOARROW_OK) {
    return false;
  }
  auto rows = reader{};
  for (auto i = begin; i < begin + size; ++i) {
    if (!rows.row(*view.get(), i, result.emplace_back())) { return false; }
  }
  return true;
}

void read_column(cudf::column_view const& column, test::rows& result)
{
  auto rows = test::read_rows(column, shape_of(column));
  std::move(rows.begin(), rows.end(), std::back_inserter(result));
}

}  // namespace cudf_arrow_bridge::fuzz
