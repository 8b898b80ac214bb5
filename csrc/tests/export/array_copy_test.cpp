// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of array copies: they have the same rows in their own memory and do not need the source.
#include "ipc/produced_batch.hpp"
#include "testing/consumer.hpp"
#include "testing/counting_resource.hpp"
#include "testing/memory_ranges.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

constexpr cudf::size_type copied_rows = 131;

/// Append the addresses of all buffers, also of buffers without bytes.
void add_addresses(ArrowArray const& array, std::vector<void const*>& all)
{
  for (std::int64_t i = 0; i < array.n_buffers; ++i) {
    if (array.buffers[i] != nullptr) { all.push_back(array.buffers[i]); }
  }
  for (std::int64_t i = 0; i < array.n_children; ++i) { add_addresses(*array.children[i], all); }
  if (array.dictionary != nullptr) { add_addresses(*array.dictionary, all); }
}

std::vector<void const*> addresses_of(device_array const& array)
{
  auto const structs = array.to_arrow();
  auto result        = std::vector<void const*>{};
  add_addresses(structs->array, result);
  return result;
}

/// Copy an array, and check that all memory of the copy is from `memory`.
device_array copy_of(device_array const& array,
                     counting_resource& memory,
                     std::shared_ptr<void const> owner = nullptr)
{
  auto copy = array.copy(std::move(owner), stream(), memory);
  EXPECT_EQ(copy.location(), array.location());
  if (!has_gpu()) {
    for (auto const* address : addresses_of(copy)) { EXPECT_TRUE(memory.gave(address)); }
  }
  return copy;
}

void expect_apart(device_array const& copy, std::vector<void const*> const& source)
{
  for (auto const* address : addresses_of(copy)) {
    EXPECT_EQ(std::find(source.begin(), source.end(), address), source.end());
  }
}

/// A copy, and the rows that were read before its source was released.
struct copied {
  device_array array;
  shape type;
  rows expected;
};

class CopyOfExport : public ::testing::TestWithParam<std::tuple<shape, int>> {
 protected:
  shape type{std::get<0>(GetParam())};
  rows values{samples(type, copied_rows, std::get<1>(GetParam()))};
  counting_resource memory;
};

TEST_P(CopyOfExport, HasTheRowsOfASlice)
{
  for (auto const& [begin, end] :
       {std::pair{0, copied_rows}, {0, 0}, {5, 5}, {8, 90}, {9, 130}, {33, 34}}) {
    for (auto const compact : {false, true}) {
      SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end));
      auto column = std::shared_ptr<cudf::column>{make_column(type, values)};
      auto ranges = memory_of(column->view());
      auto array  = to_arrow_device(
        slice(*column, begin, end), column, {.compact = compact}, stream(), host_memory_resource());
      auto const addresses = addresses_of(array);
      auto copy            = copy_of(array, memory);
      expect_apart(copy, addresses);
      for (auto const* address : addresses_of(copy)) { EXPECT_FALSE(ranges.have(address)); }
      array.reset();
      EXPECT_EQ(column.use_count(), 1) << "the copy does not keep the source";
      column.reset();
      EXPECT_EQ(read_arrow(copy.to_arrow()->array, type),
                part(values, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)));
      copy.reset();
      EXPECT_TRUE(memory.has_all_back());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         CopyOfExport,
                         ::testing::Combine(::testing::ValuesIn(nested_shapes()),
                                            ::testing::Values(0, 30)),
                         [](auto const& one) {
                           return std::get<0>(one.param).name + "_" +
                                  std::to_string(std::get<1>(one.param));
                         });

/// The type of a child of a batch.
shape type_of_child(shape const& type, std::int64_t index)
{
  if (!type.run_ends.empty()) { return index == 0 ? ends_of_runs(type) : values_of_runs(type); }
  return type.children[static_cast<std::size_t>(index)];
}

/// Read an array of any layout: import it and read the column.
rows read_any(device_array const& array, shape const& type)
{
  auto structs      = array.to_arrow();
  auto const schema = make_schema(type);
  auto const column =
    from_arrow_device_column(*schema.get(), structs.get(), {}, stream(), host_memory_resource());
  return read_rows(column.view(), type);
}

class CopyOfBatch : public ::testing::TestWithParam<shape> {
 protected:
  /// Copy an array, and each of its descendants as a separate array.
  void copy_all(device_array const& array, shape const& type)
  {
    copies.push_back({copy_of(array, memory), type, read_any(array, type)});
    expect_apart(copies.back().array, addresses_of(array));
    for (std::int64_t i = 0; i < array.num_children(); ++i) {
      copy_all(array.child(i), type_of_child(type, i));
    }
    if (auto const values = array.dictionary(); !values.is_released()) {
      copy_all(values, type.children[0]);
    }
  }

