// SPDX-License-Identifier: Apache-2.0
/// @file
/// What becomes of the data of each Arrow layout. Masks are `column_importer`'s.
#pragma once

#include "compute/views.hpp"
#include "import/column_importer.hpp"

namespace cudf_arrow_bridge::detail {

/// Values of a fixed-width type, bools, and what is converted to either.
column_parts import_values(column_importer const& importer, import_level const& level);

/// Strings, with offsets of either width.
column_parts import_strings(column_importer const& importer, import_level const& level);

/// Bytes with offsets of either width: lists of UINT8.
column_parts import_binary(column_importer const& importer, import_level const& level);

/// Bytes, a fixed number for each row: lists of UINT8.
column_parts import_fixed_size_binary(column_importer const& importer, import_level const& level);

/// Lists with offsets of either width, and maps.
column_parts import_lists(column_importer const& importer, import_level const& level);

/// Lists with a fixed number of elements.
column_parts import_fixed_size_lists(column_importer const& importer, import_level const& level);

/// Fields of a struct.
column_parts import_fields(column_importer const& importer, import_level const& level);

/// Views of strings, copied to one buffer.
column_parts import_string_views(column_importer const& importer,
                                 import_level const& level,
                                 row_mask const& mask);

/// Views of bytes, likewise: lists of UINT8.
column_parts import_binary_views(column_importer const& importer,
                                 import_level const& level,
                                 row_mask const& mask);

/// Views of lists; the elements are gathered unless they stand in order.
column_parts import_list_views(column_importer const& importer,
                               import_level const& level,
                               row_mask const& mask);

/// Run-end encoded values, each as often as it counts; their nulls are the column's.
column_parts import_runs(column_importer const& importer, import_level const& level);

/// @return Whether rows of a dictionary may be null because the value that they refer to is
bool may_have_null_keys(parsed_tree const& types, ArrowArray const& array);

/// Indices and values of a dictionary, which come without nulls and are no dictionary themselves.
column_parts import_dictionary(column_importer const& importer,
                               import_level const& level,
                               row_mask const& mask);

}  // namespace cudf_arrow_bridge::detail
