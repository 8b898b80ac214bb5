// SPDX-License-Identifier: Apache-2.0
#include "compute/buffers.hpp"
#include "cuda/location/location.hpp"
#include "cuda/transfer/read_back.hpp"
#include "import/column_importer.hpp"

#include <cudf/null_mask.hpp>

#include <rmm/device_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

/// Whether all lists have the same length greater than 0, so that null rows are not empty.
bool has_fixed_length(parsed_type const& type)
{
  if (type.layout == array_layout::fixed_lists) { return type.list_size > 0; }
  return type.layout == array_layout::fixed && type.column.id() == cudf::type_id::LIST &&
         type.element_bits > 0;
}

/// The elements that the offsets refer to. All elements if the offsets are invalid, which the
/// import itself reports.
row_range rows_of_elements(parsed_type const& type,
                           ArrowArray const& elements,
                           row_range const& rows,
                           offset_ends const& ends)
{
  auto const is_valid = ends.first >= 0 && ends.first <= ends.last && ends.last <= elements.length;
  if (!is_valid) { return {elements.offset, elements.length, 0}; }
  auto const origin = origin_of(type, rows, ends);
  return {elements.offset + origin, ends.last - origin, 0};
}

/// See `read_device_facts`.
class fact_reader {
 public:
  fact_reader(bool sanitize, execution const& exec)
    : sanitize_{sanitize}, exec_{exec}, reads_{std::make_unique<device::read_back>(exec.stream)}
  {
  }

  /// Adds the null count of an array, but nothing about its descendants.
  void add_null_count(parsed_tree const& types, ArrowArray const& array)
  {
    auto& planned =
      planned_.emplace_back(planned_reads{types, array, row_range{array.offset, array.length, 0}});
    if (!known_null_count(planned)) {
      planned.nulls = count({array.buffers[0], planned.rows.begin, planned.rows.size});
    }
  }

  /// Adds the reads of a level and its descendants.
  /// @param parent_mask Combined mask of the enclosing structs, if any of them has nulls
  void visit(parsed_tree const& types,
             ArrowArray const& array,
             row_range const& rows,
             std::optional<bit_range> const& parent_mask)
  {
    // Elements beyond the limit of a column cannot all be referred to by a valid array. They are
    // read in the next round, when the offsets are known.
    if (rows.storage_size() > max_rows || find_facts(facts_, types, &rows) != nullptr) { return; }
    auto const& type = types.type;
    auto planned     = planned_reads{types, array, rows};
    if (rows.storage_size() == 0 || type.layout == array_layout::null) {
      planned_.push_back(planned);
      return;
    }
    if (!known_null_count(planned)) {
      planned.nulls = count({array.buffers[0], rows.begin, rows.size});
    }
    // The nulls of structs are added to runs after they have been decoded.
    auto const combines = sanitize_ && type.layout != array_layout::runs;
    auto const mask     = combines ? combine_masks(planned, parent_mask) : std::nullopt;
    if (has_offsets(type.layout)) { plan_offsets(planned, mask); }
    if (has_fixed_length(type) && mask) { planned.nonempty_nulls = count(*mask); }
    if (sanitize_ && type.column.id() == cudf::type_id::BOOL8 && type.element_bits == 8) {
      auto const* first = static_cast<std::byte const*>(array.buffers[1]) + rows.storage_begin();
      planned.greatest =
        reads_->add(keep(device::greatest_byte(first, rows.num_rows(), exec_.scratch())), 1);
    }
    planned_.push_back(planned);

    if (array.dictionary != nullptr) {
      auto const& keys = *array.dictionary;
      visit(types.children[0], keys, {keys.offset, keys.length, 0}, {});
    } else if (has_child_by_offsets(type.layout)) {
      auto const& elements = *array.children[0];
      visit(types.children[0], elements, {elements.offset, elements.length, 0}, {});
    } else if (type.layout == array_layout::validity || type.layout == array_layout::fixed_lists) {
      auto const is_struct = type.layout == array_layout::validity;
      for (std::size_t i = 0; i < types.children.size(); ++i) {
        auto const& child = *array.children[i];
        visit(
          types.children[i], child, child_rows(type, child, rows), is_struct ? mask : std::nullopt);
      }
    }
  }

