// SPDX-License-Identifier: Apache-2.0
#include "compute/dictionary.hpp"

#include "import/column_importer.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

using cudf::type_id;

/// The type for indices in libcudf, which are signed. The width stays the same if all indices fit:
/// 128 values take UINT8 indices 0 to 127, whose bits are those of INT8; 129 values take INT16.
type_id signed_type(type_id index, std::int64_t num_values)
{
  switch (index) {
    case type_id::UINT8: return num_values > 128 ? type_id::INT16 : type_id::INT8;
    case type_id::UINT16: return num_values > 32'768 ? type_id::INT32 : type_id::INT16;
    case type_id::UINT32: return type_id::INT32;
    case type_id::UINT64: return type_id::INT64;
    default: return index;
  }
}

}  // namespace

std::unique_ptr<cudf::column> column_importer::import_indices(import_level const& level) const
{
  auto const stored = index_type(*level.types.schema);
  auto const wanted = signed_type(stored, level.array.dictionary->length);
  auto const size   = level.rows.storage_size();
  auto const same_width =
    cudf::size_of(cudf::data_type{stored}) == cudf::size_of(cudf::data_type{wanted});
  if (same_width || size == 0) { return flat_column(wanted, size, import_values(level).data); }
  auto const width = level.type().element_bits / 8;
  auto const* first =
    static_cast<std::byte const*>(level.array.buffers[1]) + level.rows.storage_begin() * width;
  auto const cast = [&] {
    return cast_values(first, level.rows.num_rows(), stored, wanted, exec_);
  };
  return flat_column(wanted, size, make(copy_reason::index_width, level.path, cast));
}

/// The keys of a dictionary. Keys that are dictionaries are decoded, because libcudf does not
/// support nested dictionaries.
std::unique_ptr<cudf::column> column_importer::import_keys(import_level const& level) const
{
  auto const& values = *level.array.dictionary;
  auto keys =
    column({level.types.children[0], values, {values.offset, values.length, 0}, level.path});
  if (keys->type().id() != type_id::DICTIONARY32) { return keys; }
  if (keys->size() == 0) { return decode_dictionary(keys->view(), level.path, exec_); }
  return make(copy_reason::nested_dictionary, level.path, [&] {
    if (!exec_.host) { check_indices_on_device(keys->view(), level.path, exec_); }
    return decode_dictionary(keys->view(), level.path, exec_);
  });
}

bool may_have_null_keys(parsed_tree const& types, ArrowArray const& array)
{
  auto const& keys = *array.dictionary;
  // Nested dictionaries, null arrays and runs may have nulls without a mask.
  return has_mask(keys) || keys.dictionary != nullptr ||
         num_buffers(types.children[0].type.layout) == 0;
}

column_parts column_importer::import_dictionary(import_level const& level,
                                                row_mask const& mask) const
{
  auto result = column_parts{no_buffer(), {}};
  auto codes  = import_indices(level);
  auto keys   = import_keys(level);
  if (keys->type().id() == type_id::EMPTY) {
    // Arrow's null type: all keys are null, and libcudf allows no null keys. So the dictionary gets
    // no keys and all rows are null; the indices of null rows are not read.
    keys            = column({level.types.children[0], *level.array.dictionary, {}, level.path});
    auto const rows = level.rows.num_rows();
    auto const all_null = [&] { return no_valid_bits(rows, exec_); };
    result.mask         = counted_mask{make(copy_reason::null_values, level.path, all_null), rows};
  } else if (keys->null_count() > 0) {
    if (codes->size() > 0 || keys->null_count() < keys->size()) {
      copies_.need(copy_reason::null_values, level.path);
    }
    auto made = drop_null_keys(codes->view(), keys->view(), mask, level.path, exec_);
    codes     = std::move(made.indices);
    keys      = std::move(made.keys);
    note(codes, copy_reason::null_values);
    note(keys, copy_reason::null_values);
    note(made.mask, copy_reason::null_values);
    result.mask = counted_mask{std::move(made.mask), made.null_count};
  }
  result.children.push_back(std::move(codes));
  result.children.push_back(std::move(keys));
  return result;
}

}  // namespace cudf_arrow_bridge::detail
