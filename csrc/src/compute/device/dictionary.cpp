// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <variant>  // before libcudf's headers, some of which use it without including it
// clang-format on

#include "compute/dictionary.hpp"

#include "base/child_column.hpp"

#include <cudf/aggregation.hpp>
#include <cudf/copying.hpp>
#include <cudf/dictionary/dictionary_column_view.hpp>
#include <cudf/dictionary/encode.hpp>
#include <cudf/null_mask.hpp>
#include <cudf/reduction.hpp>
#include <cudf/stream_compaction.hpp>
#include <cudf/table/table.hpp>
#include <cudf/table/table_view.hpp>
#include <cudf/unary.hpp>

#include <utility>

namespace cudf_arrow_bridge::detail::device {
namespace {

/// Decodes a dictionary with null keys, which `cudf::dictionary::decode` would treat as valid.
std::unique_ptr<cudf::column> gather_values(cudf::column_view const& column,
                                            cudf::dictionary_column_view const& dictionary,
                                            execution const& exec)
{
  auto const indices = dictionary.indices();
  // A gather map must have no nulls: also gather the indices of null rows, and mask those rows
  // afterwards.
  auto const map = cudf::column_view{
    indices.type(), column.size(), indices.head<void>(), nullptr, 0, column.offset()};
  auto rows     = cudf::gather(cudf::table_view{{dictionary.keys()}},
                               map,
                               cudf::out_of_bounds_policy::NULLIFY,
                               exec.stream,
                               exec.mr)
                    ->release();
  auto gathered = std::move(rows.front());
  auto [mask, null_count] =
    cudf::bitmask_and(cudf::table_view{{gathered->view(), column}}, exec.stream, exec.mr);
  gathered->set_null_mask(std::move(mask), null_count);
  return gathered;
}

}  // namespace

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                column_path const& /*path*/,
                                execution const& exec)
{
  // The new index of each key, null if the key is null.
  auto const scratch = exec.scratch().mr;
  auto const int32   = cudf::data_type{cudf::type_id::INT32};
  auto const valid   = cudf::is_valid(keys, exec.stream, scratch);
  auto const ones    = cudf::cast(valid->view(), int32, exec.stream, scratch);
  auto new_index     = cudf::scan(ones->view(),
                                  *cudf::make_sum_aggregation<cudf::scan_aggregation>(),
                                  cudf::scan_type::EXCLUSIVE,
                                  cudf::null_policy::EXCLUDE,
                                  exec.stream,
                                  scratch);
  new_index->set_null_mask(cudf::copy_bitmask(keys, exec.stream, scratch), keys.null_count());

  // Indices of null rows may have any value, so check for indices out of bounds.
  auto const map = cudf::column_view{
    indices.type(), indices.size(), indices.head<void>(), nullptr, 0, indices.offset()};
  auto gathered     = cudf::gather(cudf::table_view{{new_index->view()}},
                                   map,
                                   cudf::out_of_bounds_policy::NULLIFY,
                                   cudf::negative_index_policy::NOT_ALLOWED,
                                   exec.stream,
                                   scratch)
                        ->release();
  auto& new_indices = *gathered.front();
  auto [bits, nulls] =
    cudf::bitmask_and(cudf::table_view{{new_indices.view(), indices}}, exec.stream, exec.mr);
  new_indices.set_null_mask(rmm::device_buffer{0, exec.stream, scratch}, 0);
  return {
    cudf::cast(new_indices.view(), indices.type(), exec.stream, exec.mr),
    std::move(
      cudf::drop_nulls(cudf::table_view{{keys}}, {0}, exec.stream, exec.mr)->release().front()),
    std::move(bits),
    nulls};
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& /*path*/,
                                                execution const& exec)
{
  if (dictionary.is_empty()) { return cudf::empty_like(child_of(dictionary, 1)); }
  auto const view = cudf::dictionary_column_view{dictionary};
  return view.keys().has_nulls() ? gather_values(dictionary, view, exec)
                                 : cudf::dictionary::decode(view, exec.stream, exec.mr);
}

}  // namespace cudf_arrow_bridge::detail::device
