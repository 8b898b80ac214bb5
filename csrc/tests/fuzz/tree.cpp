// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tree.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace cudf_arrow_bridge::fuzz {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr auto* poison_span   = &__asan_poison_memory_region;
constexpr auto* unpoison_span = &__asan_unpoison_memory_region;
#else
void ignore_span(void const volatile*, std::size_t) {}

constexpr auto* poison_span   = &ignore_span;
constexpr auto* unpoison_span = &ignore_span;
#endif

template <typename Struct>
void release_child(Struct* released)
{
  ++static_cast<tree*>(released->private_data)->num_children_released;
  released->release = nullptr;
}

/// The type of a format with children; NA for an invalid one, which has no buffers.
ArrowType nested_type(std::string_view format)
{
  static constexpr auto types =
    std::to_array<std::pair<std::string_view, ArrowType>>({{"+l", NANOARROW_TYPE_LIST},
                                                           {"+m", NANOARROW_TYPE_MAP},
                                                           {"+L", NANOARROW_TYPE_LARGE_LIST},
                                                           {"+vl", NANOARROW_TYPE_LIST_VIEW},
                                                           {"+vL", NANOARROW_TYPE_LARGE_LIST_VIEW},
                                                           {"+s", NANOARROW_TYPE_STRUCT},
                                                           {"+r", NANOARROW_TYPE_RUN_END_ENCODED}});
  if (format.starts_with("+w:")) { return NANOARROW_TYPE_FIXED_SIZE_LIST; }
  for (auto const& [text, type] : types) {
    if (text == format) { return type; }
  }
  return NANOARROW_TYPE_NA;
}

}  // namespace

node& node::of(ArrowArray* array)
{
  // All structs of a tree are members of nodes.
  return *reinterpret_cast<node*>(reinterpret_cast<std::byte*>(array) - offsetof(node, array));
}

node& node::of(ArrowSchema* schema)
{ return *reinterpret_cast<node*>(reinterpret_cast<std::byte*>(schema) - offsetof(node, schema)); }

void node::link()
{
  array.n_buffers   = std::ssize(buffers);
  array.buffers     = buffers.empty() ? nullptr : buffers.data();
  array.n_children  = std::ssize(arrays);
  array.children    = arrays.empty() ? nullptr : arrays.data();
  schema.n_children = std::ssize(schemas);
  schema.children   = schemas.empty() ? nullptr : schemas.data();
}

layout::layout(ArrowSchema const& schema) : is_indices{schema.dictionary != nullptr}
{
  auto const text = std::string_view{schema.format == nullptr ? "" : schema.format};
  if (text.starts_with('+')) {
    type = nested_type(text);
    ArrowLayoutInit(&buffers, type);
    if (text.starts_with("+w:")) { buffers.child_size_elements = std::atol(text.data() + 3); }
    return;
  }
  // Without other members, which nanoarrow would follow without checks.
  auto parsed  = ArrowSchemaView{};
  auto bare    = ArrowSchema{};
  bare.format  = schema.format;
  bare.release = schema.release;
  if (ArrowSchemaViewInit(&parsed, &bare, nullptr) != NANOARROW_OK) {
    ArrowLayoutInit(&buffers, NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO);
    buffers.element_size_bits[1] = 256;
    return;
  }
  type = parsed.storage_type;
  ArrowLayoutInit(&buffers, type);
  if (type == NANOARROW_TYPE_FIXED_SIZE_BINARY) {
    buffers.element_size_bits[1] = std::int64_t{parsed.fixed_size} * 8;
  }
}

content layout::content_of(std::int64_t slot, bool is_run_ends) const
{
  switch (buffers.buffer_type[slot]) {
    case NANOARROW_BUFFER_TYPE_VALIDITY: return content::bits;
    case NANOARROW_BUFFER_TYPE_VIEW_OFFSET:
    case NANOARROW_BUFFER_TYPE_SIZE: return content::list_views;
    case NANOARROW_BUFFER_TYPE_DATA_OFFSET:
      return buffers.buffer_type[2] == NANOARROW_BUFFER_TYPE_DATA ? content::text_offsets
                                                                  : content::list_offsets;
    default: break;
  }
  if (slot != 1) { return content::values; }
  if (is_view()) { return content::views; }
  if (buffers.element_size_bits[1] == 1) { return content::bits; }
  if (buffers.element_size_bits[1] > 64) { return content::values; }
  return is_indices ? content::indices : is_run_ends ? content::run_ends : content::values;
}

tree::~tree()
{
  unpoison();
  for (auto const& [memory, size] : allocations_) { std::free(memory); }
}

