// SPDX-License-Identifier: Apache-2.0
#include "compute/dictionary.hpp"

#include "base/child_column.hpp"
#include "compute/gather.hpp"
#include "compute/host/buffers.hpp"
#include "compute/host_access.hpp"

#include <cudf/utilities/type_dispatcher.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail::host {
namespace {

using cudf::size_type;

constexpr size_type no_key = -1;

struct row_span {
  size_type begin;
  size_type size;
};

/// @return The index of each row, bounds-checked; `no_key` for null rows
std::vector<size_type> keys_of_rows(cudf::column_view const& indices,
                                    row_span const& rows,
                                    size_type num_keys,
                                    row_mask const& mask,
                                    column_path const& path)
{
  auto const width       = static_cast<std::int64_t>(cudf::size_of(indices.type()));
  auto const is_unsigned = cudf::is_unsigned(indices.type());
  auto result            = std::vector<size_type>(static_cast<std::size_t>(rows.size), no_key);
  for (size_type row = 0; row < rows.size; ++row) {
    if (mask.bits != nullptr && !bit_at(mask.bits, rows.begin + row)) { continue; }
    auto const* address = indices.head<std::byte>() + (rows.begin + row) * width;
    auto const index =
      read_index(address, width, is_unsigned, num_keys, [&](std::string const& what) {
        fail_invalid(path, "row " + std::to_string(row) + ": " + what);
      });
    result[static_cast<std::size_t>(row)] = static_cast<size_type>(index);
  }
  return result;
}

std::unique_ptr<cudf::column> gather(cudf::column_view const& source,
                                     std::vector<size_type> const& map,
                                     column_path const& path,
                                     execution const& exec)
{
  auto const view = cudf::column_view{cudf::data_type{cudf::type_id::INT32},
                                      static_cast<size_type>(map.size()),
                                      map.data(),
                                      nullptr,
                                      0};
  return host::gather_rows(source, view, path, exec);
}

}  // namespace

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                execution const& exec)
{
  auto valid_keys       = std::vector<size_type>{};
  auto new_index_of_key = std::vector<size_type>(static_cast<std::size_t>(keys.size()), no_key);
  for (size_type key = 0; key < keys.size(); ++key) {
    if (!bit_at(keys.null_mask(), keys.offset() + key)) { continue; }
    new_index_of_key[static_cast<std::size_t>(key)] = static_cast<size_type>(valid_keys.size());
    valid_keys.push_back(key);
  }
  auto const rows  = keys_of_rows(indices, {0, indices.size()}, keys.size(), mask, path);
  auto const width = cudf::size_of(indices.type());
  auto new_indices =
    host::zeros(std::int64_t{indices.size()} * static_cast<std::int64_t>(width), exec);
  auto bits        = host::zeros((std::int64_t{indices.size()} + 31) / 32 * 4, exec);
  auto const words = values_of<std::uint32_t>(bits);
  auto nulls       = indices.size();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    auto const key =
      rows[row] == no_key ? no_key : new_index_of_key[static_cast<std::size_t>(rows[row])];
    if (key == no_key) { continue; }
    // Hosts are little-endian: copy the low bytes of `key`, which fits the type of the indices.
    std::memcpy(
      static_cast<std::byte*>(new_indices.data()) + row * width, &key, std::min(width, sizeof key));
    words[row / 32] |= 1U << (row % 32);
    --nulls;
  }
  return {std::make_unique<cudf::column>(
            indices.type(), indices.size(), std::move(new_indices), allocate(0, exec), 0),
          gather(keys, valid_keys, path, exec),
          nulls == 0 ? allocate(0, exec) : std::move(bits),
          nulls};
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                execution const& exec)
{
  auto const keys = child_of(dictionary, 1);
  auto const mask = row_mask{dictionary.null_count() == 0 ? nullptr : dictionary.null_mask(),
                             dictionary.null_count()};
  auto const rows = row_span{dictionary.offset(), dictionary.size()};
  return gather(
    keys, keys_of_rows(child_of(dictionary, 0), rows, keys.size(), mask, path), path, exec);
}

}  // namespace cudf_arrow_bridge::detail::host
