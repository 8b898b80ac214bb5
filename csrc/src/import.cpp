// SPDX-License-Identifier: Apache-2.0
#include "adopt.hpp"
#include "convert.hpp"
#include "errors.hpp"
#include "parsed_type.hpp"
#include "validate.hpp"

#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/cuda_device.hpp>
#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace detail {
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

bool has_mask(ArrowArray const& array)
{ return array.n_buffers > 0 && array.buffers[0] != nullptr && array.null_count != 0; }

/// libcudf gives all columns of a struct one offset, so one mask among them concerns all.
bool has_mask_in_struct(ArrowSchema const& schema, ArrowArray const& array)
{
  if (has_mask(array)) { return true; }
  if (std::string_view{schema.format} != "+s") { return false; }
  for (std::int64_t i = 0; i < array.n_children; ++i) {
    if (has_mask_in_struct(*schema.children[i], *array.children[i])) { return true; }
  }
  return false;
}

/**
 * @brief Chooses the rows to keep before the ones that arrived.
 *
 * libcudf reads masks in aligned words. A mask can be adopted from any word on, so the rows
 * between the start of the word and the first row that arrived are taken along; without a mask
 * every pointer moves freely and nothing is. Nor is it for no rows, whose buffers may be missing.
 */
row_range choose_rows(ArrowSchema const& schema,
                      ArrowArray const& array,
                      std::int64_t begin,
                      std::int64_t size)
{
  auto const first = array.offset + begin;
  auto const skew  = size > 0 && has_mask_in_struct(schema, array) ? first % word_bits : 0;
  auto const fits  = size + skew < std::numeric_limits<cudf::size_type>::max();
  return {first, size, fits ? skew : 0};
}

/// Builds owning columns from one producer's struct, whose structure has been checked.
class importer {
 public:
  importer(std::shared_ptr<unique_device_array> owner, placement const& where)
    : owner_{std::move(owner)}, where_{where}
  {
  }

