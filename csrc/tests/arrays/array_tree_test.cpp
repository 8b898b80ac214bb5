// SPDX-License-Identifier: Apache-2.0
#include "testing/consumer.hpp"
#include "testing/release_counter.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

/// Counts how often the owner of the source is destroyed, which must be once.
class Release : public ::testing::Test {
 protected:
  shape type{struct_of({flat("int32"), list_of(flat("string")), dictionary_of(flat("string"))})};
  rows values{samples(type, 40, 30)};
  std::unique_ptr<cudf::column> column{make_column(type, values)};
  std::atomic<int> dropped{0};

  device_array export_column()
  {
    auto owner = std::shared_ptr<void const>{this, [this](void const*) { ++dropped; }};
    return to_arrow_device(
      column->view(), std::move(owner), export_options{}, stream(), host_memory_resource());
  }

  rows field(std::size_t index) const
  {
    auto result = rows{};
    for (auto const& row : values) {
      result.push_back(row.is_null() ? value{} : row.items()[index]);
    }
    return result;
  }
};

TEST_F(Release, OfTheLastHandleDropsTheOwner)
{
  auto handle = export_column();
  auto copy   = handle;
  handle.reset();
  EXPECT_EQ(dropped, 0);
  copy.reset();
  copy.reset();
  EXPECT_EQ(dropped, 1);
}

TEST_F(Release, InAnyOrderDropsTheOwnerOnce)
{
  auto order = std::vector<std::size_t>{0, 1, 2, 3};
  do {
    dropped     = 0;
    auto handle = export_column();
    auto arrays = std::vector<unique_device_array>{};
    for (auto i = 0; i < 3; ++i) { arrays.push_back(handle.to_arrow()); }
    for (auto const i : order) {
      EXPECT_EQ(dropped, 0);
      i == 3 ? handle.reset() : arrays[i].reset();
    }
    EXPECT_EQ(dropped, 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Release, OfArraysOfManyThreadsDropsTheOwnerOnce)
{
  for (auto round = 0; round < 50; ++round) {
    dropped      = 0;
    auto handle  = export_column();
    auto go      = std::atomic<bool>{false};
    auto threads = std::vector<std::thread>{};
    for (auto i = 0; i < 4; ++i) {
      threads.emplace_back([&, copy = handle] {
        while (!go) { std::this_thread::yield(); }
        auto array = copy.to_arrow();
        EXPECT_EQ(array->array.n_children, 3);
        auto const child = unique_array{array->array.children[1]};
        array.reset();
        EXPECT_EQ(child->n_children, 1);
      });
    }
    handle.reset();
    go = true;
    for (auto& thread : threads) { thread.join(); }
    ASSERT_EQ(dropped, 1);
  }
}

/// A consumer may replace a child with another struct. The parent then releases that struct.
TEST_F(Release, ReleasesAStructThatReplacesAChild)
{
  auto parent                = export_column().to_arrow();
  auto other                 = tracked{unique_array{parent->array.children[0]}};
  *parent->array.children[0] = other.array->array;
  other.array->array.release = nullptr;
  parent.reset();
  EXPECT_EQ(other.released, 1);
  EXPECT_EQ(dropped, 1);
}

TEST_F(Release, AfterAChildSwapDropsTheOwnersOfBothExports)
{
  auto one = export_column().to_arrow();
  auto two = export_column().to_arrow();
  std::swap(*one->array.children[1], *two->array.children[1]);
  one.reset();
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(read_arrow(two->array, type), values);
  two.reset();
  EXPECT_EQ(dropped, 2);
}

TEST_F(Release, ClearsTheCallbackOfTheStruct)
{
  auto array = ArrowDeviceArray{};
  export_column().to_arrow().move_to(&array);
  EXPECT_EQ(read_arrow(array.array, type), values);
  array.array.release(&array.array);
  EXPECT_EQ(array.array.release, nullptr);
  EXPECT_EQ(dropped, 1);
}

TEST_F(Release, OfMovedChildrenInAnyOrderDropsTheOwnerOnce)
{
  auto order = std::vector<std::size_t>{0, 1, 2, 3};
  do {
    dropped     = 0;
    auto parent = export_column().to_arrow();
    auto moved  = std::vector<unique_array>{};
    for (std::int64_t i = 0; i < 3; ++i) { moved.emplace_back(parent->array.children[i]); }
    for (auto const i : order) {
      EXPECT_EQ(dropped, 0);
      if (i == 3) {
        parent.reset();
      } else {
        EXPECT_EQ(read_arrow(*moved[i].get(), type.children[i]), field(i));
        moved[i].reset();
      }
    }
    EXPECT_EQ(dropped, 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Release, OfMovedDictionariesAndGrandchildrenDropsTheOwner)
{
  auto parent     = export_column().to_arrow();
  auto list       = unique_array{parent->array.children[1]};
  auto element    = unique_array{list->children[0]};
  auto dictionary = unique_array{parent->array.children[2]->dictionary};
  parent.reset();
  list.reset();
  EXPECT_EQ(dropped, 0);
  EXPECT_NO_THROW(read_arrow(*element.get(), flat("string")));
  EXPECT_NO_THROW(read_arrow(*dictionary.get(), flat("string")));
  dictionary.reset();
  EXPECT_EQ(dropped, 0);
  element.reset();
  EXPECT_EQ(dropped, 1);
}

TEST_F(Release, OfAChildHandleDropsTheOwner)
{
  auto child = export_column().child(1).to_arrow();
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(read_arrow(child->array, type.children[1]), field(1));
  child.reset();
  EXPECT_EQ(dropped, 1);
}

TEST_F(Release, FromAnyThreadDropsTheOwnerOnce)
{
  for (auto round = 0; round < 200; ++round) {
    dropped     = 0;
    auto parent = export_column().to_arrow();
    auto moved  = std::vector<unique_array>{};
    for (std::int64_t i = 0; i < 3; ++i) { moved.emplace_back(parent->array.children[i]); }
    auto go              = std::atomic<bool>{false};
    auto threads         = std::vector<std::thread>{};
    auto const on_thread = [&](auto& owner) {
      threads.emplace_back([&] {
        while (!go) { std::this_thread::yield(); }
        owner.reset();
      });
    };
    on_thread(parent);
    for (auto& child : moved) { on_thread(child); }
    go = true;
    for (auto& thread : threads) { thread.join(); }
    ASSERT_EQ(dropped, 1);
  }
}

TEST_F(Release, OfALongTableKeepsAMovedChildReadable)
{
  auto const views = std::vector<cudf::column_view>(5000, column->view());
  auto owner       = std::shared_ptr<void const>{this, [this](void const*) { ++dropped; }};
  auto const table = cudf::table_view{views};
  auto array =
    to_arrow_device(table, std::move(owner), export_options{}, stream(), host_memory_resource())
      .to_arrow();
  ASSERT_EQ(array->array.n_children, 5000);
  EXPECT_EQ(read_arrow(*array->array.children[0], type), values);
  EXPECT_EQ(read_arrow(*array->array.children[4999], type), values);
  auto const last = unique_array{array->array.children[4999]};
  array.reset();
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(read_arrow(*last.get(), type), values);
}

TEST_F(Release, OfADeepTreeDropsTheOwner)
{
  auto deep   = flat("int8");
  auto nested = rows{number(7)};
  for (auto i = 0; i < 200; ++i) {
    deep   = list_of(deep);
    nested = {value{nested}};
  }
  column     = make_column(deep, nested);
  auto array = export_column().to_arrow();
  EXPECT_EQ(read_arrow(array->array, deep), nested);
  array.reset();
  EXPECT_EQ(dropped, 1);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
