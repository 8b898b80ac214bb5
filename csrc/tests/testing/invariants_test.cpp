// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests that the checks of imports and exports find faults.
#include "testing/columns.hpp"
#include "testing/expect_invariants.hpp"
#include "testing/reading.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

std::vector<invariant> broken_in(cudf::column_view const& column)
{
  auto result = std::vector<invariant>{};
  for (auto const& found : find_violations(column)) { result.push_back(found.broken); }
  return result;
}

TEST(Invariants, HoldForColumnsAndSlices)
{
  for (auto const& type : nested_shapes()) {
    auto const column = make_column(type, samples(type, 70, 30));
    for (auto const& [begin, end] : {std::pair{0, 70}, {9, 70}, {33, 34}, {70, 70}}) {
      expect_invariants(slice(*column, begin, end));
    }
  }
}

TEST(Invariants, ThatAreViolatedAreReported)
{
  using enum invariant;
  auto const numbers = make_column(flat("int32"), {number(1), value{}, number(3)});
  auto const whole   = numbers->view();
  EXPECT_EQ(broken_in({whole.type(), 3, whole.head<void>(), whole.null_mask(), 2}),
            std::vector{null_count_is_right});
  EXPECT_EQ(broken_in({whole.type(), 2, whole.head<std::byte>() + 2, nullptr, 0}),
            std::vector{data_is_aligned});

  auto const element  = integers(cudf::type_id::INT32, std::vector<std::int32_t>{1, 2, 3});
  auto const lists_at = [&](std::vector<std::int32_t> const& offsets) {
    auto const made  = integers(cudf::type_id::INT32, offsets);
    auto const lists = cudf::column_view{
      cudf::data_type{cudf::type_id::LIST}, 2, nullptr, nullptr, 0, 0, {*made, *element}};
    return std::pair{broken_in(lists), read_taken_apart(lists, list_of(flat("int32")))};
  };
  EXPECT_EQ(lists_at({0, 1, 3}).first, std::vector<invariant>{});
  EXPECT_EQ(lists_at({0, 3, 1}).first.front(), offsets_ascend);
  EXPECT_EQ(lists_at({1, 2, 3}).first, std::vector{first_offset_is_zero});
  EXPECT_NE(lists_at({1, 2, 3}).second, lists_at({0, 1, 3}).second);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
