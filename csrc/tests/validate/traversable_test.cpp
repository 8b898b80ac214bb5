// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"
#include "testing/imports.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/types.hpp>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <limits>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

void never_released(ArrowSchema*) {}

void never_released(ArrowArray*) {}

/// Links structs in ways that no builder allows.
class Traversable : public ::testing::Test {
 protected:
  struct level {
    ArrowSchema schema{};
    ArrowArray array{};
    std::vector<ArrowSchema*> schemas;
    std::vector<ArrowArray*> arrays;
    std::array<void const*, 3> buffers{};
  };

  level& add(char const* format, std::int64_t num_buffers)
  {
    auto& added           = levels.emplace_back();
    added.schema.format   = format;
    added.schema.name     = "x";
    added.schema.release  = never_released;
    added.array.release   = never_released;
    added.array.n_buffers = num_buffers;
    added.array.buffers   = added.buffers.data();
    return added;
  }

  static void put(level& parent, level& child, std::size_t times = 1)
  {
    parent.schemas.assign(times, &child.schema);
    parent.arrays.assign(times, &child.array);
    parent.schema.n_children = parent.array.n_children = static_cast<std::int64_t>(times);
    parent.schema.children                             = parent.schemas.data();
    parent.array.children                              = parent.arrays.data();
  }

  static void set_dictionary(level& parent, level& values)
  {
    parent.schema.dictionary = &values.schema;
    parent.array.dictionary  = &values.array;
  }

  /// `depth` nested structs, each with `times` pointers to the next one; the innermost is a null
  /// array.
  level& add_chain(int depth, std::size_t times)
  {
    auto& top = add("+s", 1);
    for (auto* above = &top; depth > 0; --depth) {
      auto& next = depth > 1 ? add("+s", 1) : add("n", 0);
      put(*above, next, times);
      above = &next;
    }
    return top;
  }

  /// @return The message of the import's error; empty if it throws none
  std::string refusal(level& top)
  {
    auto device        = ArrowDeviceArray{};
    device.array       = top.array;
    device.device_type = ARROW_DEVICE_CPU;
    try {
      (void)from_arrow_device_column(top.schema, &device, {}, stream(), host_memory_resource());
    } catch (std::invalid_argument const& error) {
      EXPECT_NE(device.array.release, nullptr) << "still the caller's";
      return error.what();
    }
    return {};
  }

  void expect_refused(level& top, std::string const& what)
  {
    auto const message = refusal(top);
    EXPECT_NE(message.find(what), std::string::npos) << message;
    EXPECT_TRUE(detail::is_utf8(message)) << message;
  }

  std::deque<level> levels;
};

TEST_F(Traversable, RejectsADictionaryThatIsItself)
{
  auto& top = add("i", 2);
  set_dictionary(top, top);
  expect_refused(top, "the schema has more than 64 levels");
  EXPECT_THROW((void)import_row(top.schema), std::invalid_argument);
}

TEST_F(Traversable, RejectsTooManyColumnsThatShareStructs)
{
  EXPECT_EQ(refusal(add_chain(10, 2)), "");
  expect_refused(add_chain(20, 2), "the schema has more than 1048576 columns");
  expect_refused(add_chain(63, 2), "the schema has more than 1048576 columns");
}

TEST_F(Traversable, RejectsTooManyChildrenBeforeItReadsTheirPointers)
{
  auto& top            = add_chain(1, 3);
  top.array.n_children = top.schema.n_children = std::int64_t{1} << 40;
  expect_refused(top, "the schema has more than 1048576 columns");
}

TEST_F(Traversable, DoesNotReadReleasedSchemas)
{
  auto* nowhere  = reinterpret_cast<char const*>(16);
  auto& top      = add("+s", 1);
  auto& released = add(nowhere, 2);
  put(top, released);
  released.schema.name    = nowhere;
  released.schema.release = nullptr;
  expect_refused(top, "released");
  expect_refused(released, "released");
  auto& categories = add("i", 2);
  set_dictionary(categories, released);
  expect_refused(categories, "released");
}

TEST_F(Traversable, RejectsTextThatIsNotUtf8)
{
  auto& top       = add("n", 0);
  top.schema.name = "\xe9t\xe9";
  expect_refused(top, "'\\xe9t\\xe9': the name is not UTF-8");
  top.schema.name   = "x";
  top.schema.format = "\xff";
  expect_refused(top, "the format string is not UTF-8");
}

