// SPDX-License-Identifier: Apache-2.0
#include "compute/survey_bits.hpp"

#include "compute/device/aligned_bytes.hpp"
#include "compute/device/buffers.hpp"

#include <cudf/column/column_view.hpp>
#include <cudf/null_mask.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

namespace cudf_arrow_bridge::detail::device {
namespace {

/// A buffer as a column without nulls.
cudf::column_view values(cudf::type_id type, void const* data, cudf::size_type count)
{ return {cudf::data_type{type}, count, data, nullptr, 0}; }

/// Combines masks as UINT32 columns. `cudf::bitmask_and` would also count nulls, and wait for that.
rmm::device_buffer combine_words(cudf::binary_operator operation,
                                 void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec)
{
  auto const count = cudf::num_bitmask_words(rows);
  auto const words = [&](void const* bits) { return values(cudf::type_id::UINT32, bits, count); };
  return combine(operation, words(left), words(right), cudf::type_id::UINT32, exec);
}

}  // namespace

rmm::device_buffer valid_in_both(void const* left,
                                 void const* right,
                                 cudf::size_type rows,
                                 execution const& exec)
{ return combine_words(cudf::binary_operator::BITWISE_AND, left, right, rows, exec); }

rmm::device_buffer nonempty_nulls(void const* mask,
                                  offset_range const& offsets,
                                  execution const& exec)
{
  auto const width  = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{offsets.type}));
  auto const rows   = static_cast<cudf::size_type>(offsets.count - 1);
  auto const copied = aligned_bytes{offsets.first, offsets.count * width, width, exec};
  auto const* first = static_cast<std::byte const*>(copied.data());
  auto const empty  = combine(cudf::binary_operator::EQUAL,
                              values(offsets.type, first, rows),
                              values(offsets.type, first + width, rows),
                              cudf::type_id::BOOL8,
                              exec.scratch());
  auto const bits   = device::pack_bools(empty.data(), rows, exec.scratch());
  return combine_words(cudf::binary_operator::BITWISE_OR, mask, bits.data(), rows, exec);
}

}  // namespace cudf_arrow_bridge::detail::device
