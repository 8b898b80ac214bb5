// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tree.hpp"

#include <cudf/types.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr int max_walked             = 80;
constexpr std::int64_t max_provided  = std::int64_t{1} << 14;  ///< rows
constexpr std::int64_t max_bytes     = std::int64_t{1} << 18;
constexpr std::int64_t max_far_bytes = std::int64_t{1} << 44;  ///< less than any heap address
/// Every import rejects this many children.
constexpr std::int64_t refused_children = std::int64_t{1} << 24;
constexpr std::int64_t max_rows         = std::numeric_limits<cudf::size_type>::max();
constexpr std::int64_t max_end          = std::numeric_limits<std::int64_t>::max() / 32;

/// The parent of an array, as far as it determines the array's rows.
struct parent_facts {
  int depth{0};
  bool repeats{false};        ///< whether it or a parent of it is not a struct
  std::int64_t run_limit{0};  ///< rows that the array's run ends must cover; 0: no run ends
};

/// Walks schema and array in parallel, as far as they agree, and fills missing buffers.
class provider {
 public:
  explicit provider(tree& target) : target_{target}, random_{target.random} {}

  [[nodiscard]] bool walk(ArrowSchema* schema, ArrowArray* array, parent_facts const& parent)
  {
    if (schema == nullptr || array == nullptr || schema->release == nullptr ||
        array->release == nullptr || parent.depth > max_walked) {
      return true;
    }
    auto& owner = node::of(array);
    if (owner.provided_for == schema) { return true; }
    owner.provided_for = schema;
    if (schema->n_children != array->n_children || array->n_children < 0 ||
        array->n_children >= refused_children ||
        (schema->dictionary == nullptr) != (array->dictionary == nullptr)) {
      return true;
    }
    if (array->n_children > 0 && (schema->children == nullptr || array->children == nullptr)) {
      return true;
    }
    if (array->n_children > std::ssize(owner.arrays) ||
        schema->n_children > std::ssize(node::of(schema).schemas)) {
      return false;
    }
    auto const buffers  = layout{*schema};
    auto const is_sized = array->length >= 0 && array->offset >= 0 &&
                          array->offset <= max_end - array->length &&
                          (parent.depth > 0 || array->length < max_rows);
    // The import reads all schemas and structs before it checks sizes.
    if (!walk_children(*schema, *array, buffers, parent, is_sized)) { return false; }
    auto const children = std::span{array->children, static_cast<std::size_t>(array->n_children)};
    auto const is_whole =
      std::none_of(children.begin(), children.end(), [](auto* child) { return child == nullptr; });
    return !is_sized || !is_whole || check(buffers, *array, parent);
  }

  [[nodiscard]] bool changed() const { return changed_; }

 private:
  [[nodiscard]] bool walk_children(ArrowSchema const& schema,
                                   ArrowArray const& array,
                                   layout const& buffers,
                                   parent_facts const& parent,
                                   bool is_sized)
  {
    auto below =
      parent_facts{parent.depth + 1, parent.repeats || buffers.type != NANOARROW_TYPE_STRUCT};
    for (std::int64_t i = 0; i < array.n_children; ++i) {
      auto const is_run_ends = buffers.type == NANOARROW_TYPE_RUN_END_ENCODED && i == 0;
      below.run_limit        = is_run_ends && is_sized ? array.offset + array.length : 0;
      if (!walk(schema.children[i], array.children[i], below)) { return false; }
    }
    below.run_limit = 0;
    return walk(schema.dictionary, array.dictionary, below);
  }

  [[nodiscard]] bool check(layout const& buffers, ArrowArray& array, parent_facts const& parent)
  {
    auto const per_row = std::max<std::int64_t>(buffers.buffers.child_size_elements, 1);
    auto const takes_no_bytes =
      buffers.type == NANOARROW_TYPE_NA || buffers.type == NANOARROW_TYPE_STRUCT;
    if (array.length > max_provided / per_row && (parent.repeats || !takes_no_bytes)) {
      return false;
    }
    auto const num_fixed =
      std::count_if(std::begin(buffers.buffers.buffer_type),
                    std::end(buffers.buffers.buffer_type),
                    [](auto type) { return type != NANOARROW_BUFFER_TYPE_NONE; });
    auto const is_view = buffers.is_view();
    if (array.buffers == nullptr || array.n_buffers < num_fixed) { return true; }
    if (array.n_buffers > std::ssize(node::of(&array).buffers)) { return false; }
    for (std::int64_t slot = 0; slot < std::min<std::int64_t>(num_fixed, 2); ++slot) {
      if (!check_rows(slot, buffers, array, parent.run_limit)) { return false; }
    }
    if (num_fixed == 3 && buffers.buffers.buffer_type[2] == NANOARROW_BUFFER_TYPE_SIZE) {
      return check_rows(2, buffers, array, 0);
    }
    if (is_view && array.n_buffers > 2) { provide_view_sizes(array); }
    return true;
  }

