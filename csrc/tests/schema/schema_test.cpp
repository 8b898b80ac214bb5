// SPDX-License-Identifier: Apache-2.0
#include "testing/arrow_schema.hpp"
#include "testing/columns.hpp"
#include "testing/sample.hpp"

#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/table/table_view.hpp>
#include <cudf/utilities/error.hpp>

#include <gtest/gtest.h>
#include <nanoarrow/nanoarrow.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using cudf_arrow_bridge::make_schema;
using test::make_schema;

std::string format_of(shape const& type, column_metadata const& metadata)
{ return make_schema(*make_column(type, {}), metadata).to_arrow()->format; }

void expect_same_formats(ArrowSchema const& schema, shape const& type)
{
  EXPECT_EQ(schema.format, type.format) << type.name;
  auto const is_dictionary = type.id == cudf::type_id::DICTIONARY32;
  EXPECT_EQ(schema.dictionary != nullptr, is_dictionary);
  if (is_dictionary) {
    EXPECT_EQ(schema.n_children, 0);
    return expect_same_formats(*schema.dictionary, type.children[0]);
  }
  ASSERT_EQ(schema.n_children, std::ssize(type.children));
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    expect_same_formats(*schema.children[i], type.children[i]);
  }
}

class Schema : public ::testing::TestWithParam<shape> {};

TEST_P(Schema, HasTheFormatOfTheTypeAtEachLevel)
{
  auto const& type = GetParam();
  // Not empty: an empty string column need not have offsets, whose width decides the type.
  auto const column = make_column(type, samples(type, 20, 0));
  auto const schema = make_schema(*column, {}).to_arrow();
  expect_same_formats(*schema.get(), type);

  auto view  = ArrowSchemaView{};
  auto error = ArrowError{};
  EXPECT_EQ(ArrowSchemaViewInit(&view, schema.get(), &error), NANOARROW_OK) << error.message;
}

TEST_P(Schema, IsTheSameWithAndWithoutNulls)
{
  auto const& type    = GetParam();
  auto const describe = [&](int null_percent) {
    auto const column = make_column(type, samples(type, 40, null_percent));
    auto const schema = make_schema(*column, {}).to_arrow();
    auto text         = std::string(1000, '\0');
    (void)ArrowSchemaToString(schema.get(), text.data(), std::ssize(text), 1);
    return text + std::to_string(schema->flags);
  };
  EXPECT_EQ(describe(0), describe(30));
}

INSTANTIATE_TEST_SUITE_P(Types, Schema, ::testing::ValuesIn(nested_shapes()), [](auto const& each) {
  return each.param.name;
});

TEST(SchemaOfDurationDays, IsInSeconds)
{
  auto const days = integers(cudf::type_id::DURATION_DAYS, std::vector<std::int32_t>{1});
  EXPECT_STREQ(make_schema(*days, {}).to_arrow()->format, "tDs");
}

TEST(SchemaParameters, DecimalPrecisionMustFitTheWidth)
{
  struct row {
    char const* name;
    int precision;
    char const* format;  // null: rejected
  };
  for (auto const& [name, precision, format] : {row{"decimal32", 0, "d:9,2,32"},
                                                row{"decimal32", 5, "d:5,2,32"},
                                                row{"decimal32", 9, "d:9,2,32"},
                                                row{"decimal32", 10, nullptr},
                                                row{"decimal32", -1, nullptr},
                                                row{"decimal64", 0, "d:18,-3,64"},
                                                row{"decimal64", 18, "d:18,-3,64"},
                                                row{"decimal64", 19, nullptr},
                                                row{"decimal128", 0, "d:38,20"},
                                                row{"decimal128", 20, "d:20,20"},
                                                row{"decimal128", 39, nullptr}}) {
    auto const metadata = column_metadata{.name = "price", .precision = precision};
    if (format != nullptr) {
      EXPECT_EQ(format_of(flat(name), metadata), format);
      continue;
    }
    try {
      (void)format_of(flat(name), metadata);
      FAIL() << name << " of precision " << precision;
    } catch (std::invalid_argument const& error) {
      EXPECT_NE(std::string_view{error.what()}.find("'price'"), std::string_view::npos);
    }
  }
}

