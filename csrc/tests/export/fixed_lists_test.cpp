// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of lists that are exported as lists of a fixed size.
#include "testing/arrow_schema.hpp"
#include "testing/columns.hpp"
#include "testing/consumer.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::test {
namespace {

enum class source { requested, imported };

unique_device_array export_as(cudf::column_view const& column, shape const& type, source from)
{
  auto const wanted = make_schema(type);
  auto const origin = from == source::imported ? wanted.get() : nullptr;
  auto const asked  = from == source::requested ? wanted.get() : nullptr;
  auto const schema = cudf_arrow_bridge::make_schema(column, {.origin = origin}, asked);
  EXPECT_EQ(schema.to_arrow()->format, type.format);
  return to_arrow_device(column, nullptr, {.schema = schema}, stream(), host_memory_resource())
    .to_arrow();
}

std::vector<shape> fixed_shapes()
{
  auto elements = flat_shapes();
  elements.push_back(list_of(flat("int16")));
  elements.push_back(struct_of({flat("string"), flat("int8")}));
  elements.push_back(dictionary_of(flat("string")));
  elements.push_back(fixed_list_of(flat("bool8"), 3));
  elements.push_back(bytes_as("bytes_2", "w:2"));
  auto result = std::vector<shape>{};
  for (auto const& element : elements) {
    for (auto const size : {0, 1, 3}) { result.push_back(fixed_list_of(element, size)); }
  }
  result.push_back(list_of(fixed_list_of(flat("string"), 2)));
  result.push_back(struct_of({fixed_list_of(flat("int32"), 2)}));
  return result;
}

class FixedListsOf : public ::testing::TestWithParam<shape> {};

TEST_P(FixedListsOf, HoldTheSameRows)
{
  auto const& type = GetParam();
  for (auto const nulls : {0, 30, 100}) {
    auto const values = samples(type, 40, nulls);
    auto const column = make_column(type, values);
    for (auto const& [begin, end] : {std::pair{0, 40}, {1, 40}, {8, 9}, {9, 31}, {5, 5}}) {
      auto const part = slice(column->view(), begin, end);
      for (auto const from : {source::requested, source::imported}) {
        auto const array = export_as(part, type, from);
        EXPECT_EQ(read_arrow(array->array, type),
                  rows(values.begin() + begin, values.begin() + end));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         FixedListsOf,
                         ::testing::ValuesIn(fixed_shapes()),
                         [](auto const& test) { return test.param.name; });

/// A list column over the elements 0, 1, 2, ...
class lists_at {
 public:
  explicit lists_at(std::vector<std::int32_t> offsets, cudf::bitmask_type mask = ~0U)
    : offsets_{std::move(offsets)}, mask_{mask}
  {
  }

  [[nodiscard]] cudf::column_view view(cudf::size_type nulls = 0) const
  {
    auto const int32 = cudf::data_type{cudf::type_id::INT32};
    auto const size  = static_cast<cudf::size_type>(offsets_.size());
    return {
      cudf::data_type{cudf::type_id::LIST},
      size - 1,
      nullptr,
      nulls == 0 ? nullptr : &mask_,
      nulls,
      0,
      {cudf::column_view{int32, size, offsets_.data(), nullptr, 0},
       cudf::column_view{
         int32, static_cast<cudf::size_type>(elements_.size()), elements_.data(), nullptr, 0}}};
  }

  [[nodiscard]] std::int32_t const* elements() const { return elements_.data(); }

 private:
  std::vector<std::int32_t> offsets_;
  cudf::bitmask_type mask_;
  std::vector<std::int32_t> elements_{0, 1, 2, 3, 4, 5, 6, 7};
};

void const* element_data(unique_device_array const& array)
{ return array->array.children[0]->buffers[1]; }

TEST(FixedLists, ShareElementsOfContiguousLists)
{
  auto const type = fixed_list_of(flat("int32"), 2);
  for (auto const from : {source::requested, source::imported}) {
    auto const whole = lists_at{{0, 2, 4, 6}};
    EXPECT_EQ(element_data(export_as(whole.view(), type, from)), whole.elements());
    auto const later = lists_at{{2, 4, 6}};
    EXPECT_EQ(element_data(export_as(later.view(), type, from)), later.elements() + 2);
    // A null list that has elements keeps them.
    auto const nulls = lists_at{{0, 2, 4, 6}, 0b101};
    auto const array = export_as(nulls.view(1), type, from);
    EXPECT_EQ(element_data(array), nulls.elements());
    EXPECT_EQ(read_arrow(array->array, type),
              (rows{{rows{number(0), number(1)}}, value{}, {rows{number(4), number(5)}}}));
  }
}

TEST(FixedLists, GatherElementsOfListsThatAreNotContiguous)
{
  auto const type = fixed_list_of(flat("int32"), 2);
  auto const last = value{rows{number(4), number(5)}};
  // An empty null list; null lists of 1 and 3 elements, which together have as many as two lists.
  auto const empty = lists_at{{2, 4, 4, 6}, 0b101};
  auto const odd   = lists_at{{0, 1, 4, 6}, 0b100};
  for (auto const from : {source::requested, source::imported}) {
    auto const array = export_as(empty.view(1), type, from);
    EXPECT_EQ(read_arrow(array->array, type), (rows{{rows{number(2), number(3)}}, value{}, last}));
    EXPECT_EQ(read_arrow(export_as(odd.view(2), type, from)->array, type),
              (rows{value{}, value{}, last}));
  }
}

TEST(FixedLists, OfAnotherSizeAreRejected)
{
  auto const type = fixed_list_of(flat("int32"), 2);
  for (auto const& offsets : {std::vector{0, 2, 3}, {0, 1, 4}, {0, 0, 2}, {0, 3, 6}}) {
    auto const lists = lists_at{offsets};
    EXPECT_THROW((void)export_as(lists.view(), type, source::requested), std::invalid_argument);
  }
  // The import checked the sizes. A wrong total means that the lists changed after the import.
  auto const changed = lists_at{{0, 2, 2}};
  EXPECT_THROW((void)export_as(changed.view(), type, source::imported), std::invalid_argument);
}

TEST(FixedLists, OverflowAboveTheRowLimit)
{
  auto const lists = lists_at{{0, 0, 0, 0}, 0};
  EXPECT_THROW(
    (void)export_as(lists.view(3), fixed_list_of(flat("int32"), 1'000'000'000), source::requested),
    std::overflow_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
