// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Checks a schema, all levels, and finds out their types.
 *
 * @return The types, which imports of any number of arrays go by; they refer to the schema
 *
 * @throws cudf::data_type_error for a type that the type table refuses
 * @throws std::invalid_argument for a schema that cannot be walked or contradicts itself
 *
 * @param schema Schema to parse
 * @param array Walked beside it, so that neither is followed where they disagree; null: none
 * @param path Names the column in errors
 */
parsed_tree parse_types(ArrowSchema const& schema,
                        ArrowArray const* array,
                        column_path const& path);

/**
 * @brief Checks an array against its types, all levels, before anybody follows a pointer in it.
 *
 * Looks at the C structs alone, never at a buffer, so the memory may be anywhere. Not by nanoarrow,
 * whose `ArrowArrayViewSetArrayMinimal` names no column, follows pointers that may be null,
 * multiplies lengths that may overflow, and refuses what the specification allows: a null count of
 * -1 without a mask.
 *
 * @throws std::invalid_argument for a contradiction
 * @throws std::overflow_error for more rows than `cudf::size_type` holds
 */
void validate(parsed_tree const& types, ArrowArray const& array, column_path const& path);

/**
 * @brief Checks that a column could have so many rows.
 *
 * @throws std::overflow_error for more than libcudf can count, offsets of the rows included
 */
void check_rows(std::int64_t rows, column_path const& path);

/// Rows of an array, counted from where its buffers begin.
struct level_rows {
  std::int64_t begin;
  std::int64_t size;
};

/**
 * @brief The rows of a child that go into a column with some rows of its parent.
 *
 * A small slice of a huge array may be all that there is: nothing else may be looked at.
 *
 * @param type Type of the parent
 * @param parent Array in host memory; its offsets, if it has any, ascend
 * @param rows Rows of it
 * @param child One of its children
 */
level_rows rows_of_child(parsed_type const& type,
                         ArrowArray const& parent,
                         level_rows rows,
                         ArrowArray const& child);

/**
 * @brief Checks that strings have the bytes that their last offset promises.
 *
 * @throws std::invalid_argument for a negative offset or missing data
 */
void check_string_data(std::int64_t size, void const* data, column_path const& path);

/**
 * @brief Checks the first and last offset of each string and list column in host memory.
 *
 * Those of the rows that are imported: nanoarrow's validation has no view of a part of a child.
 *
 * @throws std::invalid_argument for offsets that are negative, descend, or end behind the elements
 *
 * @param types Types that the array has been validated for
 * @param array Array in host memory
 * @param path Names the column in errors
 */
void validate_offsets(parsed_tree const& types, ArrowArray const& array, column_path const& path);

}  // namespace cudf_arrow_bridge::detail
