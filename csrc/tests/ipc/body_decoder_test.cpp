// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests that decoded batches share the received buffers, and that descriptions return these.
#include "ipc/produced_batch.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

/// Check that a body has the same nodes, and the same buffers at the same addresses.
void expect_parts(ipc_body const& body, batch_parts const& parts)
{
  EXPECT_EQ(body.length, parts.length);
  ASSERT_EQ(body.nodes.size(), parts.nodes.size());
  for (std::size_t i = 0; i < parts.nodes.size(); ++i) {
    EXPECT_EQ(body.nodes[i].length, parts.nodes[i].length) << parts.paths[i];
    EXPECT_EQ(body.nodes[i].null_count, parts.nodes[i].null_count) << parts.paths[i];
  }
  EXPECT_EQ(body.variadic_counts, parts.variadic_counts);
  ASSERT_EQ(body.buffers.size(), parts.buffers.size());
  for (std::size_t i = 0; i < parts.buffers.size(); ++i) {
    auto const& role = parts.roles[i];
    SCOPED_TRACE(parts.paths[role.node] + ", buffer " + std::to_string(i));
    // Without rows, one offset is allocated.
    if (parts.nodes[role.node].length == 0 && role.type == NANOARROW_BUFFER_TYPE_DATA_OFFSET) {
      EXPECT_TRUE(body.buffers[i].size == 4 || body.buffers[i].size == 8);
      continue;
    }
    // A mask without nulls may be absent.
    auto const is_left_out =
      role.type == NANOARROW_BUFFER_TYPE_VALIDITY && parts.nodes[role.node].null_count == 0;
    EXPECT_EQ(body.buffers[i].address, is_left_out ? nullptr : parts.buffers[i].address);
    EXPECT_EQ(body.buffers[i].size, is_left_out ? 0 : parts.buffers[i].size);
  }
}

/// Check the dictionaries of a body, and the dictionaries in their values, from `next` on.
void expect_dictionaries(ipc_body const& body, produced_batch const& source, std::size_t& next)
{
  for (auto const& values : body.dictionaries) {
    auto const described = describe_body(values, false, stream(), host_memory_resource());
    ASSERT_LT(next, source.dictionaries.size());
    expect_parts(described, source.dictionaries[next++]);
    expect_dictionaries(described, source, next);
  }
}

class Bodies : public ::testing::TestWithParam<shape> {};

