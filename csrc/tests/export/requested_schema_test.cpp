// SPDX-License-Identifier: Apache-2.0
#include "testing/arrow_schema.hpp"
#include "testing/columns.hpp"
#include "testing/consumer.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

unique_schema schema_of(char const* format)
{
  auto schema = unique_schema{};
  ArrowSchemaInit(schema.get());
  check(ArrowSchemaSetFormat(schema.get(), format));
  schema->flags = ARROW_FLAG_NULLABLE;
  return schema;
}

struct exported {
  unique_schema schema;
  unique_device_array array;
};

exported export_as(cudf::column_view const& column,
                   column_metadata const& metadata,
                   ArrowSchema const* requested)
{
  auto const schema = cudf_arrow_bridge::make_schema(column, metadata, requested);
  auto const array =
    to_arrow_device(column, nullptr, {.schema = schema}, stream(), host_memory_resource());
  return {schema.to_arrow(), array.to_arrow()};
}

/// A string column of {"a", "bc"} whose 64-bit offsets begin at `far` instead of 0.
class far_text {
 public:
  explicit far_text(std::int64_t far) : offsets_{far, far + 1, far + 3} {}

  [[nodiscard]] cudf::column_view view() const
  {
    // The address that offset 0 would have; offset `far` is that of `text_`.
    auto const* head =
      reinterpret_cast<char const*>(reinterpret_cast<std::uintptr_t>(text_.data()) - offsets_[0]);
    // Exactly three offsets, so that AddressSanitizer detects further reads.
    auto const offsets =
      cudf::column_view{cudf::data_type{cudf::type_id::INT64}, 3, offsets_.data(), nullptr, 0};
    return {cudf::data_type{cudf::type_id::STRING}, 2, head, nullptr, 0, 0, {offsets}};
  }

 private:
  std::string text_{"abc"};
  std::vector<std::int64_t> offsets_;
};

TEST(Requests, StringsWithOffsetsAbove32BitsAreNarrowed)
{
  auto const strings = far_text{std::int64_t{1} << 40};
  auto const result  = export_as(strings.view(), {}, schema_of("u").get());
  EXPECT_EQ(read_arrow(result.array->array, flat("string")), (rows{{"a"}, {"bc"}}));
}

TEST(Requests, ViewsBeyondTwoGigabytesOverflow)
{
  constexpr auto most  = std::int64_t{std::numeric_limits<std::int32_t>::max()};
  auto const reachable = far_text{most - 3};
  auto const result    = export_as(reachable.view(), {}, schema_of("vu").get());
  EXPECT_EQ(read_arrow(result.array->array, as(cudf::type_id::STRING, "string_view", "vu")),
            (rows{{"a"}, {"bc"}}));
  auto const too_far = far_text{most - 2};
  EXPECT_THROW((void)export_as(too_far.view(), {}, schema_of("vu").get()), std::overflow_error);
}

TEST(Requests, DictionariesOfRunsWithoutChildrenAreRejected)
{
  auto const column = make_column(flat("int32"), {number(1)});
  auto wanted       = schema_of("i");
  check(ArrowSchemaAllocateDictionary(wanted.get()));
  ArrowSchemaInit(wanted->dictionary);
  check(ArrowSchemaSetFormat(wanted->dictionary, "+r"));
  EXPECT_THROW((void)export_as(*column, {}, wanted.get()), std::invalid_argument);
}

value bytes(int size, int first)
{
  auto items = rows{};
  for (auto i = 0; i < size; ++i) { items.push_back(number(first + i)); }
  return {items};
}

/// Return rows that are null where `bits` has a 0.
rows marks(std::string_view bits)
{
  auto result = rows{};
  for (auto const bit : bits) { result.push_back(bit == '0' ? value{} : number(1)); }
  return result;
}

/// Return a struct column of one field. Its rows are null where `bits` has a 0.
std::unique_ptr<cudf::column> struct_around(std::unique_ptr<cudf::column> field,
                                            std::string_view bits)
{
  auto const size = static_cast<cudf::size_type>(bits.size());
  auto children   = std::vector<std::unique_ptr<cudf::column>>{};
  children.push_back(std::move(field));
  return std::make_unique<cudf::column>(
    cudf::data_type{cudf::type_id::STRUCT},
    size,
    host_buffer(std::vector<char>{}),
    mask_of(marks(bits)),
    static_cast<cudf::size_type>(std::count(bits.begin(), bits.end(), '0')),
    std::move(children));
}

/// One level of nested structs. Each is the only field of the level above; the last is int32.
struct tower_level {
  std::string valid;  ///< 0 for each null row
  bool nullable;      ///< whether the request allows nulls
};

