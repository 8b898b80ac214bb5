// SPDX-License-Identifier: Apache-2.0
/// @file
/// Releases of one stream keep their order and do not wait for releases of another stream.
#include "sim/tests/bridge_test.hpp"

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

using namespace std::chrono_literals;

constexpr auto for_all_that_happens = 20s;  ///< time limit of waits that are expected to succeed

/// An import whose producer's release can be observed.
class watched {
 public:
  /// Creates a producer whose data is ready. `free` imports it on `stream` and frees the import.
  template <typename Import>
  watched(
    cudaStream_t stream, Import import, std::function<void()> action = [] {})
    : source_{stream}
  {
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    auto const released = std::make_shared<std::promise<void>>();
    future_             = released->get_future();
    source_.when_released([released, action = std::move(action)] {
      action();
      released->set_value();
    });
    import_ = [this, stream, import] { return import(source_, stream); };
  }

  void free() { import_().storage.reset(); }

  [[nodiscard]] bool is_released() { return future_.wait_for(0s) == std::future_status::ready; }

  [[nodiscard]] bool comes()
  { return future_.wait_for(for_all_that_happens) == std::future_status::ready; }

 private:
  producer source_;
  std::future<void> future_;
  std::function<imported_column()> import_;
};

class release_lanes : public bridge_test {
 protected:
  std::unique_ptr<watched> watch(lasting_stream const& stream, std::function<void()> action = [] {})
  {
    return std::make_unique<watched>(
      stream.get(),
      [this](producer& source, cudaStream_t on) { return import(source, on); },
      std::move(action));
  }
};

TEST_F(release_lanes, late_stream_does_not_delay_other_streams)
{
  auto const late   = lasting_stream{};
  auto const prompt = lasting_stream{};
  auto first        = watch(late);
  auto second       = watch(prompt);
  auto slow         = std::optional<sim::slow_stream>{late.get()};
  first->free();
  second->free();
  EXPECT_TRUE(second->comes());
  EXPECT_FALSE(first->is_released());
  slow.reset();
  EXPECT_TRUE(first->comes());
}

TEST_F(release_lanes, slow_release_does_not_delay_other_streams)
{
  auto const one   = lasting_stream{};
  auto const other = lasting_stream{};
  auto second      = watch(other);
  auto first       = watch(one, [&] { EXPECT_TRUE(second->comes()); });
  first->free();
  second->free();
  EXPECT_TRUE(first->comes());
}

TEST_F(release_lanes, many_late_streams_do_not_delay_other_streams)
{
  constexpr auto num_late = 30U;
  auto const one          = lasting_stream{};
  auto const other        = lasting_stream{};
  auto late               = std::vector<std::unique_ptr<lasting_stream>>{};
  auto pending            = std::vector<std::unique_ptr<watched>>{};
  auto slow               = std::vector<std::unique_ptr<sim::slow_stream>>{};
  for (auto i = 0U; i < num_late; ++i) {
    late.push_back(std::make_unique<lasting_stream>());
    pending.push_back(watch(*late.back()));
  }
  for (auto i = 0U; i < num_late; ++i) {
    slow.push_back(std::make_unique<sim::slow_stream>(late[i]->get()));
    pending[i]->free();
  }
  for (auto i = 0; i < 20; ++i) {
    auto first  = watch(one);
    auto second = watch(other);
    first->free();
    second->free();
    EXPECT_TRUE(first->comes());
    EXPECT_TRUE(second->comes());
  }
  for (auto const& one_of_them : pending) { EXPECT_FALSE(one_of_them->is_released()); }
  slow.clear();
  drain_releases();
  for (auto const& one_of_them : pending) { EXPECT_TRUE(one_of_them->is_released()); }
}

TEST_F(release_lanes, producers_of_one_stream_are_released_in_order)
{
  auto order   = std::vector<int>{};
  auto mutex   = std::mutex{};
  auto streams = std::vector<std::unique_ptr<lasting_stream>>{};
  auto pending = std::vector<std::unique_ptr<watched>>{};
  for (auto i = 0; i < 3; ++i) { streams.push_back(std::make_unique<lasting_stream>()); }
  for (auto i = 0; i < 60; ++i) {
    pending.push_back(watch(*streams[static_cast<std::size_t>(i % 3)], [&, i] {
      auto const lock = std::lock_guard{mutex};
      order.push_back(i);
    }));
  }
  for (auto const& one : pending) { one->free(); }
  drain_releases();
  EXPECT_EQ(order.size(), 60U);
  for (auto stream = 0; stream < 3; ++stream) {
    auto of_stream = std::vector<int>{};
    std::copy_if(order.begin(), order.end(), std::back_inserter(of_stream), [&](int i) {
      return i % 3 == stream;
    });
    EXPECT_TRUE(std::is_sorted(of_stream.begin(), of_stream.end()));
  }
}