TEST(SchemaFlags, FollowNullableAndOrderedOfTheMetadata)
{
  auto const type       = dictionary_of(flat("string"));
  auto const dictionary = make_column(type, {});
  for (auto const nullable : {true, false}) {
    for (auto const ordered : {true, false}) {
      auto const schema =
        make_schema(*dictionary, {.nullable = nullable, .ordered = ordered}).to_arrow();
      EXPECT_EQ(
        schema->flags,
        (nullable ? ARROW_FLAG_NULLABLE : 0) | (ordered ? ARROW_FLAG_DICTIONARY_ORDERED : 0));
    }
  }
  EXPECT_EQ(make_schema(*make_column(flat("int8"), {}), {.ordered = true}).to_arrow()->flags,
            ARROW_FLAG_NULLABLE)
    << "only dictionaries are ordered";
}

TEST(SchemaNames, HaveDefaults)
{
  auto const type = struct_of({flat("int8"), list_of(flat("int8"))});
  auto const schema =
    make_schema(*make_column(type, {}), {.children = {{.name = "given"}}}).to_arrow();
  EXPECT_STREQ(schema->name, "");
  EXPECT_STREQ(schema->children[0]->name, "given");
  EXPECT_STREQ(schema->children[1]->name, "1");
  EXPECT_STREQ(schema->children[1]->children[0]->name, "item");
}

TEST(SchemaOfAnImportedStruct, IsPlainIfItHasOtherFields)
{
  auto const origin = make_schema(*make_column(struct_of({flat("int8"), flat("string")}), {}), {});
  auto const held   = origin.to_arrow();
  auto const column = make_column(struct_of({flat("int8")}), {});
  auto const schema = make_schema(*column, {.origin = held.get()}).to_arrow();
  EXPECT_STREQ(schema->format, "+s");
  EXPECT_EQ(schema->n_children, 1);
  EXPECT_THROW((void)make_schema(*column, {}, held.get()), std::invalid_argument);
}

std::string metadata_value(ArrowSchema const& schema, char const* key)
{
  auto value = ArrowStringView{};
  check(ArrowMetadataGetValue(schema.metadata, ArrowCharView(key), &value));
  return {value.data, static_cast<std::size_t>(value.size_bytes)};
}

TEST(SchemaOfATable, IsAStructThatIsNotNullable)
{
  auto const ids   = make_column(flat("int32"), {});
  auto const names = make_column(flat("string"), {});
  auto const table = cudf::table_view{{*ids, *names, *ids}};
  auto const schema =
    make_schema(table, {{.name = "id"}, {.name = "name", .nullable = false}}, {{"pandas", "{}"}})
      .to_arrow();
  EXPECT_STREQ(schema->format, "+s");
  EXPECT_STREQ(schema->name, "");
  EXPECT_EQ(schema->flags, 0);
  EXPECT_EQ(metadata_value(*schema.get(), "pandas"), "{}");
  ASSERT_EQ(schema->n_children, 3);
  EXPECT_STREQ(schema->children[0]->name, "id");
  EXPECT_EQ(schema->children[0]->flags, ARROW_FLAG_NULLABLE);
  EXPECT_STREQ(schema->children[1]->name, "name");
  EXPECT_EQ(schema->children[1]->flags, 0);
  EXPECT_STREQ(schema->children[2]->name, "2");
  EXPECT_EQ(make_schema(cudf::table_view{}, {}, {}).to_arrow()->n_children, 0);
}

