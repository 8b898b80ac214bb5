// SPDX-License-Identifier: Apache-2.0
#include "base/parsed_type.hpp"
#include "schema/schema_tree.hpp"
#include "testing/arrow_schema.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <cudf/utilities/error.hpp>

#include <gtest/gtest.h>

#include <set>

namespace cudf_arrow_bridge::test {
namespace {

using cudf::type_id;

unique_schema schema_of(char const* format)
{
  auto schema = unique_schema{};
  ArrowSchemaInit(schema.get());
  check(ArrowSchemaSetFormat(schema.get(), format));
  return schema;
}

unique_schema dictionary_schema(char const* index_format)
{ return make_schema(dictionary_of(flat("string"), index_format)); }

TEST(TypeTable, ExportsEveryTypeOfLibcudf)
{
  for (auto i = 0; i < static_cast<int>(type_id::NUM_TYPE_IDS); ++i) {
    auto const& row = export_row(static_cast<type_id>(i));
    EXPECT_EQ(static_cast<int>(row.column), i);
    EXPECT_NE(row.on_export, type_support::unsupported) << row.arrow;
  }
  EXPECT_THROW((void)export_row(type_id::NUM_TYPE_IDS), cudf::data_type_error);
}

TEST(TypeTable, ImportsEachExportedTypeAsTheSameType)
{
  for (auto const& type : flat_shapes()) {
    auto const schema = make_schema(type);
    EXPECT_EQ(import_row(*schema.get()).column, type.id) << type.name;
    EXPECT_EQ(detail::parse_type(*schema.get()).column, type.type()) << type.name;
    EXPECT_TRUE(type.format.starts_with(export_row(type.id, type.format == "U").format));
  }
}

struct format_case {
  char const* format;
  char const* arrow;
  std::int64_t num_buffers;  ///< for views the minimum
};

/// Every format string of the specification.
constexpr auto formats = std::to_array<format_case>({
  {"n", "null", 0},
  {"b", "bool", 2},
  {"c", "int8", 2},
  {"C", "uint8", 2},
  {"s", "int16", 2},
  {"S", "uint16", 2},
  {"i", "int32", 2},
  {"I", "uint32", 2},
  {"l", "int64", 2},
  {"L", "uint64", 2},
  {"e", "halffloat", 2},
  {"f", "float", 2},
  {"g", "double", 2},
  {"z", "binary", 3},
  {"Z", "large_binary", 3},
  {"vz", "binary_view", 3},
  {"u", "string", 3},
  {"U", "large_string", 3},
  {"vu", "string_view", 3},
  {"d:5,2", "decimal128", 2},
  {"d:5,2,128", "decimal128", 2},
  {"d:5,2,32", "decimal32", 2},
  {"d:5,2,64", "decimal64", 2},
  {"d:5,2,256", "decimal256", 2},
  {"w:42", "fixed_size_binary", 2},
  {"tdD", "date32", 2},
  {"tdm", "date64", 2},
  {"tts", "time32[s]", 2},
  {"ttm", "time32[ms]", 2},
  {"ttu", "time64[us]", 2},
  {"ttn", "time64[ns]", 2},
  {"tss:", "timestamp[s]", 2},
  {"tsm:UTC", "timestamp[ms]", 2},
  {"tsu:Europe/Paris", "timestamp[us]", 2},
  {"tsn:+01:00", "timestamp[ns]", 2},
  {"tDs", "duration[s]", 2},
  {"tDm", "duration[ms]", 2},
  {"tDu", "duration[us]", 2},
  {"tDn", "duration[ns]", 2},
  {"tiM", "month_interval", 2},
  {"tiD", "day_time_interval", 2},
  {"tin", "month_day_nano_interval", 2},
  {"+s", "struct", 1},
});

/// Format strings whose schema has children.
constexpr auto nested_formats = std::to_array<format_case>({
  {"+l", "list", 2},
  {"+L", "large_list", 2},
  {"+vl", "list_view", 3},
  {"+vL", "large_list_view", 3},
  {"+w:3", "fixed_size_list", 1},
  {"+ud:0,1", "dense_union", 2},
  {"+us:0,1", "sparse_union", 1},
  {"+m", "map", 2},
  {"+r", "run_end_encoded", 0},
});

/// Return a schema with the children that nanoarrow gives the type by default.
unique_schema nested_schema(format_case const& row)
{
  auto schema       = schema_of(row.format);
  auto const format = std::string_view{row.format};
  auto children     = std::vector<shape>{flat("int32")};
  if (format.starts_with("+u") || format == "+r") { children.push_back(flat("int64")); }
  if (format == "+m") { children = {struct_of({flat("string"), flat("int32")})}; }
  check(ArrowSchemaAllocateChildren(schema.get(), std::ssize(children)));
  for (std::size_t i = 0; i < children.size(); ++i) {
    ArrowSchemaInit(schema->children[i]);
    fill_schema(schema->children[i], children[i], "");
  }
  if (format == "+m") {
    schema->children[0]->flags              = 0;
    schema->children[0]->children[0]->flags = 0;
  }
  return schema;
}

TEST(TypeTable, HasARowForEveryFormatOfTheSpecification)
{
  auto seen         = std::set<std::string_view>{"dictionary"};
  auto const expect = [&](format_case const& expected, unique_schema const& schema) {
    auto const type = detail::parse_type(*schema.get());
    EXPECT_EQ(type.row->arrow, expected.arrow) << expected.format;
    EXPECT_EQ(&import_row(*schema.get()), type.row);
    if (type.row->on_import != type_support::unsupported) {
      EXPECT_EQ(num_buffers(type.layout), expected.num_buffers) << expected.format;
    }
    seen.insert(type.row->arrow);
  };
  for (auto const& row : formats) { expect(row, schema_of(row.format)); }
  for (auto const& row : nested_formats) { expect(row, nested_schema(row)); }
  auto bool8 = schema_of("c");
  detail::set_metadata(*bool8.get(), {{"ARROW:extension:name", "arrow.bool8"}});
  expect({"c", "bool8", 2}, bool8);
  // Each row of the table is reached by a format.
  for (auto const& row : type_table()) { EXPECT_TRUE(seen.contains(row.arrow)) << row.arrow; }
}

TEST(TypeTable, AcceptsDictionariesWithIntegerIndices)
{
  for (auto const* format : {"c", "s", "i", "l", "C", "S", "I", "L"}) {
    auto const schema = dictionary_schema(format);
    EXPECT_EQ(import_row(*schema.get()).column, type_id::DICTIONARY32) << format;
    EXPECT_EQ(detail::parse_type(*schema.get()).layout, detail::array_layout::fixed);
  }
  for (auto const* format : {"f", "u", "b", "w:0", "ttu", "tdD", "tsn:", "tDs"}) {
    EXPECT_THROW((void)import_row(*dictionary_schema(format).get()), std::invalid_argument);
  }
}

TEST(TypeTable, AcceptsFixedSizeBinaryOfWidthZero)
{
  EXPECT_EQ(import_row(*schema_of("w:0").get()).arrow, "fixed_size_binary");
  EXPECT_EQ(detail::parse_type(*schema_of("w:0").get()).element_bits, 0);
}

TEST(TypeTable, KeepsTheScaleOfDecimals)
{
  EXPECT_EQ(detail::parse_type(*schema_of("d:9,2,32").get()).column,
            (cudf::data_type{type_id::DECIMAL32, -2}));
  EXPECT_EQ(detail::parse_type(*schema_of("d:9,-3").get()).column,
            (cudf::data_type{type_id::DECIMAL128, 3}));
}

TEST(TypeTable, RejectsFormatsOutsideTheSpecification)
{
  for (auto const* format :
       {"", "x", "ii", "d:", "d:5", "d:5,2,16", "ts", "tsx:", "w:", "+w:", "+x", "v", "td"}) {
    EXPECT_THROW((void)import_row(*schema_of(format).get()), std::invalid_argument) << format;
  }
  auto no_format = unique_schema{};
  ArrowSchemaInit(no_format.get());
  EXPECT_THROW((void)import_row(*no_format.get()), std::invalid_argument);
  EXPECT_THROW((void)import_row(ArrowSchema{}), std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