  /// Reads the facts. The arrays that were added must still be alive.
  import_facts run()
  {
    while (!planned_.empty()) {
      read();
      auto const done = std::exchange(planned_, {});
      for (auto const& one : done) { facts_.insert_or_assign(&one.types, facts_of(one)); }
      reads_ = std::make_unique<device::read_back>(exec_.stream);
      ranges_.clear();
      temporaries_.clear();
      for (auto const& one : done) { plan_elements(one); }
    }
    return std::move(facts_);
  }

 private:
  /// The reads of one level: indices of reads in `reads_` and of counts in `ranges_`.
  struct planned_reads {
    parsed_tree const& types;
    ArrowArray const& array;
    row_range rows;
    std::optional<std::size_t>
      ends{};  ///< read of the first offset; the last offset is the next read
    std::optional<std::size_t> greatest{};        ///< read of the greatest byte of bools
    std::optional<std::size_t> nulls{};           ///< count: nulls of the array's own mask
    std::optional<std::size_t> combined_nulls{};  ///< count: nulls of `combined_mask`
    bit_range combined_mask{};  ///< own mask combined with those of enclosing structs
    std::optional<std::size_t> nonempty_nulls{};  ///< count: null rows that are not empty
  };

  /// The null count stated by the producer or known from an earlier result.
  std::optional<cudf::size_type> known_null_count(planned_reads const& planned) const
  {
    if (auto const stated = stated_null_count(planned.array, planned.rows)) { return stated; }
    // An earlier result was for a range that includes these rows, so 0 also applies to them.
    auto const* known = find_facts(facts_, planned.types);
    if (known != nullptr && known->null_count == 0) { return 0; }
    return {};
  }

  void plan_offsets(planned_reads& planned, std::optional<bit_range> const& mask)
  {
    auto const level  = import_level{planned.types, planned.array, planned.rows, column_path{}};
    auto const width  = offset_width(level.type().layout);
    auto const size   = planned.rows.storage_size();
    auto const* first = first_offset(level);
    planned.ends      = reads_->add(first, width);
    (void)reads_->add(first + size * width, width);
    if (mask) {
      auto const type = width == 8 ? cudf::type_id::INT64 : cudf::type_id::INT32;
      auto const* mask_of_nonempty =
        keep(device::nonempty_nulls(mask->bits, {first, size + 1, type}, exec_.scratch()));
      planned.nonempty_nulls = count({mask_of_nonempty, 0, size});
    }
  }

  /// @return The mask of the stored rows and of structs above combined; none if no row is null
  std::optional<bit_range> combine_masks(planned_reads& planned,
                                         std::optional<bit_range> const& parent_mask)
  {
    auto const& rows = planned.rows;
    if (known_null_count(planned) == 0) {
      // Without its own nulls, it has the nulls of the enclosing struct.
      if (parent_mask) { planned.combined_nulls = count(planned.combined_mask = *parent_mask); }
      return parent_mask;
    }
    auto const own = align({planned.array.buffers[0], rows.storage_begin(), rows.storage_size()});
    if (!parent_mask) { return own; }
    auto const both = bit_range{
      keep(device::valid_in_both(own.bits, parent_mask->bits, rows.num_rows(), exec_.scratch())),
      0,
      own.size};
    planned.combined_nulls = count(planned.combined_mask = both);
    return both;
  }

  void read()
  {
    reads_->enqueue();
    if (!ranges_.empty()) {
      // `count_nulls` waits for the stream, including the reads that were enqueued before.
      counts_ = count_nulls(ranges_, exec_);
      reads_->note_wait();
    } else if (!reads_->is_empty()) {
      reads_->wait();
    }
  }

