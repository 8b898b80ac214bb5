// SPDX-License-Identifier: Apache-2.0
/// @file
/// Views and run-end encoded arrays of a producer, decoded on the device.
#include "sim/tests/bridge_test.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <nanoarrow/nanoarrow.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto some_seeds = 10U;

slicing sliced()
{
  return {[](int level) { return level == 0 ? padding{33, 2} : padding{5, 1}; }, false};
}

/// Changes the contents of a buffer of a producer.
template <typename T>
T* change(ArrowArray& array, int buffer)
{ return static_cast<T*>(const_cast<void*>(array.buffers[buffer])); }

/// A producer's array with wrong contents, and the error of its import.
struct wrong_array {
  shape type;
  rows values;
  std::function<void(ArrowArray&)> change;
  std::string error;
};

wrong_array wrong_view(char const* format, int row, ArrowBinaryView view, std::string error)
{
  auto const is_text = std::string_view{format} == "vu";
  auto const type =
    is_text ? as(cudf::type_id::STRING, "string_view", "vu") : bytes_as("binary_view", "vz");
  auto const bytes = rows(26, number(7));
  auto const value = is_text ? cudf_arrow_bridge::test::value{std::string(26, 'x')}
                             : cudf_arrow_bridge::test::value{bytes};
  return {type,
          {value, {}, value},
          [=](ArrowArray& array) { change<ArrowBinaryView>(array, 1)[row] = view; },
          "'c': row " + std::to_string(row) + ": " + error};
}

ArrowBinaryView reference(std::int32_t size, std::int32_t buffer, std::int32_t offset)
{
  auto view             = ArrowBinaryView{};
  view.ref.size         = size;
  view.ref.buffer_index = buffer;
  view.ref.offset       = offset;
  return view;
}

template <typename T>
wrong_array wrong_list(T offset, T size)
{
  auto const element = flat("int16");
  auto const list    = value{rows{number(1), number(2)}};
  return {sizeof(T) == 4 ? list_view_of(element) : large_list_view_of(element),
          {list, {}, list},
          [=](ArrowArray& array) {
            change<T>(array, 1)[2] = offset;
            change<T>(array, 2)[2] = size;
          },
          "'c': row 2: expected a view of some of 4 list elements, got " + std::to_string(size) +
            " from element " + std::to_string(offset)};
}

/// A dictionary with a null value, and an index out of bounds.
template <typename T>
wrong_array wrong_index(char const* format, int row, T index)
{
  return {dictionary_of(flat("string"), format),
          {{std::string{"a"}}, {}, {std::string{"b"}}},
          [=](ArrowArray& array) {
            array.null_count                 = 1;
            auto& values                     = *array.dictionary;
            static auto const first_is_valid = std::uint32_t{1};
            if (values.buffers[0] == nullptr) { values.buffers[0] = &first_is_valid; }
            values.null_count        = 1;
            change<T>(array, 1)[row] = index;
          },
          "'c': row " + std::to_string(row) + ": expected an index of 2 dictionary values, got " +
            std::to_string(index)};
}

/// A dictionary whose values are a dictionary with an index out of bounds.
wrong_array wrong_nested_index()
{
  return {dictionary_of(dictionary_of(flat("string"))),
          {{std::string{"a"}}, {std::string{"b"}}},
          [](ArrowArray& array) { change<std::int32_t>(*array.dictionary, 1)[1] = 2; },
          "'c': row 1: expected an index of 2 dictionary values, got 2"};
}

std::vector<wrong_array> wrong_arrays()
{
  constexpr auto most32 = std::numeric_limits<std::int32_t>::max();
  constexpr auto most64 = std::numeric_limits<std::int64_t>::max();
  constexpr auto least  = std::numeric_limits<std::int64_t>::min();
  return {
    wrong_view(
      "vu", 2, reference(26, 7, 0), "expected a view into one of 1 data buffers, got buffer 7"),
    wrong_view(
      "vu", 0, reference(26, -1, 0), "expected a view into one of 1 data buffers, got buffer -1"),
    wrong_view("vz",
               2,
               reference(26, 0, 27),
               "expected a view within the 52 bytes of data buffer 0, got bytes 27 to 53"),
    wrong_view("vu",
               2,
               reference(26, 0, -1),
               "expected a view within the 52 bytes of data buffer 0, got bytes -1 to 25"),
    wrong_view(
      "vu",
      2,
      reference(most32, 0, most32),
      "expected a view within the 52 bytes of data buffer 0, got bytes 2147483647 to 4294967294"),
    wrong_view("vu", 2, reference(-1, 0, 0), "the size of the view is negative: -1"),
    wrong_list<std::int32_t>(3, 2),
    wrong_list<std::int32_t>(-1, 2),
    wrong_list<std::int32_t>(2, -1),
    wrong_list<std::int32_t>(most32, most32),
    wrong_list<std::int64_t>(std::int64_t{1} << 32, 1),
    wrong_list<std::int64_t>(most64, most64),
    wrong_list<std::int64_t>(least, 1),
    wrong_index<std::int8_t>("c", 0, -1),
    wrong_index<std::int16_t>("s", 2, 2),
    wrong_index<std::int32_t>("i", 2, 1 << 30),
    wrong_index<std::int64_t>("l", 2, std::int64_t{1} << 32),
    wrong_index<std::uint16_t>("S", 2, 255),
    wrong_nested_index(),
    {runs_of(flat("int32"), "i"),
     {number(1), number(2), number(3)},
     [](ArrowArray& array) { change<std::int32_t>(*array.children[0], 1)[2] = -1; },
     "'c': "}};
}

