// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"

#include "base/child_column.hpp"
#include "base/parsed_type.hpp"
#include "compute/bits.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::size_type;
using cudf::type_id;
using children_t = std::vector<std::unique_ptr<cudf::column>>;

/// The mask of a column, if it has one.
class source_mask {
 public:
  /// @param begin Row 0, counted from the start of the mask
  source_mask(cudf::column_view const& source, std::int64_t begin)
    : bits_{source.null_mask()}, begin_{begin}
  {
  }

  [[nodiscard]] bool has_no_nulls() const { return bits_ == nullptr; }

  [[nodiscard]] bool is_null(std::int64_t row) const
  { return row < 0 || (bits_ != nullptr && !bit_at(bits_, begin_ + row)); }

 private:
  void const* bits_;
  std::int64_t begin_;
};

/// The offsets of strings or lists.
template <typename Offset>
struct source_offsets {
  void const* first;
  source_mask mask;

  [[nodiscard]] std::int64_t begin(std::int64_t row) const { return load<Offset>(first, row); }

  [[nodiscard]] std::int64_t length(std::int64_t row) const
  { return mask.is_null(row) ? 0 : begin(row + 1) - begin(row); }
};

/// Gathers rows of a column and, recursively, the rows of its children that they refer to.
class gatherer {
 public:
  gatherer(column_path const& path, execution const& exec) : path_{path}, exec_{exec} {}

  /// @param before Rows between the column's offset and row 0 of `map`: in libcudf, children of
  ///   structs have the offset of the struct
  std::unique_ptr<cudf::column> rows(cudf::column_view const& source,
                                     std::span<size_type const> map,
                                     std::int64_t before = 0)
  {
    auto const size  = static_cast<size_type>(map.size());
    auto const begin = source.offset() + before;
    // libcudf's empty string column has no offsets. All rows gathered from it are null.
    auto const is_empty = source.type().id() == type_id::STRING && source.num_children() == 0;
    if (is_empty || source.type().id() == type_id::EMPTY) {
      return null_rows_like(source, size, exec_);
    }
    auto children   = children_t{};
    auto data       = gather_data(source, begin, map, children);
    auto null_count = size_type{0};
    auto mask       = gather_mask({source, begin}, map, null_count);
    return std::make_unique<cudf::column>(
      source.type(), size, std::move(data), std::move(mask), null_count, std::move(children));
  }

 private:
  /// @param begin Row 0 of `map`, counted from the start of the buffers
  /// @return The data buffer; appends to `children`
  rmm::device_buffer gather_data(cudf::column_view const& source,
                                 std::int64_t begin,
                                 std::span<size_type const> map,
                                 children_t& children)
  {
    switch (source.type().id()) {
      case type_id::STRING: return strings(source, begin, map, children);
      case type_id::LIST: lists(source, begin, map, children); return none();
      case type_id::STRUCT:
        for (auto child = source.child_begin(); child != source.child_end(); ++child) {
          children.push_back(rows(*child, map, begin));
        }
        return none();
      case type_id::DICTIONARY32: {
        auto all = std::vector<size_type>(static_cast<std::size_t>(child_of(source, 1).size()));
        std::iota(all.begin(), all.end(), 0);
        children.push_back(rows(child_of(source, 0), map, begin));
        children.push_back(rows(child_of(source, 1), all));
        return none();
      }
      default: return values(source, begin, map);
    }
  }

  rmm::device_buffer values(cudf::column_view const& source,
                            std::int64_t begin,
                            std::span<size_type const> map)
  {
    return with_width(source.type(), [&]<typename T>(T) {
      auto const* first = source.head<T>() + begin;
      auto result       = allocate(std::ssize(map) * std::int64_t{sizeof(T)}, exec_);
      auto* out         = static_cast<T*>(result.data());
      for (auto const row : map) { *out++ = row < 0 ? T{} : load<T>(first, row); }
      return result;
    });
  }

  rmm::device_buffer strings(cudf::column_view const& source,
                             std::int64_t begin,
                             std::span<size_type const> map,
                             children_t& children)
  {
    return child_of(source, 0).type().id() == type_id::INT64
             ? strings<std::int64_t>(source, begin, map, children)
             : strings<std::int32_t>(source, begin, map, children);
  }

  template <typename Offset>
  rmm::device_buffer strings(cudf::column_view const& source,
                             std::int64_t begin,
                             std::span<size_type const> map,
                             children_t& children)
  {
    auto const offsets = offsets_of<Offset>(source, begin);
    auto sized         = sizes_to_offsets(map, offsets);
    auto result        = allocate(sized.total, exec_);
    auto const* chars  = source.head<std::byte>();
    auto* out          = static_cast<std::byte*>(result.data());
    for (auto const row : map) {
      auto const size = offsets.length(row);
      if (size > 0) { out = std::copy_n(chars + offsets.begin(row), size, out); }
    }
    children.push_back(std::move(sized.offsets));
    return result;
  }

