// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the errors of batches that contradict their schema.
#include "ipc/produced_batch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max();

std::string error_of(produced_batch const& source, body_checks checks)
{
  try {
    (void)source.decode(checks);
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "";
}

/// Check that the error names the column and contains the words.
void expect_error(produced_batch const& source,
                  std::string const& path,
                  std::string const& words,
                  body_checks checks = body_checks::sizes)
{
  auto const error = error_of(source, checks);
  EXPECT_TRUE(error.starts_with("column '" + path + "': ")) << path << ", found: " << error;
  EXPECT_NE(error.find(words), std::string::npos) << words << ", found: " << error;
}

/// Call a function with each message: the batch and its dictionaries.
template <typename Function>
void for_each_message(produced_batch& source, Function const& function)
{
  function(source.parts);
  std::for_each(source.dictionaries.begin(), source.dictionaries.end(), function);
}

class BodyErrors : public ::testing::TestWithParam<shape> {
 protected:
  produced_batch source{GetParam(), samples(GetParam(), 40, 30)};
};

/// Return the lowest level that detects a buffer that is one byte too small.
body_checks finder_of(batch_parts::role const& role)
{
  return role.type == NANOARROW_BUFFER_TYPE_VARIADIC_DATA ? body_checks::all
         : role.is_text                                   ? body_checks::ends
                                                          : body_checks::sizes;
}

TEST_P(BodyErrors, ReportBuffersThatAreOneByteTooSmall)
{
  auto num_found = 0;
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.buffers.size(); ++i) {
      auto const& role = parts.roles[i];
      auto& size       = parts.buffers[i].size;
      auto const nulls = parts.nodes[role.node].null_count;
      if (size == 0 || (role.type == NANOARROW_BUFFER_TYPE_VALIDITY && nulls == 0)) { continue; }
      // Without rows, buffers may be absent.
      if (parts.nodes[role.node].length == 0) { continue; }
      SCOPED_TRACE("buffer " + std::to_string(i));
      --size;
      auto const finder = finder_of(role);
      if (finder != body_checks::sizes) { EXPECT_EQ(error_of(source, body_checks::sizes), ""); }
      if (finder == body_checks::all) { EXPECT_EQ(error_of(source, body_checks::ends), ""); }
      expect_error(source, parts.paths[role.node], ", got ", finder);
      ++size;
      ++num_found;
    }
  });
  if (!source.parts.buffers.empty()) { EXPECT_GT(num_found, 0); }
  EXPECT_EQ(error_of(source, body_checks::all), "");
}

TEST_P(BodyErrors, ReportMissingAndExtraNodesAndBuffers)
{
  for_each_message(source, [&](batch_parts& parts) {
    auto const is_batch = &parts == &source.parts;
    auto const end      = is_batch ? std::string{"(top level)"} : parts.paths.front();
    auto const change   = [&](auto& list, std::string const& what) {
      auto const kept = list;
      if (!list.empty()) {
        list.pop_back();
        EXPECT_NE(error_of(source, body_checks::sizes), "") << what;
        list = kept;
      }
      list.emplace_back();
      expect_error(source,
                   end,
                   "expected " + std::to_string(kept.size()) + " " + what + " by the schema, got " +
                     std::to_string(list.size()));
      list = kept;
    };
    change(parts.nodes, "nodes");
    change(parts.buffers, "buffers");
    change(parts.variadic_counts, "variadic buffer counts");
    for (auto& count : parts.variadic_counts) {
      auto const kept = count;
      for (auto const other : {std::int64_t{-1}, kept - 1, kept + 1, most, -most - 1}) {
        count = other;
        EXPECT_NE(error_of(source, body_checks::sizes), "") << other;
      }
      count = kept;
    }
  });
  EXPECT_EQ(error_of(source, body_checks::all), "");
}

TEST_P(BodyErrors, ReportNullCountsOutOfRange)
{
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.nodes.size(); ++i) {
      auto const kept = parts.nodes[i];
      for (auto const nulls : {std::int64_t{-1}, kept.length + 1, most, -most - 1}) {
        parts.nodes[i].null_count = nulls;
        expect_error(source,
                     parts.paths[i],
                     "expected a null count of 0 to " + std::to_string(kept.length) + ", got " +
                       std::to_string(nulls));
      }
      parts.nodes[i] = kept;
    }
  });
}

