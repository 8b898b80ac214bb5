// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "struct_block.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge::detail {

/// One level of a schema: exactly what its C struct will say.
struct schema_node : tree_links {
  std::string format;
  std::string name;
  std::string metadata;  ///< packed as the specification says; empty: none
  std::int64_t flags{0};

  void write(ArrowSchema& schema) const noexcept
  {
    schema.format   = format.c_str();
    schema.name     = name.c_str();
    schema.metadata = metadata.empty() ? nullptr : metadata.data();
    schema.flags    = flags;
  }
};

/// A schema: immutable once built, shared by all C structs made from it.
struct schema_tree {
  std::vector<schema_node> nodes;  ///< the root first
};

}  // namespace cudf_arrow_bridge::detail
