// SPDX-License-Identifier: Apache-2.0
/// @file
/// Views and runs of another's memory, decoded on the device.
#include "bridge_test.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

#include <optional>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto many_seeds = 10U;

slicing sliced()
{
  return {[](int level) { return level == 0 ? padding{33, 2} : padding{5, 1}; }, false};
}

class views : public bridge_test {};

TEST_F(views, of_the_host_are_decoded_on_the_device)
{
  for (auto const& type : view_shapes()) {
    SCOPED_TRACE(type.name);
    auto const values = samples(type, 60, 25);
    auto const schema = make_schema(type);
    for (auto seed = 0U; seed < many_seeds; ++seed) {
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

}  // namespace
}  // namespace cudf_arrow_bridge::test