TEST_F(Traversable, CutsLongMessagesBetweenCharacters)
{
  auto format = std::string{"?"};
  for (auto i = 0; i < 2000; ++i) { format += "\xc3\xa9"; }
  expect_refused(add(format.c_str(), 2), "\xc3\xa9");
  format += "x";
  expect_refused(add(format.insert(0, "?").c_str(), 2), "\xc3\xa9");
}

TEST_F(Traversable, RejectsMetadataWithNegativeSizes)
{
  for (auto const& sizes : std::vector<std::vector<std::int32_t>>{
         {-1}, {1, -4}, {1, 4, 0, -8}, {2, 0, 0, 0, std::numeric_limits<std::int32_t>::min()}}) {
    auto& top           = add("n", 0);
    top.schema.metadata = reinterpret_cast<char const*>(sizes.data());
    expect_refused(top, "the metadata has a negative size");
    EXPECT_THROW((void)import_row(top.schema), std::invalid_argument);
  }
}

TEST_F(Traversable, RejectsParametersOutOfRange)
{
  for (auto const* format : {"d:9,4294967296",
                             "d:9,-2147483648,32",
                             "d:4294967305,2,32",
                             "d:0,0",
                             "d:-1,0",
                             "d:10,2,32",
                             "d:39,2",
                             "d:9,2,4294967328",
                             "w:4294967300"}) {
    expect_refused(add(format, 2), format);
  }
  expect_refused(add("w:-1", 2), "found size -1");  // nanoarrow's message
  for (auto const* format : {"+w:4294967298", "+w:-1"}) {
    auto& top = add(format, 1);
    put(top, add("n", 0));
    expect_refused(top, format);
  }
}

/// Check that each function that reads a schema without an array rejects it.
void expect_schema_refused(ArrowSchema const& schema, std::string const& what)
{
  auto const column =
    cudf::column_view{cudf::data_type{cudf::type_id::EMPTY}, 0, nullptr, nullptr, 0};
  auto const message = [](auto const& read) {
    try {
      read();
    } catch (std::invalid_argument const& error) {
      return std::string{error.what()};
    }
    return std::string{"nothing was refused"};
  };
  for (auto const& found :
       {message([&] { (void)cudf_arrow_bridge::make_schema(column, {}, &schema); }),
        message([&] { (void)cudf_arrow_bridge::make_schema(cudf::table_view{}, {}, {}, &schema); }),
        message([&] { (void)copy_schema(schema); }),
        message([&] { check_same_schema(schema, schema); })}) {
    EXPECT_NE(found.find(what), std::string::npos) << found;
  }
}

TEST_F(Traversable, IsCheckedInSchemasWithoutArrays)
{
  auto* nowhere = reinterpret_cast<char const*>(16);
  expect_schema_refused(add(nullptr, 0).schema, "the schema has no format string");
  expect_schema_refused(add_chain(70, 1).schema, "the schema has more than 64 levels");
  expect_schema_refused(add_chain(40, 2).schema, "the schema has more than 1048576 columns");
  auto& parent           = add_chain(1, 2);
  parent.schemas.front() = nullptr;
  expect_schema_refused(parent.schema, "the schema of child 0 is null");
  parent.schema.children = nullptr;
  expect_schema_refused(parent.schema, "the pointer to the 2 children of the schema is null");
  auto& above    = add("+s", 1);
  auto& released = add(nowhere, 2);
  put(above, released);
  released.schema.release = nullptr;
  expect_schema_refused(above.schema, "the schema of a child is released");
  expect_schema_refused(released.schema, "the schema is released");
}

TEST(CopiedImport, OfNoRowsNeedsNoBuffers)
{
  for (auto const& type :
       {flat("string"), flat("large_string"), list_of(flat("int8")), flat("int64")}) {
    SCOPED_TRACE(type.name);
    tracked source{produce(type, samples(type, 3, 0))};
    auto& array       = source.array->array;
    auto no_buffers   = std::array<void const*, 3>{};
    array.buffers     = no_buffers.data();
    array.offset      = 36;
    array.length      = 0;
    auto options      = import_options{};
    options.copy      = copy_policy::always;
    auto const column = checked(from_arrow_device_column(
      *make_schema(type).get(), source.array.get(), options, stream(), host_memory_resource()));
    EXPECT_EQ(column.size, 0);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
