// SPDX-License-Identifier: Apache-2.0
#include "testing/arrow_schema.hpp"
#include "testing/consumer.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace cudf_arrow_bridge::test {
namespace {

device_array export_view(cudf::column_view const& column, bool compact = false)
{ return to_arrow_device(column, nullptr, {.compact = compact}, stream(), host_memory_resource()); }

/// Begin and end of a slice, in rows of the sliced column.
struct range {
  cudf::size_type begin;
  cudf::size_type end;
};

constexpr cudf::size_type num_rows = 131;

std::vector<range> const& ranges()
{
  static auto const all = [] {
    auto result = std::vector<range>{{0, 0}, {5, 5}, {num_rows, num_rows}, {33, 34}, {0, 1}};
    for (auto const begin : {0, 1, 7, 8, 9, 31, 32, 33, 64, 65}) {
      result.push_back({begin, num_rows});
      result.push_back({begin, num_rows - 3});
    }
    return result;
  }();
  return all;
}

/// Return whether the predicate is true for a column or a field of a struct at any level.
template <typename Predicate>
bool any_level(cudf::column_view const& column, Predicate is_such)
{
  if (is_such(column)) { return true; }
  return column.type().id() == cudf::type_id::STRUCT &&
         std::any_of(column.child_begin(), column.child_end(), [&](auto const& field) {
           return any_level(field, is_such);
         });
}

/// Return the offset of an exported slice: the rows from the start of a mask word, and at least one
/// row unless the slice begins at 0.
std::int64_t expected_offset(cudf::column_view const& slice)
{
  static auto const offsets = std::map<cudf::size_type, std::int64_t>{
    {0, 0}, {1, 1}, {7, 7}, {8, 8}, {9, 9}, {31, 31}, {32, 32}, {33, 1}, {64, 32}, {65, 1}};
  auto const has_offsets = any_level(slice, [](auto const& column) {
    return column.type().id() == cudf::type_id::STRING || column.type().id() == cudf::type_id::LIST;
  });
  auto const has_masks = slice.type().id() == cudf::type_id::STRUCT
                           ? any_level(slice, [](auto const& column) { return column.nullable(); })
                           : slice.nullable() && slice.null_count() > 0;
  return slice.size() > 0 && (has_offsets || has_masks) ? offsets.at(slice.offset()) : 0;
}

using export_case = std::tuple<shape, int>;

std::string case_name(::testing::TestParamInfo<export_case> const& info)
{ return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param)); }

class Export : public ::testing::TestWithParam<export_case> {
 protected:
  shape type{std::get<0>(GetParam())};
  rows values{samples(type, num_rows, std::get<1>(GetParam()))};
  std::unique_ptr<cudf::column> column{make_column(type, values)};

  void expect_rows(cudf::column_view const& view, rows const& expected)
  {
    for (auto const compact : {false, true}) {
      auto const array = export_view(view, compact).to_arrow();
      EXPECT_EQ(read_arrow(array->array, type), expected) << "compact: " << compact;
      EXPECT_EQ(array->array.offset, compact ? 0 : expected_offset(view));
    }
  }
};

TEST_P(Export, SlicesHaveTheirRows)
{
  for (auto const& [begin, end] : ranges()) {
    SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end));
    expect_rows(slice(*column, begin, end),
                part(values, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)));
  }
  expect_rows(make_column(type, {})->view(), {});
}

INSTANTIATE_TEST_SUITE_P(Types,
                         Export,
                         ::testing::Combine(::testing::ValuesIn(nested_shapes()),
                                            ::testing::Values(0, 30, 100)),
                         case_name);

std::int64_t width_of(cudf::column_view const& column)
{ return static_cast<std::int64_t>(cudf::size_of(column.type())); }

