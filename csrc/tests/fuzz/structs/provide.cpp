// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/tree.hpp"

#include <cudf/types.hpp>

#include <algorithm>
#include <limits>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr int max_depth              = 80;
constexpr std::int64_t max_converted = std::int64_t{1} << 14;
/// Every import rejects this many children.
constexpr std::int64_t refused_children = std::int64_t{1} << 24;
constexpr std::int64_t max_rows         = std::numeric_limits<cudf::size_type>::max();
constexpr std::int64_t max_end          = std::numeric_limits<std::int64_t>::max() / 32;

/// Walks schema and array in parallel, as far as they agree, and fills missing buffers.
class provider {
 public:
  explicit provider(tree& target) : target_{target} {}

  [[nodiscard]] bool walk(ArrowSchema* schema, ArrowArray* array, int depth)
  {
    if (schema == nullptr || array == nullptr || schema->release == nullptr ||
        array->release == nullptr || depth > max_depth) {
      return true;
    }
    auto& owner = node::of(array);
    if (owner.provided_for == schema) { return true; }
    owner.provided_for = schema;
    if (schema->n_children != array->n_children || array->n_children < 0) { return true; }
    if (array->n_children > 0 && (schema->children == nullptr || array->children == nullptr)) {
      return true;
    }
    if (array->n_children > std::ssize(owner.arrays) ||
        schema->n_children > std::ssize(node::of(schema).schemas)) {
      return array->n_children >= refused_children;
    }
    for (std::int64_t i = 0; i < array->n_children; ++i) {
      if (!walk(schema->children[i], array->children[i], depth + 1)) { return false; }
    }
    if (schema->dictionary != nullptr && array->dictionary != nullptr &&
        !walk(schema->dictionary, array->dictionary, depth + 1)) {
      return false;
    }
    if (array->length < 0 || array->offset < 0 || (depth == 0 && array->length >= max_rows) ||
        array->offset > max_end - array->length) {
      return true;
    }
    return check(parse_format(schema->format), *schema, *array);
  }

  [[nodiscard]] bool changed() const { return changed_; }

 private:
  [[nodiscard]] bool check(format_info const& format, ArrowSchema const& schema, ArrowArray& array)
  {
    // An import makes offsets for values of zero bytes, as for all fixed-size binary values.
    auto const has_no_bytes = format.kind == layout::fixed && format.row_bits == 0;
    auto const is_converted = format.kind == layout::fixed_list || format.kind == layout::run_end ||
                              format.kind == layout::list_view || format.kind == layout::view ||
                              has_no_bytes;
    if (is_converted &&
        array.length > max_converted / std::max<std::int64_t>(format.list_size, 1)) {
      return false;
    }
    if (format.kind == layout::list && array.n_children == 1 && array.children[0] != nullptr &&
        array.children[0]->length > max_converted && takes_no_bytes(schema.children[0], 0)) {
      return false;
    }
    if (format.kind == layout::run_end) { return check_runs(schema, array); }
    if (format.kind == layout::unknown || array.buffers == nullptr) { return true; }
    auto const expected = num_buffers(format);
    if (array.n_buffers != expected &&
        !(format.kind == layout::view && array.n_buffers > expected)) {
      return true;
    }
    if (array.n_buffers > std::ssize(node::of(&array).buffers)) { return false; }
    if (has_all(format, array)) { return true; }
    // For empty arrays the core reads no buffers, except for the sizes of a view array's data
    // buffers. nanoarrow reads them, so it cannot be the oracle.
    if (array.length == 0 && (format.kind != layout::view || has_view_sizes(array))) {
      target_.is_readable = false;
      return true;
    }
    changed_ = true;
    return fill_buffers(target_, format, array);
  }

  [[nodiscard]] bool check_runs(ArrowSchema const& schema, ArrowArray const& array)
  {
    if (array.n_children != 2 || schema.children[0] == nullptr || array.children[0] == nullptr ||
        schema.children[0]->release == nullptr || array.children[0]->release == nullptr) {
      return true;
    }
    auto const& ends  = *array.children[0];
    auto const format = parse_format(schema.children[0]->format);
    if (ends.n_buffers > std::ssize(node::of(array.children[0]).buffers)) { return false; }
    if (!format.is_integer || ends.n_buffers != 2 || ends.buffers == nullptr ||
        ends.buffers[1] == nullptr || ends.length < 0 || ends.offset < 0 ||
        ends.offset > max_end - ends.length) {
      return true;
    }
    auto const* ends_block = target_.pool.find(ends.buffers[1]);
    if (ends_block != nullptr && ends_block->kind == content::run_ends) { return true; }
    changed_ = true;
    fill_run_ends(target_, array, format);
    return true;
  }

