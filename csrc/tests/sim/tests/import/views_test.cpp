// SPDX-License-Identifier: Apache-2.0
/// @file
/// Views and run-end encoded arrays of a producer, decoded on the device.
#include "sim/tests/bridge_test.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto some_seeds = 10U;

slicing sliced()
{
  return {[](int level) { return level == 0 ? padding{33, 2} : padding{5, 1}; }, false};
}

class views : public bridge_test {
 protected:
  /// Expects device arrays of all view and run-end layouts to be imported with the right values.
  void expect_decoded(import_options const& options)
  {
    for (auto const& type : view_shapes()) {
      SCOPED_TRACE(type.name);
      auto const values = samples(type, 60, 25);
      auto const schema = make_schema(type);
      auto source       = tracked{produce(type, values, sliced())};
      // The simulated device can read host memory, so only the label is changed.
      source.array->device_type = ARROW_DEVICE_CUDA;
      source.array->device_id   = 0;
      auto const stream         = lasting_stream{};
      auto imported             = import(source.array.get(), *schema.get(), stream.get(), options);
      auto const seen           = read_later(imported.view(), type, stream.get(), options.sanitize);
      imported.storage.reset();
      synchronize(stream.get());
      EXPECT_EQ(*seen, values);
      settle();
      EXPECT_EQ(source.released, 1);
    }
  }
};

TEST_F(views, of_host_arrays_are_decoded_on_the_device)
{
  for (auto const& type : view_shapes()) {
    SCOPED_TRACE(type.name);
    auto const values = samples(type, 60, 25);
    auto const schema = make_schema(type);
    for (auto seed = 0U; seed < some_seeds; ++seed) {
      sim::reset(seed);
      auto const stream = lasting_stream{};
      auto source       = tracked{produce(type, values, sliced())};
      auto imported     = import(source.array.get(), *schema.get(), stream.get());
      EXPECT_EQ(source.released, 1);
      auto const seen = read_later(imported.view(), type, stream.get());
      imported.storage.reset();
      synchronize(stream.get());
      EXPECT_EQ(*seen, values);
      drain_releases();
    }
  }
}

TEST_F(views, of_device_arrays_are_copied_with_their_data_buffers)
{ expect_decoded({.copy = copy_policy::always}); }

TEST_F(views, of_device_arrays_are_imported_with_full_validation)
{ expect_decoded({.validate = validation::full}); }

TEST_F(views, full_validation_rejects_invalid_strings_of_a_device_array)
{
  auto const type           = flat("string");
  auto const schema         = make_schema(type);
  auto source               = tracked{produce(type, {{std::string{"a"}}, {std::string{"\xff"}}})};
  source.array->device_type = ARROW_DEVICE_CUDA;
  source.array->device_id   = 0;
  auto const stream         = lasting_stream{};
  auto const options        = import_options{.validate = validation::full};
  EXPECT_THROW((void)import(source.array.get(), *schema.get(), stream.get(), options),
               std::invalid_argument);
  EXPECT_FALSE(source.array.is_released());
  EXPECT_EQ(source.released, 0);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