TEST_P(Bodies, AreDecodedAndDescribedWithoutCopies)
{
  for (auto const nulls : {0, 30, 100}) {
    for (auto const size : {0U, 1U, 70U}) {
      SCOPED_TRACE(std::to_string(nulls) + "% nulls, rows: " + std::to_string(size));
      auto const source = produced_batch{GetParam(), samples(GetParam(), size, nulls)};
      for (auto const checks : {body_checks::sizes, body_checks::ends, body_checks::all}) {
        EXPECT_EQ(read_batch(source.decode(checks), source), source.table_rows());
      }
      auto const body = describe_body(source.decode(), true, stream(), host_memory_resource());
      expect_parts(body, source.parts);
      auto next = std::size_t{0};
      expect_dictionaries(body, source, next);
      EXPECT_EQ(next, source.dictionaries.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Bodies, ::testing::ValuesIn(message_shapes()), name_of_case);

TEST(BodyDecoder, ListsTheDictionariesOfItsSchema)
{
  auto const text   = dictionary_of(flat("string"), "c");
  auto const column = struct_of({text, dictionary_of(struct_of({text, flat("int8")})), text});
  auto const source = produced_batch{column, {}};
  auto const reader = source.decoder();
  ASSERT_EQ(reader.num_dictionaries(), 4U);
  auto const expected =
    std::vector<std::pair<std::string, std::size_t>>{{"u", 1}, {"+s", 3}, {"u", 3}, {"u", 4}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(reader.dictionary_schema(i).to_arrow()->format, expected[i].first);
    EXPECT_EQ(reader.end_of_dictionary(i), expected[i].second);
  }
  EXPECT_THROW((void)reader.dictionary_schema(4), std::out_of_range);
  EXPECT_THROW((void)reader.end_of_dictionary(4), std::out_of_range);
  auto const none = ipc_batch{};
  EXPECT_THROW((void)reader.decode(none, {}, source.memory(), body_checks::sizes, stream(), 4),
               std::out_of_range);
  EXPECT_TRUE(equal_schemas(*reader.schema().to_arrow().get(), *make_schema(source.type).get()));
}

TEST(BodyDecoder, KeepsTheMemory)
{
  auto const column = dictionary_of(as(cudf::type_id::STRING, "string_view", "vu"));
  auto const source = produced_batch{column, samples(column, 20, 30)};
  auto alive        = std::weak_ptr<void const>{};
  auto array        = unique_device_array{};
  {
    auto const owner  = std::make_shared<int>(0);
    alive             = owner;
    auto const memory = ipc_memory{memory_location{}, owner};
    auto const reader = source.decoder();
    auto values       = std::vector<device_array>(1);
    values[0] =
      reader.decode(source.dictionaries[0].view(), {}, memory, body_checks::all, stream(), 0);
    array = reader.decode(source.parts.view(), values, source.memory(), body_checks::all, stream())
              .to_arrow();
  }
  EXPECT_FALSE(alive.expired());
  array.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(BodyDecoder, DescribedBodiesKeepTheMemory)
{
  auto const source = produced_batch{flat("int8"), samples(flat("int8"), 20, 30)};
  auto alive        = std::weak_ptr<void const>{};
  auto body         = ipc_body{};
  {
    auto const owner = std::make_shared<int>(0);
    alive            = owner;
    body             = describe_body(
      source.decoder().decode(
        source.parts.view(), {}, {memory_location{}, owner}, body_checks::all, stream()),
      true,
      stream(),
      host_memory_resource());
  }
  EXPECT_FALSE(alive.expired());
  body = {};
  EXPECT_TRUE(alive.expired());
}

/// Memory that cannot be read.
class unreadable {
 public:
  explicit unreadable(std::size_t size)
    : size_{size}, memory_{mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)}
  {
  }
  unreadable(unreadable&&) = delete;
  ~unreadable() { munmap(memory_, size_); }

  [[nodiscard]] void const* data() const { return memory_; }

 private:
  std::size_t size_;
  void* memory_;
};

TEST(BodyDecoder, ReadsNoBufferToCheckSizes)
{
  auto const closed = unreadable{1 << 20};
  for (auto const& column : message_shapes()) {
    SCOPED_TRACE(column.name);
    auto source     = produced_batch{column, samples(column, 50, 30)};
    auto const hide = [&](batch_parts& parts) {
      for (auto& buffer : parts.buffers) {
        if (buffer.size > 0) { buffer.address = closed.data(); }
      }
    };
    hide(source.parts);
    std::for_each(source.dictionaries.begin(), source.dictionaries.end(), hide);
    auto const batch = source.decode(body_checks::sizes);
    EXPECT_EQ(batch.length(), 50);
    EXPECT_EQ(batch.to_arrow()->array.length, 50);
  }
}

TEST(BodyDecoder, AcceptsMissingOffsetsAndShortMasks)
{
  // Offsets of no rows may be absent. Masks without nulls may have any content and any size.
  for (auto const* name : {"string", "large_string"}) {
    auto source             = produced_batch{flat(name), {}};
    source.parts.buffers[1] = {nullptr, 0};
    EXPECT_EQ(read_batch(source.decode(), source), rows{});
    auto const zero         = std::int64_t{0};
    source.parts.buffers[1] = {&zero, 8};
    EXPECT_EQ(read_batch(source.decode(), source), rows{});
  }
  auto source             = produced_batch{flat("int32"), samples(flat("int32"), 20, 0)};
  auto const zero         = std::byte{0};
  source.parts.buffers[0] = {&zero, 1};
  EXPECT_EQ(read_batch(source.decode(), source), source.table_rows());
  EXPECT_EQ(source.decode().to_arrow()->array.children[0]->buffers[0], nullptr);
}

TEST(BodyDecoder, AcceptsLargerBuffersAndLongerChildren)
{
  auto const column = struct_of({fixed_list_of(flat("int16"), 2), list_of(flat("int8"))});
  auto source       = produced_batch{column, samples(column, 20, 30)};
  auto const half   = produced_batch{column, part(samples(column, 20, 30), 0, 9)};
  // The struct has fewer rows than its fields.
  source.parts.length   = 9;
  source.parts.nodes[0] = half.parts.nodes[0];
  EXPECT_EQ(read_batch(source.decode(), source), half.table_rows());
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
