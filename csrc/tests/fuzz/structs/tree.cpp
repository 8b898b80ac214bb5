// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/tree.hpp"

#include <algorithm>
#include <cstddef>
#include <ostream>

namespace cudf_arrow_bridge::fuzz {
namespace {

void release_child_schema(ArrowSchema* schema)
{
  ++static_cast<tree*>(schema->private_data)->num_children_released;
  schema->release = nullptr;
}

void release_child_array(ArrowArray* array)
{
  ++static_cast<tree*>(array->private_data)->num_children_released;
  array->release = nullptr;
}

template <typename T>
void poison_contents(std::vector<T> const& items)
{ poison(items.data(), items.size() * sizeof(T)); }

template <typename T>
void unpoison_contents(std::vector<T> const& items)
{ unpoison(items.data(), items.size() * sizeof(T)); }

template <typename T>
void copy_into(std::vector<T>& target, std::vector<T> const& source)
{
  // In place: structs point to the elements.
  std::copy(source.begin(), source.end(), target.begin());
}

}  // namespace

node& node::of(ArrowArray* array)
{
  auto* bytes = reinterpret_cast<std::byte*>(array);
  // All structs of a tree are members of nodes.
  return *reinterpret_cast<node*>(bytes - offsetof(node, array));
}

node& node::of(ArrowSchema* schema)
{
  auto* bytes = reinterpret_cast<std::byte*>(schema);
  return *reinterpret_cast<node*>(bytes - offsetof(node, schema));
}

node& tree::add_node()
{
  auto& added               = *nodes.emplace_back(std::make_unique<node>());
  added.schema.release      = release_child_schema;
  added.schema.private_data = this;
  added.array.release       = release_child_array;
  added.array.private_data  = this;
  return added;
}

void tree::link(node& target)
{
  target.array.n_buffers   = std::ssize(target.buffers);
  target.array.buffers     = target.buffers.empty() ? nullptr : target.buffers.data();
  target.schema.n_children = std::ssize(target.schemas);
  target.schema.children   = target.schemas.empty() ? nullptr : target.schemas.data();
  target.array.n_children  = std::ssize(target.arrays);
  target.array.children    = target.arrays.empty() ? nullptr : target.arrays.data();
}

void tree::save()
{
  saved_.clear();
  for (auto const& n : nodes) {
    saved_.push_back({n->schema, n->array, n->buffers, n->schemas, n->arrays});
  }
  saved_blocks_ = pool.size();
}

void tree::restore()
{
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto& n         = *nodes[i];
    auto const& was = saved_[i];
    n.schema        = was.schema;
    n.array         = was.array;
    copy_into(n.buffers, was.buffers);
    copy_into(n.schemas, was.schemas);
    copy_into(n.arrays, was.arrays);
  }
  pool.truncate(saved_blocks_);
  is_corrupted          = false;
  num_released          = 0;
  num_children_released = 0;
}

void tree::poison() const
{
  pool.poison();
  for (auto const& n : nodes) {
    fuzz::poison(&n->array, sizeof(n->array));
    poison_contents(n->buffers);
    poison_contents(n->arrays);
  }
}

void tree::unpoison() const
{
  pool.unpoison();
  for (auto const& n : nodes) {
    fuzz::unpoison(&n->array, sizeof(n->array));
    unpoison_contents(n->buffers);
    unpoison_contents(n->arrays);
  }
}

void tree::print(std::ostream& out) const
{
  auto const index_of = [&](auto member, auto const* wanted) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (&((*nodes[i]).*member) == wanted) { return static_cast<int>(i); }
    }
    return -1;
  };
  for (std::size_t i = 0; i < nodes.size() && i < 100; ++i) {
    auto const& n = *nodes[i];
    auto const& a = n.array;
    out << i << ": '" << (pool.find(n.schema.format) == nullptr ? "?" : n.schema.format)
        << "' flags " << n.schema.flags << (n.schema.release == nullptr ? " released" : "")
        << "; length " << a.length << " offset " << a.offset << " nulls " << a.null_count
        << (a.release == nullptr ? " released" : "") << "; " << a.n_buffers << " of";
    for (auto const* address : n.buffers) { out << ' ' << address; }
    out << "; children " << n.schema.n_children << ", " << a.n_children << " of";
    for (std::size_t c = 0; c < n.arrays.size() && c < 10; ++c) {
      out << ' ' << index_of(&node::schema, n.schemas[c]) << ','
          << index_of(&node::array, n.arrays[c]);
    }
    if (a.dictionary != nullptr || n.schema.dictionary != nullptr) {
      out << "; dictionary " << index_of(&node::schema, n.schema.dictionary) << ','
          << index_of(&node::array, a.dictionary);
    }
    out << '\n';
  }
}

}  // namespace cudf_arrow_bridge::fuzz
