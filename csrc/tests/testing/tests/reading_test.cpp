// SPDX-License-Identifier: Apache-2.0
#include "testing/reading.hpp"

#include "testing/columns.hpp"
#include "testing/plants/plant.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <gtest/gtest.h>

namespace cudf_arrow_bridge::test {
namespace {

// -- valid columns -----------------------------------------------------------------------------

class Reading : public ::testing::TestWithParam<shape> {};

TEST_P(Reading, OfSlicesReturnsTheirRows)
{
  auto const& type  = GetParam();
  auto const values = samples(type, 70, 30);
  auto const column = make_column(type, values);
  for (auto const& [begin, end] : {std::pair{0, 70}, {0, 33}, {33, 70}, {5, 6}, {70, 70}}) {
    SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end));
    auto const view = slice(*column, begin, end);
    auto const expected =
      part(values, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    EXPECT_EQ(read_taken_apart(view, type), expected);
    EXPECT_EQ(read_concatenated({&view, 1}, type), expected);
  }
}

TEST_P(Reading, OfConcatenatedPartsReturnsAllRows)
{
  auto const& type  = GetParam();
  auto const values = samples(type, 70, 30);
  auto const column = make_column(type, values);
  auto const other  = make_column(type, {});
  auto const parts  = std::vector<cudf::column_view>{slice(*column, 0, 1),
                                                     other->view(),
                                                     slice(*column, 1, 40),
                                                     slice(*column, 40, 40),
                                                     slice(*column, 40, 70)};
  EXPECT_EQ(read_concatenated(parts, type), values);
}

INSTANTIATE_TEST_SUITE_P(Types,
                         Reading,
                         ::testing::ValuesIn(nested_shapes()),
                         [](auto const& test) { return test.param.name; });

// -- columns that break an invariant -----------------------------------------------------------

value empty_list() { return {rows{}}; }

/// Return the lists [2] and [3] over the elements 1, 2, 3. No list has element 1.
planted lists_behind_an_element()
{
  auto result = planted{integer_list, {list({1, 2}), list({3})}};
  result.replace(0, std::vector<std::int32_t>{1, 2, 3});
  return result;
}

TEST(ReadingOfLists, WithNonzeroFirstOffsetReturnsWrongRows)
{
  auto const planted = lists_behind_an_element();
  auto const view    = planted.changed.view();
  EXPECT_EQ(read_rows(view, integer_list), (rows{list({2}), list({3})}));
  // Each element is one row too early, and the last element has no row.
  EXPECT_EQ(explode_map(view), (std::vector<cudf::size_type>{0, 1, 2}));
  EXPECT_EQ(read_taken_apart(view, integer_list), (rows{list({1}), list({2}), list({3})}));
}

TEST(ReadingOfLists, OfASliceUsesTheElementsOfItsRows)
{
  auto const column = make_column(integer_list, {list({1, 2}), list({3}), empty_list(), list({4})});
  auto const view   = slice(*column, 1, 4);
  EXPECT_EQ(sliced_child(view).size(), 2);
  EXPECT_EQ(explode_map(view), (std::vector<cudf::size_type>{0, 2}));
}

TEST(ReadingOfLists, WithExtraElementsReturnsWrongRowsWhenConcatenated)
{
  auto planted = test::planted{integer_list, {list({1, 2}), list({3})}};
  planted.replace(0, std::vector<std::int32_t>{0, 1, 2});
  auto const view = planted.changed.view();
  EXPECT_EQ(read_taken_apart(view, integer_list), (rows{list({1}), list({2}), list({3})}));
  // The next column's elements begin after the whole child, so the last list ends there.
  auto const twice = std::vector<cudf::column_view>{view, view};
  EXPECT_EQ(read_concatenated(twice, integer_list),
            (rows{list({1}), list({2, 3}), list({1}), list({2})}));
}

TEST(ReadingOfLists, WithNonzeroFirstOffsetExtendsTheListBeforeWhenConcatenated)
{
  auto const planted = lists_behind_an_element();
  auto const view    = planted.changed.view();
  auto const sound   = make_column(integer_list, {list({7})});
  auto const both    = std::vector<cudf::column_view>{*sound, view};
  EXPECT_EQ(read_concatenated(both, integer_list), (rows{list({7, 1}), list({2}), list({3})}));
}

TEST(ReadingOfStrings, WithNonzeroFirstOffsetReturnsWrongCharacters)
{
  auto planted = test::planted{flat("string"), {text("ab"), text("c")}};
  planted.replace(0, std::vector<std::int32_t>{1, 2, 3});
  auto const view = planted.changed.view();
  EXPECT_EQ(read_rows(view, flat("string")), (rows{text("b"), text("c")}));
  EXPECT_EQ(characters(view), "abc");
  EXPECT_EQ(read_taken_apart(view, flat("string")), (rows{text("a"), text("b"), text("c")}));
  EXPECT_EQ(read_concatenated({&view, 1}, flat("string")), (rows{text("b"), text("c")}));
}

TEST(ReadingOfStructs, IgnoresTheOffsetOfAField)
{
  auto const type = struct_of({flat("int32")});
  auto planted    = test::planted{type, {list({1}), list({2})}};
  planted.change_child(0, [](parts& field) {
    field.offset = 1;
    field.size   = 1;
  });
  planted.changed.size = 1;
  auto const view      = planted.changed.view();
  EXPECT_EQ(read_taken_apart(view, type), (rows{list({1})}));
}

TEST(ReadingOfDictionaries, IgnoresTheOffsetOfTheIndices)
{
  auto const type = dictionary_of(flat("int32"));
  auto planted    = test::planted{type, {number(1), number(2)}};
  planted.change_child(0, [](parts& indices) {
    indices.offset = 1;
    indices.size   = 1;
  });
  planted.changed.size = 1;
  auto const view      = planted.changed.view();
  EXPECT_EQ(read_taken_apart(view, type), (rows{number(1)}));
  EXPECT_EQ(read_concatenated({&view, 1}, type), (rows{number(1)}));
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
