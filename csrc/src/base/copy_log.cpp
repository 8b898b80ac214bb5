// SPDX-License-Identifier: Apache-2.0
#include "base/copy_log.hpp"

#include "base/utf8.hpp"

#include <cudf/utilities/traits.hpp>

#include <stdexcept>

namespace cudf_arrow_bridge::detail {

void copy_log::note(cudf::column_view const& column, std::string_view reason)
{
  auto const address = [](void const* memory) { return static_cast<std::byte const*>(memory); };
  if (auto const* data = address(column.head<void>()); data != nullptr) {
    // The size of strings is unknown here, and one byte is sufficient to identify their buffer.
    auto const width = cudf::is_fixed_width(column.type()) ? cudf::size_of(column.type()) : 1;
    note(data, static_cast<std::size_t>(column.size()) * width, reason);
  }
  if (column.null_mask() != nullptr) {
    note(column.null_mask(), (static_cast<std::size_t>(column.size()) + 7) / 8, reason);
  }
  for (auto child = column.child_begin(); child != column.child_end(); ++child) {
    note(*child, reason);
  }
}

void copy_log::check() const
{
  if (refusals_.empty()) { return; }
  throw std::invalid_argument{to_utf8("copy=False: these columns have to be copied: " + refusals_ +
                                      "; copy=None copies them")};
}

}  // namespace cudf_arrow_bridge::detail
