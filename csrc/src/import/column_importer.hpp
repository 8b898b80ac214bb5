// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays/foreign_array.hpp"
#include "base/copy_log.hpp"
#include "base/errors.hpp"
#include "base/parsed_type.hpp"
#include "compute/arrow_views.hpp"
#include "compute/buffers.hpp"
#include "compute/sanitize.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/import.hpp>

#include <cudf/column/column.hpp>
#include <cudf/types.hpp>

#include <rmm/device_buffer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// Range of requested rows of an array. A column stores `leading` more rows before them, which it
/// skips with its offset.
struct row_range {
  std::int64_t begin;  ///< first requested row in the array's buffers, `array.offset` included
  std::int64_t size;
  std::int64_t leading;
  /// Whether the column will have an offset, its own or that of an enclosing struct. Without one
  /// libcudf assumes that the first offset of lists (`lists_column_view::get_sliced_child`) and
  /// strings is 0.
  bool sliced{leading > 0};

  bool operator==(row_range const&) const = default;

  [[nodiscard]] std::int64_t storage_begin() const { return begin - leading; }

  [[nodiscard]] std::int64_t storage_size() const { return size + leading; }

  [[nodiscard]] cudf::size_type num_rows() const
  { return static_cast<cudf::size_type>(storage_size()); }
};

/// Facts about the contents of a range of rows, which an import must know.
struct level_facts {
  row_range rows;
  cudf::size_type null_count;  ///< of the requested rows
  std::optional<offset_ends>
    ends;  ///< first and last offset of all stored rows, if they have offsets
  /// Whether `sanitize` has nothing to rewrite at this level, not including lower levels
  bool is_clean{false};
  bool are_bools{true};  ///< whether the bytes of an `arrow.bool8` array are 0 or 1
  /// Replaces the producer's mask if nulls of enclosing structs were added; moved out at the first
  /// use
  std::shared_ptr<rmm::device_buffer> mask{};
};

/// Facts about the arrays of a producer's struct, collected before columns are created. The key is
/// the types of a level, because several parents with different nulls may point to one array.
using import_facts = std::unordered_map<parsed_tree const*, level_facts>;

/// @return The facts of a level; null if there are none, or not of exactly `rows`, if given
inline level_facts const* find_facts(import_facts const& facts,
                                     parsed_tree const& level,
                                     row_range const* rows = nullptr)
{
  auto const entry = facts.find(&level);
  if (entry == facts.end() || (rows != nullptr && entry->second.rows != *rows)) { return nullptr; }
  return &entry->second;
}

/// @return Whether an array has a mask and may have nulls
bool has_mask(ArrowArray const& array);

/// @return The null count of these rows, if the producer states it
std::optional<cudf::size_type> stated_null_count(ArrowArray const& array, row_range const& rows);

/// One level of an import: a validated array, and the range of rows to import.
struct import_level {
  parsed_tree const& types;  ///< types that the array was validated against
  ArrowArray const& array;
  row_range rows;
  column_path path;             ///< names the column in errors
  row_mask parent{nullptr, 0};  ///< of the struct whose field this is

  [[nodiscard]] parsed_type const& type() const { return types.type; }
};

/// @return The address of the first stored row's offset
std::byte const* first_offset(import_level const& level);

/**
 * @brief The value to subtract from the producer's offsets; also the element or byte at which the
 * column's child or chars begin.
 *
 * It is 0 if the offsets can be used unchanged: the column has an offset itself (`rows.sliced`), or
 * the first offset is 0. Otherwise, and for 64-bit offsets of lists, which are narrowed to 32 bits
 * in any case, it is the first offset: {7, 9, 12} become {0, 2, 5}.
 */
std::int64_t origin_of(parsed_type const& type, row_range const& rows, offset_ends const& ends);

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

/// The data and children of a column. `mask`, if set, replaces the producer's; it is empty if no
/// row is null, or if all are because the type is null.
struct column_parts {
  rmm::device_buffer data;
  std::vector<std::unique_ptr<cudf::column>> children;
  std::optional<counted_mask> mask{};
};

/// Creates columns from a producer's struct.
class column_importer {
 public:
  /// Each adopted buffer takes another share of the producer's struct. Missing facts are read, with
  /// a wait for device memory. `copies` rejects or records buffers that are created. With
  /// `sanitize`, nulls of structs become nulls of their fields.
  column_importer(std::shared_ptr<foreign_array> const& share,
                  execution const& exec,
                  import_facts const& facts,
                  bool sanitize,
                  copy_log& copies)
    : share_{share}, exec_{exec}, facts_{facts}, sanitize_{sanitize}, copies_{copies}
  {
  }

