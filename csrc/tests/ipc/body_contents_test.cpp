// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the buffers of a batch hold is checked as far as was asked.
#include "ipc/produced_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

/// A batch of which a test spoils a number.
class spoiled_batch {
 public:
  explicit spoiled_batch(shape const& column, int nulls = 0)
    : source_{column, samples(column, 20, nulls)}
  {
  }

  /// The batch, or the values of its one dictionary.
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

  /// Expects that it is found with some checks and not with the ones before.
  void expect_found(body_checks finder, std::string const& path, std::string const& words) const
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
        EXPECT_NE(error.find(words), std::string::npos) << words << ", found: " << error;
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
  auto const set = [&](std::size_t index, T number, std::string const& words) {
    auto batch = spoiled_batch{struct_of({flat("int8"), column})};
    // Those before are of f0 and f0.f0.
    batch.set<T>(4, index, number);
    batch.expect_found(body_checks::ends, "f0.f1", words);
  };
  set(0, -1, "offset -1 found, at least 0 expected");
  set(20, -5, "found, ascending expected");
  set(20, 1 << 20, "a last offset of 1048576 found, at most ");
  auto batch = spoiled_batch{struct_of({flat("int8"), column})};
  batch.set<T>(4, 10, 1 << 20);
  batch.expect_found(body_checks::all, "f0.f1", "row 10: offsets from ");
}

TEST(BodyContents, Offsets)
{
  expect_ends_found<std::int32_t>(flat("string"));
  expect_ends_found<std::int64_t>(flat("large_string"));
  expect_ends_found<std::int32_t>(list_of(flat("int8")));
  expect_ends_found<std::int64_t>(large_list_of(flat("int8")));
}

TEST(BodyContents, OffsetsOfDictionaries)
{
  auto batch     = spoiled_batch{struct_of({flat("int8"), dictionary_of(flat("string"))})};
  auto const num = static_cast<std::size_t>(batch.message(true).length);
  batch.set<std::int32_t>(1, num, 1000, true);
  batch.expect_found(body_checks::ends, "f0.f1", "a last offset of 1000 found");
}

TEST(BodyContents, OffsetsOfElements)
{
  auto batch          = spoiled_batch{list_of(struct_of({flat("string")}))};
  auto const elements = static_cast<std::size_t>(batch.message(false).nodes[1].length);
  batch.set<std::int32_t>(4, elements, 100'000);
  batch.expect_found(body_checks::ends, "f0[].f0", "a last offset of 100000 found");
}

TEST(BodyContents, Indices)
{
  auto batch = spoiled_batch{dictionary_of(flat("string"))};
  batch.set<std::int32_t>(1, 7, 1000);
  batch.expect_found(body_checks::all, "f0", "row 7: ");
}

TEST(BodyContents, Views)
{
  auto const view = as(cudf::type_id::STRING, "string_view", "vu");
  auto batch      = spoiled_batch{view};
  batch.set<std::int32_t>(1, 4 * 6, 1 << 20);  // the size of the seventh
  batch.expect_found(body_checks::all, "f0", "row 6: ");
}

TEST(BodyContents, ListViews)
{
  auto batch = spoiled_batch{list_view_of(flat("int8"))};
  batch.set<std::int32_t>(2, 3, 1 << 20);
  batch.expect_found(body_checks::all, "f0", "row 3: ");
}

TEST(BodyContents, RunEnds)
{
  auto batch     = spoiled_batch{runs_of(flat("int64"), "i")};
  auto const num = static_cast<std::size_t>(batch.message(false).nodes[1].length);
  batch.set<std::int32_t>(1, num - 1, 5);
  batch.expect_found(body_checks::ends, "f0", "a last run end of 5 found, at least ");
}

TEST(BodyContents, NullCounts)
{
  auto batch = spoiled_batch{flat("int8"), 30};
  ++batch.message(false).nodes[0].null_count;
  batch.expect_found(body_checks::all, "f0", "a null count of ");
}

TEST(BodyContents, Text)
{
  auto batch = spoiled_batch{flat("string")};
  batch.set<char>(2, 0, '\xff');
  batch.expect_found(body_checks::all, "f0", "a string found that is not UTF-8");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