  /// Return whether any number of rows takes no bytes, so that a small array can represent a large
  /// column: null arrays, and structs that have only such fields.
  [[nodiscard]] static bool takes_no_bytes(ArrowSchema* schema, int depth)
  {
    if (schema == nullptr || schema->release == nullptr || depth > max_depth ||
        schema->n_children > std::ssize(node::of(schema).schemas)) {
      return false;
    }
    auto const kind = parse_format(schema->format).kind;
    if (kind != layout::structure) { return kind == layout::null; }
    if (schema->children == nullptr) { return false; }
    for (std::int64_t i = 0; i < schema->n_children; ++i) {
      if (!takes_no_bytes(schema->children[i], depth + 1)) { return false; }
    }
    return true;
  }

  /// Whether each buffer has memory for the array's rows.
  [[nodiscard]] bool has_all(format_info const& format, ArrowArray const& array) const
  {
    auto const has = [&](std::int64_t slot, content kind, std::int64_t row_bits, int more = 0) {
      auto const* address = array.buffers[slot];
      if (address == nullptr) { return slot == 0 || array.length > 0; }
      auto const* buffer = target_.pool.find(address);
      if (buffer == nullptr) { return false; }
      auto const fits = kind == content::values || kind == content::bits || buffer->kind == kind;
      return fits && buffer->row_bits == row_bits && buffer->first_row <= array.offset &&
             buffer->end_row >= array.offset + array.length + more;
    };
    auto const has_indices = array.dictionary != nullptr && format.is_integer;
    auto const mask        = [&] { return has(0, content::bits, 1); };
    switch (format.kind) {
      case layout::fixed:
        return mask() && has(1, has_indices ? content::indices : content::values, format.row_bits);
      case layout::bits: return mask() && has(1, content::bits, 1);
      case layout::binary:
      case layout::list: return mask() && has(1, content::offsets, format.row_bits, 1);
      case layout::list_view:
        return mask() && has(1, content::list_views, format.row_bits) &&
               has(2, content::list_views, format.row_bits);
      case layout::view: return mask() && has(1, content::views, 128) && has_view_sizes(array);
      case layout::fixed_list:
      case layout::structure: return mask();
      case layout::union_:
        return has(0, content::values, 8) && (!format.is_dense || has(1, content::values, 32));
      default: return true;
    }
  }

  /// Whether the last buffer has a size for each of the data buffers.
  [[nodiscard]] bool has_view_sizes(ArrowArray const& array) const
  {
    auto const* address = array.buffers[array.n_buffers - 1];
    auto const* buffer  = target_.pool.find(address);
    auto const count    = array.n_buffers - num_buffers({.kind = layout::view});
    return address == nullptr || (buffer != nullptr && buffer->kind == content::view_sizes &&
                                  buffer->end_row == count * 8);
  }

  tree& target_;
  bool changed_{false};
};

}  // namespace

bool has_claimed_children(tree const& target)
{
  return std::all_of(target.nodes.begin(), target.nodes.end(), [&](auto const& n) {
    auto const& schema = n->schema;
    if (schema.release == nullptr || schema.children == nullptr ||
        schema.n_children >= refused_children) {
      return true;
    }
    return std::none_of(target.nodes.begin(), target.nodes.end(), [&](auto const& owner) {
      return owner->schemas.data() == schema.children &&
             schema.n_children > std::ssize(owner->schemas);
    });
  });
}

bool provide(tree& target)
{
  // An array paired with two schemas may need several passes; gives up after three.
  target.is_readable = true;
  for (auto attempt = 0; attempt < 3; ++attempt) {
    for (auto const& n : target.nodes) { n->provided_for = nullptr; }
    auto pass = provider{target};
    if (!pass.walk(&target.root().schema, &target.root().array, 0)) { return false; }
    if (!pass.changed()) { return true; }
  }
  return false;
}

}  // namespace cudf_arrow_bridge::fuzz
