// SPDX-License-Identifier: Apache-2.0
#include "compute/cast.hpp"

#include "compute/on_host.hpp"
#include "testing/columns.hpp"
#include "testing/expect_invariants.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <gtest/gtest.h>
#include <nanoarrow/nanoarrow.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

using cudf::type_id;

constexpr auto day = std::int64_t{86'400};

constexpr std::array<std::pair<type_id, std::int64_t>, 5> units{{
  {type_id::TIMESTAMP_DAYS, 1},
  {type_id::TIMESTAMP_SECONDS, day},
  {type_id::TIMESTAMP_MILLISECONDS, day * 1'000},
  {type_id::TIMESTAMP_MICROSECONDS, day * 1'000'000},
  {type_id::TIMESTAMP_NANOSECONDS, day * 1'000'000'000},
}};

std::int64_t at(cudf::column_view const& column, std::int64_t row)
{
  auto const* data = column.head<void>();
  return cudf::size_of(column.type()) == 4 ? static_cast<std::int32_t const*>(data)[row]
                                           : static_cast<std::int64_t const*>(data)[row];
}

/// Return a column of `type`, which has the width of `T`.
template <typename T>
std::unique_ptr<cudf::column> column_of(cudf::data_type type, std::vector<T> const& values)
{
  return std::make_unique<cudf::column>(type,
                                        static_cast<cudf::size_type>(values.size()),
                                        host_buffer(values),
                                        host_buffer(std::vector<char>{}),
                                        0);
}

TEST(HostTimestamps, AreRoundedDownToDays)
{
  for (auto const& [from, ticks] : units) {
    auto values = std::vector<std::int64_t>{};
    for (auto const days : {-20'000, -2, -1, 0, 1, 20'000}) {
      for (auto const rest : {std::int64_t{0}, std::int64_t{1}, ticks / 2, ticks - 1}) {
        values.push_back(days * ticks + (ticks == 1 ? 0 : rest));
      }
    }
    auto const column =
      from == type_id::TIMESTAMP_DAYS
        ? column_of(cudf::data_type{from}, std::vector<std::int32_t>(values.begin(), values.end()))
        : column_of(cudf::data_type{from}, values);
    for (auto const& [to, wanted] : units) {
      auto const found = detail::cast_column(column->view(), cudf::data_type{to}, on_host());
      ASSERT_EQ(found->size(), std::ssize(values));
      for (std::size_t i = 0; i < values.size(); ++i) {
        auto const days = std::array{-20'000, -2, -1, 0, 1, 20'000}[i / 4];
        EXPECT_EQ(at(found->view(), static_cast<std::int64_t>(i)), days * wanted) << values[i];
      }
    }
  }
}

TEST(HostTimestamps, AtMidnightAreWholeDays)
{
  for (auto const& [unit, ticks] : units) {
    if (unit == type_id::TIMESTAMP_DAYS) { continue; }
    auto values = std::vector<std::int64_t>{-3 * ticks, 0, 7 * ticks};
    EXPECT_TRUE(
      detail::has_whole_days(column_of(cudf::data_type{unit}, values)->view(), on_host()));
    for (auto const rest : {std::int64_t{1}, std::int64_t{-1}, ticks / 2}) {
      values[1]   = rest;
      auto column = column_of(cudf::data_type{unit}, values);
      EXPECT_FALSE(detail::has_whole_days(column->view(), on_host())) << rest;
      auto mask = std::vector<cudf::bitmask_type>(16);
      mask[0]   = 0b101;
      column->set_null_mask(host_buffer(mask), 1);
      EXPECT_TRUE(detail::has_whole_days(column->view(), on_host())) << "null";
    }
  }
}

template <typename T>
void expect_range(type_id type)
{
  auto random = engine{9};
  for (auto const null_percent : {0, 30, 100}) {
    for (auto const size : {0, 1, 63, 64, 65, 200}) {
      auto values = std::vector<T>{};
      auto mask   = std::vector<cudf::bitmask_type>(16);
      auto least  = std::optional<T>{};
      auto most   = std::optional<T>{};
      auto nulls  = 0;
      for (int i = 0; i < size; ++i) {
        auto const value = static_cast<T>(static_cast<T>(below(random, 1'000) - 500) *
                                          static_cast<T>(std::int64_t{1} << 20));
        values.push_back(value);
        if (below(random, 100) < null_percent) {
          ++nulls;
          continue;
        }
        mask[static_cast<std::size_t>(i) / 32] |= 1U << (i % 32);
        least = std::min(least.value_or(value), value);
        most  = std::max(most.value_or(value), value);
      }
      auto column = column_of(cudf::data_type{type}, values);
      if (nulls > 0) { column->set_null_mask(host_buffer(mask), nulls); }
      auto const found = detail::range_of(column->view(), on_host());
      EXPECT_EQ(found.any, least.has_value());
      EXPECT_TRUE(found.least == least.value_or(0) && found.greatest == most.value_or(0));
    }
  }
}

TEST(HostRanges, IgnoreNullRows)
{
  expect_range<std::int32_t>(type_id::DECIMAL32);
  expect_range<std::int64_t>(type_id::DECIMAL64);
  expect_range<__int128_t>(type_id::DECIMAL128);
}

/// Few and many distinct values; many values make the hash table grow.
TEST(HostViews, WithInvalidOffsetsReadOnlyTheData)
{
  auto const data    = std::vector<char>{'a', 'b', 'c', 'd', 'e'};
  auto const offsets = std::array<std::int32_t, 4>{0, 100, 2, 5};
  auto const made    = detail::make_views({offsets.data(), 4, data.data(), nullptr, 3}, on_host());
  ASSERT_EQ(made.size(), 3U * sizeof(ArrowBinaryView));
  auto const* views = static_cast<ArrowBinaryView const*>(made.data());
  EXPECT_EQ(views[0].inlined.size, 100);
  EXPECT_EQ(views[1].inlined.size, -98);
  EXPECT_EQ(views[2].inlined.size, 3);
  EXPECT_EQ((std::string{reinterpret_cast<char const*>(views[2].inlined.data), 3}), "cde");
}

TEST(HostEncoding, KeysAreInTheOrderOfTheirFirstRows)
{
  for (auto const& type : flat_shapes()) {
    if (type.id == type_id::EMPTY || type.id == type_id::DICTIONARY32) { continue; }
    for (auto const null_percent : {0, 30, 100}) {
      for (auto const size : {0, 1, 65, 1'500}) {
        auto const values = samples(type, static_cast<std::size_t>(size) + 3, null_percent);
        auto const column = make_column(type, values);
        auto const source = slice(column->view(), 3, size + 3);
        auto const found  = detail::encode_dictionary(source, on_host());
        auto const keys   = read_rows(found->child(1).view(), type);
        ASSERT_EQ(read_rows(found->view(), dictionary_of(type)),
                  rows(values.begin() + 3, values.end()));
        expect_invariants(*found);
        auto distinct = rows{};
        for (auto const& one : rows(values.begin() + 3, values.end())) {
          if (one.is_null()) { continue; }
          if (std::find(distinct.begin(), distinct.end(), one) == distinct.end()) {
            distinct.push_back(one);
          }
        }
        EXPECT_EQ(keys, distinct);
      }
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