/// Check that each buffer of `array` is the column's buffer, advanced to the array's first row.
void expect_shared(cudf::column_view const& column, device_array const& array, std::int64_t begin)
{
  auto const address = [&](std::size_t i) {
    return static_cast<std::byte const*>(array.buffers().at(i).address);
  };
  auto const first = begin - array.offset();
  if (column.type().id() == cudf::type_id::EMPTY) { return; }
  if (auto const* mask = address(0); mask != nullptr) {
    EXPECT_EQ(mask, reinterpret_cast<std::byte const*>(column.null_mask()) + first / 8);
    EXPECT_EQ(first % 32, 0);
  }
  auto const expect_offsets = [&] {
    if (array.length() == 0) { return; }  // has a zero allocated by the export
    auto const offsets = column.child(0);
    EXPECT_EQ(address(1), offsets.head<std::byte>() + first * width_of(offsets));
  };
  switch (column.type().id()) {
    case cudf::type_id::BOOL8: EXPECT_FALSE(array.buffers().at(1).reason.empty()); return;
    case cudf::type_id::STRING:
      expect_offsets();
      EXPECT_EQ(address(2), column.head<std::byte>());
      break;
    case cudf::type_id::LIST:
      expect_offsets();
      expect_shared(column.child(1), array.child(0), column.child(1).offset());
      break;
    case cudf::type_id::STRUCT:
      for (cudf::size_type i = 0; i < column.num_children(); ++i) {
        expect_shared(column.child(i), array.child(i), first);
      }
      break;
    case cudf::type_id::DICTIONARY32: {
      auto const indices = column.child(0);
      EXPECT_EQ(address(1), indices.head<std::byte>() + first * width_of(indices));
      expect_shared(column.child(1), array.dictionary(), column.child(1).offset());
      break;
    }
    default: EXPECT_EQ(address(1), column.head<std::byte>() + first * width_of(column));
  }
  for (auto const& buffer : array.buffers()) {
    EXPECT_TRUE(buffer.reason.empty() || (array.length() == 0 && buffer.name == "offsets"));
  }
}

TEST_P(Export, SharesTheBuffersOfTheSource)
{
  for (auto const& [begin, end] : ranges()) {
    SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end));
    auto const view = slice(*column, begin, end);
    expect_shared(view, export_view(view), begin);
  }
}

