// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/foreign_array.hpp"
#include "base/copy_log.hpp"
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

/// @return Whether an array has a mask and may have nulls
bool has_mask(ArrowArray const& array);

/// @return The null count of these rows, if the producer states it
std::optional<cudf::size_type> stated_null_count(ArrowArray const& array, row_range const& rows);

/// One level of an import: a validated array, and the range of rows to import.
struct import_level {
  parsed_tree const& types;  ///< types that the array was validated against
  ArrowArray const& array;
  row_range rows;
  column_path const& path;  ///< names the column in errors

  [[nodiscard]] parsed_type const& type() const { return types.type; }
};

/// The rows of a producer's mask that a column needs.
struct mask_range {
  bit_range bits{};  ///< empty if no row is null
  cudf::size_type null_count{0};

  [[nodiscard]] std::byte const* first() const
  { return static_cast<std::byte const*>(bits.bits) + bits.begin / 8; }

  /// Whether the mask begins at an address at which libcudf can read words of 32 bits.
  [[nodiscard]] bool is_on_word() const
  {
    return bits.begin % 8 == 0 &&
           reinterpret_cast<std::uintptr_t>(first()) % sizeof(cudf::bitmask_type) == 0;
  }
};

/// A mask for a `cudf::column`; empty if no row is null.
struct mask_buffer {
  rmm::device_buffer mask;
  cudf::size_type null_count;
};

/// The contents of a column, created by the function of one layout. `mask`, if set, replaces the
/// producer's.
struct column_parts {
  rmm::device_buffer data;
  std::vector<std::unique_ptr<cudf::column>> children;
  std::optional<mask_buffer> mask{};
};

/**
 * @brief Creates owning columns from a producer's struct.
 *
 * `column` calls the function of layouts.hpp for the array's layout; the other members are for use
 * by these functions.
 */
class column_importer {
 public:
  /**
   * @param share Share of the producer's struct; each adopted buffer takes another share
   * @param exec Location of the array's buffers and of converted buffers
   * @param facts Known facts; those missing are read, with a wait for device memory
   * @param copies Rejects or records buffers that are created rather than adopted
   */
  column_importer(foreign_share const& share,
                  execution const& exec,
                  import_facts const& facts,
                  copy_log& copies)
    : share_{share}, exec_{exec}, facts_{facts}, copies_{copies}
  {
  }

  /// Creates an owning column of a level and its descendants.
  [[nodiscard]] std::unique_ptr<cudf::column> column(import_level const& level) const;

  [[nodiscard]] execution const& exec() const { return exec_; }

  /// Returns an importer of the same array with another execution, which must outlive it.
  [[nodiscard]] column_importer with(execution const& exec) const
  { return {share_, exec, facts_, copies_}; }

  /// Calls `find_ends` with the importer's facts.
  [[nodiscard]] offset_ends ends_of(import_level const& level) const;

  [[nodiscard]] rmm::device_buffer no_buffer() const
  { return rmm::device_buffer{0, exec_.stream, exec_.mr}; }

  /// Adopts `size` bytes of the producer's memory without a copy.
  [[nodiscard]] rmm::device_buffer take(void const* memory, std::int64_t size) const;

  /// Adopts memory of elements of `width` bytes, or copies it if it is misaligned.
  [[nodiscard]] rmm::device_buffer take_aligned(void const* memory,
                                                std::int64_t size,
                                                std::int64_t width,
                                                column_path const& path) const;

  /**
   * @brief Creates a buffer, or a column with all its buffers, that cannot be adopted.
   *
   * @throws copy_refused if copies are forbidden; nothing is made then
   *
   * @param reason Why it cannot be adopted
   * @param path Column that errors name
   * @param make Returns it
   */
  template <typename Make>
  [[nodiscard]] auto make(copy_reason reason, column_path const& path, Make make) const
  {
    copies_.need(reason, path);
    auto result = make();
    note(result, reason);
    return result;
  }

  /// Calls `copy_log::need`, before a conversion that creates more than one buffer.
  void need_copy(copy_reason reason, column_path const& path) const { copies_.need(reason, path); }

  /// Records the created buffers after `need_copy`.
  void note(rmm::device_buffer const& made, copy_reason reason) const
  { copies_.note(made.data(), made.size(), reason); }

  /// @copydoc note(rmm::device_buffer const&,copy_reason)
  void note(std::unique_ptr<cudf::column> const& made, copy_reason reason) const
  { copies_.note(made->view(), reason); }

  /// Creates a fixed-width column without nulls from a buffer.
  [[nodiscard]] std::unique_ptr<cudf::column> flat_column(cudf::type_id type,
                                                          std::int64_t size,
                                                          rmm::device_buffer&& data) const;

 private:
  foreign_share const& share_;
  execution const& exec_;
  import_facts const& facts_;
  copy_log& copies_;
};

/**
 * @brief Chooses how many leading rows to keep before the requested ones.
 *
 * libcudf reads masks in aligned words of 32 bits. A mask can be adopted starting at any word, so
 * the rows between the start of a word and the first requested row are kept. Lists and strings keep
 * at least one row: their column then has an offset, and libcudf accepts offsets that do not begin
 * with 0.
 *
 * @param types Types that the array was validated against
 * @param array Array to import
 * @param begin First requested row, without `array.offset`
 * @param size Number of requested rows
 * @param exec Where the array's buffers are
 */
row_range choose_rows(parsed_tree const& types,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size,
                      execution const& exec);

/// The rows of a child that belong to the stored rows of its parent.
///
/// @param type The parent's type: a struct or a list of fixed size
/// @param child The child's array
/// @param rows The parent's rows
row_range child_rows(parsed_type const& type, ArrowArray const& child, row_range const& rows);

/**
 * @brief Creates a view of a producer's fixed-width values or strings, without owning buffers.
 *
 * The view holds no share of the producer's struct; the caller keeps one.
 *
 * @param level Array and rows to borrow
 * @param exec Where the array's buffers are
 * @param facts Known facts; those missing are read, with a wait for device memory
 * @param sanitize Whether to reject columns with null strings that are not empty
 * @return Empty if libcudf cannot use the buffers as they are; the column must then be imported
 */
std::optional<borrowed_column> borrow_rows(import_level const& level,
                                           execution const& exec,
                                           import_facts const& facts,
                                           bool sanitize);

}  // namespace cudf_arrow_bridge::detail
