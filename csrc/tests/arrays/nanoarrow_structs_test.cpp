// SPDX-License-Identifier: Apache-2.0
#include "testing/consumer.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/table/table_view.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

/// Return whether a struct and all its descendants have nanoarrow's release callback.
template <typename Struct>
bool is_nanoarrows(Struct const& value, void (*release)(Struct*))
{
  auto result = value.release == release;
  for (std::int64_t i = 0; i < value.n_children; ++i) {
    result = result && is_nanoarrows(*value.children[i], release);
  }
  return result && (value.dictionary == nullptr || is_nanoarrows(*value.dictionary, release));
}

class NanoarrowStructs : public ::testing::TestWithParam<shape> {};

TEST_P(NanoarrowStructs, HaveNanoarrowsReleaseCallbackAtEachLevel)
{
  auto const& type  = GetParam();
  auto const column = make_column(type, samples(type, 20, 30));
  auto const handle =
    to_arrow_device(column->view(), nullptr, export_options{}, stream(), host_memory_resource());
  auto array = nanoarrow::UniqueArray{};
  check(ArrowArrayInitFromType(array.get(), NANOARROW_TYPE_NA));
  EXPECT_TRUE(is_nanoarrows(handle.to_arrow()->array, array->release));

  auto schema = nanoarrow::UniqueSchema{};
  ArrowSchemaInit(schema.get());
  auto const made = cudf_arrow_bridge::make_schema(*column, {}).to_arrow();
  EXPECT_TRUE(is_nanoarrows(*made.get(), schema->release));
  EXPECT_TRUE(is_nanoarrows(*copy_schema(*made.get()).to_arrow().get(), schema->release));
}

INSTANTIATE_TEST_SUITE_P(Types,
                         NanoarrowStructs,
                         ::testing::ValuesIn(nested_shapes()),
                         [](auto const& each) { return each.param.name; });

/// Exports a table of a null column, which has no buffers, and an int32 column.
class Shares : public ::testing::Test {
 protected:
  std::unique_ptr<cudf::column> numbers{make_column(flat("int32"), samples(flat("int32"), 9, 0))};
  cudf::column_view nulls{cudf::data_type{cudf::type_id::EMPTY}, 9, nullptr, nullptr, 9};
  std::atomic<int> dropped{0};

  unique_device_array export_table()
  {
    auto owner = std::shared_ptr<void const>{this, [this](void const*) { ++dropped; }};
    return to_arrow_device(cudf::table_view{{nulls, numbers->view()}},
                           std::move(owner),
                           export_options{},
                           stream(),
                           host_memory_resource())
      .to_arrow();
  }
};

TEST_F(Shares, AreHeldByArraysWithoutBuffers)
{
  auto parent = export_table();
  auto child  = unique_array{parent->array.children[0]};
  EXPECT_EQ(child->n_buffers, 0);
  EXPECT_EQ(child->null_count, 9);
  parent.reset();
  EXPECT_EQ(dropped, 0);
  child.reset();
  EXPECT_EQ(dropped, 1);
}

TEST(SchemasOfMaps, HaveNanoarrowsNamesAndFlags)
{
  auto const pairs  = list_of(struct_of({flat("string"), flat("int64")}));
  auto const column = make_column(pairs, samples(pairs, 5, 0));
  auto by_hand      = unique_schema{};
  check(ArrowSchemaInitFromType(by_hand.get(), NANOARROW_TYPE_MAP));
  auto const& entries = *by_hand->children[0];
  check(ArrowSchemaSetType(entries.children[0], NANOARROW_TYPE_STRING));
  check(ArrowSchemaSetType(entries.children[1], NANOARROW_TYPE_INT64));
  // The request has no names, so the defaults are used.
  auto wanted = unique_schema{};
  check(ArrowSchemaDeepCopy(by_hand.get(), wanted.get()));
  for (auto* level :
       {wanted->children[0], wanted->children[0]->children[0], wanted->children[0]->children[1]}) {
    check(ArrowSchemaSetName(level, nullptr));
  }
  auto const made = cudf_arrow_bridge::make_schema(*column, {}, wanted.get());
  EXPECT_TRUE(equal_schemas(*made.to_arrow().get(), *by_hand.get()));
}

TEST(CopiedSchemas, EqualTheSourceAndNameEachLevel)
{
  auto source = unique_schema{};
  check(ArrowSchemaInitFromType(source.get(), NANOARROW_TYPE_LARGE_LIST_VIEW));
  check(ArrowSchemaSetFormat(source->children[0], "+w:3"));
  check(ArrowSchemaSetName(source->children[0], nullptr));
  check(ArrowSchemaAllocateChildren(source->children[0], 1));
  ArrowSchemaInit(source->children[0]->children[0]);
  auto& index = *source->children[0]->children[0];
  check(ArrowSchemaSetFormat(&index, "I"));
  check(ArrowSchemaAllocateDictionary(&index));
  check(ArrowSchemaInitFromType(index.dictionary, NANOARROW_TYPE_STRING_VIEW));
  index.flags = ARROW_FLAG_DICTIONARY_ORDERED | ARROW_FLAG_MAP_KEYS_SORTED;
  // Metadata of zero pairs, which differs from null metadata.
  check(ArrowSchemaSetMetadata(index.dictionary, "\0\0\0\0"));
  auto const copy = copy_schema(*source.get()).to_arrow();
  EXPECT_TRUE(equal_schemas(*copy.get(), *source.get()));
  EXPECT_STREQ(copy->name, "");
  EXPECT_STREQ(copy->children[0]->name, "");
  EXPECT_STREQ(copy->children[0]->children[0]->dictionary->name, "");
  EXPECT_NE(copy->children[0]->children[0]->dictionary->metadata, nullptr);
}

TEST(CopiedSchemas, AreRejectedAsExportSchemas)
{
  auto const column = make_column(flat("int8"), samples(flat("int8"), 3, 0));
  auto const copied = copy_schema(*cudf_arrow_bridge::make_schema(*column, {}).to_arrow().get());
  EXPECT_THROW((void)to_arrow_device(
                 column->view(), nullptr, {.schema = copied}, stream(), host_memory_resource()),
               std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
