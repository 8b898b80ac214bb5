// SPDX-License-Identifier: Apache-2.0
#include "base/child_column.hpp"
#include "compute/host/buffers.hpp"
#include "compute/host/cast.hpp"
#include "compute/host_access.hpp"

#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail::host {
namespace {

using value_bytes = std::string_view;

/// Gives the bytes of each row of a fixed-width or string column.
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
      auto const& offsets = child_of(column, 0);
      large_              = offsets.type().id() == cudf::type_id::INT64;
      offsets_ = offsets.head<std::byte>() + std::int64_t{offsets.offset()} * (large_ ? 8 : 4);
    }
  }

  [[nodiscard]] bool is_valid(std::int64_t row) const
  { return mask_ == nullptr || bit_at(mask_, begin_ + row); }

  [[nodiscard]] value_bytes operator[](std::int64_t row) const
  {
    auto const first = width_ > 0 ? (begin_ + row) * width_ : offset_at(begin_ + row);
    auto const last  = width_ > 0 ? first + width_ : offset_at(begin_ + row + 1);
    return first == last ? value_bytes{}
                         : value_bytes{head_ + first, static_cast<std::size_t>(last - first)};
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
                                            execution const& exec)
{
  auto const size = static_cast<std::int64_t>(values.size() * sizeof(T));
  return std::make_unique<cudf::column>(cudf::data_type{type},
                                        static_cast<cudf::size_type>(values.size()),
                                        host::copy_bytes(values.data(), size, exec),
                                        rmm::device_buffer{0, exec.stream, exec.mr},
                                        0);
}

/// A fixed-width or string column with one row for each entry.
std::unique_ptr<cudf::column> make_rows(cudf::data_type type,
                                        std::vector<value_bytes> const& entries,
                                        rmm::device_buffer&& mask,
                                        cudf::size_type null_count,
                                        execution const& exec)
{
  auto size     = std::int64_t{0};
  auto offsets  = std::vector<std::int64_t>{0};
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  for (auto const& entry : entries) {
    offsets.push_back(size += static_cast<std::int64_t>(entry.size()));
  }
  auto data = allocate(size, exec);
  auto* out = static_cast<char*>(data.data());
  for (auto const& entry : entries) { out += entry.copy(out, entry.size()); }
  if (type.id() == cudf::type_id::STRING) {
    children.push_back(size > std::numeric_limits<std::int32_t>::max()
                         ? make_integers(cudf::type_id::INT64, offsets, exec)
                         : make_integers(cudf::type_id::INT32,
                                         std::vector<std::int32_t>(offsets.begin(), offsets.end()),
                                         exec));
  }
  return std::make_unique<cudf::column>(type,
                                        static_cast<cudf::size_type>(entries.size()),
                                        std::move(data),
                                        std::move(mask),
                                        null_count,
                                        std::move(children));
}

}  // namespace

std::unique_ptr<cudf::column> encode_dictionary(cudf::column_view const& column,
                                                execution const& exec)
{
  auto const rows  = row_bytes{column};
  auto key_indices = std::unordered_map<value_bytes, std::int32_t>{};
  auto keys        = std::vector<value_bytes>{};
  auto indices     = std::vector<std::int32_t>(static_cast<std::size_t>(column.size()));
  for (std::int64_t row = 0; row < column.size(); ++row) {
    if (!rows.is_valid(row)) { continue; }
    auto const [key, is_new] =
      key_indices.emplace(rows[row], static_cast<std::int32_t>(keys.size()));
    if (is_new) { keys.push_back(key->first); }
    indices[static_cast<std::size_t>(row)] = key->second;
  }
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  children.push_back(make_integers(cudf::type_id::INT32, indices, exec));
  children.push_back(
    make_rows(column.type(), keys, rmm::device_buffer{0, exec.stream, exec.mr}, 0, exec));
  auto mask = column.null_count() == 0
                ? rmm::device_buffer{0, exec.stream, exec.mr}
                : host::copy_bits({column.null_mask(), column.offset(), column.size()}, exec);
  return std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::DICTIONARY32},
                                        column.size(),
                                        rmm::device_buffer{0, exec.stream, exec.mr},
                                        std::move(mask),
                                        column.null_count(),
                                        std::move(children));
}

}  // namespace cudf_arrow_bridge::detail::host
