// SPDX-License-Identifier: Apache-2.0
/// @file
/// Batches that contradict their schema are refused, whatever they say.
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

/// Expects an error that names the column and says some words.
void expect_error(produced_batch const& source,
                  std::string const& path,
                  std::string const& words,
                  body_checks checks = body_checks::sizes)
{
  auto const error = error_of(source, checks);
  EXPECT_TRUE(error.starts_with("column '" + path + "': ")) << path << ", found: " << error;
  EXPECT_NE(error.find(words), std::string::npos) << words << ", found: " << error;
}

/// Calls a function with each message: that of the batch and those of its dictionaries.
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

/// What finds that a buffer is too small by one byte.
body_checks finder_of(batch_parts::role const& role)
{
  return role.type == NANOARROW_BUFFER_TYPE_VARIADIC_DATA ? body_checks::all
         : role.is_text                                   ? body_checks::ends
                                                          : body_checks::sizes;
}

TEST_P(BodyErrors, OfBuffersThatAreOneByteTooSmall)
{
  auto num_found = 0;
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.buffers.size(); ++i) {
      auto const& role = parts.roles[i];
      auto& size       = parts.buffers[i].size;
      auto const nulls = parts.nodes[role.node].null_count;
      if (size == 0 || (role.type == NANOARROW_BUFFER_TYPE_VALIDITY && nulls == 0)) { continue; }
      // Of no rows, they may be left out.
      if (parts.nodes[role.node].length == 0) { continue; }
      SCOPED_TRACE("buffer " + std::to_string(i));
      --size;
      auto const finder = finder_of(role);
      if (finder != body_checks::sizes) { EXPECT_EQ(error_of(source, body_checks::sizes), ""); }
      if (finder == body_checks::all) { EXPECT_EQ(error_of(source, body_checks::ends), ""); }
      expect_error(source, parts.paths[role.node], "found", finder);
      ++size;
      ++num_found;
    }
  });
  if (!source.parts.buffers.empty()) { EXPECT_GT(num_found, 0); }
  EXPECT_EQ(error_of(source, body_checks::all), "");
}

TEST_P(BodyErrors, OfCountsThatAreMissingOrLeft)
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
                   std::to_string(list.size()) + " " + what + " found, " +
                     std::to_string(kept.size()) + " expected by the schema");
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

TEST_P(BodyErrors, OfNullCounts)
{
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.nodes.size(); ++i) {
      auto const kept = parts.nodes[i];
      for (auto const nulls : {std::int64_t{-1}, kept.length + 1, most, -most - 1}) {
        parts.nodes[i].null_count = nulls;
        expect_error(source,
                     parts.paths[i],
                     "a null count of " + std::to_string(nulls) + " found, 0 to " +
                       std::to_string(kept.length) + " expected");
      }
      parts.nodes[i] = kept;
    }
  });
}

