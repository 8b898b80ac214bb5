// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/parsed_type.hpp"
#include "cuda/transfer/read_back.hpp"
#include "import/column_importer.hpp"

#include <rmm/device_buffer.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Reads the facts that an import needs from device memory, for all columns with one
 *   synchronization.
 *
 * The facts are the first and last offsets, null counts that the producer did not state, and
 * whether null rows have to be rewritten. All reads are enqueued, then the host synchronizes once.
 * The used elements of a list depend on its offsets, which are not known yet, so all elements are
 * surveyed. If the offsets refer to fewer (a slice of lists whose elements have nulls or are
 * lists), the child is surveyed again: one more synchronization for each level of lists.
 *
 * String views, list views and run ends are read during the import, with separate synchronizations.
 */
class import_survey {
 public:
  /// @param sanitize Whether to search for null rows that have to be rewritten
  import_survey(bool sanitize, execution const& exec);

  /// Adds the questions about rows of a validated array, at all levels.
  void add(parsed_tree const& types, ArrowArray const& array, row_range const& rows)
  { visit(types, array, rows, {}); }

  /// Adds the null count of an array, but nothing about its descendants.
  void add_null_count(parsed_tree const& types, ArrowArray const& array);

  /// Reads the answers. The arrays that were added must still be alive.
  import_facts run();

 private:
  /// Questions about one level: indices of reads in `reads_` and of counts in `ranges_`.
  struct question {
    parsed_tree const& types;
    ArrowArray const& array;
    row_range rows;
    std::optional<std::size_t>
      ends{};  ///< read of the first offset; the last offset is the next read
    std::optional<std::size_t> nulls{};           ///< count: nulls of the array's own mask
    std::optional<std::size_t> combined_nulls{};  ///< count: nulls of `combined_mask`
    bit_range combined_mask{};  ///< own mask combined with those of enclosing structs
    std::optional<std::size_t> nonempty_nulls{};  ///< count: null rows that are not empty
    bool needs_no_other_check{true};  ///< whether `sanitize` needs only `nonempty_nulls`
  };

  /// Adds the questions about a level and its descendants.
  /// @param parent_mask Combined mask of the enclosing structs, if any of them has nulls
  void visit(parsed_tree const& types,
             ArrowArray const& array,
             row_range const& rows,
             std::optional<bit_range> const& parent_mask);
  void ask_about_offsets(question& asked, std::optional<bit_range> const& mask);
  std::optional<bit_range> combine_masks(question& asked,
                                         std::optional<bit_range> const& parent_mask);
  void read();
  [[nodiscard]] level_facts answer_to(question const& asked) const;
  void ask_again_below(question const& answered);

  /// The null count stated by the producer or known from an earlier result.
  [[nodiscard]] std::optional<cudf::size_type> known_null_count(parsed_tree const& types,
                                                                ArrowArray const& array,
                                                                row_range const& rows) const;

  /// Enqueues a count of nulls. @return Its index in `counts_`
  std::size_t count(bit_range const& range);
  void const* keep(rmm::device_buffer&& buffer);
  bit_range align(bit_range const& range);

  bool sanitize_;
  execution const& exec_;
  std::vector<question> questions_;
  std::unique_ptr<device::read_batch> reads_;  ///< of the current round
  std::vector<bit_range> ranges_;
  std::vector<cudf::size_type> counts_;
  std::vector<rmm::device_buffer> temporaries_;  ///< temporary masks of the current round
  import_facts facts_;
};

/// @return Whether `sanitize` has nothing to rewrite at any level of these rows
bool is_clean(parsed_tree const& types,
              ArrowArray const& array,
              row_range const& rows,
              import_facts const& facts);

}  // namespace cudf_arrow_bridge::detail
