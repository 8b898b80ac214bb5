// SPDX-License-Identifier: Apache-2.0
/// @file
/// Replaces `cudf::column::release`, which allocates although it is `noexcept`, so that a failed
/// allocation ends the process. Failures are switched off during the call.
#include "fuzz/allocations.hpp"

#include <cudf/column/column.hpp>

#include <dlfcn.h>

#include <utility>

namespace {

using release_function = cudf::column::contents (*)(cudf::column*);

auto const original_release =
  reinterpret_cast<release_function>(dlsym(RTLD_NEXT, "_ZN4cudf6column7releaseEv"));

}  // namespace

cudf::column::contents cudf::column::release() noexcept
{
  auto& left     = cudf_arrow_bridge::fuzz::heap().news_until_failure;
  auto const was = std::exchange(left, -1);
  auto result    = original_release(this);
  left           = was;
  return result;
}
