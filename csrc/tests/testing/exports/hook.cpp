// SPDX-License-Identifier: Apache-2.0
/// @file
/// Replaces `device_array::to_arrow` in the tests at link time, and checks each exported C struct.
#include "cuda/location/location.hpp"
#include "testing/exports.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace {

using namespace cudf_arrow_bridge;

/// Return the allocation that contains an address. The driver knows only device memory.
std::span<std::byte const> allocation_of(void const* address)
{
  auto const found = detail::allocation_at(address);
  return {reinterpret_cast<std::byte const*>(found.begin), found.size};
}

/// Return whether the test decodes messages: the sender chose the memory of these arrays.
bool is_decoded()
{
  auto const* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return test != nullptr &&
         std::string_view{test->test_suite_name()}.find("ecoder") != std::string_view::npos;
}

void check(device_array const& array)
{
  auto const place   = detail::array_tree::place_of(array);
  auto const on_host = place.tree->location.device_type == ARROW_DEVICE_CPU;
  auto options       = test::export_check_options{.readable = on_host};
  if (!on_host) { options.allocation_of = &allocation_of; }
  for (auto const& found : test::find_export_violations(*place.tree, place.node, options)) {
    ADD_FAILURE() << found;
  }
}

}  // namespace

extern "C" {

// The linker requires these names, see --wrap.
unique_device_array __real__ZNK17cudf_arrow_bridge12device_array8to_arrowEv(device_array const*);

unique_device_array __wrap__ZNK17cudf_arrow_bridge12device_array8to_arrowEv(
  device_array const* self)
{
  auto result = __real__ZNK17cudf_arrow_bridge12device_array8to_arrowEv(self);
  if (!is_decoded()) { check(*self); }
  return result;
}

}  // extern "C"
