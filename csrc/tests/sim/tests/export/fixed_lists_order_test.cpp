// SPDX-License-Identifier: Apache-2.0
/// @file
/// Elements of lists of a fixed size are gathered before the export's event.
#include "sim/tests/bridge_test.hpp"
#include "testing/arrow_schema.hpp"
#include "testing/consumer.hpp"

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto seeds = 30U;

class fixed_lists_order : public bridge_test {
 protected:
  /// Exports a column on one stream and reads the array on another that waits for the event.
  rows read_behind(cudf::column_view const& view,
                   std::shared_ptr<cudf::column> const& source,
                   column_metadata const& metadata,
                   ArrowSchema const* wanted,
                   shape const& type,
                   cudaStream_t stream)
  {
    auto const consumer = lasting_stream{};
    auto const schema   = cudf_arrow_bridge::make_schema(view, metadata, wanted);
    auto const where    = cuda::stream_ref{stream};
    auto const array = to_arrow_device(view, source, {.schema = schema}, where, pool_).to_arrow();
    auto const event = *static_cast<cudaEvent_t*>(array->sync_event);
    EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), event), cudaSuccess);
    auto result = rows{};
    sim::enqueue(consumer.get(), [&] { result = read_arrow(array->array, type); });
    synchronize(consumer.get());
    return result;
  }
};

TEST_F(fixed_lists_order, event_follows_the_gathered_elements)
{
  for (auto const& element : {flat("int32"), flat("string")}) {
    auto const type   = fixed_list_of(element, 2);
    auto const wanted = make_schema(type);
    for (auto const nulls : {0, 30, 100}) {
      auto const values = samples(type, 20, nulls);
      for (auto seed = 0U; seed < seeds; ++seed) {
        sim::reset(seed);
        auto const stream = lasting_stream{};
        auto const source = std::shared_ptr{column(type, values, stream.get())};
        auto const read   = [&](column_metadata const& metadata, ArrowSchema const* asked) {
          return read_behind(source->view(), source, metadata, asked, type, stream.get());
        };
        EXPECT_EQ(read({}, wanted.get()), values);
        EXPECT_EQ(read({.origin = wanted.get()}, nullptr), values);
      }
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