  level_facts facts_of(planned_reads const& planned) const
  {
    auto const nulls =
      planned.nulls ? counts_[*planned.nulls] : known_null_count(planned).value_or(0);
    auto result = level_facts{planned.rows, nulls, {}};
    if (planned.ends) {
      result.ends = offset_ends{reads_->at(*planned.ends), reads_->at(*planned.ends + 1)};
    }
    result.are_bools = !planned.greatest || reads_->at(*planned.greatest) <= 1;
    // The import decodes these and creates their nulls and offsets, which are not known yet.
    auto const layout     = planned.types.type.layout;
    auto const is_decoded = layout == array_layout::runs || layout == array_layout::list_views32 ||
                            layout == array_layout::list_views64;
    result.is_clean       = (planned.rows.storage_size() == 0 || !is_decoded) &&
                            (!planned.nonempty_nulls || counts_[*planned.nonempty_nulls] == 0);
    if (planned.combined_nulls && counts_[*planned.combined_nulls] != nulls) {
      result.null_count = counts_[*planned.combined_nulls];
      result.mask = std::make_shared<rmm::device_buffer>(copy_bits(planned.combined_mask, exec_));
    }
    return result;
  }

  void plan_elements(planned_reads const& done)
  {
    auto const& types = done.types;
    auto const* known = find_facts(facts_, types, &done.rows);
    if (!has_child_by_offsets(types.type.layout) || known == nullptr || !known->ends) { return; }
    auto const& elements = *done.array.children[0];
    auto const referred  = rows_of_elements(types.type, elements, done.rows, *known->ends);
    if (find_facts(facts_, types.children[0], &referred) != nullptr) { return; }
    visit(types.children[0], elements, referred, {});
    // The next result, for the referenced elements, replaces the result for all elements.
    facts_.erase(&types.children[0]);
  }

  /// Enqueues a count of nulls. @return Its index in `counts_`
  std::size_t count(bit_range const& range)
  {
    ranges_.push_back(range);
    return ranges_.size() - 1;
  }

  void const* keep(rmm::device_buffer&& buffer)
  { return temporaries_.emplace_back(std::move(buffer)).data(); }

  /// Aligns the first row to bit 0 of a word, with a copy if necessary.
  bit_range align(bit_range const& range)
  {
    auto const mask      = mask_range{range};
    auto const size      = cudf::num_bitmask_words(static_cast<cudf::size_type>(range.size)) *
                           sizeof(cudf::bitmask_type);
    auto const is_usable = mask.is_on_word() && !ends_before(mask.first(), size);
    return {is_usable ? mask.first() : keep(copy_bits(range, exec_.scratch())), 0, range.size};
  }

  bool sanitize_;
  execution const& exec_;
  std::vector<planned_reads> planned_;
  std::unique_ptr<device::read_back> reads_;  ///< of the current round
  std::vector<bit_range> ranges_;
  std::vector<cudf::size_type> counts_;
  std::vector<rmm::device_buffer> temporaries_;  ///< temporary masks of the current round
  import_facts facts_;
};

}  // namespace

import_facts read_device_facts(std::span<import_level const> columns,
                               import_level const* table,
                               bool sanitize,
                               execution const& exec)
{
  auto all = fact_reader{sanitize, exec};
  if (table != nullptr) { all.add_null_count(table->types, table->array); }
  for (auto const& column : columns) { all.visit(column.types, column.array, column.rows, {}); }
  return all.run();
}

bool is_clean(parsed_tree const& types, import_facts const& facts)
{
  auto const* known = find_facts(facts, types);
  if (known == nullptr || !known->is_clean) { return false; }
  if (known->rows.storage_size() == 0) { return true; }
  return std::all_of(types.children.begin(), types.children.end(), [&](auto const& child) {
    return is_clean(child, facts);
  });
}

}  // namespace cudf_arrow_bridge::detail
