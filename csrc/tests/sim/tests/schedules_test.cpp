// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random programs of several threads, streams and devices. The test checks each value that a
/// kernel reads. `CUDF_ARROW_BRIDGE_SEED=<seed>` runs only one program,
/// `CUDF_ARROW_BRIDGE_SCHEDULES=<count>` another number of programs than 400.
#include "sim/tests/bridge_test.hpp"

#include <array>
#include <cstdlib>
#include <future>
#include <mutex>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_devices = 2;

/// A column on a device, and its expected values.
struct item {
  int device;
  cudaStream_t stream;  ///< work enqueued here may read the column
  shape type;
  rows values;
  cudf::column_view view;
  std::shared_ptr<void> owner;
};

/// The rows that a kernel reads, and the expected ones.
struct reading {
  late_rows seen;
  rows expected;
};

/// One random program.
class schedule {
 public:
  explicit schedule(unsigned seed) : random_{seed}
  {
    for (auto i = 0; i < 5; ++i) {
      streams_[static_cast<std::size_t>(i % 2)].push_back(stream_on(i % 2));
    }
  }

  void run()
  {
    auto threads = std::vector<std::future<void>>{};
    for (auto t = 1 + below(random_, 4); t > 0; --t) {
      threads.push_back(
        std::async(std::launch::async, [this, seed = random_()] { run_thread(engine{seed}); }));
    }
    for (auto& thread : threads) { EXPECT_NO_THROW(thread.get()); }
    items_.clear();
    settle();
    for (auto const& reading : readings_) { EXPECT_EQ(*reading.seen, reading.expected); }
    EXPECT_EQ(released_, exported_);
    EXPECT_EQ(detail::events_in_use(), 0U);
    EXPECT_EQ(sim::live_allocations(), 0U);
    EXPECT_EQ(sim::take_violations(), std::vector<std::string>{});
  }

 private:
  void run_thread(engine random)
  {
    for (auto step = 5 + below(random, 15); step > 0; --step) {
      auto one = below(random, 3) == 0 ? make(random) : take(random);
      if (one.owner == nullptr) { one = make(random); }
      auto const guard = on_device{rmm::cuda_device_id{one.device}};
      switch (below(random, 6)) {
        case 0: break;  // freed
        case 1:
        case 2: put(pass_on(std::move(one), random)); break;
        case 3: put(pass_through_host(std::move(one), random)); break;
        case 4: put(slice(std::move(one), random)); break;
        default: read(one); put(std::move(one));
      }
    }
  }

  cudaStream_t any_stream(int device, engine& random)
  {
    auto const& all = streams_[static_cast<std::size_t>(device)];
    return all[static_cast<std::size_t>(below(random, static_cast<int>(all.size())))]->get();
  }

  item make(engine& random)
  {
    static auto const types =
      std::vector{flat("int32"),
                  flat("bool8"),
                  flat("string"),
                  list_of(flat("int64")),
                  struct_of({flat("bool8"), flat("string"), list_of(flat("int16"))})};
    auto const& type  = types[random() % types.size()];
    auto const device = below(random, num_devices);
    auto const guard  = on_device{rmm::cuda_device_id{device}};
    auto const stream = any_stream(device, random);
    auto values       = samples(type,
                                static_cast<std::size_t>(below(random, 50)),
                                below(random, 2) * 30,
                                static_cast<unsigned>(random()));
    auto column = std::shared_ptr<cudf::column>{late_column(type, values, stream, pool_of(device))};
    auto const view = column->view();
    return {device, stream, type, std::move(values), view, std::move(column)};
  }

  rmm::device_async_resource_ref pool_of(int device)
  { return pools_[static_cast<std::size_t>(device)]; }

  void read(item const& one)
  {
    auto seen       = read_later(one.view, one.type, one.stream);
    auto const lock = std::lock_guard{mutex_};
    readings_.push_back({std::move(seen), one.values});
  }

