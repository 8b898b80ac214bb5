// SPDX-License-Identifier: Apache-2.0
#include "testing/consumer.hpp"
#include "testing/imports.hpp"
#include "testing/release_counter.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <gtest/gtest.h>

namespace cudf_arrow_bridge::test {
namespace {

unique_device_array export_view(cudf::column_view const& column,
                                bool compact                      = false,
                                std::shared_ptr<void const> owner = nullptr)
{
  return to_arrow_device(
           column, std::move(owner), {.compact = compact}, stream(), host_memory_resource())
    .to_arrow();
}

unique_device_array export_as(cudf::column_view const& column, shared_schema const& schema)
{
  return to_arrow_device(column, nullptr, {.schema = schema}, stream(), host_memory_resource())
    .to_arrow();
}

imported_column import_array(unique_device_array& array, ArrowSchema const& schema)
{
  return checked(
    from_arrow_device_column(schema, array.get(), {}, stream(), host_memory_resource()));
}

class RoundTrip : public ::testing::TestWithParam<unsigned> {
 protected:
  engine random{GetParam()};
  shape type{sample_shape(random, 3)};
  int null_percent{below(random, 2) * below(random, 101)};

  /// Begin and end of a random slice of `size` rows.
  std::pair<cudf::size_type, cudf::size_type> random_slice(cudf::size_type size)
  {
    auto const begin = below(random, size + 1);
    return {begin, begin + below(random, size - begin + 1)};
  }

  rows random_rows(int count)
  { return samples(type, static_cast<std::size_t>(count), null_percent, GetParam()); }
};

TEST_P(RoundTrip, KeepsRowsFromLibcudf)
{
  SCOPED_TRACE(type.name);
  auto const values       = random_rows(below(random, 150));
  auto column             = std::shared_ptr<cudf::column>{make_column(type, values)};
  auto const [begin, end] = random_slice(column->size());
  auto const part =
    test::part(values, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  auto const view   = slice(*column, begin, end);
  auto const schema = cudf_arrow_bridge::make_schema(view, {}).to_arrow();
  auto array        = export_view(view, below(random, 2) == 0, column);
  column.reset();
  EXPECT_EQ(read_arrow(array->array, type), part);

  auto const back = import_array(array, *schema.get());
  EXPECT_EQ(back.view().type(), view.type());
  expect_rows(back.view(), type, part);
  // An imported column can be sliced and exported again.
  auto const [first, last] = random_slice(back.size);
  auto const again         = export_view(slice(back.view(), first, last));
  EXPECT_EQ(read_arrow(again->array, type),
            test::part(part, static_cast<std::size_t>(first), static_cast<std::size_t>(last)));
}

TEST_P(RoundTrip, KeepsRowsFromAProducer)
{
  SCOPED_TRACE(type.name);
  auto const values = random_rows(below(random, 150));
  auto const pads   = [this](int) { return padding{below(random, 70), below(random, 5)}; };
  tracked source{produce(type, values, {pads, below(random, 2) == 0})};
  {
    auto const schema = make_schema(type);
    auto column = std::make_shared<imported_column>(import_array(source.array, *schema.get()));
    expect_rows(column->view(), type, values);
    auto const view  = column->view();
    auto const array = export_view(view, below(random, 2) == 0, std::move(column));
    EXPECT_EQ(read_arrow(array->array, type), values);
    EXPECT_LE(source.released, 1);
  }
  EXPECT_EQ(source.released, 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, ::testing::Range(0U, 400U));

// -- imported types -------------------------------------------------------------------------------

TEST(Origin, IsRestoredWithoutReadingTheValues)
{
  auto const column   = make_column(flat("timestamp_ms"), {number(1)});  // not a whole day
  auto const origin   = make_schema(as(cudf::type_id::TIMESTAMP_MILLISECONDS, "date64", "tdm"));
  auto const restored = cudf_arrow_bridge::make_schema(*column, {.origin = origin.get()}, nullptr);
  EXPECT_STREQ(restored.to_arrow()->format, "tdm");
  EXPECT_EQ(export_as(*column, restored)->array.length, 1);
  auto const requested = cudf_arrow_bridge::make_schema(*column, {}, origin.get());
  EXPECT_THROW((void)export_as(*column, requested), std::invalid_argument);
}

TEST(Origin, OfADictionaryIsRestoredIfItsIndicesHoldAnyColumn)
{
  auto const type = flat("int32");
  auto values     = rows{};
  for (auto i = 0; i < 129; ++i) { values.push_back(number(i)); }
  auto const column = make_column(type, values);
  for (auto const* index : {"c", "S", "i", "L"}) {
    auto origin = make_schema(dictionary_of(type));
    check(ArrowSchemaSetFormat(origin.get(), index));
    auto const schema = cudf_arrow_bridge::make_schema(*column, {.origin = origin.get()}, nullptr);
    auto const restored = schema.to_arrow();
    auto const array    = export_as(*column, schema);
    auto const is_plain = restored->dictionary == nullptr;
    EXPECT_EQ(is_plain, *index == 'c' || *index == 'S') << index;
    EXPECT_STREQ(restored->format, is_plain ? "i" : index);
    if (is_plain) { EXPECT_EQ(read_arrow(array->array, type), values); }
  }
  auto const encoded = dictionary_of(type);
  auto const wanted  = cudf_arrow_bridge::make_schema(*column, {}, make_schema(encoded).get());
  ASSERT_NE(wanted.to_arrow()->dictionary, nullptr);
  EXPECT_EQ(read_arrow(export_as(*column, wanted)->array, encoded), values);
}

// -- lifetime of the producer ---------------------------------------------------------------------

TEST(ProducerLifetime, LastsUntilTheLastBufferOfTheColumnIsFreed)
{
  auto const type = struct_of({flat("int64"), flat("string")});
  tracked source{produce(type, samples(type, 50, 30))};
  auto column   = import_array(source.array, *make_schema(type).get());
  auto contents = column.storage->release();
  column.storage.reset();
  auto numbers = contents.children[0]->release();
  auto strings = contents.children[1]->release();
  contents     = {};
  auto buffers = std::vector<std::unique_ptr<rmm::device_buffer>>{};
  for (auto* taken : {&numbers, &strings}) {
    buffers.push_back(std::move(taken->data));
    buffers.push_back(std::move(taken->null_mask));
  }
  auto offsets = strings.children[0]->release();
  buffers.push_back(std::move(offsets.data));
  numbers = {};
  strings = {};
  offsets = {};
  while (!buffers.empty()) {
    EXPECT_EQ(source.released, 0) << buffers.size() << " buffers left";
    buffers.pop_back();
  }
  EXPECT_EQ(source.released, 1);
}

TEST(ProducerLifetime, EndsWithTheImportIfAllBuffersAreConverted)
{
  auto const type = flat("bool8");
  tracked source{produce(type, samples(type, 50, 0))};
  auto const column = import_array(source.array, *make_schema(type).get());
  EXPECT_EQ(source.released, 1);
  EXPECT_EQ(read_rows(column.view(), type), samples(type, 50, 0));
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
