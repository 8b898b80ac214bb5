// SPDX-License-Identifier: Apache-2.0
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/types.hpp>

#include <cudf/utilities/error.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max();

/// @return The kind of the error that an import throws and its message; empty if it throws none
std::pair<std::string, std::string> import_error(ArrowSchema const& schema, ArrowDeviceArray* array)
{
  try {
    (void)from_arrow_device_column(schema, array, {}, stream(), host_memory_resource());
  } catch (cudf::data_type_error const& error) {
    return {"type", error.what()};
  } catch (std::overflow_error const& error) {
    return {"overflow", error.what()};
  } catch (std::invalid_argument const& error) {
    return {"invalid", error.what()};
  }
  return {};
}

/// A batch of orders. Each test changes one of its structs before the import.
class Validate : public ::testing::Test {
 protected:
  shape type{struct_of({flat("int64"),
                        list_of(struct_of({flat("string"), flat("bool8")})),
                        dictionary_of(flat("string"))})};
  tracked source{produce(type, samples(type, 20, 40))};
  unique_schema schema{make_schema(type, "orders")};

  /// @param path Positions of children; -1 is the dictionary
  template <typename Struct>
  static Struct& at(Struct& top, std::vector<int> const& path)
  {
    auto* node = &top;
    for (auto const i : path) { node = i < 0 ? node->dictionary : node->children[i]; }
    return *node;
  }

  void expect_refused(std::string const& kind, std::string const& path, std::string const& what)
  {
    auto const [found, message] = import_error(*schema.get(), source.array.get());
    EXPECT_EQ(found, kind) << message;
    EXPECT_NE(message.find("'" + path + "'"), std::string::npos) << message;
    EXPECT_NE(message.find(what), std::string::npos) << message;
    EXPECT_FALSE(source.array.is_released()) << "still the caller's";
    EXPECT_EQ(source.released, 0);
  }
};

TEST_F(Validate, AcceptsTheUnchangedBatch)
{
  EXPECT_EQ(import_error(*schema.get(), source.array.get()),
            (std::pair<std::string, std::string>{}));
  EXPECT_EQ(source.released, 1);
}

struct spoiled_array {
  std::vector<int> where;
  void (*spoil)(ArrowArray&);
  std::string kind;
  std::string path;
  std::string what;
};

