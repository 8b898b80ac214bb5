// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device operations of compute/dictionary.hpp, with the implementations of the host.
#include "compute/dictionary.hpp"

#include "sim/upload_column.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail::device {

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                column_path const& /*path*/,
                                execution const& exec)
{
  auto made = sim::wait_for(exec, [&](execution const& on_host) {
    return detail::drop_null_keys(indices, keys, column_path{}, on_host);
  });
  return {sim::upload(std::move(made.indices), exec),
          sim::upload(std::move(made.keys), exec),
          sim::upload(std::move(made.mask), exec),
          made.null_count};
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& /*path*/,
                                                execution const& exec)
{
  auto made = sim::wait_for(exec, [&](execution const& on_host) {
    return detail::decode_dictionary(dictionary, column_path{}, on_host);
  });
  return sim::upload(std::move(made), exec);
}

}  // namespace cudf_arrow_bridge::detail::device
