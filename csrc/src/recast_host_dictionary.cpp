// SPDX-License-Identifier: Apache-2.0
#include "host_access.hpp"
#include "recast_host.hpp"

#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/utilities/error.hpp>

#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail::host {
namespace {

using bytes = std::string_view;

/// The rows of a column as bytes: of a number, or of a string.
class row_bytes {
 public:
  explicit row_bytes(cudf::column_view const& column) : begin_{column.offset()}
  {
    head_ = column.head<char>();
    if (column.null_count() > 0) {
      mask_ = reinterpret_cast<std::uint8_t const*>(column.null_mask());
    }
    if (column.type().id() != cudf::type_id::STRING) {
      width_ = static_cast<std::int64_t>(cudf::size_of(column.type()));
    } else if (column.num_children() > 0) {
      auto const offsets = column.child(0);
      large_             = offsets.type().id() == cudf::type_id::INT64;
      offsets_           = offsets.head<std::byte>() + offsets.offset() * (large_ ? 8 : 4);
    }
  }

  [[nodiscard]] bool is_valid(std::int64_t row) const
  { return mask_ == nullptr || bit_at(mask_, begin_ + row); }

  [[nodiscard]] bytes operator[](std::int64_t row) const
  {
    auto const first = width_ > 0 ? (begin_ + row) * width_ : offset_at(begin_ + row);
    auto const last  = width_ > 0 ? first + width_ : offset_at(begin_ + row + 1);
    return first == last ? bytes{} : bytes{head_ + first, static_cast<std::size_t>(last - first)};
  }

 private:
  [[nodiscard]] std::int64_t offset_at(std::int64_t index) const
  { return large_ ? load<std::int64_t>(offsets_, index) : load<std::int32_t>(offsets_, index); }

  char const* head_;
  std::uint8_t const* mask_{nullptr};
  void const* offsets_{nullptr};
  std::int64_t width_{0};  ///< 0: strings
  std::int64_t begin_;
  bool large_{false};
};

template <typename T>
std::unique_ptr<cudf::column> make_integers(cudf::type_id type,
                                            std::vector<T> const& values,
                                            placement const& where)
{
  auto const size = static_cast<std::int64_t>(values.size() * sizeof(T));
  return std::make_unique<cudf::column>(cudf::data_type{type},
                                        static_cast<cudf::size_type>(values.size()),
                                        copy_bytes(values.data(), size, where),
                                        rmm::device_buffer{0, where.stream, where.mr},
                                        0);
}

/// One row for each entry, null where the entry has no data.
std::unique_ptr<cudf::column> make_rows(cudf::data_type type,
                                        std::vector<bytes> const& entries,
                                        rmm::device_buffer&& mask,
                                        cudf::size_type null_count,
                                        placement const& where)
{
  auto size     = std::int64_t{0};
  auto offsets  = std::vector<std::int64_t>{0};
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  for (auto const& entry : entries) {
    offsets.push_back(size += static_cast<std::int64_t>(entry.size()));
  }
  auto data = allocate(size, where);
  auto* out = static_cast<char*>(data.data());
  for (auto const& entry : entries) { out += entry.copy(out, entry.size()); }
  if (type.id() == cudf::type_id::STRING) {
    children.push_back(size > std::numeric_limits<std::int32_t>::max()
                         ? make_integers(cudf::type_id::INT64, offsets, where)
                         : make_integers(cudf::type_id::INT32,
                                         std::vector<std::int32_t>(offsets.begin(), offsets.end()),
                                         where));
  }
  return std::make_unique<cudf::column>(type,
                                        static_cast<cudf::size_type>(entries.size()),
                                        std::move(data),
                                        std::move(mask),
                                        null_count,
                                        std::move(children));
}

/// An index of whatever integer type. Under a null lies anything.
std::int64_t index_at(cudf::column_view const& indices, std::int64_t row)
{
  auto const* head = indices.head<void>();
  switch (indices.type().id()) {
    case cudf::type_id::INT8: return load<std::int8_t>(head, row);
    case cudf::type_id::INT16: return load<std::int16_t>(head, row);
    case cudf::type_id::INT32: return load<std::int32_t>(head, row);
    case cudf::type_id::INT64: return load<std::int64_t>(head, row);
    case cudf::type_id::UINT8: return load<std::uint8_t>(head, row);
    case cudf::type_id::UINT16: return load<std::uint16_t>(head, row);
    case cudf::type_id::UINT32: return load<std::uint32_t>(head, row);
    case cudf::type_id::UINT64: return static_cast<std::int64_t>(load<std::uint64_t>(head, row));
    default: throw cudf::logic_error{"not an index type"};
  }
}

}  // namespace

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& column,
                                                placement const& where)
{
  auto const indices = column.child(cudf::dictionary_column_view::indices_column_index);
  auto const keys    = column.child(cudf::dictionary_column_view::keys_column_index);
  auto const values  = row_bytes{keys};
  auto const filler =
    std::vector<char>(keys.type().id() == cudf::type_id::STRING ? 0 : cudf::size_of(keys.type()));
  auto const* mask = reinterpret_cast<std::uint8_t const*>(column.null_mask());
  auto valid       = zeros(bytes_for_bits(column.size() + 31) / 4 * 4, where);
  auto bits        = values_of<std::uint8_t>(valid);
  auto entries     = std::vector<bytes>{};
  auto null_count  = cudf::size_type{0};
  entries.reserve(static_cast<std::size_t>(column.size()));
  for (std::int64_t row = 0; row < column.size(); ++row) {
    auto const present = column.null_count() == 0 || bit_at(mask, column.offset() + row);
    auto const index   = present ? index_at(indices, column.offset() + row) : -1;
    if (index < 0 || index >= keys.size() || !values.is_valid(index)) {
      entries.emplace_back(filler.data(), filler.size());
      ++null_count;
      continue;
    }
    entries.push_back(values[index]);
    auto& byte = bits[static_cast<std::size_t>(row / 8)];
    byte       = static_cast<std::uint8_t>(byte | 1U << (row % 8));
  }
  if (null_count == 0) { valid = rmm::device_buffer{0, where.stream, where.mr}; }
  return make_rows(keys.type(), entries, std::move(valid), null_count, where);
}

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                placement const& where)
{
  auto const rows = row_bytes{column};
  auto known      = std::unordered_map<bytes, std::int32_t>{};
  auto keys       = std::vector<bytes>{};
  auto indices    = std::vector<std::int32_t>(static_cast<std::size_t>(column.size()));
  for (std::int64_t row = 0; row < column.size(); ++row) {
    if (!rows.is_valid(row)) { continue; }
    auto const [found, added] = known.emplace(rows[row], static_cast<std::int32_t>(keys.size()));
    if (added) { keys.push_back(found->first); }
    indices[static_cast<std::size_t>(row)] = found->second;
  }
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  children.push_back(make_integers(cudf::type_id::INT32, indices, where));
  children.push_back(
    make_rows(column.type(), keys, rmm::device_buffer{0, where.stream, where.mr}, 0, where));
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, where.stream, where.mr}
                : copy_bits({column.null_mask(), column.offset(), column.size()}, where);
  return std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::DICTIONARY32},
                                        column.size(),
                                        rmm::device_buffer{0, where.stream, where.mr},
                                        std::move(mask),
                                        column.null_count(),
                                        std::move(children));
}

}  // namespace cudf_arrow_bridge::detail::host
