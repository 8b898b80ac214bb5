// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a requested schema has converted is ready when the export's event says so.
#include "bridge_test.hpp"
#include "testing/arrow_schema.hpp"
#include "testing/consumer.hpp"

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto seeds = 30U;

struct request {
  char const* held;
  char const* format;
  char const* read_as;
};

class request_order : public bridge_test, public ::testing::WithParamInterface<request> {};

TEST_P(request_order, event_follows_the_conversions)
{
  auto const type   = flat(GetParam().held);
  auto const values = samples(type, 40, 30);
  auto wanted       = unique_schema{};
  ArrowSchemaInit(wanted.get());
  check(ArrowSchemaSetFormat(wanted.get(), GetParam().format));
  wanted->flags = ARROW_FLAG_NULLABLE;
  for (auto seed = 0U; seed < seeds; ++seed) {
    sim::reset(seed);
    auto const stream   = lasting_stream{};
    auto const consumer = lasting_stream{};
    auto const source   = std::shared_ptr{column(type, values, stream.get())};
    auto const schema   = cudf_arrow_bridge::make_schema(source->view(), {}, wanted.get());
    auto const where    = cuda::stream_ref{stream.get()};
    auto const array = to_arrow_device(source->view(), schema, source, {}, where, pool_).to_arrow();
    auto const event = *static_cast<cudaEvent_t*>(array->sync_event);
    EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), event), cudaSuccess);
    auto found = rows{};
    sim::enqueue(consumer.get(),
                 [&] { found = read_arrow(array->array, flat(GetParam().read_as)); });
    synchronize(consumer.get());
    EXPECT_EQ(found, values);
  }
}

INSTANTIATE_TEST_SUITE_P(formats,
                         request_order,
                         ::testing::Values(request{"string", "U", "large_string"},
                                           request{"large_string", "u", "string"}));

}  // namespace
}  // namespace cudf_arrow_bridge::test