/// Labels an array as device memory. The simulated device can read host memory.
void label_as_device(tracked& source)
{
  source.array->device_type = ARROW_DEVICE_CUDA;
  source.array->device_id   = 0;
}

class Views : public bridge_test {
 protected:
  /// Expects arrays of all view and run-end layouts to be imported with the right values.
  void expect_decoded(bool on_device, import_options const& options)
  {
    for (auto const& type : view_shapes()) {
      auto const values = samples(type, 60, 25);
      for_seeds(on_device ? 1 : some_seeds, [&](cudaStream_t stream) {
        auto source = tracked{produce(type, values, sliced())};
        if (on_device) { label_as_device(source); }
        expect_rows(import(source.array, type, stream, options), type, values, stream);
        settle();
        EXPECT_EQ(source.released, 1);
      });
    }
  }

  /// Expects that the import of an array with wrong contents fails, and that the array is released.
  void expect_rejected(wrong_array const& wrong, bool on_device)
  {
    auto const schema = make_schema(wrong.type, "c");
    for_seeds(some_seeds, [&](cudaStream_t stream) {
      auto source = tracked{produce(wrong.type, wrong.values)};
      if (on_device) { label_as_device(source); }
      wrong.change(source.array->array);
      expect_in(wrong.error,
                message_of([&] { (void)import(source.array.get(), *schema.get(), stream); }));
      settle();
      EXPECT_EQ(source.released, 1);
    });
  }
};

TEST_F(Views, OfHostArraysAreDecodedOnTheDevice) { expect_decoded(false, {}); }

TEST_F(Views, OfDeviceArraysAreCopiedWithTheirDataBuffers)
{ expect_decoded(true, {.copy = copy_policy::always}); }

TEST_F(Views, InStructsGetTheNullsOfTheStructs)
{
  for (auto const& field : view_shapes()) {
    auto const type   = struct_of({field, list_view_of(struct_of({field, flat("int8")}))});
    auto const values = samples(type, 60, 40);
    for_seeds(1, [&](cudaStream_t stream) {
      auto source = tracked{produce(type, values, sliced())};
      label_as_device(source);
      expect_rows(import(source.array, type, stream), type, values, stream);
    });
  }
}

TEST_F(Views, NullKeysAddNoWaitBelowStructsWithNulls)
{
  auto const type     = struct_of({dictionary_of(flat("string"))});
  auto const waits_of = [&](bool keeps_nulls) {
    auto const stream = lasting_stream{};
    auto source       = tracked{produce(type, samples(type, 60, 30))};
    auto& top         = source.array->array;
    if (!keeps_nulls) { top.buffers[0] = nullptr; }
    auto const first_is_null = std::vector<std::uint8_t>(64, 0xFE);
    auto& keys               = *top.children[0]->dictionary;
    keys.buffers[0]          = first_is_null.data();
    keys.null_count = top.null_count = -1;
    label_as_device(source);
    auto const before   = sim::host_syncs_here();
    auto const imported = import(source.array, type, stream.get());
    auto const result   = sim::host_syncs_here() - before;
    EXPECT_EQ(imported.view().null_count() > 0, keeps_nulls);
    EXPECT_EQ(imported.view().child(0).child(1).null_count(), 0);
    settle();
    return result;
  };
  EXPECT_EQ(waits_of(true), waits_of(false));
}

TEST_F(Views, OfDeviceArraysAreImportedWithFullValidation)
{ expect_decoded(true, {.validate = validation::full}); }

TEST_F(Views, OutOfBoundsInDeviceMemoryAreRejectedLikeThoseInHostMemory)
{
  for (auto const& wrong : wrong_arrays()) {
    SCOPED_TRACE(wrong.error);
    expect_rejected(wrong, false);
    expect_rejected(wrong, true);
  }
}

TEST_F(Views, OfOneRowOutOfBoundsAreRejected)
{
  for (auto wrong :
       {wrong_view(
          "vu", 0, reference(26, 1, 0), "expected a view into one of 1 data buffers, got buffer 1"),
        wrong_view("vz",
                   0,
                   reference(26, 0, 1),
                   "expected a view within the 26 bytes of data buffer 0, got bytes 1 to 27")}) {
    wrong.values.resize(1);
    expect_rejected(wrong, true);
  }
}

TEST_F(Views, RunEndsThatDoNotAscendCauseNoReadsOutOfBounds)
{
  auto const type   = runs_of(flat("string"), "i");
  auto const stream = lasting_stream{};
  for (auto const& first : {-5, 0, 3, 1 << 30}) {
    auto source = tracked{produce(type, {{"a"}, {"b"}, {"c"}})};
    label_as_device(source);
    change<std::int32_t>(*source.array->array.children[0], 1)[0] = first;
    EXPECT_EQ(import(source.array, type, stream.get()).view().size(), 3);
    settle();
    EXPECT_EQ(source.released, 1);
  }
}

TEST_F(Views, FullValidationRejectsInvalidStringsOfADeviceArray)
{
  auto const type   = flat("string");
  auto const stream = lasting_stream{};
  auto source       = tracked{produce(type, {{"a"}, {"\xff"}})};
  label_as_device(source);
  EXPECT_THROW((void)import(source.array, type, stream.get(), {.validate = validation::full}),
               std::invalid_argument);
  EXPECT_FALSE(source.array.is_released());
  EXPECT_EQ(source.released, 0);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