  counting_resource memory;
  std::vector<copied> copies;
};

TEST_P(CopyOfBatch, HasTheRowsAtEachLevel)
{
  for (auto const nulls : {0, 30}) {
    {
      auto const source = produced_batch{GetParam(), samples(GetParam(), 70, nulls)};
      copy_all(source.decode(), source.type);
      EXPECT_EQ(copies.front().expected, source.table_rows());
    }
    for (auto const& copy : copies) { EXPECT_EQ(read_any(copy.array, copy.type), copy.expected); }
    copies.clear();
    EXPECT_TRUE(memory.has_all_back());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CopyOfBatch, ::testing::ValuesIn(message_shapes()), name_of_case);

class CopyOfArray : public ::testing::Test {
 protected:
  device_array text(cudf::size_type begin, cudf::size_type end, char const* format)
  {
    auto column = std::shared_ptr<cudf::column>{make_column(flat("string"), values)};
    auto wanted = unique_schema{};
    ArrowSchemaInit(wanted.get());
    check(ArrowSchemaSetFormat(wanted.get(), format));
    auto const view = slice(*column, begin, end);
    return to_arrow_device(view,
                           std::move(column),
                           {.schema = cudf_arrow_bridge::make_schema(view, {}, wanted.get())},
                           stream(),
                           host_memory_resource());
  }

  rows values{samples(flat("string"), copied_rows, 0)};
  counting_resource memory;
};

TEST_F(CopyOfArray, HasViewsOfASlice)
{
  auto const type = as(cudf::type_id::STRING, "string_view", "vu");
  for (auto& row : values) { row = {row.text() + " of more bytes than a view"}; }
  for (auto const begin : {0, 5, 8}) {
    auto array      = text(begin, 70, "vu");
    auto const copy = copy_of(array, memory);
    array.reset();
    EXPECT_EQ(read_arrow(copy.to_arrow()->array, type),
              part(values, static_cast<std::size_t>(begin), 70));
  }
}

TEST_F(CopyOfArray, OfNoStringsHasNoDataBuffer)
{
  for (auto const* format : {"u", "U"}) {
    auto const copy = copy_of(text(7, 7, format), memory).to_arrow();
    ASSERT_EQ(copy->array.n_buffers, 3);
    EXPECT_NE(copy->array.buffers[1], nullptr) << "the one offset";
    EXPECT_EQ(copy->array.buffers[2], nullptr);
  }
}

TEST_F(CopyOfArray, OfNoViewsHasNoDataBuffers)
{
  auto const copy = copy_of(text(7, 7, "vu"), memory).to_arrow();
  ASSERT_EQ(copy->array.n_buffers, 3) << "no data buffers";
  for (auto i = 0; i < 3; ++i) { EXPECT_EQ(copy->array.buffers[i], nullptr); }
}

TEST_F(CopyOfArray, AllocatesOnlyItsRows)
{
  if (has_gpu()) { GTEST_SKIP() << "there is a GPU"; }
  auto const column = make_column(flat("int32"), samples(flat("int32"), copied_rows, 0));
  auto const rows_of =
    to_arrow_device(slice(*column, 5, 12), nullptr, {}, stream(), host_memory_resource());
  auto const numbers = copy_of(rows_of, memory);
  EXPECT_EQ(memory.bytes(), 7U * 4);
  auto const strings = copy_of(text(0, 2, "u"), memory);
  EXPECT_EQ(memory.bytes() - 7 * 4, 3 * 4 + values[0].text().size() + values[1].text().size());
}

TEST_F(CopyOfArray, KeepsItsOwner)
{
  auto owner      = std::make_shared<int>(7);
  auto copy       = copy_of(text(0, 5, "u"), memory, owner);
  auto structs    = std::optional{copy.to_arrow()};
  auto const next = copy_of(copy, memory);
  copy.reset();
  EXPECT_EQ(owner.use_count(), 2) << "held by the copy, not by the copy of the copy";
  structs.reset();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(CopyOfArray, FreesItsMemoryBeforeItReleasesItsOwner)
{
  auto const own = std::make_shared<counting_resource>();
  auto was_empty = std::optional<bool>{};
  auto owner     = std::shared_ptr<void const>{
    own.get(), [&, own](void const*) { was_empty = own->has_all_back(); }};
  auto copy = copy_of(text(0, 5, "u"), *own, std::move(owner));
  copy.reset();
  EXPECT_EQ(was_empty, true);
}

TEST_F(CopyOfArray, OfAReleasedArrayIsRejected)
{ EXPECT_THROW((void)device_array{}.copy(nullptr, stream(), memory), std::invalid_argument); }

}  // namespace
}  // namespace cudf_arrow_bridge::test