  /// Creates an owning column of a level and its descendants.
  [[nodiscard]] std::unique_ptr<cudf::column> column(import_level const& level) const;

  /**
   * @brief Makes `result` a view of a producer's fixed-width values or strings.
   *
   * The view holds no share of the producer's struct; the caller keeps one.
   *
   * @return Whether libcudf can use the buffers as they are and `sanitize` does not have to rewrite
   * null strings that are not empty. Otherwise `result` has unspecified fields.
   */
  [[nodiscard]] bool borrow(import_level const& level, imported_column& result) const;

 protected:
  /// Returns an importer of the same array with another execution, which must outlive it.
  [[nodiscard]] column_importer with(execution const& exec) const
  { return {share_, exec, facts_, sanitize_, copies_}; }

  /// Whether the bytes of an `arrow.bool8` array are 0 or 1, as libcudf requires.
  [[nodiscard]] bool has_only_bools(import_level const& level) const;

  [[nodiscard]] rmm::device_buffer no_buffer() const
  { return rmm::device_buffer{0, exec_.stream, exec_.mr}; }

  /// Adopts `size` bytes of the producer's memory without a copy.
  [[nodiscard]] rmm::device_buffer take(void const* memory, std::int64_t size) const;

  /// Adopts memory of elements of `width` bytes, or copies it if it is misaligned.
  [[nodiscard]] rmm::device_buffer take_aligned(void const* memory,
                                                std::int64_t size,
                                                std::int64_t width,
                                                column_path const& path) const;

  /// Creates a buffer, or a column with all its buffers, that cannot be adopted. Throws
  /// `copy_refused` if copies are forbidden; nothing is made then.
  template <typename Make>
  [[nodiscard]] auto make(std::string_view reason, column_path const& path, Make make) const
  {
    copies_.need(reason, path);
    auto result = make();
    note(result, reason);
    return result;
  }

  /// Records the created buffers after `copy_log::need`.
  void note(rmm::device_buffer const& made, std::string_view reason) const
  { copies_.note(made.data(), made.size(), reason); }

  void note(std::unique_ptr<cudf::column> const& made, std::string_view reason) const
  { copies_.note(made->view(), reason); }

  /// Creates a fixed-width column without nulls from a buffer.
  [[nodiscard]] std::unique_ptr<cudf::column> flat_column(cudf::type_id type,
                                                          std::int64_t size,
                                                          rmm::device_buffer&& data) const
  { return make_column(cudf::data_type{type}, size, std::move(data), exec_); }

  /// The first and last offset of a level's stored rows; zeros if there are none. Rejects offsets
  /// that are negative or descend. For device memory this waits, unless the facts have them.
  [[nodiscard]] offset_ends find_ends(import_level const& level) const;

  std::shared_ptr<foreign_array> const& share_;
  execution const& exec_;
  import_facts const& facts_;
  bool sanitize_;
  copy_log& copies_;

 private:
  [[nodiscard]] mask_range find_mask(import_level const& level) const;
  [[nodiscard]] counted_mask import_mask(import_level const& level) const;
  /// The mask of a field with the nulls of its struct added; none if nothing changes.
  [[nodiscard]] std::optional<counted_mask> with_nulls(row_mask const& own,
                                                       row_mask const& parent,
                                                       cudf::size_type size,
                                                       column_path const& path) const;
  /// Adds the nulls of a struct to a field and its descendants.
  void add_nulls(cudf::column& field, row_mask const& parent, column_path const& path) const;
  [[nodiscard]] bool is_aligned(void const* memory, std::int64_t width) const;
};

/// Creates the data and the children of a column, with the mask of its rows.
column_parts import_layout(column_importer const& columns,
                           import_level const& level,
                           row_mask const& mask);

/// @return Whether a dictionary may have null keys, which make the rows that refer to them null
bool may_have_null_keys(parsed_tree const& types, ArrowArray const& array);

/**
 * @brief Chooses how many leading rows to keep before the requested ones.
 *
 * libcudf reads masks in aligned words of 32 bits. A mask can be adopted starting at any word, so
 * the rows between the start of a word and the first requested row are kept. Lists and strings keep
 * at least one row: their column then has an offset, and libcudf accepts offsets that do not begin
 * with 0.
 *
 * @param begin First requested row, without `array.offset`
 */
row_range choose_rows(parsed_tree const& types,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size,
                      execution const& exec);

/// The rows of a child that belong to the stored rows of its parent, a struct or a list of fixed
/// size.
row_range child_rows(parsed_type const& type, ArrowArray const& child, row_range const& rows);

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
