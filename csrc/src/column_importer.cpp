// SPDX-License-Identifier: Apache-2.0
#include "column_importer.hpp"

#include "adopt.hpp"
#include "parsed_type.hpp"
#include "validate.hpp"

#include <cudf/column/column.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

constexpr std::int64_t word_bits = 32;  ///< of libcudf's `bitmask_type`

/// Rows of an array that become a column: `skew` rows that nobody asked for stand before them.
struct row_range {
  std::int64_t begin;  ///< in the array's buffers, its own offset included
  std::int64_t size;
  std::int64_t skew;

  [[nodiscard]] std::int64_t storage_begin() const { return begin - skew; }

  [[nodiscard]] std::int64_t storage_size() const { return size + skew; }

  [[nodiscard]] cudf::size_type num_rows() const
  { return static_cast<cudf::size_type>(storage_size()); }
};

/// libcudf gives all columns of a struct one offset, so one mask among them concerns all.
bool has_mask_in_struct(parsed_tree const& types, ArrowArray const& array)
{
  if (has_mask(array)) { return true; }
  if (types.type.column.id() != cudf::type_id::STRUCT) { return false; }
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    if (has_mask_in_struct(types.children[i], *array.children[i])) { return true; }
  }
  return false;
}

/**
 * @brief Chooses the rows to keep before the ones that arrived.
 *
 * libcudf reads masks in aligned words. A mask can be adopted from any word on, so the rows
 * between the start of the word and the first row that arrived are taken along; without a mask
 * every pointer moves freely and nothing is.
 */
row_range choose_rows(parsed_tree const& types,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size)
{
  auto const first = array.offset + begin;
  auto const skew  = size > 0 && has_mask_in_struct(types, array) ? first % word_bits : 0;
  auto const fits  = size + skew < std::numeric_limits<cudf::size_type>::max();
  return {first, size, fits ? skew : 0};
}

/// Builds owning columns from one producer's struct, whose structure has been checked.
class importer {
 public:
  importer(foreign_share const& share, placement const& where) : share_{share}, where_{where} {}

  std::unique_ptr<cudf::column> column(parsed_tree const& types,
                                       ArrowArray const& array,
                                       row_range const& rows,
                                       column_path const& path)
  {
    auto const& type = types.type;
    if (type.column.id() == cudf::type_id::EMPTY) {
      return std::make_unique<cudf::column>(
        type.column, rows.num_rows(), no_buffer(), no_buffer(), rows.num_rows());
    }
    auto [mask, null_count] = validity(array, rows);
    auto const make         = [&](rmm::device_buffer&& data, children_t&& children = {}) {
      return std::make_unique<cudf::column>(type.column,
                                            rows.num_rows(),
                                            std::move(data),
                                            std::move(mask),
                                            null_count,
                                            std::move(children));
    };
    switch (type.column.id()) {
      case cudf::type_id::BOOL8:
        return make(
          unpack_bools({array.buffers[1], rows.storage_begin(), rows.storage_size()}, where_));
      case cudf::type_id::STRING: {
        auto [data, children] = strings(array, rows, *type.row, path);
        return make(std::move(data), std::move(children));
      }
      case cudf::type_id::LIST: return make(no_buffer(), list(types, array, rows, path));
      case cudf::type_id::STRUCT: return make(no_buffer(), fields(types, array, rows, path));
      case cudf::type_id::DICTIONARY32:
        return make(no_buffer(), dictionary(types, array, rows, path));
      default: return make(values(array, rows, type.column));
    }
  }

 private:
  using children_t = std::vector<std::unique_ptr<cudf::column>>;

  [[nodiscard]] rmm::device_buffer no_buffer() const
  { return rmm::device_buffer{0, where_.stream, where_.mr}; }

  [[nodiscard]] rmm::device_buffer take(void const* memory, std::int64_t size) const
  { return adopt(share_.copy(), memory, size, where_.stream, where_.mr); }

