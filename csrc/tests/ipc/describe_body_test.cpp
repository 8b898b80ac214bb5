// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the bodies of slices: their shared buffers, their copied buffers, and errors.
#include "ipc/produced_batch.hpp"
#include "testing/consumer.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

constexpr cudf::size_type num_rows = 70;

ipc_body body_of(cudf::column_view const& column, export_options const& options = {})
{
  auto const table = cudf::table_view{{column}};
  return describe_body(to_arrow_device(table, nullptr, options, stream(), host_memory_resource()),
                       true,
                       stream(),
                       host_memory_resource());
}

class DescribedSlices : public ::testing::TestWithParam<shape> {
 protected:
  shape type{GetParam()};

  /// Decode a body with the described values of its dictionaries, and return its rows.
  rows read(ipc_body const& body) const
  {
    auto const table   = struct_of({type});
    auto const schema  = make_schema(table);
    auto const decoder = body_decoder{*schema.get()};
    auto values        = std::vector<device_array>{};
    add_dictionaries(body, values);
    auto const decoded =
      decoder.decode({body.length, body.nodes, body.buffers, body.variadic_counts},
                     values,
                     {body.location, body.owner},
                     body_checks::all,
                     stream());
    return read_arrow(decoded.to_arrow()->array, table);
  }

 private:
  static void add_dictionaries(ipc_body const& body, std::vector<device_array>& values)
  {
    for (auto const& one : body.dictionaries) {
      values.push_back(one);
      add_dictionaries(describe_body(one, false, stream(), host_memory_resource()), values);
    }
  }
};

