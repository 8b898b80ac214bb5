// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoarrow/nanoarrow.h>

#include <cstddef>
#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// The buffers of an array, in Arrow's order. The values are nanoarrow types with these buffers.
enum class array_layout : std::int8_t {
  null         = NANOARROW_TYPE_UNINITIALIZED,      ///< none; that of a value-initialized node
  fixed        = NANOARROW_TYPE_FIXED_SIZE_BINARY,  ///< validity, data
  offsets32    = NANOARROW_TYPE_LIST,               ///< validity, 32-bit offsets
  offsets64    = NANOARROW_TYPE_LARGE_LIST,         ///< validity, 64-bit offsets
  string32     = NANOARROW_TYPE_BINARY,             ///< validity, 32-bit offsets, data
  string64     = NANOARROW_TYPE_LARGE_BINARY,       ///< validity, 64-bit offsets, data
  validity     = NANOARROW_TYPE_STRUCT,  ///< validity; a struct, whose children have its rows
  fixed_lists  = NANOARROW_TYPE_FIXED_SIZE_LIST,  ///< validity; the child has equal numbers of rows
  views        = NANOARROW_TYPE_BINARY_VIEW,      ///< validity, views, data buffers, their sizes
  list_views32 = NANOARROW_TYPE_LIST_VIEW,        ///< validity, 32-bit offsets, 32-bit sizes
  list_views64 = NANOARROW_TYPE_LARGE_LIST_VIEW,  ///< validity, 64-bit offsets, 64-bit sizes
  runs = NANOARROW_TYPE_RUN_END_ENCODED  ///< none; the children are the run ends and the values
};

/// @return The number of buffers of an array by the specification; for views the minimum
constexpr std::int64_t num_buffers(array_layout layout) noexcept
{
  switch (layout) {
    case array_layout::null:
    case array_layout::runs: return 0;
    case array_layout::validity:
    case array_layout::fixed_lists: return 1;
    case array_layout::fixed:
    case array_layout::offsets32:
    case array_layout::offsets64: return 2;
    case array_layout::string32:
    case array_layout::string64:
    case array_layout::views:
    case array_layout::list_views32:
    case array_layout::list_views64: return 3;
  }
  return 0;
}

/// @return Whether a layout has ascending offsets into a child, not into bytes
constexpr bool has_child_by_offsets(array_layout layout) noexcept
{ return layout == array_layout::offsets32 || layout == array_layout::offsets64; }

/// @return Whether a layout has ascending offsets, one more than it has rows
constexpr bool has_offsets(array_layout layout) noexcept
{
  return has_child_by_offsets(layout) || layout == array_layout::string32 ||
         layout == array_layout::string64;
}

/// @return Whether the rows of a layout are consecutive lists of a child's rows
constexpr bool has_lists(array_layout layout) noexcept
{ return has_child_by_offsets(layout) || layout == array_layout::fixed_lists; }

/// @return The width in bytes of an offset of a layout with offsets
constexpr std::int64_t offset_width(array_layout layout) noexcept
{
  return layout == array_layout::offsets64 || layout == array_layout::string64 ||
             layout == array_layout::list_views64
           ? 8
           : 4;
}

/// Indices of a node's children and dictionary in the list of all nodes of a tree. The root is 0.
struct tree_links {
  static constexpr std::size_t no_dictionary = 0;  ///< the root is never a dictionary

  std::size_t first_child;  ///< the others follow
  std::size_t num_children;
  std::size_t dictionary;
};

}  // namespace cudf_arrow_bridge::detail