  std::unique_ptr<cudf::column> column(parsed_tree const& types,
                                       ArrowSchema const& schema,
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
      case cudf::type_id::LIST: return make(no_buffer(), list(types, schema, array, rows, path));
      case cudf::type_id::STRUCT:
        return make(no_buffer(), fields(types, schema, array, rows, path));
      case cudf::type_id::DICTIONARY32:
        return make(no_buffer(), dictionary(types, schema, array, rows, path));
      default: return make(values(array, rows, type.column));
    }
  }

 private:
  using children_t = std::vector<std::unique_ptr<cudf::column>>;

  [[nodiscard]] rmm::device_buffer no_buffer() const
  { return rmm::device_buffer{0, where_.stream, where_.mr}; }

  [[nodiscard]] rmm::device_buffer take(void const* memory, std::int64_t size) const
  { return adopt(owner_, memory, size, where_.host, where_.stream, where_.mr); }

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

  /// The offsets of the rows as a column, or none for no rows, and the last of them if it was read.
  struct offsets_column {
    std::unique_ptr<cudf::column> column;
    std::int64_t end;
  };

  [[nodiscard]] offsets_column offsets(ArrowArray const& array,
                                       row_range const& rows,
                                       cudf::type_id type,
                                       bool need_end,
                                       column_path const& path) const
  {
    auto const width = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{type}));
    auto const count = rows.storage_size() + 1;
    auto const* head =
      static_cast<std::byte const*>(array.buffers[1]) + rows.storage_begin() * width;
    auto end = std::int64_t{0};
    if (where_.host || need_end) {
      end = read_offset(head, rows.storage_size(), width, where_.host, where_.stream);
    }
    if (where_.host) {
      auto const first = read_offset(head, 0, width, true, where_.stream);
      if (first < 0 || end < first) {
        fail_invalid(path,
                     "offsets from " + std::to_string(first) + " to " + std::to_string(end) +
                       " found, not negative and ascending expected");
      }
    }
    return {std::make_unique<cudf::column>(cudf::data_type{type},
                                           static_cast<cudf::size_type>(count),
                                           take_aligned(head, count * width, width),
                                           no_buffer(),
                                           0),
            end};
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
    auto [column, end] = offsets(array, rows, type, true, path);
    if (end > 0 && array.buffers[2] == nullptr) {
      fail_invalid(path, "no data buffer found, " + std::to_string(end) + " bytes expected");
    }
    children.push_back(std::move(column));
    return {take(array.buffers[2], end), std::move(children)};
  }

  children_t list(parsed_tree const& types,
                  ArrowSchema const& schema,
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
      auto [column, end] = offsets(array, rows, cudf::type_id::INT32, false, path);
      if (where_.host && end > element.length) {
        fail_invalid(path,
                     std::to_string(element.length) + " list elements found, at least " +
                       std::to_string(end) + " expected by the offsets");
      }
      children.push_back(std::move(column));
    }
    // Offsets count from the element's first row, so none may be left before it.
    children.push_back(this->column(types.children[0],
                                    *schema.children[0],
                                    element,
                                    {element.offset, element.length, 0},
                                    column_path{path, "[]"}));
    return children;
  }

  children_t fields(parsed_tree const& types,
                    ArrowSchema const& schema,
                    ArrowArray const& array,
                    row_range const& rows,
                    column_path const& path)
  {
    auto children = children_t{};
    for (std::int64_t i = 0; i < array.n_children; ++i) {
      auto const& field = *schema.children[i];
      auto const& child = *array.children[i];
      // libcudf ignores offsets of a struct's children: theirs are folded in here. To it the rows
      // before the ones that arrived are rows of the child like others, their nulls counted.
      children.push_back(column(types.children[static_cast<std::size_t>(i)],
                                field,
                                child,
                                {child.offset + rows.storage_begin(), rows.storage_size(), 0},
                                column_path{path, field.name}));
    }
    return children;
  }

  children_t dictionary(parsed_tree const& types,
                        ArrowSchema const& schema,
                        ArrowArray const& array,
                        row_range const& rows,
                        column_path const& path)
  {
    auto const& keys = *array.dictionary;
    auto children    = children_t{};
    children.push_back(indices(schema, array, rows));
    children.push_back(
      column(types.children[0], *schema.dictionary, keys, {keys.offset, keys.length, 0}, path));
    return children;
  }

  /// libcudf's indices are signed. The bits of indices that fit are the same.
  [[nodiscard]] std::unique_ptr<cudf::column> indices(ArrowSchema const& schema,
                                                      ArrowArray const& array,
                                                      row_range const& rows) const
  {
    auto const make = [&](cudf::type_id type, rmm::device_buffer&& data) {
      return std::make_unique<cudf::column>(
        cudf::data_type{type}, rows.num_rows(), std::move(data), no_buffer(), 0);
    };
    auto const found = index_type(schema.format);
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

  static cudf::type_id index_type(std::string_view format)
  {
    auto const table = type_table();
    return std::find_if(
             table.begin(), table.end(), [&](auto const& row) { return row.format == format; })
      ->column;
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

  std::shared_ptr<unique_device_array> owner_;
  placement where_;
};

/// Makes `stream` wait for the producer, and says how the array's memory is to be read.
placement open(ArrowDeviceArray const& array,
               cuda::stream_ref stream,
               rmm::device_async_resource_ref mr)
{
  if (array.device_type == ARROW_DEVICE_CPU) { return {true, stream, host_memory_resource()}; }

  auto const location = memory_location{array.device_type, array.device_id};
  auto const is_cuda  = array.device_type == ARROW_DEVICE_CUDA ||
                        array.device_type == ARROW_DEVICE_CUDA_HOST ||
                        array.device_type == ARROW_DEVICE_CUDA_MANAGED;
  if (!is_cuda) {
    throw std::invalid_argument{to_string(location) + " found, CPU or CUDA memory expected"};
  }
  if (!has_gpu()) {
    throw std::invalid_argument{to_string(location) +
                                " found, but this process can use no CUDA device"};
  }
  auto const current = rmm::get_current_cuda_device().value();
  if (array.device_type != ARROW_DEVICE_CUDA_HOST && array.device_id != current) {
    throw std::invalid_argument{to_string(location) + " found, memory of the current device " +
                                std::to_string(current) + " expected"};
  }
  if (array.sync_event != nullptr) {
    RMM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), *static_cast<cudaEvent_t*>(array.sync_event)));
  }
  return {false, stream, mr};
}

/// Copies a column in host memory to the GPU, level by level.
std::unique_ptr<cudf::column> upload(std::unique_ptr<cudf::column> const& column,
                                     cuda::stream_ref stream,
                                     rmm::device_async_resource_ref mr)
{
  auto const type       = column->type();
  auto const size       = column->size();
  auto const null_count = column->null_count();
  auto const contents   = column->release();
  auto const copy       = [&](rmm::device_buffer const& buffer) {
    return rmm::device_buffer{buffer.data(), buffer.size(), stream, mr};
  };
  auto children = std::vector<std::unique_ptr<cudf::column>>{};
  for (auto const& child : contents.children) { children.push_back(upload(child, stream, mr)); }
  auto result = std::make_unique<cudf::column>(
    type, size, copy(*contents.data), copy(*contents.null_mask), null_count, std::move(children));
  // The copies may still be reading the producer's memory, which goes with `contents`.
  RMM_CUDA_TRY(cudaStreamSynchronize(stream.get()));
  return result;
}