TEST(ExportCompact, SharesMasksThatBeginAtAMultipleOf64Bytes)
{
  auto const type    = flat("int32");
  auto const column  = make_column(type, samples(type, 1'100, 30));
  auto const is_copy = [&](cudf::size_type begin) {
    auto const array = export_view(slice(*column, begin, 1'100), true);
    EXPECT_EQ(array.offset(), 0);
    return !array.buffers()[0].reason.empty();
  };
  for (auto const begin : {0, 512, 1'024}) { EXPECT_FALSE(is_copy(begin)) << begin; }
  for (auto const begin : {8, 16, 32, 64, 256, 544}) { EXPECT_TRUE(is_copy(begin)) << begin; }
}

TEST(ExportOfNoRows, HasOneZeroOffset)
{
  for (auto const& type : {flat("string"), flat("large_string"), list_of(flat("int8"))}) {
    SCOPED_TRACE(type.name);
    auto const none = make_column(type, {});
    auto const some = make_column(type, samples(type, 9, 30));
    auto const emptied =
      std::vector<cudf::column_view>{*none, slice(*some, 0, 0), slice(*some, 5, 5)};
    for (auto const& view : emptied) {
      auto const array = export_view(view).to_arrow();
      ASSERT_NE(array->array.buffers[1], nullptr);
      auto const width = type.format == "U" ? 8U : 4U;
      EXPECT_EQ(read_integer_at(array->array.buffers[1], 0, width, true), 0);
    }
  }
}

TEST(ExportDurationDays, CountsSeconds)
{
  auto const days = std::vector<std::int32_t>{0, 1, -1, 24855, -24856, 106'751};
  auto const from = integers(cudf::type_id::DURATION_DAYS, days);
  for (auto const begin : {0, 1, 3}) {
    auto const array   = export_view(slice(*from, begin, 6));
    auto const struct_ = array.to_arrow();
    auto expected      = rows{};
    for (auto i = static_cast<std::size_t>(begin); i < days.size(); ++i) {
      expected.push_back(number(std::int64_t{days[i]} * 86'400));
    }
    EXPECT_EQ(read_arrow(struct_->array, flat("duration_s")), expected);
    EXPECT_FALSE(array.buffers()[1].reason.empty());
  }
}

TEST(ExportTable, IsAStructOfSlices)
{
  auto const type   = struct_of({flat("int32"), flat("string"), list_of(flat("bool8"))});
  auto const values = samples(type, num_rows, 0);
  auto const source = make_column(type, values);
  auto const whole  = source->view();
  // Columns of a table may have different offsets.
  auto const columns = std::vector<cudf::column_view>{
    slice(whole.child(0), 9, 40), slice(whole.child(1), 16, 47), slice(whole.child(2), 0, 31)};
  auto const array = to_arrow_device(
    cudf::table_view{columns}, nullptr, export_options{}, stream(), host_memory_resource());
  auto const read = read_arrow(array.to_arrow()->array, type);
  for (std::size_t i = 0; i < 31; ++i) {
    EXPECT_EQ(read[i].items(),
              (rows{values[i + 9].items()[0], values[i + 16].items()[1], values[i].items()[2]}));
  }
}

TEST(ExportTable, WithoutColumnsHasItsRows)
{
  auto const array = to_arrow_device(
    cudf::table_view{{}, 12}, nullptr, export_options{}, stream(), host_memory_resource());
  EXPECT_EQ(array.length(), 12);
  EXPECT_EQ(read_arrow(array.to_arrow()->array, struct_of({})).size(), 12U);
}

TEST(ExportErrors, ColumnsWithoutTheirChildrenAreRejected)
{
  auto const int8  = cudf::data_type{cudf::type_id::INT8};
  auto const child = cudf::column_view{int8, 2, "ab", nullptr, 0};
  auto const offsets =
    cudf::column_view{cudf::data_type{cudf::type_id::INT32}, 2, "abcdabcd", nullptr, 0};
  auto const of = [](cudf::type_id id, std::vector<cudf::column_view> const& children) {
    return cudf::column_view{cudf::data_type{id}, 4, nullptr, nullptr, 0, 0, children};
  };
  for (auto const& column : {of(cudf::type_id::STRUCT, {child}),
                             of(cudf::type_id::LIST, {}),
                             of(cudf::type_id::LIST, {offsets}),
                             of(cudf::type_id::LIST, {offsets, child}),
                             of(cudf::type_id::DICTIONARY32, {}),
                             of(cudf::type_id::DICTIONARY32, {child, child}),
                             of(cudf::type_id::STRING, {}),
                             of(cudf::type_id::STRING, {offsets})}) {
    EXPECT_THROW((void)export_view(column), std::invalid_argument);
  }
}

TEST(ExportErrors, InputsMustBeOneColumnOrATable)
{
  auto const export_input_of = [](export_input const& input) {
    (void)to_arrow_device(input, nullptr, {}, stream(), host_memory_resource());
  };
  auto const column = make_column(flat("int32"), {number(1), number(2)});
  auto const views  = std::vector<cudf::column_view>{*column, slice(*column, 0, 1)};
  auto const all    = std::span<cudf::column_view const>{views};
  EXPECT_NO_THROW(export_input_of({all.first(1), 2}));
  EXPECT_THROW(export_input_of({all.first(1), 3}), std::invalid_argument);
  EXPECT_THROW(export_input_of({all, 2}), std::invalid_argument);
  EXPECT_THROW(export_input_of({all.first(0), -1}), std::invalid_argument);
  auto no_table     = export_input{};
  no_table.is_table = false;
  EXPECT_THROW(export_input_of(no_table), std::invalid_argument);
  no_table.columns = all;
  EXPECT_THROW(export_input_of(no_table), std::invalid_argument);
  no_table.columns = all.first(1);
  EXPECT_THROW(export_input_of(no_table), std::invalid_argument) << "0 rows, but the column has 2";
  no_table.num_rows = 2;
  EXPECT_NO_THROW(export_input_of(no_table));
}

TEST(ExportErrors, NameFieldsByTheirPosition)
{
  auto const int8 = cudf::data_type{cudf::type_id::INT8};
  auto const good = cudf::column_view{int8, 4, "abcd", nullptr, 0};
  auto const bad  = cudf::column_view{cudf::data_type{cudf::type_id::LIST}, 4, nullptr, nullptr, 0};
  auto const outer = cudf::column_view{
    cudf::data_type{cudf::type_id::STRUCT}, 4, nullptr, nullptr, 0, 0, {good, bad}};
  try {
    (void)to_arrow_device(
      cudf::table_view{{good, outer}}, nullptr, {}, stream(), host_memory_resource());
    ADD_FAILURE();
  } catch (std::invalid_argument const& error) {
    EXPECT_STREQ(error.what(), "column '1.1': expected at least 1 children, got 0");
  }
}

/// Check that an export fails if its schema was made for a column of type `made_for`.
void expect_rejected(shape const& made_for, shape const& requested, shape const& type)
{
  SCOPED_TRACE(made_for.name + " as " + requested.name + ", for " + type.name);
  auto const other  = make_column(made_for, samples(made_for, 4, 0));
  auto const schema = cudf_arrow_bridge::make_schema(*other, {}, make_schema(requested).get());
  ASSERT_EQ(schema.to_arrow()->format, requested.format);
  auto const column = make_column(type, samples(type, 4, 0));
  EXPECT_THROW((void)to_arrow_device(
                 column->view(), nullptr, {.schema = schema}, stream(), host_memory_resource()),
               std::invalid_argument);
}

TEST(ExportErrors, SchemasOfOtherColumnsAreRejected)
{
  for (auto const* bytes : {"z", "Z", "vz"}) {
    auto const requested = bytes_as(bytes, bytes);
    expect_rejected(list_of(flat("uint8")), requested, list_of(flat("int32")));
    expect_rejected(list_of(flat("uint8")), requested, list_of(struct_of({flat("int8")})));
  }
  expect_rejected(flat("int64"), flat("int64"), flat("int32"));
  expect_rejected(dictionary_of(flat("int64")), flat("int64"), dictionary_of(flat("string")));
  expect_rejected(dictionary_of(flat("string")), flat("string"), dictionary_of(flat("int8")));
  auto const one = struct_of({flat("int32")});
  expect_rejected(one, one, struct_of({flat("int32"), flat("int64")}));
}

TEST(ExportErrors, SchemasOfColumnsAreRejectedForTables)
{
  for (auto const& type : {list_of(flat("int32")), map_of(flat("int32"), flat("int8"))}) {
    auto const column = make_column(type, samples(type, 4, 0));
    auto const schema = cudf_arrow_bridge::make_schema(*column, {}, make_schema(type).get());
    auto const table  = cudf::table_view{{column->child(1).view()}};
    EXPECT_THROW(
      (void)to_arrow_device(table, nullptr, {.schema = schema}, stream(), host_memory_resource()),
      std::invalid_argument)
      << type.name;
  }
}

TEST(ExportedArray, ReportsItsPropertiesUntilItIsReset)
{
  auto const type   = flat("string");
  auto const column = make_column(type, {{"ab"}, {}, {"cde"}, {"f"}});
  auto array        = export_view(slice(*column, 1, 3));
  EXPECT_EQ(array.length(), 2);
  EXPECT_EQ(array.null_count(), 1);
  EXPECT_EQ(array.offset(), 1);
  EXPECT_EQ(array.location(), memory_location{});
  EXPECT_TRUE(array.dictionary().is_released());
  EXPECT_THROW((void)array.child(0), std::out_of_range);
  auto const buffers  = array.buffers();
  auto const expected = std::vector<std::pair<std::string_view, std::int64_t>>{
    {"validity", 1}, {"offsets", 16}, {"data", 5}};
  ASSERT_EQ(buffers.size(), expected.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(std::pair(buffers[i].name, buffers[i].size), expected[i]);
  }
  auto const struct_ = array.to_arrow();
  EXPECT_EQ(struct_->device_type, ARROW_DEVICE_CPU);
  EXPECT_EQ(struct_->device_id, -1);
  EXPECT_EQ(struct_->sync_event, nullptr);
  for (auto const word : struct_->reserved) { EXPECT_EQ(word, 0); }

  array.reset();
  EXPECT_TRUE(array.is_released());
  EXPECT_THROW((void)array.to_arrow(), std::invalid_argument);
  EXPECT_THROW((void)array.length(), std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
