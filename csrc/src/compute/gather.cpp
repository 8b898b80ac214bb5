// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"

#include "base/child_column.hpp"
#include "base/parsed_type.hpp"
#include "compute/bits.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::size_type;
using cudf::type_id;
using children_t = std::vector<std::unique_ptr<cudf::column>>;

/// In a map, the row of the source for a null row of the result.
constexpr size_type no_row = -1;

/// The offsets of strings or lists.
template <typename Offset>
struct source_offsets {
  /// @param begin Row 0, counted from the start of the column's buffers
  source_offsets(cudf::column_view const& source, std::int64_t begin)
    : first{child_of(source, 0).begin<Offset>() + begin}
  {
  }

  [[nodiscard]] std::int64_t begin(std::int64_t row) const { return load<Offset>(first, row); }

  /// At least 0, also for invalid offsets: copies must not exceed the sum of the lengths.
  [[nodiscard]] std::int64_t length(std::int64_t row) const
  { return row == no_row ? 0 : std::max<std::int64_t>(begin(row + 1) - begin(row), 0); }

  void const* first;
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
    auto valid = std::vector<size_type>{};
    if (auto const* mask = source.null_mask(); mask != nullptr) {
      valid.assign(map.begin(), map.end());
      for (auto& row : valid) {
        if (row != no_row && !bit_at(mask, begin + row)) { row = no_row; }
      }
      map = valid;
    }
    auto const null_count = std::count(map.begin(), map.end(), no_row);
    auto const is_valid   = [=](std::int64_t i) {
      return map[static_cast<std::size_t>(i)] != no_row;
    };
    auto children = children_t{};
    auto data     = gather_data(source, begin, map, children);
    auto mask     = null_count == 0 ? none() : make_bits_of(size, exec_, is_valid);
    return std::make_unique<cudf::column>(source.type(),
                                          size,
                                          std::move(data),
                                          std::move(mask),
                                          static_cast<size_type>(null_count),
                                          std::move(children));
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
      case type_id::STRING:
        return child_of(source, 0).type().id() == type_id::INT64
                 ? strings(source, source_offsets<std::int64_t>{source, begin}, map, children)
                 : strings(source, source_offsets<std::int32_t>{source, begin}, map, children);
      case type_id::LIST: lists(source, {source, begin}, map, children); return none();
      case type_id::STRUCT:
        for (auto child = source.child_begin(); child != source.child_end(); ++child) {
          children.push_back(rows(*child, map, begin));
        }
        return none();
      case type_id::DICTIONARY32: {
        auto const& indices = child_of(source, 0);
        auto all = std::vector<size_type>(static_cast<std::size_t>(child_of(source, 1).size()));
        std::iota(all.begin(), all.end(), 0);
        children.push_back(make_column(
          indices.type(), std::ssize(map), values(indices, indices.offset() + begin, map), exec_));
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
      for (auto const row : map) { *out++ = row == no_row ? T{} : load<T>(first, row); }
      return result;
    });
  }

  template <typename Offset>
  rmm::device_buffer strings(cudf::column_view const& source,
                             source_offsets<Offset> offsets,
                             std::span<size_type const> map,
                             children_t& children)
  {
    auto made = make_offsets<Offset>(std::ssize(map), exec_, [=](std::int64_t i) {
      return offsets.length(map[static_cast<std::size_t>(i)]);
    });
    children.push_back(std::move(made.column));
    auto result       = allocate(made.total, exec_);
    auto const* chars = source.head<std::byte>();
    auto* out         = static_cast<std::byte*>(result.data());
    for (auto const row : map) {
      auto const size = offsets.length(row);
      if (size > 0) { out = std::copy_n(chars + offsets.begin(row), size, out); }
    }
    return result;
  }

  void lists(cudf::column_view const& source,
             source_offsets<std::int32_t> offsets,
             std::span<size_type const> map,
             children_t& children)
  {
    auto made = make_offsets<std::int32_t>(std::ssize(map), exec_, [=](std::int64_t i) {
      return offsets.length(map[static_cast<std::size_t>(i)]);
    });
    if (made.total > max_offset) { fail_too_many(path_, made.total, max_offset, "list elements"); }
    children.push_back(std::move(made.column));
    auto elements = std::vector<size_type>{};
    elements.reserve(static_cast<std::size_t>(made.total));
    for (auto const row : map) {
      for (std::int64_t i = 0; i < offsets.length(row); ++i) {
        elements.push_back(static_cast<size_type>(offsets.begin(row) + i));
      }
    }
    children.push_back(rows(child_of(source, 1), elements));
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
  auto mask = zeros(padded_mask_size(size), exec);
  return std::make_unique<cudf::column>(
    column.type(), size, std::move(data), std::move(mask), size, std::move(children));
}

}  // namespace cudf_arrow_bridge::detail
