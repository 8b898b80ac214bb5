// SPDX-License-Identifier: Apache-2.0
#include "testing/imports.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/import.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace cudf_arrow_bridge::test {
namespace {

imported_column import_array(shape const& type,
                             unique_device_array& array,
                             import_options const& options = {})
{
  return checked(
    from_arrow_device_column(
      *make_schema(type).get(), array.get(), options, stream(), host_memory_resource()),
    options);
}

imported_table import_table(shape const& type,
                            unique_device_array& array,
                            import_options const& options = {})
{
  return checked(
    from_arrow_device_table(
      *make_schema(type).get(), array.get(), options, stream(), host_memory_resource()),
    options);
}

constexpr auto borrowing = import_options{.borrow = true};

/// Rows before and after the slice, at the top level and at the levels below.
struct slice_case {
  padding top;
  padding below;
};

constexpr auto slice_cases = std::to_array<slice_case>({{{0, 0}, {0, 0}},
                                                        {{1, 0}, {0, 0}},
                                                        {{7, 2}, {0, 0}},
                                                        {{8, 0}, {0, 3}},
                                                        {{9, 1}, {0, 0}},
                                                        {{31, 1}, {0, 0}},
                                                        {{32, 0}, {0, 0}},
                                                        {{33, 1}, {32, 0}},
                                                        {{64, 1}, {0, 0}},
                                                        {{65, 0}, {65, 0}},
                                                        {{0, 0}, {1, 1}},
                                                        {{0, 2}, {8, 0}},
                                                        {{0, 0}, {40, 0}},
                                                        {{1, 0}, {31, 0}},
                                                        {{5, 1}, {3, 0}}});

slicing slices_of(slice_case const& c, bool count_nulls)
{
  return {[c](int level) { return level == 0 ? c.top : c.below; }, count_nulls};
}

using import_case = std::tuple<shape, int>;

std::string case_name(::testing::TestParamInfo<import_case> const& info)
{ return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param)); }

class Import : public ::testing::TestWithParam<import_case> {
 protected:
  shape type{std::get<0>(GetParam())};
  int null_percent{std::get<1>(GetParam())};

  void expect_import(std::size_t size, slice_case const& slices, bool count_nulls)
  {
    SCOPED_TRACE(std::to_string(size) + " rows from " + std::to_string(slices.top.before) + ", " +
                 std::to_string(slices.below.before) +
                 " below, counted: " + std::to_string(count_nulls));
    auto const values = samples(type, size, null_percent);
    tracked source{produce(type, values, slices_of(slices, count_nulls))};
    {
      auto options = import_options{};
      // Valid arrays pass full validation.
      options.validate  = count_nulls ? validation::full : validation::minimal;
      auto const column = import_array(type, source.array, options);
      EXPECT_TRUE(source.array.is_released());
      EXPECT_EQ(column.view().type(), type.type());
      expect_rows(column.view(), type, values);
    }
    EXPECT_EQ(source.released, 1);
  }
};

