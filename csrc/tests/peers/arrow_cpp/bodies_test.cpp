// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests that bodies equal those of Arrow C++, and that its messages are read without copies.
#include "peers/arrow_cpp/payloads.hpp"
#include "testing/producer.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <arrow/c/bridge.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

constexpr cudf::size_type num_rows = 70;

rows in_table(rows const& values)
{
  auto result = rows{};
  for (auto const& v : values) { result.push_back({rows{v}}); }
  return result;
}

bool has_list_views(shape const& type)
{
  return type.format.starts_with("+v") ||
         std::any_of(type.children.begin(), type.children.end(), &has_list_views);
}

/// Import a table, sliced or not.
std::shared_ptr<arrow::RecordBatch> import(ArrowArray* array, shape const& table)
{
  auto const rows = arrow::ImportArray(array, make_schema(table).get()).ValueOrDie();
  return arrow::RecordBatch::FromStructArray(rows, arrow::system_memory_pool()).ValueOrDie();
}

std::string name_of_case(::testing::TestParamInfo<shape> const& tested)
{ return std::to_string(tested.index) + "_" + tested.param.name; }

std::vector<shape> sent_shapes()
{
  auto result     = importable_shapes();
  auto const text = dictionary_of(flat("string"), "c");
  result.push_back(dictionary_of(struct_of({text, flat("int8")})));
  result.push_back(struct_of({text, dictionary_of(struct_of({text})), flat("bool8"), text}));
  return result;
}

/// The use of a buffer of a message.
struct buffer_use {
  std::size_t node;  ///< the node that has the buffer
  bool is_bits;
};

/// Lists the buffers of types by their layouts in Arrow C++, depth first.
class use_list {
 public:
  use_list(std::vector<std::shared_ptr<arrow::DataType>> const& types, payload const& message)
    : message_{message}
  {
    for (auto const& type : types) { add(*type); }
  }

  std::vector<buffer_use> uses;

 private:
  void add(arrow::DataType const& type)
  {
    auto const own    = next_node_++;
    auto const layout = type.layout();
    for (auto const& spec : layout.buffers) {
      if (spec.kind == arrow::DataTypeLayout::ALWAYS_NULL) { continue; }
      uses.push_back({own, spec.kind == arrow::DataTypeLayout::BITMAP});
    }
    if (layout.variadic_spec) {
      auto const count = message_.variadic_counts.at(next_count_++);
      uses.insert(uses.end(), static_cast<std::size_t>(count), {own, false});
    }
    if (type.id() == arrow::Type::DICTIONARY) { return; }
    for (auto const& field : type.fields()) { add(*field->type()); }
  }

  payload const& message_;
  std::size_t next_node_{0};
  std::size_t next_count_{0};
};

std::vector<buffer_use> uses_of(arrow::RecordBatch const& batch, payload const& message)
{
  auto types = std::vector<std::shared_ptr<arrow::DataType>>{};
  for (auto const& field : batch.schema()->fields()) { types.push_back(field->type()); }
  return use_list{types, message}.uses;
}

class SentByArrow : public ::testing::TestWithParam<shape> {};

