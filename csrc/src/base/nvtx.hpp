// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvtx3.hpp>

namespace cudf_arrow_bridge::detail {

/// The domain that profilers show this library's ranges under.
struct nvtx_domain {
  static constexpr char const* name{"cudf_arrow_bridge"};
};

/// Marks a public function's run for profilers: `nvtx_range const range{__func__};`
using nvtx_range = nvtx3::scoped_range_in<nvtx_domain>;

}  // namespace cudf_arrow_bridge::detail
