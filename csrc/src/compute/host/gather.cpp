// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"

#include "base/child_column.hpp"
#include "compute/host_access.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail::host {
namespace {

using cudf::size_type;
using cudf::type_id;
using children_t = std::vector<std::unique_ptr<cudf::column>>;

template <std::size_t Width>
rmm::device_buffer gather_width(void const* values,
                                std::span<size_type const> map,
                                execution const& exec)
{
  using element = std::array<std::byte, Width>;
  auto result   = allocate(std::ssize(map) * std::int64_t{Width}, exec);
  auto out      = values_of<element>(result).begin();
  for (auto const row : map) { *out++ = row < 0 ? element{} : load<element>(values, row); }
  return result;
}

/// Gathers rows of a column and, recursively, the rows of its children that they refer to.
class gatherer {
 public:
  gatherer(column_path const& path, execution const& exec) : path_{path}, exec_{exec} {}

  std::unique_ptr<cudf::column> rows(cudf::column_view const& source,
                                     std::span<size_type const> map)
  {
    if (source.offset() == 0) { return stored_rows(source, map); }
    auto shifted = std::vector<size_type>(map.size());
    std::transform(map.begin(), map.end(), shifted.begin(), [&](size_type row) {
      return row < 0 ? row : row + source.offset();
    });
    return stored_rows(source, shifted);
  }

 private:
  /// Gathers by row numbers that count from the start of the buffers, without the column's offset.
  std::unique_ptr<cudf::column> stored_rows(cudf::column_view const& source,
                                            std::span<size_type const> map)
  {
    auto const size = static_cast<size_type>(map.size());
    if (source.type().id() == type_id::EMPTY) {
      return std::make_unique<cudf::column>(source.type(), size, none(), none(), size);
    }
    auto children   = children_t{};
    auto data       = gather_data(source, map, children);
    auto null_count = size_type{0};
    auto mask       = mask_of(source, map, null_count);
    return std::make_unique<cudf::column>(
      source.type(), size, std::move(data), std::move(mask), null_count, std::move(children));
  }

  /// @return The data buffer; appends to `children`
  rmm::device_buffer gather_data(cudf::column_view const& source,
                                 std::span<size_type const> map,
                                 children_t& children)
  {
    switch (source.type().id()) {
      case type_id::STRING: return strings(source, map, children);
      case type_id::LIST: lists(source, map, children); return none();
      case type_id::STRUCT:
        for (auto child = source.child_begin(); child != source.child_end(); ++child) {
          children.push_back(rows(*child, map));
        }
        return none();
      case type_id::DICTIONARY32: {
        auto all = std::vector<size_type>(static_cast<std::size_t>(child_of(source, 1).size()));
        std::iota(all.begin(), all.end(), 0);
        children.push_back(rows(child_of(source, 0), map));
        children.push_back(rows(child_of(source, 1), all));
        return none();
      }
      default: return values(source, map);
    }
  }

  rmm::device_buffer values(cudf::column_view const& source, std::span<size_type const> map)
  {
    auto const* data = source.head<void>();
    switch (cudf::size_of(source.type())) {
      case 1: return gather_width<1>(data, map, exec_);
      case 2: return gather_width<2>(data, map, exec_);
      case 4: return gather_width<4>(data, map, exec_);
      case 8: return gather_width<8>(data, map, exec_);
      default: return gather_width<16>(data, map, exec_);
    }
  }

  rmm::device_buffer strings(cudf::column_view const& source,
                             std::span<size_type const> map,
                             children_t& children)
  {
    // libcudf's empty string column has no offsets. All rows gathered from it are null.
    auto const has_no_offsets = source.num_children() == 0;
    if (has_no_offsets && map.empty()) { return none(); }
    auto const is_large   = !has_no_offsets && child_of(source, 0).type().id() == type_id::INT64;
    auto const* offsets   = has_no_offsets ? nullptr : child_of(source, 0).head<void>();
    auto const* chars     = source.head<std::byte>();
    auto const first_char = [&](std::int64_t row) {
      return is_large ? load<std::int64_t>(offsets, row) : load<std::int32_t>(offsets, row);
    };
    auto const length = [&](std::int64_t row) {
      return is_null(source, row) ? 0 : first_char(row + 1) - first_char(row);
    };
    auto sized  = sizes_to_offsets(map, length, is_large);
    auto result = allocate(sized.total, exec_);
    auto* out   = static_cast<std::byte*>(result.data());
    for (auto const row : map) {
      if (auto const size = length(row); size > 0) {
        out = std::copy_n(chars + first_char(row), size, out);
      }
    }
    children.push_back(std::move(sized.offsets));
    return result;
  }