  void lists(cudf::column_view const& source,
             std::int64_t begin,
             std::span<size_type const> map,
             children_t& children)
  {
    auto const offsets = offsets_of<std::int32_t>(source, begin);
    auto sized         = sizes_to_offsets(map, offsets);
    if (sized.total > max_offset) {
      fail_too_many(path_, sized.total, max_offset, "list elements");
    }
    auto buffer = allocate(sized.total * std::int64_t{sizeof(size_type)}, exec_);
    auto* out   = static_cast<size_type*>(buffer.data());
    for (auto const row : map) {
      auto const size = offsets.length(row);
      if (size > 0) { std::iota(out, out + size, static_cast<size_type>(offsets.begin(row))); }
      out += size;
    }
    children.push_back(std::move(sized.offsets));
    children.push_back(rows(child_of(source, 1), values_of<size_type>(buffer)));
  }

  struct new_offsets {
    std::unique_ptr<cudf::column> offsets;
    std::int64_t total;
  };

  /// Creates offsets of the width of the source's offsets, or of 64 bits if the total needs them.
  template <typename Offset>
  new_offsets sizes_to_offsets(std::span<size_type const> map, source_offsets<Offset> const& source)
  {
    auto const count = static_cast<size_type>(map.size()) + 1;
    auto const fill  = [&]<typename T>(type_id type, T) {
      auto buffer = allocate(std::int64_t{count} * std::int64_t{sizeof(T)}, exec_);
      auto* out   = static_cast<T*>(buffer.data());
      auto offset = std::int64_t{0};
      *out++      = 0;
      for (auto const row : map) { *out++ = static_cast<T>(offset += source.length(row)); }
      return new_offsets{make_column(cudf::data_type{type}, count, std::move(buffer), exec_),
                         offset};
    };
    if constexpr (sizeof(Offset) == sizeof(std::int32_t)) {
      auto narrow = fill(type_id::INT32, std::int32_t{});
      if (narrow.total <= std::numeric_limits<std::int32_t>::max()) { return narrow; }
    }
    return fill(type_id::INT64, std::int64_t{});
  }

  template <typename Offset>
  static source_offsets<Offset> offsets_of(cudf::column_view const& source, std::int64_t begin)
  { return {child_of(source, 0).begin<Offset>() + begin, source_mask{source, begin}}; }

  rmm::device_buffer gather_mask(source_mask const& source,
                                 std::span<size_type const> map,
                                 size_type& null_count)
  {
    auto const size = std::ssize(map);
    if (source.has_no_nulls() &&
        std::none_of(map.begin(), map.end(), [](size_type row) { return row < 0; })) {
      return none();
    }
    auto result = make_bits_of(size, exec_, [&](std::int64_t i) {
      return !source.is_null(map[static_cast<std::size_t>(i)]);
    });
    null_count  = count_nulls({result.data(), 0, size}, exec_);
    return null_count == 0 ? none() : std::move(result);
  }

  [[nodiscard]] rmm::device_buffer none() const { return allocate(0, exec_); }

  column_path const& path_;
  execution const& exec_;
};

/// Null rows have no value: numbers and offsets are 0.
std::unique_ptr<cudf::column> zeros_of(cudf::data_type type,
                                       cudf::size_type size,
                                       execution const& exec)
{ return make_column(type, size, zeros(size * bits_of(type) / 8, exec), exec); }

}  // namespace

std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec)
{
  if (source.type().id() == type_id::EMPTY) { return null_rows_like(source, map.size(), exec); }
  if (!exec.host) { return device::gather_rows(source, map, path, exec); }
  return gatherer{path, exec}.rows(source,
                                   {map.data<size_type>(), static_cast<std::size_t>(map.size())});
}

std::unique_ptr<cudf::column> null_rows_like(cudf::column_view const& column,
                                             cudf::size_type size,
                                             execution const& exec)
{
  auto const id = column.type().id();
  if (id == type_id::EMPTY) {
    return std::make_unique<cudf::column>(
      column.type(), size, zeros(0, exec), zeros(0, exec), size);
  }
  auto children = children_t{};
  for (size_type i = 0; i < column.num_children(); ++i) {
    auto const& child = child_of(column, i);
    if (id == type_id::STRUCT) {
      children.push_back(null_rows_like(child, size, exec));
    } else if (i == 0) {  // indices or offsets
      children.push_back(
        zeros_of(child.type(), id == type_id::DICTIONARY32 ? size : size + 1, exec));
    } else {
      children.push_back(null_rows_like(child, 0, exec));
    }
  }
  if (id == type_id::STRING && children.empty()) {
    // libcudf's empty string column has no offsets.
    children.push_back(zeros_of(cudf::data_type{type_id::INT32}, size + 1, exec));
  }
  auto const data_size =
    cudf::is_fixed_width(column.type()) ? size * bits_of(column.type()) / 8 : 0;
  auto data = zeros(data_size, exec);
  auto mask = no_valid_bits(size, exec);
  return std::make_unique<cudf::column>(
    column.type(), size, std::move(data), std::move(mask), size, std::move(children));
}

}  // namespace cudf_arrow_bridge::detail
