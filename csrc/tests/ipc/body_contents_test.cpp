// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the checks of buffer contents, for each level of `body_checks`.
#include "ipc/produced_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

/// A batch in which a test replaces a number.
class spoiled_batch {
 public:
  explicit spoiled_batch(shape const& column, int nulls = 0)
    : source_{column, samples(column, 20, nulls)}
  {
  }

  /// Return the message of the batch, or of its only dictionary.
  batch_parts& message(bool of_dictionary)
  { return of_dictionary ? source_.dictionaries.at(0) : source_.parts; }

  /// Replaces a number of a buffer by another one.
  template <typename T>
  void set(std::size_t buffer, std::size_t index, T number, bool of_dictionary = false)
  {
    auto& changed = message(of_dictionary).buffers.at(buffer);
    copy_.assign(static_cast<std::byte const*>(changed.address),
                 static_cast<std::byte const*>(changed.address) + changed.size);
    ASSERT_LE((index + 1) * sizeof(T), copy_.size());
    std::memcpy(copy_.data() + index * sizeof(T), &number, sizeof(T));
    changed.address = copy_.data();
  }

  /// Check that the level `finder` and higher levels report the error, and lower levels do not.
  void expect_found(body_checks finder,
                    std::string const& path,
                    std::string const& expected,
                    std::string const& found = "") const
  {
    for (auto const checks : {body_checks::sizes, body_checks::ends, body_checks::all}) {
      auto error = std::string{};
      try {
        (void)source_.decode(checks);
      } catch (std::invalid_argument const& thrown) {
        error = thrown.what();
      }
      if (checks < finder) {
        EXPECT_EQ(error, "");
      } else {
        EXPECT_TRUE(error.starts_with("column '" + path + "': ")) << path << ", found: " << error;
        EXPECT_NE(error.find(expected), std::string::npos) << expected << ", found: " << error;
        EXPECT_TRUE(error.ends_with(found)) << found << ", found: " << error;
      }
    }
  }

 private:
  produced_batch source_;
  std::vector<std::byte> copy_;
};

template <typename T>
void expect_ends_found(shape const& column)
{
  auto const set =
    [&](std::size_t index, T number, std::string const& expected, std::string const& found = "") {
      auto batch = spoiled_batch{struct_of({flat("int8"), column})};
      // Buffer 4 has the offsets of f0.f1.
      batch.set<T>(4, index, number);
      batch.expect_found(body_checks::ends, "f0.f1", expected, found);
    };
  set(0, -1, "the first offset is negative: -1");
  set(20, -5, "expected ascending offsets, got ");
  set(20, 1 << 20, "expected a last offset of at most ", ", got 1048576");
  auto batch = spoiled_batch{struct_of({flat("int8"), column})};
  batch.set<T>(4, 10, 1 << 20);
  batch.expect_found(body_checks::all, "f0.f1", "row 10: expected ascending offsets, got ");
}

TEST(BodyContents, InvalidOffsetsAreRejected)
{
  expect_ends_found<std::int32_t>(flat("string"));
  expect_ends_found<std::int64_t>(flat("large_string"));
  expect_ends_found<std::int32_t>(list_of(flat("int8")));
  expect_ends_found<std::int64_t>(large_list_of(flat("int8")));
}

TEST(BodyContents, InvalidOffsetsOfDictionariesAreRejected)
{
  auto batch     = spoiled_batch{struct_of({flat("int8"), dictionary_of(flat("string"))})};
  auto const num = static_cast<std::size_t>(batch.message(true).length);
  batch.set<std::int32_t>(1, num, 1000, true);
  batch.expect_found(
    body_checks::ends, "f0.f1", "expected a last offset of at most ", ", got 1000");
}

TEST(BodyContents, InvalidOffsetsOfListElementsAreRejected)
{
  auto batch          = spoiled_batch{list_of(struct_of({flat("string")}))};
  auto const elements = static_cast<std::size_t>(batch.message(false).nodes[1].length);
  batch.set<std::int32_t>(4, elements, 100'000);
  batch.expect_found(
    body_checks::ends, "f0[].f0", "expected a last offset of at most ", ", got 100000");
}

TEST(BodyContents, IndicesAndViewsOutOfRangeAreRejected)
{
  auto const expect_found = [](shape const& column, std::size_t buffer, std::size_t index) {
    auto batch = spoiled_batch{column};
    batch.set<std::int32_t>(buffer, index, 1 << 20);
    batch.expect_found(body_checks::all, "f0", "row 6: ");
  };
  expect_found(dictionary_of(flat("string")), 1, 6);
  expect_found(as(cudf::type_id::STRING, "string_view", "vu"), 1, 4 * 6);  // the size of the view
  expect_found(list_view_of(flat("int8")), 2, 6);
}

TEST(BodyContents, RunEndsBeforeTheLastRowAreRejected)
{
  auto batch     = spoiled_batch{runs_of(flat("int64"), "i")};
  auto const num = static_cast<std::size_t>(batch.message(false).nodes[1].length);
  batch.set<std::int32_t>(1, num - 1, 5);
  batch.expect_found(body_checks::ends, "f0", "expected a last run end of at least ", ", got 5");
}

TEST(BodyContents, WrongNullCountsAreRejected)
{
  auto batch = spoiled_batch{flat("int8"), 30};
  ++batch.message(false).nodes[0].null_count;
  batch.expect_found(body_checks::all, "f0", "expected a null count of ");
}

TEST(BodyContents, InvalidUtf8IsRejected)
{
  auto batch = spoiled_batch{flat("string")};
  batch.set<char>(2, 0, '\xff');
  batch.expect_found(body_checks::all, "f0", "the string is not UTF-8");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