node& tree::add_node()
{
  auto& added               = *nodes.emplace_back(std::make_unique<node>());
  added.schema.release      = release_child<ArrowSchema>;
  added.schema.private_data = this;
  added.array.release       = release_child<ArrowArray>;
  added.array.private_data  = this;
  return added;
}

node& tree::any_node()
{
  auto const last = std::ssize(nodes) - (spare == nullptr ? 0 : 1);
  return *nodes[static_cast<std::size_t>(random.below(last))];
}

node& tree::copy(ArrowSchema const& schema, ArrowArray& array, bool is_run_ends)
{
  auto& added            = add_node();
  added.schema.format    = text(schema.format);
  added.schema.name      = text(schema.name);
  added.schema.flags     = schema.flags;
  added.array.length     = array.length;
  added.array.offset     = array.offset;
  added.array.null_count = array.null_count;
  auto const type        = layout{schema};
  auto const last        = array.n_buffers - 1;
  for (std::int64_t i = 0; i <= last; ++i) {
    auto& address = added.buffers.emplace_back(nullptr);
    if (array.buffers[i] == nullptr) { continue; }
    auto kind     = content::values;
    auto row_bits = std::int64_t{8};
    auto size     = std::int64_t{0};
    if (!type.is_view() || i < 2) {
      size = ArrowArrayBuffer(&array, i)->size_bytes;
      kind = type.content_of(i, is_run_ends);
      if (auto const bits = type.buffers.element_size_bits[i]; bits > 0) { row_bits = bits; }
    } else if (i < last) {
      size = static_cast<std::int64_t const*>(array.buffers[last])[i - 2];
    } else {
      size     = (array.n_buffers - 3) * 8;
      kind     = content::view_sizes;
      row_bits = 64;
    }
    auto const& rows = add_rows(kind, row_bits, 0, size * 8 / row_bits, &address);
    std::memcpy(rows.memory, array.buffers[i], rows.size);
  }
  auto const is_runs = type.type == NANOARROW_TYPE_RUN_END_ENCODED;
  for (std::int64_t i = 0; i < array.n_children; ++i) {
    auto& child = copy(*schema.children[i], *array.children[i], is_runs && i == 0);
    added.schemas.push_back(&child.schema);
    added.arrays.push_back(&child.array);
  }
  if (schema.dictionary != nullptr) {
    auto& values            = copy(*schema.dictionary, *array.dictionary);
    added.schema.dictionary = &values.schema;
    added.array.dictionary  = &values.array;
  }
  added.link();
  return added;
}

std::byte* tree::allocate(std::size_t size)
{
  auto* memory = static_cast<std::byte*>(std::malloc(size));
  if (memory == nullptr) { throw std::bad_alloc{}; }
  allocations_.emplace_back(memory, size);
  num_bytes += static_cast<std::int64_t>(size);
  return memory;
}

block const& tree::add_rows(content kind,
                            std::int64_t row_bits,
                            std::int64_t first_row,
                            std::int64_t end_row,
                            void const** address)
{
  auto const first = first_row * row_bits / 8;
  auto const size  = static_cast<std::size_t>((end_row * row_bits + 7) / 8 - first);
  auto* memory     = allocate(size);
  // Computed with integers, as row 0 may lie outside the allocation.
  *address                 = reinterpret_cast<void const*>(  // NOLINT(performance-no-int-to-ptr)
    reinterpret_cast<std::uintptr_t>(memory) - static_cast<std::uintptr_t>(first));
  return blocks_[*address] = {memory, size, kind, row_bits, first_row, end_row};
}

char const* tree::text(std::string_view text)
{
  auto& memory = texts_.emplace_back(std::make_unique<char[]>(text.size() + 1));
  std::copy(text.begin(), text.end(), memory.get());
  num_bytes += std::ssize(text) + 1;
  return memory.get();
}

block const* tree::find(void const* address) const
{
  auto const entry = blocks_.find(address);
  return entry == blocks_.end() ? nullptr : &entry->second;
}

void tree::for_each_span(void function(void const volatile*, std::size_t)) const
{
  for (auto const& [memory, size] : allocations_) { function(memory, size); }
  for (auto const& n : nodes) {
    function(&n->array, sizeof(n->array));
    function(n->buffers.data(), n->buffers.size() * sizeof(void*));
    function(n->arrays.data(), n->arrays.size() * sizeof(void*));
  }
}

void tree::poison() const { for_each_span(poison_span); }

void tree::unpoison() const { for_each_span(unpoison_span); }

}  // namespace cudf_arrow_bridge::fuzz