TEST_F(Validate, RejectsInconsistentArrays)
{
  static auto no_children = std::array<ArrowArray*, 3>{};
  static auto no_buffers  = std::array<void const*, 3>{};
  auto const orders       = std::string{"orders"};
  auto const deep         = std::string{"orders.f1[].f0"};
  auto const cases        = std::vector<spoiled_array>{
    {{}, [](auto& a) { a.length = -1; }, "invalid", orders, "the length is negative: -1"},
    {{}, [](auto& a) { a.offset = -1; }, "invalid", orders, "the offset is negative: -1"},
    {{0},
     [](auto& a) { a.offset = most - a.length; },
     "invalid",
     "orders.f0",
     "the rows do not fit into an address space"},
    {{1, 0, 0},
     [](auto& a) { a.offset = most / 2; },
     "invalid",
     deep,
     "the rows do not fit into an address space"},
    {{}, [](auto& a) { a.length = 2147483647; }, "overflow", orders, "stream of smaller arrays"},
    {{2, -1},
     [](auto& a) { a.length = 1L << 40; },
     "overflow",
     "orders.f2",
     "rows, got 1099511627776"},
    {{},
     [](auto& a) { a.null_count = -2; },
     "invalid",
     orders,
     "expected a null count of -1 to 20, got -2"},
    {{0},
     [](auto& a) { a.null_count = 21; },
     "invalid",
     "orders.f0",
     "expected a null count of -1 to 20, got 21"},
    {{}, [](auto& a) { a.n_buffers = 2; }, "invalid", orders, "expected 1 buffers, got 2"},
    {{1, 0, 0}, [](auto& a) { a.n_buffers = 2; }, "invalid", deep, "expected 3 buffers, got 2"},
    {{0},
     [](auto& a) { a.buffers = nullptr; },
     "invalid",
     "orders.f0",
     "the pointer to the buffers is null"},
    {{},
     [](auto& a) { a.buffers = no_buffers.data(); },
     "invalid",
     orders,
     "the validity buffer is null"},
    {{1, 0, 0},
     [](auto& a) {
       a.buffers    = no_buffers.data();
       a.null_count = 0;
     },
     "invalid",
     deep,
     "buffer 1 is null"},
    {{}, [](auto& a) { a.n_children = 2; }, "invalid", orders, "expected 3 children, got 2"},
    {{},
     [](auto& a) { a.children = nullptr; },
     "invalid",
     orders,
     "the pointer to the children is null"},
    {{},
     [](auto& a) { a.children = no_children.data(); },
     "invalid",
     "orders.f0",
     "the pointer to the child is null"},
    {{1, 0, 0}, [](auto& a) { a.release = nullptr; }, "invalid", deep, "the array is released"},
    {{2, -1},
     [](auto& a) { a.release = nullptr; },
     "invalid",
     "orders.f2",
     "the array is released"},
    {{2},
     [](auto& a) { a.length = 19; },
     "invalid",
     "orders.f2",
     "expected at least 20 rows by the struct, got 19"},
    {{},
     [](auto& a) { a.offset = 1; },
     "invalid",
     "orders.f0",
     "expected at least 21 rows by the struct, got 20"},
    {{2},
     [](auto& a) { a.dictionary = nullptr; },
     "invalid",
     "orders.f2",
     "the array has no dictionary"},
    {{0},
     [](auto& a) { a.dictionary = &a; },
     "invalid",
     "orders.f0",
     "the array has a dictionary, and its type has none"},
  };
  for (auto const& [where, spoil, kind, path, what] : cases) {
    SCOPED_TRACE(path + ": " + what);
    auto& node       = at(source.array->array, where);
    auto const saved = node;
    spoil(node);
    expect_refused(kind, path, what);
    node = saved;
  }
}

struct spoiled_schema {
  std::vector<int> where;
  void (*spoil)(ArrowSchema&);
  std::string path;
  std::string what;
};

TEST_F(Validate, RejectsInvalidSchemas)
{
  auto const cases = std::vector<spoiled_schema>{
    {{1, 0, 0}, [](auto& s) { s.format = "?"; }, "orders.f1[].f0", "?"},
    {{0}, [](auto& s) { s.format = nullptr; }, "orders.f0", "the schema has no format string"},
    {{}, [](auto& s) { s.release = nullptr; }, "(top level)", "is released"},
    {{}, [](auto& s) { s.n_children = 2; }, "orders", "expected 2 children, got 3"},
    {{},
     [](auto& s) { s.children = nullptr; },
     "orders",
     "the pointer to the 3 children of the schema is null"},
    {{1}, [](auto& s) { s.n_children = 0; }, "orders.f1", "child"},
    {{2},
     [](auto& s) { s.dictionary = nullptr; },
     "orders.f2",
     "the array has a dictionary, and its type has none"},
    {{1, 0, 0}, [](auto& s) { s.format = "i"; }, "orders.f1[].f0", "expected 2 buffers, got 3"},
  };
  for (auto const& [where, spoil, path, what] : cases) {
    SCOPED_TRACE(path + ": " + what);
    auto& node       = at(*schema.get(), where);
    auto const saved = node;
    spoil(node);
    expect_refused("invalid", path, what);
    node = saved;
  }
}

TEST_F(Validate, RejectsANegativeNumberOfChildrenInBothStructs)
{
  source.array->array.n_children = -1;
  schema->n_children             = -1;
  expect_refused("invalid", "orders", "n_children is negative: -1");
  source.array->array.n_children = 3;
  schema->n_children             = 3;
}

