// SPDX-License-Identifier: Apache-2.0
/// @file
/// Asynchronous streams: batches are made on a thread of each stream, each with its own event.
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto some_seeds = 30U;
constexpr auto batch_rows = 4;

class AsyncStreams : public bridge_test {
 protected:
  static std::unique_ptr<batch_source> split(std::shared_ptr<cudf::column> owner,
                                             cudaStream_t stream,
                                             rmm::device_async_resource_ref mr)
  {
    auto const view = owner->view();
    return slices(view,
                  std::move(owner),
                  batch_rows,
                  {.schema = cudf_arrow_bridge::make_schema(view, {})},
                  stream,
                  mr);
  }
};

/// Waits for the next batch and returns it.
async_batch wait_for(async_stream_reader& reader)
{
  reader.wait();
  return *reader.next();
}

TEST_F(AsyncStreams, ConsumersWaitForTheEventOfEachBatch)
{
  auto const type = flat("int32");
  for_seeds(some_seeds, [&](cudaStream_t stream, cudaStream_t consumer) {
    auto const values = samples(type, 10, 0);
    auto reader       = async_stream_reader{2, {}};
    auto source       = split(column(type, values, stream), stream, pool_);
    to_arrow_async(device_array_stream{std::move(source)}, reader.take_handler());
    auto parts = std::vector<late_rows>{};
    for (auto batch = wait_for(reader); !batch.is_end(); batch = wait_for(reader)) {
      auto const imported = import(batch.array.get(), reader.schema(), consumer);
      parts.push_back(read_later(imported.view(), type, consumer));
    }
    synchronize(consumer);
    auto found = rows{};
    for (auto const& part : parts) { found.insert(found.end(), part->begin(), part->end()); }
    EXPECT_EQ(found, values);
    settle();
  });
}

/// Returns the batches of another source and records the device that is current in `next`.
class watched : public batch_source {
 public:
  watched(std::unique_ptr<batch_source> source, std::atomic<int>& seen)
    : source_{std::move(source)}, seen_{seen}
  {
  }

  stream_batch next() override
  {
    auto device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    seen_ = device;
    return source_->next();
  }

 private:
  std::unique_ptr<batch_source> source_;
  std::atomic<int>& seen_;
};

TEST_F(AsyncStreams, MakeBatchesWithTheCallersDeviceCurrent)
{
  auto const type = flat("int32");
  for (auto const device : {1, 0, 1}) {
    auto const guard  = on_device{rmm::cuda_device_id{device}};
    auto const stream = lasting_stream{};
    auto seen         = std::atomic<int>{-1};
    auto source       = column(type, samples(type, 10, 0), stream.get(), device);
    auto batches      = split(std::move(source), stream.get(), device == 1 ? far_pool_ : pool_);
    auto reader       = async_stream_reader{1, {}};
    to_arrow_async(device_array_stream{std::make_unique<watched>(std::move(batches), seen)},
                   reader.take_handler());
    auto batch = wait_for(reader);
    EXPECT_EQ(batch.array->device_id, device);
    while (!batch.is_end()) { batch = wait_for(reader); }
    EXPECT_EQ(seen, device);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
