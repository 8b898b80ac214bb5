// SPDX-License-Identifier: Apache-2.0
#include "fuzz/oracles/value_writer.hpp"
#include "fuzz/oracles/values.hpp"

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <cstring>
#include <span>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr std::int64_t max_rows  = std::int64_t{1} << 15;
constexpr std::size_t max_output = std::size_t{1} << 20;

/// Reads rows of a nanoarrow view. Functions return false for rows out of bounds.
class reader {
 public:
  explicit reader(std::string& result) : result_{result}, out_{result} {}

  [[nodiscard]] bool row(ArrowArrayView const& view, std::int64_t i)
  {
    if (i < 0 || i >= view.length || result_.size() > max_output) { return false; }
    if (view.storage_type == NANOARROW_TYPE_RUN_END_ENCODED) { return run(view, i); }
    // A stated null count of 0 takes precedence over the mask.
    if (view.storage_type == NANOARROW_TYPE_NA ||
        (view.null_count != 0 && ArrowArrayViewIsNull(&view, i) != 0)) {
      out_.null();
      return true;
    }
    if (view.dictionary != nullptr) {
      return row(*view.dictionary, ArrowArrayViewGetIntUnsafe(&view, i));
    }
    switch (view.storage_type) {
      case NANOARROW_TYPE_HALF_FLOAT: out_.half(load<std::uint16_t>(view, 1, i)); return true;
      case NANOARROW_TYPE_FLOAT:
      case NANOARROW_TYPE_DOUBLE: out_.real(ArrowArrayViewGetDoubleUnsafe(&view, i)); return true;
      case NANOARROW_TYPE_DECIMAL32: return number<std::int32_t>(view, i);
      case NANOARROW_TYPE_DECIMAL64: return number<std::int64_t>(view, i);
      case NANOARROW_TYPE_DECIMAL128: return number<__int128_t>(view, i);
      case NANOARROW_TYPE_STRING:
      case NANOARROW_TYPE_LARGE_STRING:
      case NANOARROW_TYPE_STRING_VIEW: {
        auto const text = ArrowArrayViewGetStringUnsafe(&view, i);
        out_.text(text.size_bytes == 0
                    ? std::string_view{}
                    : std::string_view{text.data, static_cast<std::size_t>(text.size_bytes)});
        return true;
      }
      case NANOARROW_TYPE_BINARY:
      case NANOARROW_TYPE_LARGE_BINARY:
      case NANOARROW_TYPE_FIXED_SIZE_BINARY:
      case NANOARROW_TYPE_BINARY_VIEW: {
        auto const bytes = ArrowArrayViewGetBytesUnsafe(&view, i);
        out_.list(bytes.size_bytes);
        for (std::int64_t b = 0; b < bytes.size_bytes; ++b) { out_.number(bytes.data.as_uint8[b]); }
        return true;
      }
      case NANOARROW_TYPE_LIST:
      case NANOARROW_TYPE_LARGE_LIST:
      case NANOARROW_TYPE_MAP: {
        auto const at    = view.offset + i;
        auto const begin = ArrowArrayViewListChildOffset(&view, at);
        return items(view, begin, ArrowArrayViewListChildOffset(&view, at + 1) - begin);
      }
      case NANOARROW_TYPE_LIST_VIEW: return list_view<std::int32_t>(view, i);
      case NANOARROW_TYPE_LARGE_LIST_VIEW: return list_view<std::int64_t>(view, i);
      case NANOARROW_TYPE_FIXED_SIZE_LIST: {
        auto const size = view.layout.child_size_elements;
        return items(view, (view.offset + i) * size, size);
      }
      case NANOARROW_TYPE_STRUCT: {
        out_.structure();
        for (std::int64_t c = 0; c < view.n_children; ++c) {
          if (!row(*view.children[c], view.offset + i)) { return false; }
        }
        return true;
      }
      case NANOARROW_TYPE_UINT64:
        out_.number(__int128_t{ArrowArrayViewGetUIntUnsafe(&view, i)});
        return true;
      default: out_.number(ArrowArrayViewGetIntUnsafe(&view, i)); return true;
    }
  }

 private:
  template <typename T>
  static T load(ArrowArrayView const& view, std::size_t buffer, std::int64_t i)
  {
    T value;
    std::memcpy(
      &value,
      view.buffer_views[buffer].data.as_uint8 + (view.offset + i) * std::int64_t{sizeof(T)},
      sizeof(T));
    return value;
  }

  template <typename T>
  [[nodiscard]] bool number(ArrowArrayView const& view, std::int64_t i)
  {
    out_.number(load<T>(view, 1, i));
    return true;
  }

  template <typename T>
  [[nodiscard]] bool list_view(ArrowArrayView const& view, std::int64_t i)
  { return items(view, load<T>(view, 1, i), load<T>(view, 2, i)); }

  [[nodiscard]] bool items(ArrowArrayView const& view, std::int64_t begin, std::int64_t size)
  {
    if (size < 0) { return false; }
    out_.list(size);
    for (auto i = begin; i < begin + size; ++i) {
      if (!row(*view.children[0], i)) { return false; }
    }
    return true;
  }

  [[nodiscard]] bool run(ArrowArrayView const& view, std::int64_t i)
  {
    auto const& ends = *view.children[0];
    for (std::int64_t r = 0; r < ends.length; ++r) {
      if (ArrowArrayViewGetIntUnsafe(&ends, r) > view.offset + i) {
        return row(*view.children[1], r);
      }
    }
    return false;
  }

  std::string& result_;
  value_writer out_;
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

}  // namespace

bool read_arrow(ArrowSchema const& schema,
                ArrowArray const& array,
                std::int64_t begin,
                std::int64_t size,
                std::string& result)
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
  auto rows = reader{result};
  for (auto i = begin; i < begin + size; ++i) {
    if (!rows.row(*view.get(), i)) { return false; }
  }
  return true;
}

}  // namespace cudf_arrow_bridge::fuzz
