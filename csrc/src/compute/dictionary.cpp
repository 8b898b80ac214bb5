// SPDX-License-Identifier: Apache-2.0
#include "compute/dictionary.hpp"

#include "base/child_column.hpp"
#include "compute/bits.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/utilities/type_dispatcher.hpp>

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

/// Rows of a dictionary.
struct dictionary_rows {
  cudf::column_view const& indices;
  std::int64_t begin;  ///< first row, counted from the head of the indices
  size_type size;
  size_type num_keys;
  row_mask const& mask;  ///< its bit `begin` is that of the first row

  [[nodiscard]] bool is_null(std::int64_t row) const
  { return mask.bits != nullptr && !bit_at(mask.bits, begin + row); }
};

/// The index of each row as INT32; `no_key` for null rows.
///
/// @throws std::invalid_argument for the first index that is out of bounds
rmm::device_buffer keys_of_rows(dictionary_rows const& rows,
                                column_path const& path,
                                execution const& exec)
{
  auto result = allocate(std::int64_t{rows.size} * std::int64_t{sizeof(size_type)}, exec);
  auto* keys  = static_cast<size_type*>(result.data());
  with_stored(rows.indices.type(), [&]<typename Index>(Index) {
    auto const* first = rows.indices.head<Index>() + rows.begin;
    for (size_type row = 0; row < rows.size; ++row) {
      auto const fail = [&](std::string const& what) {
        fail_invalid(path, "row " + std::to_string(row) + ": " + what);
      };
      constexpr auto width       = std::int64_t{sizeof(Index)};
      constexpr auto is_unsigned = std::is_unsigned_v<Index>;
      keys[row] = rows.is_null(row) ? no_key
                                    : static_cast<size_type>(read_index(
                                        first + row, width, is_unsigned, rows.num_keys, fail));
    }
  });
  return result;
}

/// Checks indices in device memory. Copies them to the host only to find the first wrong row.
void check_on_device(dictionary_rows const& rows, column_path const& path, execution const& exec)
{
  auto const end   = rows.begin + rows.size;
  auto const all   = cudf::column_view{rows.indices.type(),
                                       rows.size,
                                       rows.indices.head<void>(),
                                       static_cast<cudf::bitmask_type const*>(rows.mask.bits),
                                       rows.mask.null_count,
                                       static_cast<size_type>(rows.begin)};
  auto const range = range_of(all, exec);
  if (!range.any || (range.least >= 0 && range.greatest < rows.num_keys)) { return; }
  auto const width   = static_cast<std::int64_t>(cudf::size_of(rows.indices.type()));
  auto const bits    = rows.mask.null_count == 0 ? 0 : bytes_for_bits(end);
  auto const numbers = copy_to_host(rows.indices.head<void>(), end * width, exec.stream);
  auto const mask    = copy_to_host(rows.mask.bits, bits, exec.stream);
  auto const copied  = flat_view(rows.indices.type().id(), end, numbers.data());
  auto const on_host = execution{true, exec.stream, host_memory_resource()};
  (void)keys_of_rows(
    {copied, rows.begin, rows.size, rows.num_keys, {mask.data(), 0}}, path, on_host);
}

}  // namespace

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                execution const& exec)
{
  if (!exec.host) {
    check_on_device({indices, 0, indices.size(), keys.size(), mask}, path, exec);
    return device::drop_null_keys(indices, keys, mask, path, exec);
  }
  auto valid_keys       = std::vector<size_type>{};
  auto new_index_of_key = std::vector<size_type>(static_cast<std::size_t>(keys.size()), no_key);
  for (size_type key = 0; key < keys.size(); ++key) {
    if (is_null_row(keys, key)) { continue; }
    new_index_of_key[static_cast<std::size_t>(key)] = static_cast<size_type>(valid_keys.size());
    valid_keys.push_back(key);
  }
  auto const size = indices.size();
  auto buffer     = keys_of_rows({indices, 0, size, keys.size(), mask}, path, exec);
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
  auto const mask = row_mask{dictionary.null_mask(), dictionary.null_count()};
  auto const keys = child_of(dictionary, 1).size();
  check_on_device(
    {child_of(dictionary, 0), dictionary.offset(), dictionary.size(), keys, mask}, path, exec);
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                execution const& exec)
{
  if (!exec.host) { return device::decode_dictionary(dictionary, path, exec); }
  auto const& indices = child_of(dictionary, 0);
  auto const& keys    = child_of(dictionary, 1);
  auto const size     = dictionary.size();
  auto const mask     = row_mask{dictionary.null_count() == 0 ? nullptr : dictionary.null_mask(),
                                 dictionary.null_count()};
  auto const rows =
    keys_of_rows({indices, dictionary.offset(), size, keys.size(), mask}, path, exec);
  return gather_rows(keys, flat_view(cudf::type_id::INT32, size, rows.data()), path, exec);
}

}  // namespace cudf_arrow_bridge::detail
