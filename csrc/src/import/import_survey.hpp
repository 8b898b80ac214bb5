// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/parsed_type.hpp"
#include "cuda/transfer/read_back.hpp"
#include "import/column_importer.hpp"
#include "import/import_facts.hpp"

#include <rmm/device_buffer.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail {

/**
 * @brief Finds out, for all columns of an import together, what must be known of device memory
 * before columns can be made of it.
 *
 * That is the ends of offsets, null counts that the producer left out, and whether null rows have
 * to be rewritten. All questions are enqueued, then the host waits once. Which elements a list's
 * child is asked about depends on offsets: it is taken that all of them are referred to. Where that
 * proves wrong (a slice of lists that have nulls or lists below them) these are asked about again,
 * with one more wait for each level of lists.
 *
 * Views, runs and list views wait on their own: libcudf reads them.
 */
class import_survey {
 public:
  /**
   * @param sanitize Whether to look for null rows that have to be rewritten
   * @param exec Where the arrays are: device memory
   */
  import_survey(bool sanitize, execution const& exec);

  /// Adds what must be known of some rows of an array that has been validated, all levels.
  void add(parsed_tree const& types, ArrowArray const& array, row_range const& rows)
  { visit(types, array, rows, {}); }

  /// Adds the null count of all rows of an array, but of none below.
  void add_null_count(parsed_tree const& types, ArrowArray const& array);

  /**
   * @brief Waits for the answers, once. What was added must still be there.
   *
   * @throws rmm::cuda_error if CUDA fails
   */
  import_facts run();

 private:
  /// What was asked about one level, as numbers of reads and of counts.
  struct question {
    parsed_tree const& types;
    ArrowArray const& array;
    row_range rows;
    std::optional<std::size_t> ends{};       ///< the first offset; the last one is the next read
    std::optional<std::size_t> nulls{};      ///< of its own mask
    std::optional<std::size_t> all_nulls{};  ///< those of structs above as well
    bit_range all_rows{};                    ///< the mask of these
    std::optional<std::size_t> misplaced{};  ///< null rows that are not empty
    bool is_seen_through{true};              ///< whether `sanitize` has nothing else to look for
  };

  /// @param above Rows that are null because a struct above is, if any may be
  void visit(parsed_tree const& types,
             ArrowArray const& array,
             row_range const& rows,
             std::optional<bit_range> const& above);
  void ask_about_offsets(question& asked, std::optional<bit_range> const& mask);
  std::optional<bit_range> combine_masks(question& asked, std::optional<bit_range> const& above);
  void read();
  [[nodiscard]] level_facts answer_to(question const& asked) const;
  void ask_again_below(question const& answered);

  /// What the producer or an earlier answer says, if either does.
  [[nodiscard]] std::optional<cudf::size_type> known_null_count(ArrowArray const& array,
                                                                row_range const& rows) const;

  std::size_t count(bit_range const& range);
  void const* keep(rmm::device_buffer&& buffer);
  bit_range align(bit_range const& range);

  bool sanitize_;
  execution const& exec_;
  std::vector<question> asked_;
  std::unique_ptr<device::read_batch> reads_;  ///< of this round
  std::vector<bit_range> ranges_;
  std::vector<cudf::size_type> counts_;
  std::vector<rmm::device_buffer> made_;  ///< until the answers are there
  import_facts facts_;
};

/// @return Whether `sanitize` has nothing to do on a column of these rows, at any level
bool is_clean(parsed_tree const& types,
              ArrowArray const& array,
              row_range const& rows,
              import_facts const& facts);

}  // namespace cudf_arrow_bridge::detail