  /// Takes memory as it is, or copied where the type could not be read at its address.
  [[nodiscard]] rmm::device_buffer take_aligned(void const* memory,
                                                std::int64_t size,
                                                std::int64_t width) const
  {
    // CPUs and Arrow's own producers make do with 8 bytes even for decimals of 16.
    auto const alignment =
      static_cast<std::uintptr_t>(where_.host ? std::min<std::int64_t>(width, 8) : width);
    auto const aligned = reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
    return aligned ? take(memory, size) : copy_bytes(memory, size, where_);
  }

  struct mask_buffer {
    rmm::device_buffer mask;
    cudf::size_type null_count;
  };

  [[nodiscard]] mask_buffer validity(ArrowArray const& array, row_range const& rows) const
  {
    if (!has_mask(array) || rows.size == 0) { return {no_buffer(), 0}; }
    auto const whole      = rows.begin == array.offset && rows.size == array.length;
    auto const* bits      = static_cast<std::byte const*>(array.buffers[0]);
    auto const null_count = whole && array.null_count > 0
                              ? static_cast<cudf::size_type>(array.null_count)
                              : count_nulls({bits, rows.begin, rows.size}, where_);
    if (null_count == 0) { return {no_buffer(), 0}; }
    auto const* first  = bits + rows.storage_begin() / 8;
    auto const on_word = rows.storage_begin() % 8 == 0 &&
                         reinterpret_cast<std::uintptr_t>(first) % sizeof(cudf::bitmask_type) == 0;
    return {on_word ? take(first, bytes_for_bits(rows.storage_size()))
                    : copy_bits({bits, rows.storage_begin(), rows.storage_size()}, where_),
            null_count};
  }

  [[nodiscard]] rmm::device_buffer values(ArrowArray const& array,
                                          row_range const& rows,
                                          cudf::data_type type) const
  {
    auto const width  = static_cast<std::int64_t>(cudf::size_of(type));
    auto const* bytes = static_cast<std::byte const*>(array.buffers[1]);
    return take_aligned(rows.storage_size() == 0 ? nullptr : bytes + rows.storage_begin() * width,
                        rows.storage_size() * width,
                        width);
  }