class tower {
 public:
  explicit tower(std::vector<tower_level> const& all) : levels_{all}
  {
    column_ = make_column(type_, marks(levels_.back().valid));
    for (auto level = levels_.rbegin() + 1; level != levels_.rend(); ++level) {
      column_ = struct_around(std::move(column_), level->valid);
      type_   = struct_of({type_});
    }
  }

  /// Export a slice. @return Whether the request accepts its nulls
  [[nodiscard]] bool expect_export(std::size_t begin, std::size_t end) const
  {
    auto const view =
      slice(*column_, static_cast<cudf::size_type>(begin), static_cast<cudf::size_type>(end));
    auto const wanted = requested();
    auto expected     = rows{};
    for (auto i = begin; i < end; ++i) {
      auto const found = row(i);
      if (!found) {
        EXPECT_THROW((void)export_as(view, {}, wanted.get()), std::invalid_argument);
        return false;
      }
      expected.push_back(*found);
    }
    EXPECT_EQ(read_arrow(export_as(view, {}, wanted.get()).array->array, type_), expected);
    return true;
  }

 private:
  [[nodiscard]] unique_schema requested() const
  {
    auto result  = make_schema(type_);
    auto* schema = result.get();
    for (auto const& level : levels_) {
      schema->flags = level.nullable ? ARROW_FLAG_NULLABLE : 0;
      schema        = schema->n_children == 0 ? nullptr : schema->children[0];
    }
    return result;
  }

  /// Return a row as Arrow reads it: null from its first null level on, which must be nullable.
  [[nodiscard]] std::optional<value> row(std::size_t index, std::size_t level = 0) const
  {
    if (levels_[level].valid[index] == '0') {
      return levels_[level].nullable ? std::optional{value{}} : std::nullopt;
    }
    if (level + 1 == levels_.size()) { return number(1); }
    auto const field = row(index, level + 1);
    return field ? std::optional{value{rows{*field}}} : std::nullopt;
  }

  std::vector<tower_level> levels_;
  shape type_{flat("int32")};
  std::unique_ptr<cudf::column> column_;
};

TEST(NullsBelowNulls, AreAcceptedInRandomNonNullableFields)
{
  constexpr auto size = std::size_t{75};
  auto random         = engine{7};
  auto exported       = 0;
  for (auto round = 0; round < 2'000; ++round) {
    auto levels = std::vector<tower_level>(2 + random() % 3);
    auto outer  = std::string(size, '1');
    for (auto& level : levels) {
      level.nullable   = &level == &levels.front() || random() % 2 == 0;
      level.valid      = std::string(size, '1');
      auto const sound = !level.nullable && random() % 8 != 0;
      for (std::size_t i = 0; i < size; ++i) {
        auto const may_be_null = !sound || outer[i] == '0';
        if (may_be_null && random() % 4 == 0) { level.valid[i] = '0'; }
        if (level.valid[i] == '0') { outer[i] = '0'; }
      }
    }
    auto const nulls = tower{levels};
    auto const begin = random() % size;
    auto const end   = begin + random() % (size - begin + 1);
    exported += nulls.expect_export(begin, end) ? 1 : 0;
    (void)nulls.expect_export(0, size);
  }
  EXPECT_GT(exported, 500);
  EXPECT_LT(exported, 2'000);
}

/// A value that contradicts a request, and one that does not.
struct value_case {
  shape held;
  shape requested;
  value right;
  value wrong;
};

void expect_only_valid_rows_are_checked(value_case const& tested)
{
  auto const& [held, requested, right, wrong] = tested;
  SCOPED_TRACE(held.name + " as " + requested.format);
  constexpr auto size = 20;
  auto const type     = struct_of({struct_of({requested})});
  auto const wanted   = make_schema(type);
  auto values         = rows(size, right);
  values[4]           = value{};
  values[5]           = wrong;
  values[13]          = wrong;
  auto expected       = rows{};
  for (auto const& v : values) { expected.push_back({rows{{rows{v}}}}); }
  expected[5]  = {rows{value{}}};
  expected[13] = value{};

  auto const read =
    [&, &from = held](
      std::string_view outer, std::string_view inner, cudf::size_type begin, cudf::size_type end) {
      auto const column = struct_around(struct_around(make_column(from, values), inner), outer);
      auto const result = export_as(slice(*column, begin, end), {}, wanted.get());
      return read_arrow(result.array->array, type);
    };
  auto const all   = std::string(size, '1');
  auto const outer = std::string{"11111111111110111111"};
  auto const inner = std::string{"11111011111111111111"};
  for (auto const& [begin, end] : {std::pair{0, size}, std::pair{3, size}, std::pair{9, 15}}) {
    EXPECT_EQ(read(outer, inner, begin, end),
              part(expected, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)))
      << begin;
    EXPECT_THROW((void)read(all, inner, begin, end), std::invalid_argument) << begin;
  }
  EXPECT_THROW((void)read(outer, all, 3, size), std::invalid_argument);
}