TEST_F(release_lanes, releases_of_one_stream_run_one_at_a_time)
{
  auto const stream  = lasting_stream{};
  auto const another = lasting_stream{};
  auto running       = std::atomic<int>{0};
  auto most          = std::atomic<int>{0};
  auto const action  = [&] {
    most = std::max(most.load(), ++running);
    std::this_thread::sleep_for(1ms);
    --running;
  };
  auto pending = std::vector<std::unique_ptr<watched>>{};
  for (auto i = 0; i < 20; ++i) { pending.push_back(watch(stream, action)); }
  auto const slow = sim::slow_stream{another.get()};
  for (auto const& one : pending) { one->free(); }
  for (auto const& one : pending) { EXPECT_TRUE(one->comes()); }
  EXPECT_EQ(most, 1);
}

TEST_F(release_lanes, release_that_waits_for_two_streams_delays_neither)
{
  auto const type   = struct_of({flat("int32"), flat("int32")});
  auto const late   = lasting_stream{};
  auto const prompt = lasting_stream{};
  auto const schema = schema_of(make_column(type, {})->view());
  auto owner = std::shared_ptr<cudf::column>{column(type, samples(type, 9, 0), prompt.get())};
  auto const watch_owner = std::weak_ptr<cudf::column>{owner};
  auto array             = to_arrow(std::move(owner), prompt.get()).to_arrow();
  auto imported          = import(array.get(), *schema.get(), prompt.get());
  synchronize(prompt.get());
  auto fields = std::move(imported.storage->release().children);
  auto next   = watch(prompt);
  auto slow   = std::optional<sim::slow_stream>{late.get()};
  sim::enqueue(late.get(), [] {});
  fields.front()->release().data->set_stream(late.get());
  fields.clear();
  next->free();
  EXPECT_TRUE(next->comes());
  EXPECT_FALSE(watch_owner.expired());
  slow.reset();
  drain_releases();
  EXPECT_TRUE(watch_owner.expired());
}

TEST_F(release_lanes, drain_waits_for_a_late_release_while_others_complete)
{
  auto const late   = lasting_stream{};
  auto const prompt = lasting_stream{};
  auto first        = watch(late);
  auto slow         = std::optional<sim::slow_stream>{late.get()};
  first->free();
  auto drained = std::async(std::launch::async, [] { drain_releases(); });
  // If the drain has not started by then, this test proves nothing.
  std::this_thread::sleep_for(50ms);
  for (auto i = 0; i < 5; ++i) {
    auto other = watch(prompt);
    other->free();
    EXPECT_TRUE(other->comes());
  }
  EXPECT_EQ(drained.wait_for(0s), std::future_status::timeout);
  slow.reset();
  EXPECT_EQ(drained.wait_for(for_all_that_happens), std::future_status::ready);
  EXPECT_TRUE(first->is_released());
}

TEST_F(release_lanes, drain_does_not_wait_for_later_releases)
{
  auto const one  = lasting_stream{};
  auto const late = lasting_stream{};
  auto first      = watch(one);
  auto second     = watch(late);
  auto slow_one   = std::optional<sim::slow_stream>{one.get()};
  first->free();
  auto drained = std::async(std::launch::async, [] { drain_releases(); });
  std::this_thread::sleep_for(50ms);
  auto slow = std::optional<sim::slow_stream>{late.get()};
  second->free();
  slow_one.reset();
  EXPECT_TRUE(first->comes());
  // If the drain started too late, it waits for both releases.
  slow.reset();
  EXPECT_EQ(drained.wait_for(for_all_that_happens), std::future_status::ready);
}

TEST_F(release_lanes, releases_run_with_the_memorys_device_current)
{
  auto const far = stream_on(1);
  auto device    = -1;
  for (auto const kind : {memory_kind::device, memory_kind::managed}) {
    auto const guard = on_device{rmm::cuda_device_id{1}};
    auto source      = producer{far->get(), {1}, kind, 1};
    source.when_released([&] { EXPECT_EQ(cudaGetDevice(&device), cudaSuccess); });
    from_arrow_device_column(*integer_schema().get(), &source.array, {}, far->get(), far_pool_)
      .storage.reset();
    drain_releases();
    EXPECT_EQ(device, 1);
    device = -1;
  }
  auto const near = lasting_stream{};
  auto source     = producer{near.get()};
  source.when_released([&] { EXPECT_EQ(cudaGetDevice(&device), cudaSuccess); });
  import(source, near.get()).storage.reset();
  drain_releases();
  EXPECT_EQ(device, 0);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
