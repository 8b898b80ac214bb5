// SPDX-License-Identifier: Apache-2.0
#include "testing/invariants/walker.hpp"

#include "testing/views.hpp"

#include <cudf/utilities/traits.hpp>

#include <algorithm>
#include <limits>

namespace cudf_arrow_bridge::test {
namespace {

using cudf::type_id;

constexpr std::int64_t block_bytes = 64;  ///< `bitmask_allocation_size_bytes` pads to it
constexpr std::int64_t word_bytes  = sizeof(cudf::bitmask_type);

std::int64_t rounded_up(std::int64_t value, std::int64_t step)
{ return (value + step - 1) / step * step; }

bool is_aligned(void const* memory, std::size_t alignment)
{ return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0; }

}  // namespace

std::int64_t integer_at(cudf::column_view const& column, std::int64_t index)
{
  return static_cast<std::int64_t>(
    read_integer_at(column.head<void>(), index, cudf::size_of(column.type()), true));
}

bool walker::expect(bool holds, invariant which, std::string const& path, std::string found)
{
  if (!holds) { violations_.push_back({which, path, std::move(found)}); }
  return holds;
}

bool walker::is_allocated(void const* begin, std::int64_t size) const
{
  auto const memory = options_.allocation_of(begin);
  return memory.data() == nullptr ||
         memory.data() + memory.size() - static_cast<std::byte const*>(begin) >= size;
}

bool walker::check_shape(cudf::column_view const& column, std::string const& path)
{
  auto const range =
    "offset " + std::to_string(column.offset()) + " and size " + std::to_string(column.size());
  auto const children = column.num_children();
  auto const is_empty = column.size() == 0 && children == 0;
  auto has_children   = children == 0;
  switch (column.type().id()) {
    case type_id::STRUCT: has_children = true; break;
    case type_id::LIST: has_children = children == 2; break;
    case type_id::STRING: has_children = children == 1 || is_empty; break;
    case type_id::DICTIONARY32: has_children = children == 2 || is_empty; break;
    default: break;
  }
  auto const fits = expect(end_of_rows(column) <= std::numeric_limits<cudf::size_type>::max(),
                           invariant::rows_fit,
                           path,
                           range);
  return expect(has_children,
                invariant::children_are_there,
                path,
                std::to_string(children) + " children") &&
         fits;
}

void walker::check_mask(cudf::column_view const& column, std::string const& path)
{
  auto const* mask = column.null_mask();
  auto const end   = end_of_rows(column);
  auto const nulls = count_nulls_in(column, column.offset(), end);
  expect(column.null_count() == nulls,
         invariant::null_count_is_right,
         path,
         "a null count of " + std::to_string(column.null_count()) + " for " +
           std::to_string(nulls) + " nulls");
  if (mask == nullptr || column.size() == 0) { return; }
  expect(is_aligned(mask, alignof(cudf::bitmask_type)),
         invariant::mask_is_aligned,
         path,
         "a mask that is not on a word");
  // libcudf copies a mask from bit 0 with its padding, but from another bit only whole words. A
  // mask that begins inside its allocation was sliced by a producer, which need not provide
  // padding.
  auto const* allocated = options_.allocation_of(mask).data();
  auto const is_whole =
    column.offset() == 0 && static_cast<void const*>(allocated) == static_cast<void const*>(mask);
  auto const needed = rounded_up((end + 7) / 8, is_whole ? block_bytes : word_bytes);
  expect(is_allocated(mask, needed),
         invariant::mask_is_padded,
         path,
         "a mask allocated with less than " + std::to_string(needed) + " bytes");
}

void walker::check_data(cudf::column_view const& column, std::string const& path)
{
  if (!cudf::is_fixed_width(column.type()) || column.size() == 0) { return; }
  auto const width = cudf::size_of(column.type());
  expect(is_aligned(column.head<void>(), std::min(width, options_.max_alignment)),
         invariant::data_is_aligned,
         path,
         "data that is not aligned to " + std::to_string(width) + " bytes");
  auto const needed = end_of_rows(column) * static_cast<std::int64_t>(width);
  expect(is_allocated(column.head<void>(), needed),
         invariant::data_is_allocated,
         path,
         "data allocated with less than " + std::to_string(needed) + " bytes");
}

void walker::visit(cudf::column_view const& column, std::string const& path)
{
  if (!check_shape(column, path) || column.type().id() == type_id::EMPTY) { return; }
  check_mask(column, path);
  switch (column.type().id()) {
    case type_id::STRING: return visit_strings(column, path);
    case type_id::LIST: return visit_lists(column, path);
    case type_id::STRUCT: return visit_fields(column, path);
    case type_id::DICTIONARY32: return visit_dictionary(column, path);
    default: return check_data(column, path);
  }
}

std::vector<violation> find_violations(cudf::column_view const& column,
                                       invariant_options const& options)
{
  auto all = walker{options};
  all.visit(column, "column");
  return std::move(all).take();
}

}  // namespace cudf_arrow_bridge::test