TEST_P(Import, SlicesHaveTheirRows)
{
  for (auto const size : {std::size_t{0}, std::size_t{1}, std::size_t{70}}) {
    for (auto const& slices : slice_cases) {
      for (auto const count_nulls : {true, false}) { expect_import(size, slices, count_nulls); }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         Import,
                         ::testing::Combine(::testing::ValuesIn(importable_shapes()),
                                            ::testing::Values(0, 30, 100)),
                         case_name);

TEST(ImportOfASlice, DoesNotReadViewsBeforeTheSlice)
{
  auto const views = as(cudf::type_id::STRING, "string_view", "vu");
  for (auto const& type : {views, struct_of({flat("int8"), views}), fixed_list_of(views, 1)}) {
    SCOPED_TRACE(type.name);
    auto const values = samples(type, 40, 30);
    tracked source{produce(type, values, slices_of({{3, 0}, {}}, true))};
    auto* level = &source.array->array;
    for (;; level = level->children[level->n_children - 1]) {
      auto* mask = static_cast<std::uint8_t*>(const_cast<void*>(level->buffers[0]));
      if (mask != nullptr) { mask[0] |= 7; }
      if (level->n_children == 0) { break; }
    }
    // The views before the slice refer to buffers that do not exist.
    auto* view = static_cast<std::int32_t*>(const_cast<void*>(level->buffers[1]));
    std::fill_n(view, 3 * 4, 100);
    expect_rows(import_array(type, source.array).view(), type, values);
  }
}

TEST(ImportOfASlice, AcceptsListsOfSizeZeroWithoutOffsetsOfElements)
{
  auto const lists = fixed_list_of(flat("string"), 0);
  auto const views = as(cudf::type_id::STRING, "string_view", "vu");
  for (auto const& type : {lists, struct_of({lists, views})}) {
    for (auto const validate : {validation::minimal, validation::full}) {
      SCOPED_TRACE(type.name + ", full: " + std::to_string(validate == validation::full));
      auto const values = samples(type, 40, 30);
      tracked source{produce(type, values, slices_of({{5, 0}, {}}, true))};
      auto* elements = source.array->array.children[0];
      if (type.id == cudf::type_id::STRUCT) { elements = elements->children[0]; }
      elements->buffers[1] = nullptr;
      expect_rows(import_array(type, source.array, {.validate = validate}).view(), type, values);
    }
  }
}

// -- addresses ---------------------------------------------------------------------------------

/// Copy a buffer to `shift` bytes after an aligned address. @return The owner of the copy
std::vector<std::uint64_t> move_buffer(ArrowArray& array,
                                       int index,
                                       std::size_t size,
                                       std::size_t shift)
{
  auto memory  = std::vector<std::uint64_t>((shift + size + 7) / 8);
  auto* buffer = reinterpret_cast<std::byte*>(memory.data()) + shift;
  std::memcpy(buffer, array.buffers[index], size);
  array.buffers[index] = buffer;
  return memory;
}

TEST(ImportAddresses, MisalignedBuffersAreCopied)
{
  for (auto const& name : {"int16", "int32", "int64", "float64", "decimal128"}) {
    auto const& type = flat(name);
    auto const width = cudf::size_of(type.type());
    for (auto const& [mask_shift, data_shift] : {std::pair{0U, 0U}, {1U, 0U}, {0U, 1U}, {4U, 2U}}) {
      SCOPED_TRACE(std::string{name} + " " + std::to_string(mask_shift) +
                   std::to_string(data_shift));
      auto const values = samples(type, 20, 30);
      tracked source{produce(type, values)};
      auto& array        = source.array->array;
      auto const mask    = move_buffer(array, 0, 3, mask_shift);
      auto const data    = move_buffer(array, 1, 20 * width, data_shift);
      auto const buffers = std::array{array.buffers[0], array.buffers[1]};
      auto const column  = import_array(type, source.array);
      auto const view    = column.view();
      EXPECT_EQ(view.null_mask() == buffers[0], mask_shift % 4 == 0);
      EXPECT_EQ(view.head<void>() == buffers[1], data_shift % std::min(width, 8UL) == 0);
      EXPECT_EQ(read_rows(view, type), values);
    }
  }
}

// -- tables ------------------------------------------------------------------------------------

shape const batch_type = struct_of({flat("int32"), flat("string"), list_of(flat("bool8"))});

template <typename Table>
rows table_rows(Table const& table, shape const& type)
{
  auto const view = table.view();
  auto result     = rows(static_cast<std::size_t>(table.num_rows), value{rows{}});
  for (cudf::size_type i = 0; i < view.num_columns(); ++i) {
    auto const column = read_rows(view.column(i), type.children[static_cast<std::size_t>(i)]);
    for (std::size_t j = 0; j < result.size(); ++j) {
      std::get<rows>(result[j].content).push_back(column.at(j));
    }
  }
  return result;
}

rows random_rows(shape const& type, std::size_t size, int null_percent)
{
  auto random = engine{3};
  auto result = rows(size);
  for (auto& row : result) {
    auto items = rows{};
    for (auto const& field : type.children) {
      items.push_back(sample(field, random, null_percent));
    }
    row = {std::move(items)};
  }
  return result;
}

rows batch_rows(std::size_t size, int null_percent)
{ return random_rows(batch_type, size, null_percent); }

TEST(ArrayImporter, ImportsManyArrays)
{
  auto schema         = make_schema(batch_type);
  auto const importer = array_importer{*schema.get()};
  schema.reset();  // copied
  for (auto const size : {50U, 0U, 3U}) {
    auto const values = batch_rows(size, 30);
    tracked source{produce(batch_type, values)};
    importer.check(source.array.get(), true);  // does not take ownership
    EXPECT_EQ(source.released, 0);
    {
      auto const table = checked(
        importer.import_array(source.array.get(), true, {}, stream(), host_memory_resource()));
      EXPECT_EQ(table_rows(table, batch_type), values);
    }
    EXPECT_EQ(source.released, 1);
  }
}

TEST(ImportTable, OfSlicesHasTheirRows)
{
  auto type = struct_of(flat_shapes());
  type.children.push_back(list_of(flat("int8")));
  type.children.push_back(dictionary_of(flat("string")));
  for (auto const& shapes : {foreign_shapes(), view_shapes()}) {
    type.children.insert(type.children.end(), shapes.begin(), shapes.end());
  }
  // `Import.SlicesHaveTheirRows` imports each type in more ways.
  for (auto const& slices : slice_cases) {
    for (auto const& [null_percent, count_nulls, borrow] :
         {std::tuple{0, true, true}, {30, true, true}, {30, false, true}, {30, true, false}}) {
      SCOPED_TRACE(std::to_string(slices.top.before) + ", " + std::to_string(slices.below.before));
      auto const values = random_rows(type, 50, null_percent);
      tracked source{produce(type, values, slices_of(slices, count_nulls))};
      {
        auto const table = import_table(type, source.array, {.borrow = borrow});
        EXPECT_EQ(table_rows(table, type), values);
        EXPECT_EQ(source.released, 0);
      }
      EXPECT_EQ(source.released, 1);
    }
  }
}

TEST(BorrowTable, SharesBuffersOfFlatValuesAndStrings)
{
  auto const type   = struct_of({flat("int32"), flat("string"), flat("bool8"), flat("decimal64")});
  auto const values = random_rows(type, 70, 30);
  tracked source{produce(type, values)};
  auto const fields =
    std::vector<ArrowArray*>{source.array->array.children, source.array->array.children + 4};
  auto expected = std::vector<void const*>{};
  for (auto const& [field, buffers] : {std::pair{0U, 2}, {1U, 3}, {3U, 2}}) {
    expected.insert(expected.end(), fields[field]->buffers, fields[field]->buffers + buffers);
  }
  auto table           = import_table(type, source.array, borrowing);
  auto const& borrowed = table.columns;
  auto found           = std::vector<void const*>{};
  for (auto const i : {0U, 1U, 3U}) {
    auto const& view = borrowed[i].borrowed;
    found.push_back(view.null_mask());
    if (i == 1) { found.push_back(view.child(0).head<void>()); }
    found.push_back(view.head<void>());
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(borrowed[0].data_size, 70 * 4);
  EXPECT_EQ(borrowed[1].borrowed.child(0).size(), 71);
  EXPECT_EQ(borrowed[1].data_size, static_cast<std::int32_t const*>(expected[3])[70]);
  EXPECT_EQ(borrowed[3].data_size, 70 * 8);
  for (auto const i : {0U, 1U, 3U}) { EXPECT_EQ(borrowed[i].storage, nullptr); }
  EXPECT_NE(borrowed[2].storage, nullptr);

  // Each column, borrowed or not, keeps the array alive.
  auto last = std::move(table.columns[1]);
  table     = {};
  EXPECT_EQ(source.released, 0);
  EXPECT_EQ(read_rows(last.view(), flat("string")), field_rows(values, 1, {}));
  last = {};
  EXPECT_EQ(source.released, 1);
}

TEST(ImportTable, DoesNotReleaseRejectedArrays)
{
  auto const expect_rejected = [](shape const& type, unique_array array) {
    tracked source{std::move(array)};
    for (auto const borrow : {true, false}) {
      EXPECT_THROW((void)import_table(type, source.array, {.borrow = borrow}),
                   std::invalid_argument);
      EXPECT_FALSE(source.array.is_released());
      EXPECT_EQ(source.released, 0);
    }
  };
  auto values = batch_rows(40, 0);
  values[20]  = {};
  for (auto const count_nulls : {true, false}) {
    expect_rejected(batch_type, produce(batch_type, values, slices_of({{9, 3}, {}}, count_nulls)));
  }
  auto broken             = produce(batch_type, batch_rows(4, 0));
  auto& strings           = *broken->children[1];
  auto* offsets           = static_cast<std::int32_t*>(const_cast<void*>(strings.buffers[1]));
  offsets[strings.length] = -1;
  expect_rejected(batch_type, std::move(broken));
  expect_rejected(list_of(flat("int8")), produce(list_of(flat("int8")), {}));
}

TEST(ArrayImporter, BorrowsOneColumn)
{
  auto shapes = flat_shapes();
  shapes.push_back(list_of(flat("int8")));
  shapes.push_back(dictionary_of(flat("string")));
  for (auto const& type : shapes) {
    auto const importer = array_importer{*make_schema(type).get()};
    for (auto const& slices : slice_cases) {
      auto const values = samples(type, 50, 30);
      tracked source{produce(type, values, slices_of(slices, true))};
      auto const length = source.array->array.length;
      auto const* data =
        source.array->array.n_buffers > 1 ? source.array->array.buffers[1] : nullptr;
      {
        auto const table   = checked(importer.import_array(
          source.array.get(), false, borrowing, stream(), host_memory_resource()));
        auto const& column = table.columns.front();
        EXPECT_EQ(column.size, length);
        if (type.name == "int32" && slices.top.before == 0) { EXPECT_EQ(column.storage, nullptr); }
        expect_rows(column.view(), type, values);
        if (column.storage == nullptr && slices.top.before == 0) {
          EXPECT_EQ(source.released, 0);
          auto const& view = column.borrowed;
          auto const& flat = view.num_children() > 0 ? view.child(0) : view;
          EXPECT_EQ(flat.head<void>(), data);
        }
      }
      EXPECT_EQ(source.released, 1);
    }
  }
}

TEST(ArrayImporter, RejectsArraysThatDoNotMatchItsSchema)
{
  auto const importer = array_importer{*make_schema(batch_type, "batch").get()};
  tracked other{produce(struct_of({flat("int8")}), rows(2, value{rows{number(1)}}))};
  EXPECT_THROW(importer.check(other.array.get(), true), std::invalid_argument);
  EXPECT_THROW(
    (void)importer.import_array(other.array.get(), true, {}, stream(), host_memory_resource()),
    std::invalid_argument);
  EXPECT_FALSE(other.array.is_released());
  EXPECT_THROW((void)importer.import_array(nullptr, true, {}, stream(), host_memory_resource()),
               std::invalid_argument);
  tracked incomplete{produce(batch_type, batch_rows(2, 0))};
  auto* const first = std::exchange(incomplete.array->array.children[0], nullptr);
  EXPECT_THROW(
    (void)importer.import_array(incomplete.array.get(), true, {}, stream(), host_memory_resource()),
    std::invalid_argument);
  incomplete.array->array.children[0] = first;
  auto released                       = ArrowSchema{};
  released.format                     = "i";
  EXPECT_THROW((void)array_importer{released}, std::invalid_argument);
  auto unknown = make_schema(flat("int32"));
  check(ArrowSchemaSetFormat(unknown.get(), "tiM"));
  EXPECT_THROW((void)array_importer{*unknown.get()}, cudf::data_type_error);
}

TEST(BorrowTable, ImportsMisalignedBuffers)
{
  auto const type   = struct_of({flat("int64"), flat("string")});
  auto const values = random_rows(type, 3, 0);
  tracked source{produce(type, values)};
  auto* const* fields = source.array->array.children;
  auto const numbers  = move_buffer(*fields[0], 1, 3 * 8, 1);
  auto const offsets  = move_buffer(*fields[1], 1, 4 * 4, 1);
  auto const table    = import_table(type, source.array, borrowing);
  for (auto const& column : table.columns) { EXPECT_NE(column.storage, nullptr); }
  EXPECT_EQ(table_rows(table, type), values);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
