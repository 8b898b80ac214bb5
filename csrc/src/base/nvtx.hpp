// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvtx3.hpp>

namespace cudf_arrow_bridge::detail {

/// NVTX domain of this library's ranges.
struct nvtx_domain {
  static constexpr char const* name{"cudf_arrow_bridge"};
};

/// NVTX range of a public function: `nvtx_range const range{__func__};`
using nvtx_range = nvtx3::scoped_range_in<nvtx_domain>;

}  // namespace cudf_arrow_bridge::detail
