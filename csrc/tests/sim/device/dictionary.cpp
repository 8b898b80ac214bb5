// SPDX-License-Identifier: Apache-2.0
/// @file
/// The core's conversions of dictionaries, likewise.
#include "compute/convert_dictionary.hpp"

#include "sim/upload_column.hpp"

#include <utility>

namespace cudf_arrow_bridge::detail::device {

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                placement const& where)
{
  auto made = sim::wait_for(where, [&](placement const& on_host) {
    return host::drop_null_keys(indices, keys, mask, column_path{}, on_host);
  });
  return {sim::upload(std::move(made.indices), where),
          sim::upload(std::move(made.keys), where),
          sim::upload(std::move(made.mask), where),
          made.null_count};
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                placement const& where)
{
  auto made = sim::wait_for(where, [&](placement const& on_host) {
    return host::decode_dictionary(dictionary, column_path{}, on_host);
  });
  return sim::upload(std::move(made), where);
}

}  // namespace cudf_arrow_bridge::detail::device
