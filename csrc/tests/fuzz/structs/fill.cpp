// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/tree.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr std::int64_t max_filled_rows = std::int64_t{1} << 14;
constexpr std::int64_t max_bytes       = std::int64_t{1} << 18;
constexpr std::int64_t far_bytes       = std::int64_t{1} << 44;  ///< less than any heap address

/// Rows that get memory: from row 0 on, or, for a large offset, from shortly before the offset.
struct row_span {
  std::int64_t first;
  std::int64_t end;

  explicit row_span(ArrowArray const& array)
    : first{array.offset > max_filled_rows ? (array.offset - 64) / 64 * 64 : 0},
      end{array.offset + array.length}
  {
  }

  [[nodiscard]] std::int64_t size() const { return end - first; }

  [[nodiscard]] bool can_have(std::int64_t row_bits) const
  {
    return row_bits >= 0 && row_bits < max_bytes && size() <= max_filled_rows &&
           size() * row_bits / 8 <= max_bytes && end < far_bytes &&
           end * std::max<std::int64_t>(row_bits, 8) / 8 < far_bytes;
  }
};

void put(std::byte* memory, std::int64_t index, std::int64_t width, std::int64_t value)
{ std::memcpy(memory + index * width, &value, static_cast<std::size_t>(width)); }

/// Fills the buffers of one array.
class filler {
 public:
  filler(tree& target, ArrowArray& array, row_span const& rows)
    : target_{target}, random_{target.random}, array_{array}, rows_{rows}
  {
  }

  void fill(format_info const& format)
  {
    if (format.kind != layout::null && format.kind != layout::union_ &&
        format.kind != layout::run_end) {
      fill_mask();
    }
    switch (format.kind) {
      case layout::fixed:
        if (array_.dictionary != nullptr && format.is_integer) {
          fill_indices(format.row_bits / 8);
        } else {
          fill_bytes(rows(1, content::values, format.row_bits));
        }
        break;
      case layout::bits: fill_bytes(rows(1, content::bits, 1)); break;
      case layout::binary: fill_binary(format); break;
      case layout::list:
        fill_offsets(format.row_bits / 8, array_.n_children > 0 ? child_length(0) : 0);
        break;
      case layout::list_view: fill_list_views(format.row_bits / 8); break;
      case layout::view: fill_views(format); break;
      case layout::union_:
        fill_bytes(rows(0, content::values, 8));
        if (format.is_dense) { fill_bytes(rows(1, content::values, 32)); }
        break;
      default: break;
    }
  }

 private:
  /// Allocates a buffer for all rows and `more`; none if the array's pointer is null.
  std::span<std::byte> rows(std::size_t slot,
                            content kind,
                            std::int64_t row_bits,
                            std::int64_t more = 0)
  {
    if (array_.buffers[slot] == nullptr) { return {}; }
    auto* memory =
      target_.pool.rows(kind, row_bits, rows_.first, rows_.end + more, &array_.buffers[slot]);
    return {memory, target_.pool.find(array_.buffers[slot])->size};
  }

  std::span<std::byte> bytes(std::size_t slot, content kind, std::size_t size)
  {
    if (array_.buffers[slot] == nullptr) { return {}; }
    auto* memory         = target_.pool.allocate(kind, size);
    array_.buffers[slot] = memory;
    return {memory, size};
  }

  void fill_bytes(std::span<std::byte> memory)
  {
    auto i = std::size_t{0};
    for (; i + 8 <= memory.size(); i += 8) {
      auto const bits = random_.bits();
      std::memcpy(&memory[i], &bits, 8);
    }
    for (; i < memory.size(); ++i) { memory[i] = static_cast<std::byte>(random_.bits()); }
  }

  void fill_mask() { fill_bytes(rows(0, content::bits, 1)); }

  [[nodiscard]] std::int64_t child_length(std::int64_t index) const
  {
    if (array_.children == nullptr || array_.children[index] == nullptr) { return 0; }
    return std::max<std::int64_t>(array_.children[index]->length, 0);
  }

  void fill_offsets(std::int64_t width, std::int64_t limit)
  {
    auto const memory = rows(1, content::offsets, width * 8, 1);
    if (memory.empty()) { return; }
    limit        = std::min<std::int64_t>(limit, 1'000'000);
    auto const n = rows_.size() + 1;
    auto value   = random_.percent(70) ? 0 : random_.below(limit / 4 + 1);
    for (std::int64_t i = 0; i < n; ++i) {
      put(memory.data(), i, width, value);
      auto const step = limit / std::max<std::int64_t>(n, 1) + 2;
      value           = std::min(limit, value + random_.below(step * 2));
    }
  }

  /// Writes `size` bytes of valid UTF-8.
  void fill_text(std::byte* memory, std::int64_t size)
  {
    static constexpr std::string_view two_bytes = "\xc3\xa9";
    for (std::int64_t i = 0; i < size;) {
      if (i + 2 <= size && random_.percent(20)) {
        std::memcpy(memory + i, two_bytes.data(), 2);
        i += 2;
      } else {
        memory[i++] = static_cast<std::byte>('a' + random_.below(26));
      }
    }
  }

  void fill_payload(std::byte* memory, std::int64_t size, bool is_utf8)
  {
    if (is_utf8) { return fill_text(memory, size); }
    fill_bytes({memory, static_cast<std::size_t>(size)});
  }

