// SPDX-License-Identifier: Apache-2.0
#include "testing/expect_invariants.hpp"
#include "testing/plants/children.hpp"
#include "testing/plants/flat.hpp"
#include "testing/plants/offsets.hpp"
#include "testing/sample.hpp"

#include <set>

namespace cudf_arrow_bridge::test {
namespace {

// -- valid columns -----------------------------------------------------------------------------

class SoundColumns : public ::testing::TestWithParam<shape> {};

TEST_P(SoundColumns, SatisfyTheInvariantsWholeAndSliced)
{
  auto const& type = GetParam();
  for (auto const null_percent : {0, 30, 100}) {
    for (auto const size : {0U, 1U, 70U}) {
      auto const column = make_column(type, samples(type, size, null_percent));
      auto const rows   = column->size();
      SCOPED_TRACE(std::to_string(rows) + " rows");
      expect_invariants(*column);
      for (auto const& [begin, end] :
           {std::pair{0, rows / 2}, {rows / 2, rows}, {rows / 3, rows / 2}, {rows, rows}}) {
        expect_invariants(slice(*column, begin, end));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         SoundColumns,
                         ::testing::ValuesIn(nested_shapes()),
                         [](auto const& test) { return test.param.name; });

// -- planted violations ------------------------------------------------------------------------

std::vector<plant> plants()
{
  auto result = flat_plants();
  for (auto const& more : {offsets_plants(), children_plants()}) {
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

class PlantedViolations : public ::testing::TestWithParam<plant> {};

TEST_P(PlantedViolations, AreReportedWithTheirPath)
{
  auto const& plant  = GetParam();
  auto const planted = plant.make();
  auto const found   = find_violations(planted.changed.view(), planted.options);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].broken, plant.broken);
  EXPECT_EQ(found[0].path, plant.path);
  auto const message = describe(found[0]);
  EXPECT_TRUE(message.starts_with(plant.path));
  EXPECT_NE(message.find(statement_of(plant.broken)), std::string::npos) << message;
  EXPECT_NE(message.find(source_of(plant.broken)), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Each,
                         PlantedViolations,
                         ::testing::ValuesIn(plants()),
                         [](auto const& test) { return std::string{test.param.name}; });

TEST(Invariants, HaveAPlantedViolationEach)
{
  auto planted = std::set<invariant>{};
  for (auto const& plant : plants()) { planted.insert(plant.broken); }
  EXPECT_EQ(planted.size(), num_invariants);
}

TEST(Invariants, OfNullsAreNotCheckedWithoutSanitize)
{
  for (auto const& plant : plants()) {
    if (plant.broken != invariant::null_rows_are_empty &&
        plant.broken != invariant::null_structs_have_null_fields) {
      continue;
    }
    auto const planted = plant.make();
    expect_invariants(planted.changed.view(), {.sanitized = false});
  }
}

TEST(Invariants, RequireAlignmentUpToTheMaximum)
{
  auto const column = make_column(flat("decimal128"), samples(flat("decimal128"), 3, 0));
  auto shifted      = parts{column->view()};
  shifted.size      = 2;
  shifted.data      = moved(shifted.data, 8);
  expect_invariants(shifted.view());
  auto const found = find_violations(shifted.view(), {.max_alignment = 16});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].broken, invariant::data_is_aligned);
}

TEST(Invariants, RequireOnlyWholeWordsOfASlicedMask)
{
  auto const column = make_column(flat("int32"), samples(flat("int32"), 40, 50));
  auto const view   = slice(*column, 3, 40);
  expect_invariants(view, {.allocation_of = bytes_at(view.null_mask(), 8)});
}

TEST(Invariants, RequireOnlyWholeWordsOfAMaskThatBeginsInsideItsAllocation)
{
  auto const column = make_column(flat("int32"), samples(flat("int32"), 70, 50));
  auto shifted      = parts{column->view()};
  auto const whole  = std::span{reinterpret_cast<std::byte const*>(shifted.mask), 12};
  shifted.mask += 1;
  shifted.size        = 38;
  shifted.null_count  = count_nulls_in(column->view(), 32, 70);
  auto const short_of = [&](std::size_t bytes) {
    return find_violations(shifted.view(), {.allocation_of = [=](void const* address) {
                             return address == shifted.mask ? whole.first(bytes)
                                                            : std::span<std::byte const>{};
                           }});
  };
  EXPECT_TRUE(short_of(12).empty());
  ASSERT_EQ(short_of(11).size(), 1U);
  EXPECT_EQ(short_of(11)[0].broken, invariant::mask_is_padded);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