  [[nodiscard]] bool check_rows(std::int64_t slot,
                                layout const& buffers,
                                ArrowArray& array,
                                std::int64_t run_limit)
  {
    auto const kind       = buffers.content_of(slot, run_limit > 0);
    auto const is_offsets = kind == content::text_offsets || kind == content::list_offsets;
    auto const bits       = buffers.buffers.element_size_bits[slot];
    auto const end        = array.offset + array.length + (is_offsets ? 1 : 0);
    auto const* address   = array.buffers[slot];
    if (address != nullptr) {
      auto const* known = target_.find(address);
      auto const is_any = kind == content::values || kind == content::bits;
      if (known != nullptr && (is_any || known->kind == kind) && known->row_bits == bits &&
          known->first_row <= array.offset && known->end_row >= end) {
        return true;
      }
    }
    if (slot == 0 && address == nullptr) { return true; }
    if (array.length == 0) {
      // The core reads no buffer of an empty array. nanoarrow does, so it cannot be the oracle.
      target_.is_readable = false;
      return true;
    }
    if (address == nullptr) { return true; }
    auto const first = array.offset > max_provided ? (array.offset - 64) / 64 * 64 : 0;
    if (bits > max_bytes || end - first > max_provided || (end - first) * bits / 8 > max_bytes ||
        end * std::max<std::int64_t>(bits, 8) / 8 > max_far_bytes) {
      return false;
    }
    changed_ = true;
    fill(target_.add_rows(kind, bits, first, end, &array.buffers[slot]), array, run_limit);
    return true;
  }

  void fill(block const& rows, ArrowArray& array, std::int64_t run_limit)
  {
    auto const count = rows.end_row - rows.first_row;
    auto const width = static_cast<std::size_t>(rows.row_bits / 8);
    auto const child =
      array.n_children > 0 ? std::clamp<std::int64_t>(array.children[0]->length, 0, 1000) : 0;
    auto const run       = (run_limit + array.length - 1) / array.length;
    auto value           = std::int64_t{0};
    auto const fill_with = [&](auto const& next) {
      for (std::int64_t i = 0; i < count; ++i) {
        value = next(i);
        std::memcpy(rows.memory + static_cast<std::size_t>(i) * width, &value, width);
      }
    };
    switch (rows.kind) {
      case content::text_offsets:
        fill_with([&](std::int64_t) { return value + random_.below(12); });
        if (array.buffers[2] != nullptr) { array.buffers[2] = add_text(value); }
        break;
      case content::list_offsets:
        fill_with([&](std::int64_t) { return std::min(child, value + random_.below(3)); });
        break;
      case content::list_views:
        fill_with(
          [&](std::int64_t) { return random_.below(std::min<std::int64_t>(child / 2, 5) + 1); });
        break;
      case content::indices: {
        auto const keys = std::clamp<std::int64_t>(array.dictionary->length, 1, 127);
        fill_with([&](std::int64_t) { return random_.below(keys); });
        break;
      }
      case content::run_ends: fill_with([&](std::int64_t i) { return (i + 1) * run; }); break;
      case content::views:
        std::memset(rows.memory, 'v', rows.size);
        for (std::int64_t i = 0; i < count; ++i) {
          auto const size = static_cast<std::int32_t>(random_.below(13));
          std::memcpy(rows.memory + i * 16, &size, sizeof(size));
          std::memset(rows.memory + i * 16 + 4 + size, 0, static_cast<std::size_t>(12 - size));
        }
        break;
      default: std::generate_n(rows.memory, rows.size, [&] { return std::byte(random_.bits()); });
    }
  }

  void const* add_text(std::int64_t size)
  {
    void const* address = nullptr;
    auto const& bytes   = target_.add_rows(content::values, 8, 0, size, &address);
    std::memset(bytes.memory, 't', bytes.size);
    return address;
  }

  /// The last buffer has the size of each of the data buffers.
  void provide_view_sizes(ArrowArray& array)
  {
    auto& address    = array.buffers[array.n_buffers - 1];
    auto const count = array.n_buffers - 3;
    if (address == nullptr) { return; }
    auto const* known = target_.find(address);
    if (known != nullptr && known->kind == content::view_sizes && known->end_row == count) {
      return;
    }
    changed_          = true;
    auto const& sizes = target_.add_rows(content::view_sizes, 64, 0, count, &address);
    for (std::int64_t i = 0; i < count; ++i) {
      auto const* data = target_.find(array.buffers[2 + i]);
      auto const size  = data == nullptr ? std::size_t{0} : data->size;
      std::memcpy(sizes.memory + i * 8, &size, 8);
    }
  }

  tree& target_;
  random_source& random_;
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
  for (auto attempt = 0; attempt < 3; ++attempt) {
    for (auto const& n : target.nodes) { n->provided_for = nullptr; }
    auto pass = provider{target};
    if (!pass.walk(&target.root().schema, &target.root().array, {})) { return false; }
    if (!pass.changed()) { return true; }
  }
  return false;
}

}  // namespace cudf_arrow_bridge::fuzz