TEST(SharedSchemas, AreThoseOfTablesIfTheyAreStructsThatAreNotNullable)
{
  auto const fields   = make_column(struct_of({flat("int8")}), {});
  auto const is_table = [](cudf::column_view const& column, bool nullable) {
    return make_schema(column, {.nullable = nullable}).is_table();
  };
  EXPECT_TRUE(is_table(*fields, false));
  EXPECT_FALSE(is_table(*fields, true));
  EXPECT_FALSE(is_table(*make_column(flat("int8"), {}), false));
  EXPECT_TRUE(copy_schema(*make_schema(cudf::table_view{}, {}, {}).to_arrow().get()).is_table());
  EXPECT_THROW((void)shared_schema{}.is_table(), std::invalid_argument);
}

class SharedSchema : public ::testing::Test {
 protected:
  shape type{struct_of({flat("int8"), list_of(flat("string")), dictionary_of(flat("string"))})};
  shared_schema shared{
    make_schema(*make_column(type, samples(type, 5, 0)), {.metadata = {{"a", "1"}}})};
};

TEST_F(SharedSchema, StructsStayValidAfterTheHandleIsReset)
{
  auto first  = shared.to_arrow();
  auto second = shared.to_arrow();
  shared      = {};
  first.reset();
  expect_same_formats(*second.get(), type);
  EXPECT_EQ(metadata_value(*second.get(), "a"), "1");
  EXPECT_THROW((void)shared.to_arrow(), std::invalid_argument);
}

TEST_F(SharedSchema, ChildrenStayValidAfterTheirParentIsReleased)
{
  auto parent     = shared.to_arrow();
  auto list       = unique_schema{parent->children[1]};
  auto element    = unique_schema{list->children[0]};
  auto dictionary = unique_schema{parent->children[2]->dictionary};
  shared          = {};
  parent.reset();
  EXPECT_STREQ(list->format, "+l");
  list.reset();
  EXPECT_STREQ(element->format, "u");
  EXPECT_STREQ(element->name, "item");
  element.reset();
  expect_same_formats(*dictionary.get(), flat("string"));
}

TEST_F(SharedSchema, ReleaseClearsTheCallbackOfTheStruct)
{
  auto schema = ArrowSchema{};
  shared.to_arrow().move_to(&schema);
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
}

/// A struct of a dictionary and a list, with metadata at its top.
unique_schema checked_schema()
{
  auto result   = make_schema(struct_of({dictionary_of(flat("string")), list_of(flat("int8"))}));
  auto metadata = nanoarrow::UniqueBuffer{};
  check(ArrowMetadataBuilderInit(metadata.get(), nullptr));
  for (auto const* key : {"first", "second"}) {
    check(ArrowMetadataBuilderAppend(metadata.get(), ArrowCharView(key), ArrowCharView("a value")));
  }
  check(ArrowSchemaSetMetadata(result.get(), reinterpret_cast<char const*>(metadata->data)));
  return result;
}

TEST(EqualSchemas, IsFalseForEachDifference)
{
  auto const one = checked_schema();
  EXPECT_TRUE(equal_schemas(*one.get(), *checked_schema().get()));
  auto const expect_other = [&](std::string const& what, auto const& change) {
    SCOPED_TRACE(what);
    auto other = checked_schema();
    change(*other.get());
    EXPECT_FALSE(equal_schemas(*one.get(), *other.get()));
    EXPECT_FALSE(equal_schemas(*other.get(), *one.get()));
  };
  expect_other("name", [](auto& schema) { check(ArrowSchemaSetName(schema.children[1], "b")); });
  expect_other("format", [](auto& schema) {
    check(ArrowSchemaSetFormat(schema.children[1]->children[0], "s"));
  });
  expect_other("flags", [](auto& schema) { schema.children[0]->flags ^= ARROW_FLAG_NULLABLE; });
  expect_other("dictionary", [](auto& schema) {
    check(ArrowSchemaSetFormat(schema.children[0]->dictionary, "U"));
  });
  expect_other("no metadata",
               [](auto& schema) { check(ArrowSchemaSetMetadata(&schema, nullptr)); });
  expect_other("metadata below", [](auto& schema) {
    check(ArrowSchemaSetMetadata(schema.children[0], schema.metadata));
  });
}