TEST_P(BodyErrors, ReportLengthsOutOfRange)
{
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.nodes.size(); ++i) {
      auto const kept = parts.nodes[i];
      for (auto const length : {std::int64_t{-1}, -most - 1}) {
        parts.nodes[i] = {length, 0};
        expect_error(source, parts.paths[i], "the length is negative: " + std::to_string(length));
      }
      for (auto const length : {most, most - 6, most - 7, most / 8 + 1, most / 128 + 1}) {
        // No mask has this many bits.
        auto const has_mask = std::any_of(parts.roles.begin(), parts.roles.end(), [&](auto& role) {
          return role.node == i && role.type == NANOARROW_BUFFER_TYPE_VALIDITY;
        });
        for (auto const nulls : {std::int64_t{0}, std::int64_t{1}, length}) {
          parts.nodes[i] = {length, nulls};
          if (has_mask && nulls > 0) {
            expect_error(source, parts.paths[i], " bytes, got ");
          } else {
            (void)error_of(source, body_checks::sizes);
          }
        }
      }
      parts.nodes[i] = kept;
    }
    auto const rows = parts.length;
    for (auto const length : {std::int64_t{-1}, -most - 1, rows + 1, most}) {
      parts.length = length;
      EXPECT_NE(error_of(source, body_checks::sizes), "") << length;
    }
    parts.length = rows;
  });
}

TEST_P(BodyErrors, ReportBuffersOfNegativeSize)
{
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.buffers.size(); ++i) {
      auto const kept = parts.buffers[i];
      // The decoder does not read a buffer that may be absent.
      auto const is_unread = parts.roles[i].type == NANOARROW_BUFFER_TYPE_DATA_OFFSET &&
                             parts.nodes[parts.roles[i].node].length == 0;
      for (auto const size : {std::int64_t{-1}, -most - 1}) {
        parts.buffers[i].size = size;
        if (!is_unread) {
          expect_error(
            source, parts.paths[parts.roles[i].node], " bytes, got " + std::to_string(size));
        }
      }
      parts.buffers[i] = kept;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Types, BodyErrors, ::testing::ValuesIn(message_shapes()), name_of_case);

TEST(BodyErrors, ReportChildrenThatAreTooShort)
{
  auto const small  = struct_of({flat("null"), fixed_list_of(flat("null"), 3)});
  auto source       = produced_batch{small, samples(small, 7, 30)};
  auto const expect = [&](std::size_t node, std::string const& path, std::int64_t rows) {
    auto const kept          = source.parts.nodes[node];
    source.parts.nodes[node] = {rows - 1, rows - 1};
    if (node == 2) { source.parts.nodes[node].null_count = 0; }
    expect_error(source,
                 path,
                 "expected at least " + std::to_string(rows) + " rows of a child, got " +
                   std::to_string(rows - 1));
    source.parts.nodes[node] = kept;
  };
  expect(1, "f0", 7);
  expect(3, "f0.f1", 21);
  source.parts.nodes[2].length = most;
  expect_error(
    source, "f0.f1", "expected at least " + std::to_string(most) + " rows of a child, got 21");
}

TEST(BodyErrors, ReportMissingRuns)
{
  auto const column     = runs_of(flat("null"), "i");
  auto source           = produced_batch{column, samples(column, 7, 30)};
  auto const runs       = source.parts.nodes[1].length;
  source.parts.nodes[2] = {runs - 1, runs - 1};
  expect_error(source, "f0", "expected at least " + std::to_string(runs) + " rows of a child");
  source.parts.nodes[1] = {0, 0};
  expect_error(source, "f0", "there is no run");
}

TEST(BodyErrors, ReportMissingDictionariesAndOtherDevices)
{
  auto const column = struct_of({flat("int8"), list_of(dictionary_of(flat("string")))});
  auto const source = produced_batch{column, samples(column, 9, 0)};
  auto const reader = source.decoder();
  auto const decode = [&](std::vector<device_array> const& dictionaries,
                          ipc_memory const& memory) -> std::string {
    try {
      (void)reader.decode(source.parts.view(), dictionaries, memory, body_checks::sizes, stream());
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "";
  };
  auto const missing = "column 'f0.f1[]': the message with the values of the dictionary is missing";
  EXPECT_EQ(decode({}, source.memory()), missing);
  EXPECT_EQ(decode({device_array{}}, source.memory()), missing);
  auto const values = source.decode_dictionaries(body_checks::sizes);
  EXPECT_EQ(decode(values, source.memory()), "");
  auto elsewhere     = source.memory();
  elsewhere.location = {ARROW_DEVICE_CUDA, 0};
  EXPECT_EQ(decode(values, elsewhere),
            "column 'f0.f1[]': the dictionary is in " + to_string(memory_location{}) +
              ", and its indices are in " + to_string(elsewhere.location));
}

TEST(BodyErrors, ReportInvalidAndUnsupportedTypes)
{
  auto const schema = make_schema(struct_of({flat("int8")}));
  EXPECT_EQ(ArrowSchemaSetFormat(schema->children[0], "nonsense"), NANOARROW_OK);
  EXPECT_THROW(body_decoder{*schema.get()}, std::invalid_argument);
  EXPECT_EQ(ArrowSchemaSetFormat(schema->children[0], "tin"), NANOARROW_OK);
  EXPECT_THROW(body_decoder{*schema.get()}, cudf::data_type_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
