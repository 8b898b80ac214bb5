// SPDX-License-Identifier: Apache-2.0
#include "testing/imports.hpp"
#include "testing/memory_ranges.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <cudf_arrow_bridge/import.hpp>

#include <gtest/gtest.h>

namespace cudf_arrow_bridge::test {
namespace {

class ImportCopies : public ::testing::TestWithParam<std::tuple<shape, int>> {
 protected:
  shape type{std::get<0>(GetParam())};
  rows values{samples(type, 70, std::get<1>(GetParam()))};

  [[nodiscard]] imported_column import(ArrowDeviceArray* array, copy_policy policy) const
  {
    return from_arrow_device_column(
      *make_schema(type).get(), array, {.copy = policy}, stream(), host_memory_resource());
  }

  void expect_that_addresses_tell(slicing const& slices)
  {
    auto shares = false;
    {
      auto built        = produce(type, values, slices);
      auto const memory = memory_of(*built.get());
      tracked source{std::move(built)};
      auto const column = import(source.array.get(), copy_policy::as_needed);
      shares            = is_within(column.view(), memory);
    }
    auto built        = produce(type, values, slices);
    auto const memory = memory_of(*built.get());
    tracked source{std::move(built)};
    if (shares) {
      auto const column = import(source.array.get(), copy_policy::never);
      EXPECT_TRUE(is_within(column.view(), memory));
      expect_rows(column.view(), type, values);
    } else {
      EXPECT_THROW((void)import(source.array.get(), copy_policy::never), std::invalid_argument);
      EXPECT_EQ(source.released, 1);
    }
  }
};

TEST_P(ImportCopies, AreRejectedByNeverIfABufferWouldBeCopied)
{
  for (auto const top : {0, 1, 8, 32, 33}) {
    for (auto const below : {0, 1, 32}) {
      SCOPED_TRACE(std::to_string(top) + " rows before, " + std::to_string(below) + " below");
      auto const pad = [=](int level) { return padding{level == 0 ? top : below, 1}; };
      expect_that_addresses_tell({pad, true});
      expect_that_addresses_tell({pad, false});
    }
  }
}

TEST_P(ImportCopies, AreMadeOfAllBuffersByAlways)
{
  // `built` keeps the memory, so that the copies cannot reuse its addresses after the release.
  auto built         = produce(type, values, {});
  auto const memory  = memory_of(*built.get());
  auto view          = ArrowDeviceArray{};
  view.device_type   = ARROW_DEVICE_CPU;
  view.device_id     = -1;
  view.array         = *built.get();
  view.array.release = [](ArrowArray* array) { array->release = nullptr; };
  auto const column  = import(&view, copy_policy::always);
  EXPECT_EQ(view.array.release, nullptr);
  auto const expect_copies = [&](cudf::column_view const& level, auto const& next) -> void {
    EXPECT_FALSE(memory.have(level.head<void>()));
    EXPECT_FALSE(memory.have(level.null_mask()));
    std::for_each(
      level.child_begin(), level.child_end(), [&](auto const& child) { next(child, next); });
  };
  expect_copies(column.view(), expect_copies);
}

INSTANTIATE_TEST_SUITE_P(Types,
                         ImportCopies,
                         ::testing::Combine(::testing::ValuesIn(importable_shapes()),
                                            ::testing::Values(0, 30)),
                         [](auto const& one) {
                           return std::get<0>(one.param).name + "_" +
                                  std::to_string(std::get<1>(one.param));
                         });

}  // namespace
}  // namespace cudf_arrow_bridge::test
