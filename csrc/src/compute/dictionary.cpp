// SPDX-License-Identifier: Apache-2.0
#include "compute/dictionary.hpp"

#include "base/child_column.hpp"
#include "compute/bits.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/dictionary/dictionary_column_view.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

using namespace host;

using cudf::size_type;

constexpr size_type no_key = -1;

/// The index of each row as INT32; `no_key` for null rows.
///
/// @throws std::invalid_argument for the first index that is out of bounds
rmm::device_buffer keys_of_rows(cudf::column_view const& indices,
                                size_type num_keys,
                                column_path const& path,
                                execution const& exec)
{
  auto result = allocate(std::int64_t{indices.size()} * std::int64_t{sizeof(size_type)}, exec);
  auto* keys  = static_cast<size_type*>(result.data());
  with_stored(indices.type(), [&]<typename Index>(Index) {
    auto const* first = indices.head<Index>() + indices.offset();
    for (size_type row = 0; row < indices.size(); ++row) {
      auto const fail = [&](std::string const& what) {
        fail_invalid(path, "row " + std::to_string(row) + ": " + what);
      };
      constexpr auto width       = std::int64_t{sizeof(Index)};
      constexpr auto is_unsigned = std::is_unsigned_v<Index>;
      keys[row] =
        is_null_row(indices, row)
          ? no_key
          : static_cast<size_type>(read_index(first + row, width, is_unsigned, num_keys, fail));
    }
  });
  return result;
}

/// Checks indices in device memory. Copies them to the host only to find the first wrong row.
void check_on_device(cudf::column_view const& indices,
                     size_type num_keys,
                     column_path const& path,
                     execution const& exec)
{
  auto const range = range_of(indices, exec);
  if (!range.any || (range.least >= 0 && range.greatest < num_keys)) { return; }
  auto const end     = std::int64_t{indices.offset()} + indices.size();
  auto const width   = static_cast<std::int64_t>(cudf::size_of(indices.type()));
  auto const bits    = indices.null_count() == 0 ? 0 : bytes_for_bits(end);
  auto const numbers = copy_to_host(indices.head<void>(), end * width, exec.stream);
  auto const mask    = copy_to_host(indices.null_mask(), bits, exec.stream);
  auto const copied  = cudf::column_view{indices.type(),
                                         indices.size(),
                                         numbers.data(),
                                         static_cast<cudf::bitmask_type const*>(mask.data()),
                                         indices.null_count(),
                                         indices.offset()};
  (void)keys_of_rows(copied, num_keys, path, {true, exec.stream, host_memory_resource()});
}

}  // namespace

cudf::column_view const& indices_of(cudf::column_view const& dictionary,
                                    std::int64_t count,
                                    column_path const& path)
{
  auto const& indices =
    child_of(dictionary, cudf::dictionary_column_view::indices_column_index, path);
  if (indices.size() < count) {
    fail_invalid(path,
                 "expected at least " + std::to_string(count) + " dictionary indices, got " +
                   std::to_string(indices.size()));
  }
  return indices;
}

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                column_path const& path,
                                execution const& exec)
{
  if (!exec.host) {
    check_on_device(indices, keys.size(), path, exec);
    return device::drop_null_keys(indices, keys, path, exec);
  }
  auto valid_keys       = std::vector<size_type>{};
  auto new_index_of_key = std::vector<size_type>(static_cast<std::size_t>(keys.size()), no_key);
  for (size_type key = 0; key < keys.size(); ++key) {
    if (is_null_row(keys, key)) { continue; }
    new_index_of_key[static_cast<std::size_t>(key)] = static_cast<size_type>(valid_keys.size());
    valid_keys.push_back(key);
  }
  auto const size = indices.size();
  auto buffer     = keys_of_rows(indices, keys.size(), path, exec);
  auto const rows = values_of<size_type>(buffer);
  for (auto& key : rows) {
    if (key != no_key) { key = new_index_of_key[static_cast<std::size_t>(key)]; }
  }
  auto new_indices = with_stored(indices.type(), [&]<typename Index>(Index) {
    return map_values<size_type, Index>(
      rows.data(), size, exec, [](size_type key) { return std::max(key, 0); });
  });
  auto bits        = make_bits_of(
    size, exec, [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)] != no_key; });
  auto const nulls = count_nulls({bits.data(), 0, size}, exec);
  return {
    make_column(indices.type(), size, std::move(new_indices), exec),
    gather_rows(
      keys, flat_view(cudf::type_id::INT32, std::ssize(valid_keys), valid_keys.data()), path, exec),
    nulls == 0 ? allocate(0, exec) : std::move(bits),
    nulls};
}

void check_indices_on_device(cudf::column_view const& dictionary,
                             column_path const& path,
                             execution const& exec)
{
  auto const indices = cudf::dictionary_column_view{dictionary}.get_indices_annotated();
  check_on_device(indices, child_of(dictionary, 1).size(), path, exec);
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                execution const& exec)
{
  // `get_indices_annotated` ends the process if there are rows and no indices.
  (void)indices_of(dictionary, std::int64_t{dictionary.offset()} + dictionary.size(), path);
  if (!exec.host) { return device::decode_dictionary(dictionary, path, exec); }
  auto const indices = cudf::dictionary_column_view{dictionary}.get_indices_annotated();
  auto const& keys   = child_of(dictionary, 1);
  auto const rows    = keys_of_rows(indices, keys.size(), path, exec);
  auto const map     = flat_view(cudf::type_id::INT32, indices.size(), rows.data());
  return gather_rows(keys, map, path, exec);
}

}  // namespace cudf_arrow_bridge::detail