TEST_P(SentByArrow, IsReadWithoutCopies)
{
  auto const table = struct_of({GetParam()});
  for (auto const nulls : {0, 30, 100}) {
    // Arrow C++ requires null list views to be within bounds, too.
    if (nulls > 0 && has_list_views(table)) { continue; }
    for (auto const size : {0U, 1U, 70U}) {
      for (auto const before : {0, 3}) {
        SCOPED_TRACE(std::to_string(nulls) + "% nulls, rows: " + std::to_string(size) + " behind " +
                     std::to_string(before));
        auto slices      = slicing{};
        slices.at        = [&](int) { return padding{before, before}; };
        auto const made  = in_table(samples(GetParam(), size, nulls));
        auto const batch = import(produce(table, made, slices).get(), table);
        // Some of these decimals and times are outside of the range of their type.
        auto const is_valid = batch->ValidateFull().ok();
        auto const sent     = payloads{*batch};
        auto const decoder  = body_decoder{*make_schema(table).get()};
        auto const decoded  = sent.decode(decoder, body_checks::all);
        auto const read     = import(&decoded.to_arrow()->array, table);
        ok(read->Validate());
        if (is_valid) { ok(read->ValidateFull()); }
        EXPECT_TRUE(read->Equals(*batch));
        auto const body = describe_body(decoded, true, stream(), host_memory_resource());
        auto const uses = uses_of(*batch, sent.batch);
        ASSERT_EQ(body.buffers.size(), uses.size());
        for (std::size_t i = 0; i < uses.size(); ++i) {
          // Without rows, one offset is allocated.
          if (sent.batch.nodes[uses[i].node].length == 0) { continue; }
          EXPECT_EQ(body.buffers[i].address, sent.batch.buffers[i].address) << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SentByArrow, ::testing::ValuesIn(sent_shapes()), name_of_case);

bool bit_at(void const* bits, std::int64_t index)
{ return ((static_cast<std::uint8_t const*>(bits)[index / 8] >> (index % 8)) & 1) != 0; }

/// Check the nodes, and the part of each buffer that the rows use.
void expect_sent(ipc_body const& body, payload const& sent, std::vector<buffer_use> const& uses)
{
  EXPECT_EQ(body.length, sent.length);
  EXPECT_EQ(body.variadic_counts, sent.variadic_counts);
  ASSERT_EQ(body.nodes.size(), sent.nodes.size());
  for (std::size_t i = 0; i < body.nodes.size(); ++i) {
    EXPECT_EQ(body.nodes[i].length, sent.nodes[i].length) << i;
    EXPECT_EQ(body.nodes[i].null_count, sent.nodes[i].null_count) << i;
  }
  ASSERT_EQ(body.buffers.size(), sent.buffers.size());
  ASSERT_EQ(body.buffers.size(), uses.size());
  for (std::size_t i = 0; i < body.buffers.size(); ++i) {
    SCOPED_TRACE("buffer " + std::to_string(i));
    auto const& [address, size, last_byte] = body.buffers[i];
    auto const& expected                   = sent.buffers[i];
    auto const num                         = body.nodes[uses[i].node].length;
    // Without rows, the one offset may be absent.
    if (num == 0) { continue; }
    EXPECT_EQ(address == nullptr, expected.address == nullptr);
    ASSERT_LE(size, expected.size);
    if (address == nullptr) { continue; }
    if (!uses[i].is_bits) {
      EXPECT_EQ(std::memcmp(address, expected.address, static_cast<std::size_t>(size)), 0);
      continue;
    }
    EXPECT_EQ(size, (num + 7) / 8);
    for (std::int64_t row = 0; row < num; ++row) {
      ASSERT_EQ(bit_at(address, row), bit_at(expected.address, row)) << row;
    }
  }
}

class SentToArrow : public ::testing::TestWithParam<shape> {};

TEST_P(SentToArrow, HasTheBodyThatArrowSends)
{
  auto const table = struct_of({GetParam()});
  for (auto const nulls : {0, 30, 100}) {
    auto const values = samples(GetParam(), num_rows, nulls);
    auto const column = make_column(GetParam(), values);
    for (auto const begin : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 64, 70}) {
      for (auto const end : {begin, std::max(begin, 66), num_rows}) {
        SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end));
        auto const view  = cudf::table_view{{slice(*column, begin, end)}};
        auto const array = to_arrow_device(view, nullptr, {}, stream(), host_memory_resource());
        auto const batch = import(&array.to_arrow()->array, table);
        auto const sent  = payloads{*batch};
        auto const body  = describe_body(array, true, stream(), host_memory_resource());
        expect_sent(body, sent.batch, uses_of(*batch, sent.batch));
        // No exported dictionary contains another dictionary.
        ASSERT_EQ(body.dictionaries.size(), sent.dictionaries.size());
        for (std::size_t i = 0; i < body.dictionaries.size(); ++i) {
          auto const& [type, message] = sent.dictionaries[i];
          expect_sent(describe_body(body.dictionaries[i], false, stream(), host_memory_resource()),
                      message,
                      use_list({type}, message).uses);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SentToArrow, ::testing::ValuesIn(nested_shapes()), name_of_case);

}  // namespace
}  // namespace cudf_arrow_bridge::test
