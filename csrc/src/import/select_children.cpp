// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "base/structure.hpp"

#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/owners.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

/// The private data of a selection: the whole array, and pointers to some of its children.
struct selected_children {
  unique_array whole;
  std::vector<ArrowArray*> children;

  static void release(ArrowArray* selection) noexcept
  {
    selection->release = nullptr;
    delete static_cast<selected_children*>(selection->private_data);
  }
};

}  // namespace

void select_children(ArrowSchema const& schema,
                     ArrowDeviceArray* array,
                     std::vector<std::size_t> const& positions)
{
  auto& root = array->array;
  detail::check_counterpart(schema, root, column_path{});
  auto selected = std::make_unique<selected_children>();
  selected->children.reserve(positions.size());
  for (auto const position : positions) { selected->children.push_back(root.children[position]); }
  auto result         = root;
  result.n_children   = std::ssize(positions);
  result.children     = selected->children.data();
  result.release      = &selected_children::release;
  selected->whole     = unique_array{&root};
  result.private_data = selected.release();
  root                = result;
}

}  // namespace cudf_arrow_bridge