  /// A slice that shares the owner.
  static item slice(item whole, engine& random)
  {
    auto const size  = static_cast<int>(whole.values.size());
    auto const begin = below(random, size + 1);
    auto const end   = begin + below(random, size - begin + 1);
    whole.values =
      part(whole.values, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    whole.view = slice_later(whole.view, begin, whole.values);
    return whole;
  }

  /// Exports a column and imports it on another stream; copies it if that is on another device.
  item pass_on(item one, engine& random)
  {
    auto const schema = cudf_arrow_bridge::make_schema(one.view, {}).to_arrow();
    auto array        = to_arrow(one, below(random, 2) == 0, one.owner).to_arrow();
    one.owner         = nullptr;
    return from_arrow(
      std::move(array), *schema.get(), std::move(one), random, below(random, 3) == 0);
  }

  item pass_through_host(item one, engine& random)
  {
    auto const schema = cudf_arrow_bridge::make_schema(one.view, {}).to_arrow();
    auto array = to_arrow(one, false, one.owner).to_host(any_stream(one.device, random)).to_arrow();
    one.owner  = nullptr;
    return from_arrow(std::move(array), *schema.get(), std::move(one), random, true);
  }

  /// Exports a column and counts the releases of the source.
  device_array to_arrow(item const& one, bool compact, std::shared_ptr<void> owner)
  {
    ++exported_;
    auto counting = std::shared_ptr<void>{owner.get(), [this, owner](void*) mutable {
                                            owner.reset();
                                            ++released_;
                                          }};
    return to_arrow_device(
      one.view, std::move(counting), {.compact = compact}, one.stream, pool_of(one.device));
  }

  item from_arrow(
    unique_device_array array, ArrowSchema const& schema, item one, engine& random, bool copy)
  {
    if (copy) { one.device = below(random, num_devices); }
    auto const guard = on_device{rmm::cuda_device_id{one.device}};
    one.stream       = any_stream(one.device, random);
    auto imported    = std::make_shared<imported_column>(
      from_arrow_device_column(schema,
                               array.get(),
                               {.copy = copy ? copy_policy::always : copy_policy::as_needed},
                               one.stream,
                               pool_of(one.device)));
    one.view  = imported->view();
    one.owner = std::move(imported);
    return one;
  }

  void put(item one)
  {
    auto const lock = std::lock_guard{mutex_};
    items_.push_back(std::move(one));
  }

  item take(engine& random)
  {
    auto const lock = std::lock_guard{mutex_};
    if (items_.empty()) { return {}; }
    std::swap(items_[random() % items_.size()], items_.back());
    auto result = std::move(items_.back());
    items_.pop_back();
    return result;
  }

  engine random_;
  std::array<sim::pool_resource, num_devices> pools_{sim::pool_resource{memory_kind::device, 0},
                                                     sim::pool_resource{memory_kind::device, 1}};
  std::array<std::vector<std::unique_ptr<lasting_stream>>, num_devices> streams_;
  std::mutex mutex_;
  std::vector<item> items_;
  std::vector<reading> readings_;
  std::atomic<int> exported_{0};
  std::atomic<int> released_{0};
};

/// The number in the value of an environment variable, or `otherwise` if it is not set.
unsigned number_of(char const* value, unsigned otherwise)
{ return value == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(value, nullptr, 10)); }

/// A test of every `parts`-th seed, so that processes can run the parts at the same time.
class Schedules : public bridge_test, public testing::WithParamInterface<unsigned> {};

constexpr auto parts = 8U;

TEST_P(Schedules, KernelsReadTheExpectedValues)
{
  auto const* only = std::getenv("CUDF_ARROW_BRIDGE_SEED");
  auto const first = number_of(only, 0);
  auto const count = number_of(std::getenv("CUDF_ARROW_BRIDGE_SCHEDULES"), 400);
  auto const end   = only == nullptr ? count : first + 1;
  for (auto seed = first + GetParam(); seed < end && !HasFailure(); seed += parts) {
    SCOPED_TRACE("CUDF_ARROW_BRIDGE_SEED=" + std::to_string(seed));
    sim::reset(seed);
    schedule{seed}.run();
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, Schedules, testing::Range(0U, parts));

}  // namespace
}  // namespace cudf_arrow_bridge::test
