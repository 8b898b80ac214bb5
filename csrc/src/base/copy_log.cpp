// SPDX-License-Identifier: Apache-2.0
#include "base/copy_log.hpp"

#include "base/utf8.hpp"

#include <cudf/utilities/traits.hpp>

#include <stdexcept>

namespace cudf_arrow_bridge::detail {

void copy_log::note(cudf::column_view const& column, copy_reason reason)
{
  auto const address = [](void const* memory) { return static_cast<std::byte const*>(memory); };
  if (auto const* data = address(column.head<void>()); data != nullptr) {
    // The size of strings is not at hand, and one byte tells their buffer from all others.
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
  throw std::invalid_argument{
    to_utf8("columns that have to be copied found, none expected with copy=False: " + refusals_ +
            "; copy=None copies what cannot be shared")};
}

}  // namespace cudf_arrow_bridge::detail
