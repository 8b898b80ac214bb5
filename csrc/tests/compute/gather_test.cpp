// SPDX-License-Identifier: Apache-2.0
#include "compute/gather.hpp"

#include "compute/on_host.hpp"
#include "testing/columns.hpp"
#include "testing/expect_invariants.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <gtest/gtest.h>

namespace cudf_arrow_bridge::test {
namespace {

std::vector<std::int32_t> random_map(std::size_t size, int num_rows)
{
  auto random = engine{11};
  auto result = std::vector<std::int32_t>(num_rows == 0 ? 0 : size);
  for (auto& row : result) { row = below(random, num_rows); }
  return result;
}

std::unique_ptr<cudf::column> gather(cudf::column_view const& source,
                                     std::vector<std::int32_t> const& map)
{
  auto const numbers = integers(cudf::type_id::INT32, map);
  return detail::gather_rows(source, numbers->view(), column_path{}, on_host());
}

using gather_case = std::tuple<shape, int>;

std::string case_name(::testing::TestParamInfo<gather_case> const& info)
{ return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param)); }

class HostGather : public ::testing::TestWithParam<gather_case> {};

TEST_P(HostGather, GathersRowsOfSlices)
{
  auto const& [type, null_percent] = GetParam();
  auto const values                = samples(type, 70, null_percent);
  auto const column                = make_column(type, values);
  for (auto const& [begin, end] : {std::pair{0, 70}, {1, 70}, {33, 41}, {70, 70}}) {
    auto const source = slice(column->view(), begin, end);
    auto const map    = random_map(100, end - begin);
    auto const found  = gather(source, map);
    auto expected     = rows{};
    for (auto const row : map) {
      expected.push_back(values[static_cast<std::size_t>(begin + row)]);
    }
    EXPECT_EQ(found->type(), type.type());
    EXPECT_EQ(read_rows(found->view(), type), expected);
    expect_invariants(*found);
  }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         HostGather,
                         ::testing::Combine(::testing::ValuesIn(nested_shapes()),
                                            ::testing::Values(0, 30, 100)),
                         case_name);

TEST(HostGather, DropsElementsOfNullRows)
{
  // The null list of the source has an element, and its string has a byte.
  auto const type = list_of(flat("string"));
  auto column     = make_column(type, {{rows{{std::string{"a"}}}}, {rows{{std::string{"b"}}}}});
  auto mask = std::vector<cudf::bitmask_type>(16);  // 64 bytes: libcudf pads masks to this size
  mask[0]   = 0b01;
  column->set_null_mask(host_buffer(mask), 1);
  auto const found = gather(column->view(), {1, 0, 1});
  EXPECT_EQ(read_rows(found->view(), type), (rows{{}, {rows{{std::string{"a"}}}}, {}}));
  EXPECT_EQ(found->view().child(1).size(), 1);
}

TEST(HostGather, MakesNullStringsFromAColumnWithoutOffsets)
{
  auto const empty =
    cudf::column_view{cudf::data_type{cudf::type_id::STRING}, 0, nullptr, nullptr, 0};
  for (auto const& map : {std::vector<std::int32_t>{}, {-1, -1}}) {
    auto const found = gather(empty, map);
    EXPECT_EQ(read_rows(found->view(), flat("string")), rows(map.size()));
    expect_invariants(*found);
  }
}

TEST(HostGather, RowsOfDescendingOffsetsAreEmpty)
{
  auto const offsets = integers(cudf::type_id::INT32, std::vector<std::int32_t>{0, 5, 2, 5});
  auto const bytes =
    integers(cudf::type_id::INT8, std::vector<std::int8_t>{'a', 'b', 'c', 'd', 'e'});
  auto const text = cudf::data_type{cudf::type_id::STRING};
  auto const strings =
    cudf::column_view{text, 3, bytes->view().head<void>(), nullptr, 0, 0, {*offsets}};
  auto const found = gather(strings, {0, 1, 2});
  EXPECT_EQ(read_rows(found->view(), flat("string")), (rows{{"abcde"}, {""}, {"cde"}}));
  expect_invariants(*found);

  auto const list  = cudf::data_type{cudf::type_id::LIST};
  auto const lists = cudf::column_view{list, 3, nullptr, nullptr, 0, 0, {*offsets, *bytes}};
  auto const made  = gather(lists, {1, 2});
  EXPECT_EQ(made->view().child(1).size(), 3);
  expect_invariants(*made);
}

TEST(HostGather, ThrowsOverflowErrorBeforeItAllocates)
{
  // One list of 2^28 elements, gathered 9 times.
  auto const offsets = integers<std::int32_t>(cudf::type_id::INT32, {0, 1 << 28});
  auto const element =
    cudf::column_view{cudf::data_type{cudf::type_id::EMPTY}, 1 << 28, nullptr, nullptr, 1 << 28};
  auto const lists = cudf::column_view{
    cudf::data_type{cudf::type_id::LIST}, 1, nullptr, nullptr, 0, 0, {offsets->view(), element}};
  EXPECT_THROW((void)gather(lists, {0, 0, 0, 0, 0, 0, 0, 0, 0}), std::overflow_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