TEST_P(DescribedSlices, HoldTheirRows)
{
  for (auto const nulls : {0, 30, 100}) {
    auto const values = samples(type, num_rows, nulls);
    auto const column = make_column(type, values);
    for (auto const begin : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 33, 64, 70}) {
      for (auto const left : {0, 1, 8}) {
        auto const end = std::max(begin, num_rows - left);
        SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end));
        auto expected = rows{};
        for (auto i = begin; i < end; ++i) {
          expected.push_back({rows{values[static_cast<std::size_t>(i)]}});
        }
        EXPECT_EQ(read(body_of(slice(*column, begin, end))), expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         DescribedSlices,
                         ::testing::ValuesIn(nested_shapes()),
                         name_of_case);

TEST(DescribeBody, SharesValuesAndMasksThatBeginAtAWord)
{
  auto const values = samples(flat("int32"), num_rows, 30);
  auto const column = make_column(flat("int32"), values);
  auto const* mask  = reinterpret_cast<std::byte const*>(column->view().null_mask());
  for (auto const begin : {0, 1, 7, 8, 9, 16, 24, 32}) {
    auto const body   = body_of(slice(*column, begin, begin + 48 - begin % 32));
    auto const* found = static_cast<std::byte const*>(body.buffers[0].address);
    if (begin % 32 == 0) {
      EXPECT_EQ(found, mask + begin / 8);
    } else {
      EXPECT_FALSE(found >= mask && found < mask + 9);
    }
    EXPECT_EQ(body.buffers[1].address, column->view().data<std::int32_t>() + begin);
  }
}

TEST(DescribeBody, CopiesMasksWhoseLastByteHasOtherRows)
{
  auto values       = samples(flat("int32"), num_rows, 0);
  values[3]         = {};
  auto const column = make_column(flat("int32"), values);
  auto const body   = body_of(slice(*column, 0, 5));
  ASSERT_EQ(body.buffers[0].size, 1);
  EXPECT_EQ(*static_cast<std::uint8_t const*>(body.buffers[0].address), 0b10111);
}

TEST(DescribeBody, HasNoMaskWithoutNulls)
{
  auto values       = samples(flat("int32"), num_rows, 0);
  values[60]        = {};
  auto const column = make_column(flat("int32"), values);
  for (auto const& [end, nulls] : {std::pair{60, 0}, {61, 1}}) {
    auto const body = body_of(slice(*column, 3, end));
    EXPECT_EQ(body.nodes[0].null_count, nulls);
    EXPECT_EQ(body.buffers[0].address == nullptr, nulls == 0);
    EXPECT_EQ(body.buffers[0].size, nulls == 0 ? 0 : 8);
  }
}

TEST(DescribeBody, CopiesOffsetsThatDoNotBeginAtZero)
{
  auto const column  = make_column(flat("string"), {{"ab"}, {"c"}, {""}, {"def"}, {"g"}});
  auto const view    = column->view();
  auto const* head   = view.head<char>();
  auto const offsets = view.child(0).data<std::int32_t>();
  auto const front   = body_of(slice(view, 0, 3));
  EXPECT_EQ(front.buffers[1].address, offsets);
  EXPECT_EQ(front.buffers[1].size, 16);
  EXPECT_EQ(front.buffers[2].address, head);
  EXPECT_EQ(front.buffers[2].size, 3);
  auto const back = body_of(slice(view, 1, 4));
  EXPECT_NE(back.buffers[1].address, offsets + 1);
  auto const expected = std::vector<std::int32_t>{0, 1, 1, 4};
  EXPECT_EQ(std::memcmp(back.buffers[1].address, expected.data(), 16), 0);
  EXPECT_EQ(back.buffers[2].address, head + 2);
  EXPECT_EQ(back.buffers[2].size, 4);
}

TEST(DescribeBody, HasTheElementsThatListsReferTo)
{
  auto const type   = list_of(flat("int16"));
  auto const lists  = rows{{rows{number(1)}}, {rows{number(2), number(3)}}, {rows{number(4)}}};
  auto const column = make_column(type, lists);
  auto const body   = body_of(slice(*column, 1, 2));
  ASSERT_EQ(body.nodes.size(), 2U);
  EXPECT_EQ(body.nodes[1].length, 2);
  EXPECT_EQ(body.buffers[3].address, column->view().child(1).data<std::int16_t>() + 1);
  EXPECT_EQ(body.buffers[3].size, 4);
}

TEST(DescribeBody, OfListsOfAFixedSizeHasTheirElements)
{
  auto const pair   = [](int a, int b) { return value{rows{number(a), number(b)}}; };
  auto const type   = list_of(list_of(flat("int16")));
  auto const column = make_column(type, {{rows{pair(1, 2)}}, {rows{pair(3, 4), pair(5, 6)}}});
  auto const wanted = make_schema(struct_of({list_of(fixed_list_of(flat("int16"), 2))}));
  auto const table  = cudf::table_view{{column->view()}};
  auto const schema =
    cudf_arrow_bridge::make_schema(table, {{.name = "f0"}}, key_value_metadata{}, wanted.get());
  auto const body = body_of(slice(*column, 1, 2), {.schema = schema});
  ASSERT_EQ(body.nodes.size(), 3U);
  EXPECT_EQ(body.nodes[1].length, 2);
  EXPECT_EQ(body.nodes[2].length, 4);
  auto const* numbers = column->view().child(1).child(1).data<std::int16_t>();
  EXPECT_EQ(body.buffers[4].address, numbers + 2);
  EXPECT_EQ(body.buffers[4].size, 8);
}

TEST(DescribeBody, OfViewsHasTheirData)
{
  auto const values = rows{{"a string that is long enough"}, {"short"}, {"another string, long"}};
  auto const column = make_column(flat("string"), values);
  auto const view   = as(cudf::type_id::STRING, "string_view", "vu");
  auto const wanted = make_schema(struct_of({view}));
  auto const table  = cudf::table_view{{slice(*column, 1, 3)}};
  auto const schema =
    cudf_arrow_bridge::make_schema(table, {{.name = "f0"}}, key_value_metadata{}, wanted.get());
  auto const array =
    to_arrow_device(table, nullptr, {.schema = schema}, stream(), host_memory_resource());
  auto const body = describe_body(array, true, stream(), host_memory_resource());
  EXPECT_EQ(body.variadic_counts, std::vector<std::int64_t>{1});
  ASSERT_EQ(body.buffers.size(), 3U);
  EXPECT_EQ(body.buffers[1].size, 32);
  auto const decoded = body_decoder{*wanted.get()}.decode(
    {body.length, body.nodes, body.buffers, body.variadic_counts},
    {},
    {body.location, body.owner},
    body_checks::all,
    stream());
  EXPECT_EQ(read_arrow(decoded.to_arrow()->array, struct_of({view})),
            (rows{{rows{values[1]}}, {rows{values[2]}}}));
}

TEST(DescribeBody, OfRowsWithoutColumnsHasTheNumberOfRows)
{
  auto const array = to_arrow_device(export_input{std::span<cudf::column_view const>{}, 7},
                                     nullptr,
                                     {},
                                     stream(),
                                     host_memory_resource());
  auto const body  = describe_body(array, true, stream(), host_memory_resource());
  EXPECT_EQ(body.length, 7);
  EXPECT_TRUE(body.nodes.empty());
  EXPECT_TRUE(body.buffers.empty());
}

std::string error_of(device_array const& array, bool is_table)
{
  try {
    (void)describe_body(array, is_table, stream(), host_memory_resource());
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "";
}

TEST(DescribeBody, RejectsTablesWithNullRows)
{
  auto const type   = struct_of({flat("int8")});
  auto const column = make_column(type, {{rows{number(1)}}, {}});
  auto const array = to_arrow_device(column->view(), nullptr, {}, stream(), host_memory_resource());
  EXPECT_EQ(error_of(array, true),
            "column '(top level)': rows of a record batch are null: send it as a column");
  EXPECT_EQ(error_of(array, false), "");
  auto const valid =
    to_arrow_device(slice(*column, 0, 1), nullptr, {}, stream(), host_memory_resource());
  EXPECT_EQ(error_of(valid, true), "");
}

TEST(DescribeBody, RejectsDescendingAndTooLargeOffsets)
{
  auto const type  = list_of(flat("int8"));
  auto const lists = rows{{rows{number(1)}}, {rows{number(2)}}, {rows{number(3)}}};
  auto const error = [&](std::int32_t first, std::int32_t last) {
    auto const column = make_column(type, lists);
    auto const table  = cudf::table_view{{slice(*column, 1, 3)}};
    auto const array  = to_arrow_device(table, nullptr, {}, stream(), host_memory_resource());
    // The source changes after the export has checked it.
    auto* offsets = const_cast<std::int32_t*>(column->view().child(0).data<std::int32_t>());
    offsets[1]    = first;
    offsets[3]    = last;
    return error_of(array, true);
  };
  EXPECT_EQ(error(1, 3), "");
  EXPECT_EQ(error(-1, 3), "column '(top level)': the first offset is negative: -1");
  EXPECT_EQ(error(2, 1), "column '(top level)': expected ascending offsets, got 2 to 1");
  EXPECT_EQ(error(1, 4), "column '(top level)': expected at least 4 rows of a child, got 3");
}

TEST(DescribeBody, RejectsEmptyHandles) { EXPECT_NE(error_of(device_array{}, true), ""); }

}  // namespace
}  // namespace cudf_arrow_bridge::test
