// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the functions that build lists of a fixed size.
#include "compute/cast.hpp"
#include "compute/gather.hpp"
#include "compute/on_host.hpp"
#include "testing/columns.hpp"
#include "testing/expect_invariants.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

std::vector<std::int32_t> numbers_in(rmm::device_buffer const& buffer)
{
  auto const* data = static_cast<std::int32_t const*>(buffer.data());
  return {data, data + buffer.size() / sizeof(std::int32_t)};
}

TEST(RowsOfLists, CountUpFromTheBeginOfEachList)
{
  auto const begins = std::vector<std::int32_t>{4, 9, 4};
  auto const made   = detail::rows_of_lists({begins.data(), 3, 3, 0, 100}, on_host());
  EXPECT_EQ(numbers_in(made), (std::vector<std::int32_t>{4, 5, 6, 9, 10, 11, 4, 5, 6}));
}

TEST(RowsOfLists, AreClampedToTheAllowedRange)
{
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  auto const begins   = std::vector<std::int32_t>{0, 6, most};
  auto const made     = detail::rows_of_lists({begins.data(), 3, 2, 1, 6}, on_host());
  EXPECT_EQ(numbers_in(made), (std::vector<std::int32_t>{1, 1, 6, 6, 6, 6}));
}

TEST(RowsOfLists, AreEmptyWithoutLists)
{ EXPECT_EQ(detail::rows_of_lists({nullptr, 0, 3, 0, 0}, on_host()).size(), 0U); }

TEST(NullRows, HaveTheTypeOfTheColumn)
{
  auto types = flat_shapes();
  types.push_back(list_of(struct_of({flat("string"), list_of(flat("null"))})));
  types.push_back(struct_of({flat("int32"), flat("string")}));
  types.push_back(dictionary_of(flat("large_string")));
  for (auto const& type : types) {
    for (auto const held : {0, 3}) {
      auto const column = make_column(type, samples(type, static_cast<std::size_t>(held), 30));
      for (auto const size : {0, 1, 70}) {
        auto const made = detail::null_rows_like(column->view(), size, on_host());
        EXPECT_EQ(made->type(), column->type());
        EXPECT_EQ(made->null_count(), size);
        EXPECT_EQ(read_rows(made->view(), type), rows(static_cast<std::size_t>(size)));
        expect_invariants(*made);
      }
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
