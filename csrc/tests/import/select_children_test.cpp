// SPDX-License-Identifier: Apache-2.0
#include "testing/imports.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <cudf_arrow_bridge/import.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_rows = std::size_t{40};

shape three_fields() { return struct_of({flat("int32"), list_of(flat("string")), flat("bool8")}); }

/// Return the shape of a selection and its rows.
std::pair<shape, rows> selected(shape const& type,
                                rows const& values,
                                std::vector<std::size_t> const& positions)
{
  auto fields = std::vector<shape>{};
  for (auto const position : positions) { fields.push_back(type.children[position]); }
  auto result = rows{};
  for (auto const& v : values) {
    auto items = rows{};
    for (auto const position : positions) { items.push_back(v.items()[position]); }
    result.push_back({std::move(items)});
  }
  return {struct_of(std::move(fields)), std::move(result)};
}

class SelectChildren : public testing::TestWithParam<std::vector<std::size_t>> {};

TEST_P(SelectChildren, KeepsTheSelectedChildrenInTheGivenOrder)
{
  auto const type   = three_fields();
  auto const values = samples(type, num_rows, 0, 1);
  auto const slices = slicing{[](int level) { return level == 0 ? padding{9, 2} : padding{3, 1}; }};
  auto source       = tracked{produce(type, values, slices)};
  auto const [part, expected] = selected(type, values, GetParam());
  select_children(*make_schema(type).get(), source.array.get(), GetParam());
  EXPECT_EQ(source.array->array.n_children, std::ssize(GetParam()));
  {
    auto const table = checked(from_arrow_device_table(
      *make_schema(part).get(), source.array.get(), {}, stream(), host_memory_resource()));
    EXPECT_TRUE(source.array.is_released()) << "moved into the columns";
    EXPECT_EQ(table.num_rows, num_rows);
    for (std::size_t i = 0; i < GetParam().size(); ++i) {
      auto column = rows{};
      for (auto const& v : expected) { column.push_back(v.items()[i]); }
      expect_rows(table.columns[i].view(), part.children[i], column);
    }
    EXPECT_EQ(source.released, GetParam().empty() ? 1 : 0);
  }
  EXPECT_EQ(source.released, 1);
}

INSTANTIATE_TEST_SUITE_P(Positions,
                         SelectChildren,
                         testing::Values(std::vector<std::size_t>{},
                                         std::vector<std::size_t>{1},
                                         std::vector<std::size_t>{2, 0},
                                         std::vector<std::size_t>{0, 1, 2}));

TEST(Selection, KeepsAChildThatAConsumerMovedOut)
{
  auto const type = three_fields();
  auto source     = tracked{produce(type, samples(type, num_rows, 0, 1))};
  select_children(*make_schema(type).get(), source.array.get(), {1});
  EXPECT_EQ(source.released, 0);
  auto moved = unique_array{source.array->array.children[0]};
  source.array.reset();
  EXPECT_EQ(source.released, 1);
  EXPECT_FALSE(moved.is_released());
  EXPECT_GT(moved->n_children, 0);
}

TEST(Selection, RejectsAnArrayOfAnotherShapeWithoutChangingIt)
{
  auto const type = three_fields();
  auto source     = tracked{produce(type, samples(type, num_rows, 0, 1))};
  auto const two  = make_schema(struct_of({flat("int32"), flat("bool8")}));
  EXPECT_THROW(select_children(*two.get(), source.array.get(), {0}), std::invalid_argument);
  EXPECT_EQ(source.array->array.n_children, 3);
  EXPECT_EQ(source.released, 0);
  source.array.reset();
  EXPECT_EQ(source.released, 1);
  EXPECT_THROW(select_children(*make_schema(type).get(), source.array.get(), {0}),
               std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