  void lists(cudf::column_view const& source, std::span<size_type const> map, children_t& children)
  {
    auto const* offsets = child_of(source, 0).head<void>();
    auto const first    = [&](std::int64_t row) { return load<std::int32_t>(offsets, row); };
    auto const length   = [&](std::int64_t row) -> std::int64_t {
      return is_null(source, row) ? 0 : first(row + 1) - first(row);
    };
    auto sized = sizes_to_offsets(map, length, false);
    if (sized.total > std::numeric_limits<size_type>::max()) {
      fail<std::overflow_error>(path_,
                                std::to_string(sized.total) + " list elements found, at most " +
                                  std::to_string(std::numeric_limits<size_type>::max()) +
                                  " expected: import it as a stream of smaller arrays");
    }
    auto elements = std::vector<size_type>(static_cast<std::size_t>(sized.total));
    auto out      = elements.begin();
    for (auto const row : map) {
      auto const size = length(row);
      if (size > 0) { std::iota(out, out + size, first(row)); }
      out += size;
    }
    children.push_back(std::move(sized.offsets));
    children.push_back(rows(child_of(source, 1), elements));
  }

  struct new_offsets {
    std::unique_ptr<cudf::column> offsets;
    std::int64_t total;
  };

  /// Makes 32-bit offsets, or 64-bit ones if `large` is set or the total needs them.
  template <typename Length>
  new_offsets sizes_to_offsets(std::span<size_type const> map, Length length, bool large)
  {
    auto total = std::int64_t{0};
    for (auto const row : map) { total += length(row); }
    auto const fill = [&]<typename T>(type_id type, T) {
      auto const count = static_cast<size_type>(map.size()) + 1;
      auto buffer      = allocate(std::int64_t{count} * std::int64_t{sizeof(T)}, exec_);
      auto out         = values_of<T>(buffer).begin();
      auto offset      = std::int64_t{0};
      *out++           = 0;
      for (auto const row : map) { *out++ = static_cast<T>(offset += length(row)); }
      return std::make_unique<cudf::column>(
        cudf::data_type{type}, count, std::move(buffer), none(), 0);
    };
    if (large || total > std::numeric_limits<std::int32_t>::max()) {
      return {fill(type_id::INT64, std::int64_t{}), total};
    }
    return {fill(type_id::INT32, std::int32_t{}), total};
  }

  static bool is_null(cudf::column_view const& source, std::int64_t row)
  { return row < 0 || (source.null_mask() != nullptr && !bit_at(source.null_mask(), row)); }

  rmm::device_buffer mask_of(cudf::column_view const& source,
                             std::span<size_type const> map,
                             size_type& null_count)
  {
    null_count = static_cast<size_type>(
      std::count_if(map.begin(), map.end(), [&](size_type row) { return is_null(source, row); }));
    if (null_count == 0) { return none(); }
    auto result     = no_valid_bits(static_cast<size_type>(map.size()), exec_);
    auto const bits = values_of<std::uint32_t>(result);
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (!is_null(source, map[i])) { bits[i / 32] |= 1U << (i % 32); }
    }
    return result;
  }

  [[nodiscard]] rmm::device_buffer none() const { return allocate(0, exec_); }

  column_path const& path_;
  execution const& exec_;
};

}  // namespace

std::unique_ptr<cudf::column> gather_rows(cudf::column_view const& source,
                                          cudf::column_view const& map,
                                          column_path const& path,
                                          execution const& exec)
{
  return gatherer{path, exec}.rows(source,
                                   {map.data<size_type>(), static_cast<std::size_t>(map.size())});
}

}  // namespace cudf_arrow_bridge::detail::host