TEST_F(Validate, NamesTheColumnOfAnUnsupportedType)
{
  auto& leaf       = at(*schema.get(), {1, 0, 0});
  auto const saved = leaf.format;
  auto tried       = 0;
  for (auto const& row : type_table()) {
    auto const has_children = row.format.starts_with('+');
    if (row.on_import != type_support::unsupported || row.on_export != type_support::unsupported ||
        has_children) {
      continue;
    }
    auto format = std::string{row.format};
    if (format == "d:") { format += "40,2,256"; }
    if (format == "w:") { format += "4"; }
    leaf.format = format.c_str();
    expect_refused("type", "orders.f1[].f0", "'" + std::string{row.arrow} + "'");
    ++tried;
  }
  leaf.format = saved;
  EXPECT_GT(tried, 0);
}

TEST(ValidateDepth, Accepts60LevelsAndRejects70)
{
  for (auto const& [depth, kind] : {std::pair{60, ""}, {70, "invalid"}}) {
    auto type   = flat("int8");
    auto values = rows{number(7)};
    for (auto i = 0; i < depth; ++i) {
      type   = list_of(type);
      values = {value{values}};
    }
    tracked source{produce(type, values)};
    EXPECT_EQ(import_error(*make_schema(type).get(), source.array.get()).first, kind) << depth;
  }
}

// -- checks of buffers, after the import has taken the array --------------------------------------

struct spoiled_offsets {
  std::vector<std::int32_t> offsets;
  char const* what;
};

TEST(ValidateOffsets, InvalidOffsetsReleaseTheArrayOnce)
{
  auto const type = struct_of({flat("int64"), list_of(flat("int8"))});
  for (auto const& [offsets, what] : std::vector<spoiled_offsets>{
         {{-1, 0, 1, 2}, "the first offset is negative: -1"},
         {{2, 2, 2, 1}, "expected ascending offsets, got 2 to 1"},
         {{0, 1, 2, 99}, "expected at least 99 list elements by the offsets"}}) {
    SCOPED_TRACE(what);
    tracked source{produce(type, samples(type, 3, 0))};
    auto& list                 = *source.array->array.children[1];
    auto spoiled               = std::array<void const*, 2>{nullptr, offsets.data()};
    list.buffers               = spoiled.data();
    auto const [kind, message] = import_error(*make_schema(type).get(), source.array.get());
    EXPECT_EQ(kind, "invalid");
    EXPECT_NE(message.find("'f1'"), std::string::npos) << message;
    EXPECT_NE(message.find(what), std::string::npos) << message;
    source.array.reset();  // does nothing if the import took the array
    EXPECT_EQ(source.released, 1);
  }
}

TEST(ValidateOffsets, StringsNeedTheirData)
{
  auto const type = flat("string");
  tracked source{produce(type, {{"a"}, {"b"}})};
  auto& array                = source.array->array;
  auto spoiled               = std::array<void const*, 3>{nullptr, array.buffers[1], nullptr};
  array.buffers              = spoiled.data();
  auto const [kind, message] = import_error(*make_schema(type, "s").get(), source.array.get());
  EXPECT_EQ(kind, "invalid");
  EXPECT_NE(message.find("the offsets need 2 bytes"), std::string::npos) << message;
  source.array.reset();
  EXPECT_EQ(source.released, 1);
}

TEST(ValidateDevice, NamesTheMemoryThatItCannotRead)
{
  for (auto const& [device_type, what] : {std::pair{ARROW_DEVICE_CUDA, "CUDA device 3"},
                                          {ARROW_DEVICE_CUDA_MANAGED, "managed memory"},
                                          {10, "unknown device type 10"}}) {
    if (device_type != 10 && has_gpu()) { continue; }
    tracked source{produce(flat("int8"), {number(1)})};
    source.array->device_type  = device_type;
    source.array->device_id    = 3;
    auto const schema          = make_schema(flat("int8"));
    auto const [kind, message] = import_error(*schema.get(), source.array.get());
    EXPECT_EQ(kind, "invalid");
    EXPECT_NE(message.find(what), std::string::npos) << message;
    EXPECT_FALSE(source.array.is_released());
  }
}

TEST(ValidateArray, RejectsNullAndReleasedArrays)
{
  auto const schema = make_schema(flat("int8"));
  auto released     = ArrowDeviceArray{};
  EXPECT_EQ(import_error(*schema.get(), nullptr).first, "invalid");
  EXPECT_EQ(import_error(*schema.get(), &released).first, "invalid");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
