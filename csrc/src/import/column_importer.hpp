// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/foreign_array.hpp"
#include "base/errors.hpp"
#include "base/parsed_type.hpp"
#include "compute/buffers.hpp"
#include "import/import_facts.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>

#include <cudf/column/column.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// @return Whether an array has a mask that may mark nulls
bool has_mask(ArrowArray const& array);

/// @return How many of these rows are null, if the producer says it
std::optional<cudf::size_type> told_null_count(ArrowArray const& array, row_range const& rows);

/// One level of what is imported: an array that has been validated, and which of its rows.
struct import_level {
  parsed_tree const& types;  ///< that the array has been validated for
  ArrowArray const& array;
  row_range rows;
  column_path const& path;  ///< names the column in errors

  [[nodiscard]] parsed_type const& type() const { return types.type; }
};

/// The rows of a producer's mask that a column needs.
struct mask_range {
  bit_range bits{};  ///< of no size where no row is null
  cudf::size_type null_count{0};

  [[nodiscard]] std::byte const* first() const
  { return static_cast<std::byte const*>(bits.bits) + bits.begin / 8; }

  /// Whether libcudf, which reads masks in words, can use it where it is.
  [[nodiscard]] bool is_on_word() const
  {
    return bits.begin % 8 == 0 &&
           reinterpret_cast<std::uintptr_t>(first()) % sizeof(cudf::bitmask_type) == 0;
  }
};

/// A mask as libcudf has it; empty where no row is null.
struct mask_buffer {
  rmm::device_buffer mask;
  cudf::size_type null_count;
};

/// What a column has beside its rows and, if they bring none of their own, the producer's mask.
struct column_parts {
  rmm::device_buffer data;
  std::vector<std::unique_ptr<cudf::column>> children;
  std::optional<mask_buffer> mask{};
};

/**
 * @brief Makes owning columns of a producer's struct.
 *
 * `column` chooses by layout; what the functions of layouts.hpp make of one level, they make with
 * the other members.
 */
class column_importer {
 public:
  /**
   * @param share Share of the producer's struct; each adopted buffer takes one of its own
   * @param exec Where the array's buffers are, and where converted ones go
   * @param facts What is known of the contents; what is not is read, which waits for a device
   */
  column_importer(foreign_share const& share, execution const& exec, import_facts const& facts)
    : share_{share}, exec_{exec}, facts_{facts}
  {
  }

  /// An owning column of some rows of an array that has been validated.
  [[nodiscard]] std::unique_ptr<cudf::column> column(import_level const& level) const;

  [[nodiscard]] execution const& exec() const { return exec_; }

  /// As `find_ends`, with the importer's facts.
  [[nodiscard]] offset_ends ends_of(import_level const& level) const;

  [[nodiscard]] rmm::device_buffer no_buffer() const
  { return rmm::device_buffer{0, exec_.stream, exec_.mr}; }

  /// Takes some of the producer's memory as it is.
  [[nodiscard]] rmm::device_buffer take(void const* memory, std::int64_t size) const;

  /// Takes memory as it is, or copied where elements of `width` bytes could not be read there.
  [[nodiscard]] rmm::device_buffer take_aligned(void const* memory,
                                                std::int64_t size,
                                                std::int64_t width) const;

  /// A column of a fixed-width type, without nulls, over a buffer of its own.
  [[nodiscard]] std::unique_ptr<cudf::column> flat_column(cudf::type_id type,
                                                          std::int64_t size,
                                                          rmm::device_buffer&& data) const;

 private:
  foreign_share const& share_;
  execution const& exec_;
  import_facts const& facts_;
};

/**
 * @brief Chooses the rows to keep before the ones that are asked for.
 *
 * libcudf reads masks in aligned words. A mask can be adopted from any word on, so the rows
 * between the start of the word and the first row that is asked for are taken along. So is one row
 * at least before lists and strings, whose offsets can then be adopted whatever the first is.
 *
 * @param begin First row, counted without the array's own offset
 */
row_range choose_rows(parsed_tree const& types,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size,
                      execution const& exec);

/// @return The rows of a child that make a column with the stored rows of its parent, where the
///   parent's own say so: fields, and lists of a fixed size
row_range child_rows(parsed_type const& type, ArrowArray const& child, row_range const& rows);

/**
 * @brief Finds the rows of a column of flat values or strings where the producer has them.
 *
 * No buffer takes a share: whoever borrows keeps the producer's struct.
 *
 * @param level Array and rows to borrow
 * @param exec Where the array's buffers are
 * @param facts What is known of the contents; what is not is read, which waits for a device
 * @param sanitize Whether null strings that are not empty are not for borrowing
 * @return Nothing if libcudf could not use them there: they are to be imported
 */
std::optional<borrowed_column> borrow_rows(import_level const& level,
                                           execution const& exec,
                                           import_facts const& facts,
                                           bool sanitize);

}  // namespace cudf_arrow_bridge::detail