/// Metadata in an allocation of its exact size, so that a sanitizer detects a read past its end.
class other_metadata {
 public:
  explicit other_metadata(std::vector<char> bytes) : bytes_{std::move(bytes)} {}

  [[nodiscard]] bool equals(ArrowSchema const& one)
  {
    auto other            = checked_schema();
    auto const* const own = std::exchange(other->metadata, bytes_.data());
    auto const result     = equal_schemas(one, *other.get());
    other->metadata       = own;
    return result;
  }

 private:
  std::vector<char> bytes_;
};

TEST(EqualSchemas, StopsReadingMetadataAtTheFirstDifference)
{
  auto const one   = checked_schema();
  auto const size  = static_cast<std::size_t>(ArrowMetadataSizeOf(one->metadata));
  auto const whole = std::vector<char>{one->metadata, one->metadata + size};
  EXPECT_TRUE(other_metadata{whole}.equals(*one.get()));
  for (std::size_t i = 0; i < size; ++i) {
    SCOPED_TRACE(std::to_string(i));
    // Metadata is a count and four texts, each a size and its bytes. Cut it after the part that
    // differs.
    auto other = whole;
    other[i] ^= 64;
    auto end = sizeof(std::int32_t);
    while (end <= i) {
      auto text = std::int32_t{0};
      std::memcpy(&text, &whole[end], sizeof(text));
      auto const size_end = end + sizeof(text);
      end                 = i < size_end ? size_end : size_end + static_cast<std::size_t>(text);
    }
    other.resize(end);
    other.shrink_to_fit();
    EXPECT_FALSE(other_metadata{std::move(other)}.equals(*one.get()));
  }
}

TEST(EqualSchemas, IsFalseForAMalformedSchema)
{
  auto const one       = checked_schema();
  auto other           = checked_schema();
  auto& list           = *other->children[1];
  auto* const children = std::exchange(list.children, nullptr);
  EXPECT_FALSE(equal_schemas(*one.get(), *other.get()));
  list.children     = children;
  auto* const child = std::exchange(list.children[0], nullptr);
  EXPECT_FALSE(equal_schemas(*one.get(), *other.get()));
  list.children[0]   = child;
  auto const release = std::exchange(child->release, nullptr);
  EXPECT_FALSE(equal_schemas(*one.get(), *other.get()));
  child->release  = release;
  list.n_children = -1;
  EXPECT_FALSE(equal_schemas(*one.get(), *other.get()));
  list.n_children = 1;
  EXPECT_TRUE(equal_schemas(*one.get(), *other.get()));
}

TEST(SchemaErrors, NameTheColumn)
{
  auto const number             = make_column(flat("int8"), {});
  auto const type               = struct_of({flat("int8"), list_of(flat("decimal32"))});
  auto const nested             = make_column(type, {});
  auto precise                  = column_metadata{.name = "a", .children = {{}, {.name = "b"}}};
  precise.children[1].children  = {{.precision = 77}};
  auto too_many                 = column_metadata{.name = "a", .children = {{.name = "c"}}};
  too_many.children[0].children = {{}};
  for (auto const& [metadata, path] : {std::pair{precise, "'a.b[]'"}, {too_many, "'a.c'"}}) {
    try {
      (void)make_schema(*nested, metadata).to_arrow();
      FAIL() << path;
    } catch (std::invalid_argument const& error) {
      EXPECT_NE(std::string_view{error.what()}.find(path), std::string_view::npos) << error.what();
    }
  }
  EXPECT_THROW((void)make_schema(cudf::table_view{{*number}}, {{}, {}}, {}).to_arrow(),
               std::invalid_argument);
  for (auto const id : {cudf::type_id::LIST, cudf::type_id::DICTIONARY32}) {
    auto const childless = cudf::column_view{cudf::data_type{id}, 0, nullptr, nullptr, 0};
    EXPECT_THROW((void)make_schema(childless, {}).to_arrow(), std::invalid_argument);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