value null_byte() { return {rows{number(1), value{}, number(3)}}; }

TEST(NullsBelowNulls, AreNotCheckedAgainstTheRequestedType)
{
  auto const date  = as(cudf::type_id::TIMESTAMP_MILLISECONDS, "date64", "tdm");
  auto const time  = as(cudf::type_id::DURATION_SECONDS, "time32_s", "tts");
  auto const price = shape{cudf::type_id::DECIMAL32, "decimal32", "d:5,2,32", -2, {}};
  auto const lists = list_of(flat("uint8"));
  for (auto const& tested :
       std::vector<value_case>{{flat("timestamp_ms"), date, number(86'400'000), number(1)},
                               {flat("duration_s"), time, number(1), number(-1)},
                               {flat("decimal32"), price, number(99'999), number(100'000)},
                               {lists, bytes_as("bytes_3", "w:3"), bytes(3, 0), bytes(2, 0)},
                               {lists, bytes_as("bytes_3", "w:3"), bytes(3, 0), null_byte()},
                               {lists, bytes_as("binary", "z"), bytes(3, 0), null_byte()},
                               {lists, bytes_as("binary_view", "vz"), bytes(3, 0), null_byte()}}) {
    expect_only_valid_rows_are_checked(tested);
  }
}

TEST(NullsBelowNulls, MayBeAFieldOfTheNullType)
{
  auto const type            = struct_of({flat("null")});
  auto wanted                = make_schema(type);
  wanted->children[0]->flags = 0;
  auto const column          = struct_around(make_column(flat("null"), rows(4)), "0010");
  auto const view            = column->view();
  EXPECT_EQ(read_arrow(export_as(slice(view, 0, 2), {}, wanted.get()).array->array, type), rows(2));
  EXPECT_EQ(read_arrow(export_as(slice(view, 2, 2), {}, wanted.get()).array->array, type), rows{});
  EXPECT_THROW((void)export_as(slice(view, 1, 3), {}, wanted.get()), std::invalid_argument);
}

TEST(NullsBelowNulls, OutsideOfTheSliceAreNotChecked)
{
  auto const type            = list_of(flat("null"));
  auto const column          = make_column(type, {{rows(2)}, {rows{}}});
  auto wanted                = make_schema(type);
  wanted->children[0]->flags = 0;
  auto const result          = export_as(slice(*column, 1, 2), {}, wanted.get());
  EXPECT_EQ(read_arrow(result.array->array, type), (rows{{rows{}}}));
  EXPECT_THROW((void)export_as(*column, {}, wanted.get()), std::invalid_argument);
}

TEST(Requests, DictionariesAreDecodedUnlessTheirValuesAreNested)
{
  // The indices of dictionaries and the plain values have the same format "i".
  for (auto const& values :
       {flat("int32"), struct_of({flat("int8")}), struct_of({}), list_of(flat("int8"))}) {
    auto const is_nested = values.id != cudf::type_id::INT32;
    auto const type      = dictionary_of(values);
    auto const held      = samples(type, 20, 30);
    auto const column    = make_column(type, held);
    auto const result    = export_as(*column, {}, make_schema(values).get());
    EXPECT_STREQ(result.schema->format, "i") << values.name;
    ASSERT_EQ(result.schema->dictionary != nullptr, is_nested) << values.name;
    if (is_nested) { EXPECT_EQ(result.schema->dictionary->format, values.format); }
    EXPECT_EQ(read_arrow(result.array->array, is_nested ? type : values), held);
  }
}

TEST(Requests, DictionariesNeedIndicesForAllRowsOfASlice)
{
  auto const keys     = make_column(flat("string"), {{"a"}, {"b"}});
  auto const as_texts = schema_of("u");
  auto const numbers  = std::vector<std::int32_t>{1, 0, 1};
  auto const mask     = std::uint32_t{0};
  auto const of       = [&](cudf::size_type count, bool null, cudf::size_type begin) {
    auto const indices = cudf::column_view{cudf::data_type{cudf::type_id::INT32},
                                           count,
                                           count == 0 ? nullptr : numbers.data(),
                                           nullptr,
                                           0};
    return cudf::column_view{cudf::data_type{cudf::type_id::DICTIONARY32},
                             2,
                             nullptr,
                             null ? &mask : nullptr,
                             null ? 2 : 0,
                             begin,
                             {indices, *keys}};
  };
  auto const result = export_as(of(3, false, 1), {}, as_texts.get());
  EXPECT_EQ(read_arrow(result.array->array, flat("string")), (rows{{"a"}, {"b"}}));
  for (auto const* requested : std::initializer_list<ArrowSchema const*>{nullptr, as_texts.get()}) {
    for (auto const null : {false, true}) {
      for (auto const count : {0, 1, 2}) {
        try {
          (void)export_as(of(count, null, 1), {}, requested);
          ADD_FAILURE() << count;
        } catch (std::invalid_argument const& error) {
          EXPECT_EQ(error.what(),
                    "column '(top level)': expected at least 3 dictionary indices, got " +
                      std::to_string(count));
        }
      }
    }
  }
}