TEST_P(BodyErrors, OfLengths)
{
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.nodes.size(); ++i) {
      auto const kept = parts.nodes[i];
      for (auto const length : {std::int64_t{-1}, -most - 1}) {
        parts.nodes[i] = {length, 0};
        expect_error(source,
                     parts.paths[i],
                     std::to_string(length) + " rows found, no negative number expected");
      }
      for (auto const length : {most, most - 6, most - 7, most / 8 + 1, most / 128 + 1}) {
        // A mask of as many bits is never there.
        auto const has_mask = std::any_of(parts.roles.begin(), parts.roles.end(), [&](auto& role) {
          return role.node == i && role.type == NANOARROW_BUFFER_TYPE_VALIDITY;
        });
        for (auto const nulls : {std::int64_t{0}, std::int64_t{1}, length}) {
          parts.nodes[i] = {length, nulls};
          if (has_mask && nulls > 0) {
            expect_error(source, parts.paths[i], "bytes found, ");
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

TEST_P(BodyErrors, OfBuffersOfNegativeSize)
{
  for_each_message(source, [&](batch_parts& parts) {
    for (std::size_t i = 0; i < parts.buffers.size(); ++i) {
      auto const kept = parts.buffers[i];
      // Where one may be left out, what there is does not matter.
      auto const is_unread = parts.roles[i].type == NANOARROW_BUFFER_TYPE_DATA_OFFSET &&
                             parts.nodes[parts.roles[i].node].length == 0;
      for (auto const size : {std::int64_t{-1}, -most - 1}) {
        parts.buffers[i].size = size;
        if (!is_unread) {
          expect_error(source, parts.paths[parts.roles[i].node], std::to_string(size) + " bytes");
        }
      }
      parts.buffers[i] = kept;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Types, BodyErrors, ::testing::ValuesIn(message_shapes()), name_of_case);

TEST(BodyErrors, OfChildrenThatAreTooShort)
{
  auto const small  = struct_of({flat("null"), fixed_list_of(flat("null"), 3)});
  auto source       = produced_batch{small, samples(small, 7, 30)};
  auto const expect = [&](std::size_t node, std::string const& path, std::int64_t rows) {
    auto const kept          = source.parts.nodes[node];
    source.parts.nodes[node] = {rows - 1, rows - 1};
    if (node == 2) { source.parts.nodes[node].null_count = 0; }
    expect_error(source,
                 path,
                 std::to_string(rows - 1) + " rows of a child found, at least " +
                   std::to_string(rows) + " expected");
    source.parts.nodes[node] = kept;
  };
  expect(1, "f0", 7);
  expect(3, "f0.f1", 21);
  source.parts.nodes[2].length = most;
  expect_error(source, "f0.f1", "21 rows of a child found, at least " + std::to_string(most));
}

TEST(BodyErrors, OfRuns)
{
  auto const column     = runs_of(flat("null"), "i");
  auto source           = produced_batch{column, samples(column, 7, 30)};
  auto const runs       = source.parts.nodes[1].length;
  source.parts.nodes[2] = {runs - 1, runs - 1};
  expect_error(source, "f0", "rows of a child found, at least " + std::to_string(runs));
  source.parts.nodes[1] = {0, 0};
  expect_error(source, "f0", "no runs found, at least 1 expected");
}

TEST(BodyErrors, OfDictionaries)
{
  auto const column = struct_of({flat("int8"), list_of(dictionary_of(flat("string")))});
  auto const source = produced_batch{column, samples(column, 9, 0)};
  auto const reader = source.decoder();
  auto const decode = [&](std::vector<device_array> const& dictionaries,
                          ipc_memory const& memory) -> std::string {
    try {
      (void)reader.batch(source.parts.view(), dictionaries, memory, body_checks::sizes, stream());
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "";
  };
  auto const missing =
    "column 'f0.f1[]': no dictionary found, its values expected before the indices";
  EXPECT_EQ(decode({}, source.memory()), missing);
  EXPECT_EQ(decode({device_array{}}, source.memory()), missing);
  auto const values = source.decode_dictionaries(body_checks::sizes);
  EXPECT_EQ(decode(values, source.memory()), "");
  auto elsewhere     = source.memory();
  elsewhere.location = {ARROW_DEVICE_CUDA, 0};
  EXPECT_EQ(decode(values, elsewhere),
            "column 'f0.f1[]': a dictionary in " + to_string(memory_location{}) + " found, " +
              to_string(elsewhere.location) + " expected, as the indices");
}

TEST(BodyErrors, OfSchemas)
{
  auto const schema = make_schema(struct_of({flat("int8")}));
  EXPECT_EQ(ArrowSchemaSetFormat(schema->children[0], "nonsense"), NANOARROW_OK);
  EXPECT_THROW(body_decoder{*schema.get()}, std::invalid_argument);
  EXPECT_EQ(ArrowSchemaSetFormat(schema->children[0], "tin"), NANOARROW_OK);
  EXPECT_THROW(body_decoder{*schema.get()}, cudf::data_type_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
