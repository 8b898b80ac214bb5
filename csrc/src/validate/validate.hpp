// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "base/parsed_type.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstdint>

namespace cudf_arrow_bridge::detail {

/// The maximum number of levels in total. A producer may reference one struct from several parents,
/// so n structs can form a tree of 2^n levels.
constexpr std::int64_t max_levels = std::int64_t{1} << 20;

/**
 * @brief Checks that a schema can be traversed.
 *
 * Pointers that will be followed are not null; nothing has been released; there are at most
 * `max_depth` levels below each other and `max_levels` in total; names and format strings are
 * UTF-8; no size in the metadata is negative. nanoarrow checks none of this.
 *
 * @throws std::invalid_argument if a check fails
 */
void check_traversable(ArrowSchema const& schema, column_path const& path);

/// @throws std::invalid_argument for a released array, or unless one level of an array has the
///   children and dictionary of its schema
void check_counterpart(ArrowSchema const& schema, ArrowArray const& array, column_path const& path);

/**
 * @brief Checks all levels of a schema and parses their types.
 *
 * @return The types, for importing any number of arrays; they refer to the schema
 *
 * @throws cudf::data_type_error for a type that the type table does not support
 * @throws std::invalid_argument for a schema that is malformed or contradicts itself
 */
parsed_tree parse_types(ArrowSchema const& schema, column_path const& path);

/**
 * @brief Checks all levels of an array against its types, before any pointer in it is followed.
 *
 * Reads only the C structs and no buffer, so the memory may be on a device. Does not use nanoarrow:
 * the errors of `ArrowArrayViewSetArrayMinimal` name no column, and it follows pointers that may be
 * null, multiplies lengths that may overflow, and rejects a null count of -1 without a mask, which
 * the specification allows.
 *
 * @throws std::invalid_argument if array and types contradict each other
 * @throws std::overflow_error for more than `max_rows`
 */
void validate(parsed_tree const& types, ArrowArray const& array, column_path const& path);

/// Throws std::overflow_error for more rows than a column can have.
void check_rows(std::int64_t rows, column_path const& path);

/// A range of rows of an array, counted from the start of its buffers.
struct level_rows {
  std::int64_t begin;
  std::int64_t size;
};

/**
 * @brief The rows of a child that are imported with a range of rows of its parent.
 *
 * Other rows must not be read, because the array may be a small slice of an array with too many
 * rows to import. If the parent has offsets, it is in host memory, and they have been checked.
 */
level_rows rows_of_child(parsed_type const& type,
                         ArrowArray const& parent,
                         level_rows rows,
                         ArrowArray const& child);

/// Rejects a first offset that is negative or greater than the last.
void check_offset_ends(std::int64_t first, std::int64_t last, column_path const& path);

/// Rejects the first and last offset of strings or lists, unless they ascend, are not negative, and
/// the bytes or elements exist.
void check_ends(array_layout layout,
                ArrowArray const& array,
                std::int64_t first,
                std::int64_t last,
                column_path const& path);

/// Rejects a last offset of strings, the size of their data, that is negative, or greater than 0 if
/// there is no data buffer.
void check_string_data(std::int64_t size, void const* data, column_path const& path);

/**
 * @brief Checks the contents of the buffers of an array in host memory.
 *
 * Checks the first and last offset of each string and list column: they are not negative, ascend,
 * and stay within the elements. With `all_rows`, also checks that all offsets ascend; views lie in
 * their data buffers and have the right prefix; list views lie within the elements; run ends
 * ascend; dictionary indices are in bounds; null counts match the masks; strings are UTF-8. Values
 * of null rows are not checked. Sizes of buffers other than the data of views are not part of
 * Arrow's structs, so they cannot be checked.
 *
 * nanoarrow's `ArrowArrayViewValidate` is not used: for offsets it reports the row but not the
 * value; it does not check views, indices, null counts and UTF-8; it rejects list views with
 * arbitrary values in null rows, which Arrow allows; and it checks all rows of a child, even if the
 * slice that is imported refers to few of them.
 *
 * @throws std::invalid_argument naming the column and, with `all_rows`, the row
 *
 * @param array Array that has passed `validate`
 * @param with_values Whether the values of dictionaries are checked
 */
void validate_contents(parsed_tree const& types,
                       ArrowArray const& array,
                       bool all_rows,
                       bool with_values,
                       column_path const& path);

}  // namespace cudf_arrow_bridge::detail