  [[nodiscard]] std::unique_ptr<cudf::column> offsets(ArrowArray const& array,
                                                      row_range const& rows,
                                                      cudf::type_id type) const
  {
    auto const width = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{type}));
    auto const count = rows.storage_size() + 1;
    auto const* head =
      static_cast<std::byte const*>(array.buffers[1]) + rows.storage_begin() * width;
    return std::make_unique<cudf::column>(cudf::data_type{type},
                                          static_cast<cudf::size_type>(count),
                                          take_aligned(head, count * width, width),
                                          no_buffer(),
                                          0);
  }

  [[nodiscard]] std::pair<rmm::device_buffer, children_t> strings(ArrowArray const& array,
                                                                  row_range const& rows,
                                                                  type_row const& row,
                                                                  column_path const& path) const
  {
    auto children   = children_t{};
    auto const type = row.format == "U" ? cudf::type_id::INT64 : cudf::type_id::INT32;
    if (rows.storage_size() == 0) {
      // Nothing but an offset tells large strings from others, so one is made.
      if (type == cudf::type_id::INT64) {
        children.push_back(std::make_unique<cudf::column>(
          cudf::data_type{type}, 1, zeros(sizeof(std::int64_t), where_), no_buffer(), 0));
      }
      return {no_buffer(), std::move(children)};
    }
    auto const width = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{type}));
    auto const end   = read_offset(array.buffers[1],
                                   rows.storage_begin() + rows.storage_size(),
                                   width,
                                   where_.host,
                                   where_.stream);
    check_string_data(end, array.buffers[2], path);
    children.push_back(offsets(array, rows, type));
    return {take(array.buffers[2], end), std::move(children)};
  }

  children_t list(parsed_tree const& types,
                  ArrowArray const& array,
                  row_range const& rows,
                  column_path const& path)
  {
    auto const& element = *array.children[0];
    auto children       = children_t{};
    if (rows.storage_size() == 0) {
      children.push_back(std::make_unique<cudf::column>(
        cudf::data_type{cudf::type_id::INT32}, 0, no_buffer(), no_buffer(), 0));
    } else {
      children.push_back(offsets(array, rows, cudf::type_id::INT32));
    }
    // Offsets count from the element's first row, so none may be left before it.
    children.push_back(this->column(
      types.children[0], element, {element.offset, element.length, 0}, column_path{path, "[]"}));
    return children;
  }

  children_t fields(parsed_tree const& types,
                    ArrowArray const& array,
                    row_range const& rows,
                    column_path const& path)
  {
    auto children = children_t{};
    for (std::size_t i = 0; i < types.children.size(); ++i) {
      auto const& field = types.children[i];
      auto const& child = *array.children[i];
      // libcudf ignores offsets of a struct's children: theirs are folded in here. To it the rows
      // before the ones that arrived are rows of the child like others, their nulls counted.
      children.push_back(column(field,
                                child,
                                {child.offset + rows.storage_begin(), rows.storage_size(), 0},
                                column_path{path, field.schema->name}));
    }
    return children;
  }

  children_t dictionary(parsed_tree const& types,
                        ArrowArray const& array,
                        row_range const& rows,
                        column_path const& path)
  {
    auto const& keys = *array.dictionary;
    auto children    = children_t{};
    children.push_back(indices(types, array, rows));
    children.push_back(column(types.children[0], keys, {keys.offset, keys.length, 0}, path));
    return children;
  }

  /// libcudf's indices are signed. The bits of indices that fit are the same.
  [[nodiscard]] std::unique_ptr<cudf::column> indices(parsed_tree const& types,
                                                      ArrowArray const& array,
                                                      row_range const& rows) const
  {
    auto const make = [&](cudf::type_id type, rmm::device_buffer&& data) {
      return std::make_unique<cudf::column>(
        cudf::data_type{type}, rows.num_rows(), std::move(data), no_buffer(), 0);
    };
    auto const found = index_type(*types.schema);
    auto const count = array.dictionary->length;
    switch (found) {
      case cudf::type_id::UINT8:
        if (count > 128) {
          return make(cudf::type_id::INT16, widen(array, rows, found, cudf::type_id::INT16));
        }
        return make(cudf::type_id::INT8, values(array, rows, cudf::data_type{found}));
      case cudf::type_id::UINT16:
        if (count > 32'768) {
          return make(cudf::type_id::INT32, widen(array, rows, found, cudf::type_id::INT32));
        }
        return make(cudf::type_id::INT16, values(array, rows, cudf::data_type{found}));
      case cudf::type_id::UINT32:
        return make(cudf::type_id::INT32, values(array, rows, cudf::data_type{found}));
      case cudf::type_id::UINT64:
        return make(cudf::type_id::INT64, values(array, rows, cudf::data_type{found}));
      default: return make(found, values(array, rows, cudf::data_type{found}));
    }
  }

  [[nodiscard]] rmm::device_buffer widen(ArrowArray const& array,
                                         row_range const& rows,
                                         cudf::type_id from,
                                         cudf::type_id to) const
  {
    auto const width  = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{from}));
    auto const* bytes = static_cast<std::byte const*>(array.buffers[1]);
    return cast_values(bytes + rows.storage_begin() * width, rows.num_rows(), from, to, where_);
  }

  foreign_share const& share_;
  placement const& where_;
};

}  // namespace

bool has_mask(ArrowArray const& array)
{ return array.n_buffers > 0 && array.buffers[0] != nullptr && array.null_count != 0; }

imported_column import_rows(parsed_tree const& types,
                            ArrowArray const& array,
                            std::int64_t begin,
                            std::int64_t size,
                            foreign_share const& share,
                            placement const& where,
                            column_path const& path)
{
  auto const rows = choose_rows(types, array, begin, size);
  return {importer{share, where}.column(types, array, rows, path),
          static_cast<cudf::size_type>(rows.skew),
          static_cast<cudf::size_type>(rows.size)};
}

}  // namespace cudf_arrow_bridge::detail
