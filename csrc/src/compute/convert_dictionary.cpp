// SPDX-License-Identifier: Apache-2.0
#include "compute/convert_dictionary.hpp"

namespace cudf_arrow_bridge::detail {

dictionary_parts drop_null_keys(cudf::column_view const& indices,
                                cudf::column_view const& keys,
                                row_mask const& mask,
                                column_path const& path,
                                placement const& where)
{
  return where.host ? host::drop_null_keys(indices, keys, mask, path, where)
                    : device::drop_null_keys(indices, keys, mask, where);
}

std::unique_ptr<cudf::column> decode_dictionary(cudf::column_view const& dictionary,
                                                column_path const& path,
                                                placement const& where)
{
  return where.host ? host::decode_dictionary(dictionary, path, where)
                    : device::decode_dictionary(dictionary, where);
}

}  // namespace cudf_arrow_bridge::detail
