// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoarrow/nanoarrow.h>

#include <cstddef>
#include <string>

namespace cudf_arrow_bridge::detail {

/// Copies metadata of a peer, encoded as in `ArrowSchema.metadata`; null is empty.
[[nodiscard]] inline std::string copy_metadata(char const* metadata)
{
  auto const size = ArrowMetadataSizeOf(metadata);
  return size > 0 ? std::string(metadata, static_cast<std::size_t>(size)) : std::string{};
}

/// @return Metadata as peers take it: null for none
[[nodiscard]] inline char const* metadata_or_null(std::string const& metadata) noexcept
{ return metadata.empty() ? nullptr : metadata.data(); }

}  // namespace cudf_arrow_bridge::detail
