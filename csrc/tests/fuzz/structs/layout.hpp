// SPDX-License-Identifier: Apache-2.0
/// @file
/// Buffer layouts of Arrow formats, implemented independently of the core.
#pragma once

#include "fuzz/structs/random.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::fuzz {

enum class layout : std::int8_t {
  unknown,     ///< no such format
  null,        ///< no buffer
  fixed,       ///< validity, values
  bits,        ///< validity, bits
  binary,      ///< validity, offsets, data
  view,        ///< validity, views, data buffers, their sizes
  list,        ///< validity, offsets; one child
  list_view,   ///< validity, offsets, sizes; one child
  fixed_list,  ///< validity; one child
  structure,   ///< validity; any number of children
  union_,      ///< type ids, if dense also offsets; any number of children
  run_end      ///< no buffer; two children
};

/// The layout that a format string stands for.
struct format_info {
  layout kind{layout::unknown};
  std::int64_t row_bits{0};   ///< of a value, offset or view
  std::int64_t list_size{0};  ///< of fixed-size lists
  bool is_utf8{false};        ///< whether the bytes are text
  bool is_dense{false};       ///< of unions
  bool is_integer{false};     ///< whether it may be a dictionary's index
};

/// @return How many buffers an array has; for views, the minimum
[[nodiscard]] std::int64_t num_buffers(format_info const& format);

/// Parses a format; invalid ones are `layout::unknown`.
[[nodiscard]] format_info parse_format(char const* format);

/// A format string for a row of the type table, with random parameters.
[[nodiscard]] std::string format_of(type_row const& row,
                                    std::int64_t num_children,
                                    random_source& random);

}  // namespace cudf_arrow_bridge::fuzz