  void fill_binary(format_info const& format)
  {
    auto const width   = format.row_bits / 8;
    auto const offsets = rows(1, content::offsets, format.row_bits, 1);
    if (offsets.empty()) {
      (void)bytes(2, content::bytes, 0);
      return;
    }
    auto const n     = rows_.size();
    auto const begin = random_.percent(70) ? 0 : random_.below(9);
    auto sizes       = std::vector<std::int64_t>(static_cast<std::size_t>(n));
    auto total       = begin;
    put(offsets.data(), 0, width, total);
    for (std::int64_t i = 0; i < n; ++i) {
      auto const size                    = random_.percent(30) ? 0 : random_.below(20);
      sizes[static_cast<std::size_t>(i)] = size;
      put(offsets.data(), i + 1, width, total += size);
    }
    auto const data = bytes(2, content::bytes, static_cast<std::size_t>(total));
    if (data.empty()) { return; }
    fill_payload(data.data(), begin, format.is_utf8);
    auto at = begin;
    for (auto const size : sizes) {
      fill_payload(data.data() + at, size, format.is_utf8);
      at += size;
    }
  }

  void fill_list_views(std::int64_t width)
  {
    auto const offsets = rows(1, content::list_views, width * 8);
    auto const sizes   = rows(2, content::list_views, width * 8);
    auto const limit   = std::min<std::int64_t>(array_.n_children > 0 ? child_length(0) : 0, 1000);
    for (std::int64_t i = 0; i < rows_.size(); ++i) {
      auto const offset = random_.below(limit + 1);
      auto const size   = std::min<std::int64_t>(random_.below(limit - offset + 1), 5);
      if (!offsets.empty()) { put(offsets.data(), i, width, offset); }
      if (!sizes.empty()) { put(sizes.data(), i, width, size); }
    }
  }

  void fill_views(format_info const& format)
  {
    static constexpr std::int64_t num_inline = 12;
    auto const num_data                      = array_.n_buffers - 3;
    auto data                                = std::vector<std::span<std::byte>>{};
    for (std::int64_t i = 0; i < num_data; ++i) {
      auto const slot = static_cast<std::size_t>(2 + i);
      data.push_back(bytes(slot, content::bytes, static_cast<std::size_t>(random_.below(60))));
      fill_payload(data.back().data(), std::ssize(data.back()), false);
    }
    auto const sizes = bytes(static_cast<std::size_t>(array_.n_buffers - 1),
                             content::view_sizes,
                             static_cast<std::size_t>(num_data) * 8);
    for (std::int64_t i = 0; i < num_data && !sizes.empty(); ++i) {
      put(sizes.data(), i, 8, std::ssize(data[static_cast<std::size_t>(i)]));
    }
    auto const views = rows(1, content::views, 128);
    for (std::int64_t i = 0; i < rows_.size() && !views.empty(); ++i) {
      auto* view       = views.data() + i * 16;
      auto const which = num_data > 0 ? random_.below(num_data) : 0;
      auto const size =
        num_data > 0 ? std::ssize(data[static_cast<std::size_t>(which)]) : std::ptrdiff_t{0};
      std::memset(view, 0, 16);
      if (size <= num_inline || random_.percent(50)) {
        auto const length = random_.below(num_inline + 1);
        put(view, 0, 4, length);
        fill_payload(view + 4, length, format.is_utf8);
      } else {
        auto const length = num_inline + 1 + random_.below(size - num_inline);
        auto const offset = random_.below(size - length + 1);
        auto* text        = data[static_cast<std::size_t>(which)].data() + offset;
        if (format.is_utf8) { std::memset(text, 'x', static_cast<std::size_t>(length)); }
        put(view, 0, 4, length);
        std::memcpy(view + 4, text, 4);
        put(view, 2, 4, which);
        put(view, 3, 4, offset);
      }
    }
    // Long strings overlap, so the views' prefixes are set after all strings have been written.
    for (std::int64_t i = 0; i < rows_.size() && !views.empty(); ++i) {
      auto* view = views.data() + i * 16;
      std::int32_t parts[4];
      std::memcpy(parts, view, 16);
      if (parts[0] <= num_inline) { continue; }
      std::memcpy(view + 4, data[static_cast<std::size_t>(parts[2])].data() + parts[3], 4);
    }
  }

  void fill_indices(std::int64_t width)
  {
    auto const memory    = rows(1, content::indices, width * 8);
    auto const max_index = width == 1 ? std::int64_t{127} : std::int64_t{10'000};
    auto const limit     = std::clamp<std::int64_t>(array_.dictionary->length, 1, max_index);
    for (std::int64_t i = 0; i < rows_.size() && !memory.empty(); ++i) {
      put(memory.data(), i, width, random_.below(limit));
    }
  }

  tree& target_;
  random_source& random_;
  ArrowArray& array_;
  row_span rows_;
};

}  // namespace

bool fill_buffers(tree& target, format_info const& format, ArrowArray& array)
{
  auto const rows = row_span{array};
  if (!rows.can_have(std::max<std::int64_t>(format.row_bits, 1))) { return false; }
  filler{target, array, rows}.fill(format);
  return true;
}

void fill_run_ends(tree& target, ArrowArray const& runs, format_info const& ends_format)
{
  auto& ends      = *runs.children[0];
  auto const rows = row_span{ends};
  if (ends.length <= 0 || !rows.can_have(ends_format.row_bits)) { return; }
  auto const width = ends_format.row_bits / 8;
  auto* memory     = target.pool.rows(
    content::run_ends, ends_format.row_bits, rows.first, rows.end, &ends.buffers[1]);
  auto const wanted = std::min<std::int64_t>(runs.offset + runs.length, 30'000);
  auto value        = std::int64_t{0};
  for (auto i = rows.first; i < rows.end; ++i) {
    auto const left = rows.end - 1 - i;
    value =
      left == 0
        ? std::max(wanted, value + 1)
        : value + 1 +
            target.random.below(std::max<std::int64_t>((wanted - value - left) / (left + 1), 1));
    put(memory, i - rows.first, width, value);
  }
}

}  // namespace cudf_arrow_bridge::fuzz
