// SPDX-License-Identifier: Apache-2.0
/// @file
/// One function for each Arrow layout, which creates the data and children of a column.
/// `column_importer` creates the mask.
#pragma once

#include "compute/views.hpp"
#include "import/column_importer.hpp"

namespace cudf_arrow_bridge::detail {

/// Fixed-width values: adopted, or converted (bools, half floats, times of 32 bits).
column_parts import_values(column_importer const& importer, import_level const& level);

/// Strings, with offsets of either width.
column_parts import_strings(column_importer const& importer, import_level const& level);

/// Binary, with offsets of either width, as LIST<UINT8>.
column_parts import_binary(column_importer const& importer, import_level const& level);

/// Fixed-size binary as LIST<UINT8>.
column_parts import_fixed_size_binary(column_importer const& importer, import_level const& level);

/// Lists with offsets of either width, and maps.
column_parts import_lists(column_importer const& importer, import_level const& level);

/// Lists of a fixed size.
column_parts import_fixed_size_lists(column_importer const& importer, import_level const& level);

/// Fields of a struct.
column_parts import_fields(column_importer const& importer, import_level const& level);

/// String views, whose bytes are copied to one buffer.
column_parts import_string_views(column_importer const& importer,
                                 import_level const& level,
                                 row_mask const& mask);

/// Binary views as LIST<UINT8>, whose bytes are copied to one buffer.
column_parts import_binary_views(column_importer const& importer,
                                 import_level const& level,
                                 row_mask const& mask);

/// List views; the elements are gathered unless the lists are contiguous and in order.
column_parts import_list_views(column_importer const& importer,
                               import_level const& level,
                               row_mask const& mask);

/// Run-end encoded values, decoded: each value is repeated for its run. Sets the mask.
column_parts import_runs(column_importer const& importer, import_level const& level);

/// @return Whether a dictionary may have null keys, which make the rows that refer to them null
bool may_have_null_keys(parsed_tree const& types, ArrowArray const& array);

/// Indices and keys of a dictionary. Null keys are removed, with the mask set accordingly; keys
/// that are dictionaries are decoded.
column_parts import_dictionary(column_importer const& importer,
                               import_level const& level,
                               row_mask const& mask);

}  // namespace cudf_arrow_bridge::detail
