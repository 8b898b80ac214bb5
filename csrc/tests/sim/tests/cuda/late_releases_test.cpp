// SPDX-License-Identifier: Apache-2.0
/// @file
/// Releases do not wait for releases of another stream.
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

class late_releases : public bridge_test {
 protected:
  std::unique_ptr<watched> watch(lasting_stream const& stream, std::function<void()> action = [] {})
  {
    return std::make_unique<watched>(
      stream.get(),
      [this](producer& source, cudaStream_t on) { return import(source, on); },
      std::move(action));
  }
};

TEST_F(late_releases, late_stream_does_not_delay_other_streams)
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

TEST_F(late_releases, slow_release_does_not_delay_those_that_an_import_finds)
{
  auto const one   = lasting_stream{};
  auto const other = lasting_stream{};
  auto inside      = std::promise<void>{};
  auto second      = watch(other);
  auto first       = watch(one, [&] {
    inside.set_value();
    EXPECT_TRUE(second->comes());
  });
  auto slow        = std::optional<sim::slow_stream>{one.get()};
  first->free();
  slow.reset();
  EXPECT_EQ(inside.get_future().wait_for(for_all_that_happens), std::future_status::ready);
  slow.emplace(other.get());
  second->free();
  slow.reset();
  synchronize(other.get());
  auto next = watch(other);
  next->free();
  EXPECT_TRUE(first->comes());
}

TEST_F(late_releases, many_late_streams_do_not_delay_other_streams)
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

TEST_F(late_releases, release_that_waits_for_two_streams_delays_neither)
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

TEST_F(late_releases, drain_waits_for_a_late_release_while_others_complete)
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

TEST_F(late_releases, drain_does_not_wait_for_later_releases)
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

TEST_F(late_releases, releases_run_with_the_memorys_device_current)
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