/// Columns of the whole array, each with its own rows of it.
struct column_source {
  parsed_tree const* types;
  ArrowSchema const* schema;
  ArrowArray const* array;
  std::int64_t begin;
  std::int64_t size;
  column_path path;
};

std::vector<imported_column> import_columns(std::vector<column_source> const& sources,
                                            ArrowDeviceArray* array,
                                            placement const& where,
                                            rmm::device_async_resource_ref mr)
{
  // From here on whatever happens releases the array exactly once: it is ours.
  auto builder = importer{std::make_shared<unique_device_array>(array), where};
  auto result  = std::vector<imported_column>{};
  result.reserve(sources.size());
  for (auto const& source : sources) {
    auto const rows = choose_rows(*source.schema, *source.array, source.begin, source.size);
    auto storage = builder.column(*source.types, *source.schema, *source.array, rows, source.path);
    if (where.host && has_gpu()) { storage = upload(storage, where.stream, mr); }
    result.push_back({std::move(storage),
                      static_cast<cudf::size_type>(rows.skew),
                      static_cast<cudf::size_type>(rows.size)});
  }
  return result;
}

/// Nulls of the struct itself have no place in a table.
void check_no_nulls(ArrowArray const& array, placement const& where)
{
  if (!has_mask(array)) { return; }
  auto const nulls = count_nulls({array.buffers[0], array.offset, array.length}, where);
  if (nulls > 0) {
    fail_invalid(column_path{},
                 std::to_string(nulls) +
                   " null rows found, none expected in a table: import it with kind=\"column\"");
  }
}

void check_present(ArrowDeviceArray const* array)
{
  if (array == nullptr || array->array.release == nullptr) {
    fail_invalid(column_path{}, "an array that was released already found");
  }
}

}  // namespace
}  // namespace detail

cudf::column_view imported_column::view() const
{
  auto const whole = storage->view();
  return {whole.type(),
          size,
          whole.head<void>(),
          whole.null_mask(),
          whole.type().id() == cudf::type_id::EMPTY ? size : whole.null_count(),
          offset,
          {whole.child_begin(), whole.child_end()}};
}

cudf::table_view imported_table::view() const
{
  auto views = std::vector<cudf::column_view>{};
  views.reserve(columns.size());
  for (auto const& column : columns) { views.push_back(column.view()); }
  return cudf::table_view{views, num_rows};
}

imported_column from_arrow_device_column(ArrowSchema const& schema,
                                         ArrowDeviceArray* array,
                                         cuda::stream_ref stream,
                                         rmm::device_async_resource_ref mr)
{
  using namespace detail;
  check_present(array);
  auto const top   = column_path{};
  auto const path  = column_path{top, schema.name};
  auto const types = validate(schema, array->array, path);
  auto const where = open(*array, stream, mr);
  // The struct is moved, but what it points to stays where it is.
  auto const root = array->array;
  auto columns = import_columns({{&types, &schema, &root, 0, root.length, path}}, array, where, mr);
  return std::move(columns.front());
}

imported_table from_arrow_device_table(ArrowSchema const& schema,
                                       ArrowDeviceArray* array,
                                       cuda::stream_ref stream,
                                       rmm::device_async_resource_ref mr)
{
  using namespace detail;
  check_present(array);
  auto const top   = column_path{};
  auto const types = validate(schema, array->array, top);
  if (types.type.column.id() != cudf::type_id::STRUCT) {
    fail_invalid(top,
                 "the Arrow type '" + std::string{types.type.row->arrow} +
                   "' found, a struct expected: import it with kind=\"column\"");
  }
  auto const where = open(*array, stream, mr);
  check_no_nulls(array->array, where);

  auto const root = array->array;
  auto sources    = std::vector<column_source>{};
  sources.reserve(types.children.size());
  for (std::int64_t i = 0; i < root.n_children; ++i) {
    auto const& field = *schema.children[i];
    sources.push_back({&types.children[static_cast<std::size_t>(i)],
                       &field,
                       root.children[i],
                       root.offset,
                       root.length,
                       column_path{top, field.name}});
  }
  return {import_columns(sources, array, where, mr), static_cast<cudf::size_type>(root.length)};
}

}  // namespace cudf_arrow_bridge
