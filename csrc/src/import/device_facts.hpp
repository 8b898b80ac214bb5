// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/parsed_type.hpp"
#include "import/column_importer.hpp"

#include <span>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Reads the facts that an import needs from device memory, for all columns with one
 *   synchronization.
 *
 * The facts are the first and last offsets, null counts that the producer did not state, and
 * whether null rows have to be rewritten. All reads are enqueued, then the host synchronizes once.
 * The used elements of a list depend on its offsets, which are not known yet, so all elements are
 * read. If the offsets refer to fewer (a slice of lists whose elements have nulls or are
 * lists), the child is read again: one more synchronization for each level of lists.
 *
 * String views, list views and run ends are read during the import, with separate synchronizations.
 *
 * @param columns The rows of each column
 * @param table The types and the array of the table, whose own nulls are counted; null: none
 * @param sanitize Whether to search for null rows that have to be rewritten
 */
import_facts read_device_facts(std::span<import_level const> columns,
                               import_level const* table,
                               bool sanitize,
                               execution const& exec);

/// @return Whether `sanitize` has nothing to rewrite at any level of the rows
bool is_clean(parsed_tree const& types, import_facts const& facts);

}  // namespace cudf_arrow_bridge::detail
