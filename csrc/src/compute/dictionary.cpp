// SPDX-License-Identifier: Apache-2.0
#include "compute/dictionary.hpp"

#include "base/child_column.hpp"
#include "compute/bits.hpp"
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/host_access.hpp"

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

/// The index of each row; `no_key` for null rows.
struct row_keys {
  rmm::device_buffer made;  ///< empty if `keys` are the indices themselves
  std::span<size_type const> keys;
};

/// @throws std::invalid_argument for the first index that is out of bounds
void check_indices(dictionary_rows const& rows, column_path const& path)
{
  auto const width       = static_cast<std::int64_t>(cudf::size_of(rows.indices.type()));
  auto const is_unsigned = cudf::is_unsigned(rows.indices.type());
  for (size_type row = 0; row < rows.size; ++row) {
    if (rows.is_null(row)) { continue; }
    auto const* address = rows.indices.head<std::byte>() + (rows.begin + row) * width;
    (void)read_index(address, width, is_unsigned, rows.num_keys, [&](std::string const& what) {
      fail_invalid(path, "row " + std::to_string(row) + ": " + what);
    });
  }
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
  auto const copied =
    cudf::column_view{rows.indices.type(), static_cast<size_type>(end), numbers.data(), nullptr, 0};
  check_indices({copied, rows.begin, rows.size, rows.num_keys, {mask.data(), 0}}, path);
}

/// The index that is out of bounds is searched only if there is one, so that these loops can be
/// vectorised.
template <typename Index>
row_keys keys_of_rows(dictionary_rows const& rows, column_path const& path, execution const& exec)
{
  // Negative indices become numbers above all bounds.
  using wide            = std::conditional_t<sizeof(Index) == 8, std::uint64_t, std::uint32_t>;
  auto const bound      = static_cast<wide>(rows.num_keys);
  auto const begin      = rows.begin;
  auto const* first     = rows.indices.head<Index>() + begin;
  auto const count      = std::int64_t{rows.size};
  auto outside          = wide{0};
  auto const index_at   = [=](std::int64_t row) { return load<Index>(first, row); };
  auto const is_outside = [=](Index index) { return static_cast<wide>(index) >= bound ? 1U : 0U; };
  if constexpr (std::is_same_v<Index, size_type>) {
    if (rows.mask.bits == nullptr) {
      for (std::int64_t row = 0; row < count; ++row) { outside |= is_outside(index_at(row)); }
      if (outside != 0) { check_indices(rows, path); }
      return {allocate(0, exec), {first, static_cast<std::size_t>(count)}};
    }
  }
  auto result      = allocate(count * std::int64_t{sizeof(size_type)}, exec);
  auto* keys       = static_cast<size_type*>(result.data());
  auto const* bits = rows.mask.bits;
  for (std::int64_t row = 0; row < count; ++row) {
    auto const is_null = bits != nullptr && !bit_at(bits, begin + row);
    outside |= is_null ? 0U : is_outside(index_at(row));
    keys[row] = is_null ? no_key : static_cast<size_type>(index_at(row));
  }
  if (outside != 0) { check_indices(rows, path); }
  return {std::move(result), {keys, static_cast<std::size_t>(count)}};
}

row_keys keys_of_rows(dictionary_rows const& rows, column_path const& path, execution const& exec)
{
  return with_integer(rows.indices.type().id(),
                      [&](auto index) { return keys_of_rows<decltype(index)>(rows, path, exec); });
}

std::unique_ptr<cudf::column> gather(cudf::column_view const& source,
                                     std::span<size_type const> map,
                                     column_path const& path,
                                     execution const& exec)
{
  auto const view = cudf::column_view{cudf::data_type{cudf::type_id::INT32},
                                      static_cast<size_type>(map.size()),
                                      map.data(),
                                      nullptr,
                                      0};
  return gather_rows(source, view, path, exec);
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
    return device::drop_null_keys(indices, keys, mask, exec);
  }
  auto valid_keys       = std::vector<size_type>{};
  auto new_index_of_key = std::vector<size_type>(static_cast<std::size_t>(keys.size()), no_key);
  for (size_type key = 0; key < keys.size(); ++key) {
    if (!bit_at(keys.null_mask(), keys.offset() + key)) { continue; }
    new_index_of_key[static_cast<std::size_t>(key)] = static_cast<size_type>(valid_keys.size());
    valid_keys.push_back(key);
  }
  auto const size = indices.size();
  auto const old  = keys_of_rows({indices, 0, size, keys.size(), mask}, path, exec);
  auto buffer     = allocate(std::int64_t{size} * std::int64_t{sizeof(size_type)}, exec);
  auto const rows = values_of<size_type>(buffer);
  std::transform(old.keys.begin(), old.keys.end(), rows.begin(), [&](size_type key) {
    return key == no_key ? no_key : new_index_of_key[static_cast<std::size_t>(key)];
  });
  auto new_indices = with_integer(indices.type().id(), [&]<typename Index>(Index) {
    auto result = allocate(std::int64_t{size} * std::int64_t{sizeof(Index)}, exec);
    std::transform(rows.begin(), rows.end(), static_cast<Index*>(result.data()), [](size_type key) {
      return static_cast<Index>(std::max(key, 0));
    });
    return result;
  });
  auto bits        = make_bits_of(
    size, exec, [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)] != no_key; });
  auto const nulls = count_nulls({bits.data(), 0, size}, exec);
  return {make_column(indices.type(), size, std::move(new_indices), exec),
          gather(keys, valid_keys, path, exec),
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
  if (!exec.host) { return device::decode_dictionary(dictionary, exec); }
  auto const& indices = child_of(dictionary, 0);
  auto const& keys    = child_of(dictionary, 1);
  auto const mask     = row_mask{dictionary.null_count() == 0 ? nullptr : dictionary.null_mask(),
                                 dictionary.null_count()};
  auto const rows =
    keys_of_rows({indices, dictionary.offset(), dictionary.size(), keys.size(), mask}, path, exec);
  return gather(keys, rows.keys, path, exec);
}

}  // namespace cudf_arrow_bridge::detail