/// Export bytes of a fixed size from lists: two before the slice, three in it, and one after it.
void expect_bytes_of_a_slice(rows const& lists, bool shared)
{
  auto const column      = struct_around(make_column(bytes_as("binary", "z"), lists), "111011");
  auto const all         = column->view();
  auto const part_of_all = cudf::column_view{
    all.type(), 3, nullptr, all.null_mask(), 1, 2, {all.child_begin(), all.child_end()}};
  auto const type            = struct_of({bytes_as("bytes_3", "w:3")});
  auto const origin          = make_schema(type);
  auto wanted                = make_schema(type);
  wanted->children[0]->flags = 0;  // bytes may be null in null structs
  auto const result          = export_as(part_of_all, {.origin = origin.get()}, wanted.get());
  EXPECT_EQ(result.schema->children[0]->flags, 0);
  auto expected = part(lists, 2, 5);
  for (auto& row : expected) { row = {rows{row}}; }
  expected[1] = value{};
  EXPECT_EQ(read_arrow(result.array->array, type), expected);

  auto const& field  = *result.array->array.children[0];
  auto const* first  = static_cast<std::uint8_t const*>(field.buffers[1]) + 3 * field.offset;
  auto const skipped = result.array->array.offset * 3;
  auto const held    = all.child(0).child(1);
  auto const at      = lists[0].items().size() + lists[1].items().size();
  EXPECT_EQ(first + skipped == held.head<std::uint8_t>() + at, shared);
}

TEST(FixedSizeBytes, AreCheckedOnlyInTheRowsOfASlice)
{
  for (auto const& [before, before_that, shared] :
       {std::tuple{3, 3, true}, {9, 0, true}, {0, 0, false}, {1, 2, false}}) {
    SCOPED_TRACE(before);
    expect_bytes_of_a_slice({bytes(before, 0),
                             bytes(before_that, 3),
                             bytes(3, 6),
                             bytes(3, 9),
                             bytes(3, 12),
                             bytes(before, 0)},
                            shared);
  }
  expect_bytes_of_a_slice(
    {bytes(3, 0), bytes(3, 3), bytes(3, 6), value{}, bytes(3, 12), bytes(3, 15)}, false);
}

TEST(Requests, BytesNeedOffsetsForAllRowsOfASlice)
{
  auto const element = integers(cudf::type_id::UINT8, std::vector<std::uint8_t>{1, 2, 3, 4});
  auto const values =
    std::vector<std::int32_t>{0, 1, 2, 3, 4};  // the column has only the first four
  auto const offsets =
    cudf::column_view{cudf::data_type{cudf::type_id::INT32}, 4, values.data(), nullptr, 0};
  auto const type    = cudf::data_type{cudf::type_id::LIST};
  auto const bytes_1 = schema_of("w:1");
  auto const part    = [&](cudf::size_type begin) {
    return cudf::column_view{type, 2, nullptr, nullptr, 0, begin, {offsets, *element}};
  };
  EXPECT_STREQ(export_as(part(1), {}, bytes_1.get()).schema->format, "w:1");
  EXPECT_THROW((void)export_as(part(2), {}, bytes_1.get()), std::invalid_argument);
}

TEST(Requests, BytesMayBeginInsideTheirColumn)
{
  auto const all     = integers(cudf::type_id::UINT8, std::vector<std::uint8_t>{9, 1, 2, 3});
  auto const element = cudf::column_view{all->type(), 3, all->view().head<void>(), nullptr, 0, 1};
  auto const offsets = integers(cudf::type_id::INT32, std::vector<std::int32_t>{0, 1, 3});
  auto const lists   = cudf::column_view{
    cudf::data_type{cudf::type_id::LIST}, 2, nullptr, nullptr, 0, 0, {*offsets, element}};
  auto const result = export_as(lists, {}, schema_of("z").get());
  EXPECT_EQ(read_arrow(result.array->array, bytes_as("binary", "z")),
            (rows{bytes(1, 1), bytes(2, 2)}));
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
