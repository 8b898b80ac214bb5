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

std::string_view text_of(copy_reason reason) noexcept
{
  using enum copy_reason;
  switch (reason) {
    case none: return {};
    case no_rows: return "Arrow has one offset for no rows";
    case bools: return "bits in Arrow, bytes in cuDF";
    case bool_bytes: return "a byte of a bool is neither 0 nor 1";
    case days: return "Arrow has no duration in days: counted in seconds";
    case halves: return "cuDF has no floats of 16 bits: widened";
    case times: return "32 bits in Arrow, 64 in cuDF";
    case mask_position: return "the mask begins where it cannot be shared";
    case nulls_of_structs: return "nulls of a struct become nulls of its fields";
    case null_rows: return "null rows that are not empty are rewritten";
    case alignment: return "the buffer is not aligned for its type";
    case first_offset: return "the first offset is not 0: offsets are recomputed";
    case wide_offsets: return "cuDF has 32-bit offsets of lists: narrowed";
    case no_offsets: return "cuDF has offsets where Arrow has none: created";
    case offset_width: return "the Arrow type has offsets of another width";
    case views: return "views in Arrow, one buffer in cuDF";
    case list_views: return "views in Arrow, lists in order in cuDF";
    case runs: return "cuDF has no runs: decoded";
    case index_width: return "indices of another width";
    case null_values: return "cuDF has no nulls among the values of a dictionary";
    case nested_dictionary: return "cuDF has no dictionaries of dictionaries: decoded";
    case decoded: return "the dictionary is decoded";
    case encoded: return "values become a dictionary";
    case cast: return "values of another width or unit";
    case lengths: return "lists with nulls have no fixed size: padded";
    case upload: return "CPU memory is copied to the GPU";
    case asked: return "copy=True";
  }
  return {};
}

}  // namespace cudf_arrow_bridge::detail
