// SPDX-License-Identifier: Apache-2.0
/// @file
/// Validates and reads Arrow arrays with nanoarrow.
#pragma once

#include "testing/producer.hpp"

namespace cudf_arrow_bridge::test {

/// Return the first element of a list in the child. nanoarrow does not compute it for lists of a
/// fixed size.
inline std::int64_t list_begin(ArrowArrayView const* view, std::int64_t row)
{
  return view->storage_type == NANOARROW_TYPE_FIXED_SIZE_LIST
           ? row * view->layout.child_size_elements
           : ArrowArrayViewListChildOffset(view, row);
}

inline value read_row(ArrowArrayView const* view, shape const& type, std::int64_t row)
{
  if (ArrowArrayViewIsNull(view, row) != 0) { return {}; }
  if (type.id == cudf::type_id::DICTIONARY32) {
    return read_row(view->dictionary, type.children[0], ArrowArrayViewGetIntUnsafe(view, row));
  }
  switch (type.id) {
    case cudf::type_id::STRING: {
      auto const text = ArrowArrayViewGetStringUnsafe(view, row);
      return {std::string(text.data, static_cast<std::size_t>(text.size_bytes))};
    }
    case cudf::type_id::LIST: {
      auto items = rows{};
      if (type.is_binary()) {
        auto const bytes = ArrowArrayViewGetBytesUnsafe(view, row);
        for (std::int64_t i = 0; i < bytes.size_bytes; ++i) {
          items.push_back(number(bytes.data.as_uint8[i]));
        }
        return {std::move(items)};
      }
      auto const end = list_begin(view, view->offset + row + 1);
      for (auto i = list_begin(view, view->offset + row); i < end; ++i) {
        items.push_back(read_row(view->children[0], type.children[0], i));
      }
      return {std::move(items)};
    }
    case cudf::type_id::STRUCT: {
      auto items = rows{};
      for (std::size_t i = 0; i < type.children.size(); ++i) {
        items.push_back(read_row(view->children[i], type.children[i], view->offset + row));
      }
      return {std::move(items)};
    }
    case cudf::type_id::FLOAT32:
      return number(
        std::bit_cast<std::uint32_t>(static_cast<float>(ArrowArrayViewGetDoubleUnsafe(view, row))));
    case cudf::type_id::FLOAT64:
      return number(std::bit_cast<std::uint64_t>(ArrowArrayViewGetDoubleUnsafe(view, row)));
    case cudf::type_id::DECIMAL32:
    case cudf::type_id::DECIMAL64:
    case cudf::type_id::DECIMAL128: {
      auto const width = 8 * static_cast<std::int32_t>(cudf::size_of(type.type()));
      auto decimal     = ArrowDecimal{};
      ArrowDecimalInit(&decimal, width, 9, 0);
      ArrowArrayViewGetDecimalUnsafe(view, row, &decimal);
      if (width < 128) { return number(ArrowDecimalGetIntUnsafe(&decimal)); }
      auto bytes = std::array<std::uint8_t, 16>{};
      ArrowDecimalGetBytes(&decimal, bytes.data());
      return number(std::bit_cast<__int128_t>(bytes));
    }
    default:
      return type.is_signed() ? number(ArrowArrayViewGetIntUnsafe(view, row))
                              : number(ArrowArrayViewGetUIntUnsafe(view, row));
  }
}

/// Check that the null count of each level is unknown or correct.
inline void check_null_counts(ArrowArrayView const* view)
{
  auto nulls = std::int64_t{0};
  for (std::int64_t i = 0; i < view->length; ++i) { nulls += ArrowArrayViewIsNull(view, i); }
  if (view->null_count != -1 && view->null_count != nulls) {
    throw std::runtime_error{"null count " + std::to_string(view->null_count) + " claimed, " +
                             std::to_string(nulls) + " counted"};
  }
  for (std::int64_t i = 0; i < view->n_children; ++i) { check_null_counts(view->children[i]); }
  if (view->dictionary != nullptr) { check_null_counts(view->dictionary); }
}

/// Read an array by the schema of `type`, after nanoarrow's full validation.
inline rows read_arrow(ArrowArray const& array, shape const& type)
{
  auto const schema = make_schema(type);
  auto view         = nanoarrow::UniqueArrayView{};
  auto error        = ArrowError{};
  check(ArrowArrayViewInitFromSchema(view.get(), schema.get(), &error), &error);
  check(ArrowArrayViewSetArray(view.get(), &array, &error), &error);
  check(ArrowArrayViewValidate(view.get(), NANOARROW_VALIDATION_LEVEL_FULL, &error), &error);
  check_null_counts(view.get());
  auto result = rows{};
  for (std::int64_t i = 0; i < array.length; ++i) {
    result.push_back(read_row(view.get(), type, i));
  }
  return result;
}

}  // namespace cudf_arrow_bridge::test
