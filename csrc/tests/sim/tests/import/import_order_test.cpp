// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports make their stream wait for the producer's event.
#include "sim/tests/bridge_test.hpp"

#include <numeric>
#include <optional>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

class import_order : public bridge_test {
 protected:
  /// Enqueues a read of an import, frees the import immediately, and expects the values.
  void expect_values(imported_column&& imported, integers_t const& values, cudaStream_t stream)
  {
    auto const seen = read_later(imported.view(), flat("int32"), stream);
    imported.storage.reset();
    synchronize(stream);
    EXPECT_EQ(*seen, integer_rows(values));
  }

  template <typename Import>
  static std::string message_of(Import run)
  {
    try {
      run();
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
};

TEST_F(import_order, stream_waits_for_the_event)
{
  auto const values = integers_t{5, 6, 7, 8};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far      = lasting_stream{};
    auto const consumer = lasting_stream{};
    auto source         = producer{far.get(), values};
    auto const before   = sim::host_syncs_here();
    auto imported       = import(source, consumer.get());
    EXPECT_EQ(sim::host_syncs_here(), before);
    expect_values(std::move(imported), values, consumer.get());
    settle();
    EXPECT_EQ(source.released(), 1);
  }
}

TEST_F(import_order, nulls_are_counted_after_the_event)
{
  auto const type   = flat("int64");
  auto const values = samples(type, 100, 40);
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far          = lasting_stream{};
    auto const consumer     = lasting_stream{};
    auto source             = column(type, values, far.get());
    auto const nulls        = source->null_count();
    auto const schema       = schema_of(source->view());
    auto array              = to_arrow(std::move(source), far.get()).to_arrow();
    array->array.null_count = -1;
    auto const imported     = import(array.get(), *schema.get(), consumer.get());
    EXPECT_EQ(imported.view().null_count(), nulls);
  }
}

TEST_F(import_order, import_without_an_event_does_not_wait)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  synchronize(stream.get());
  source.array.sync_event = nullptr;
  auto const waits        = sim::calls("cudaStreamWaitEvent");
  expect_values(import(source, stream.get()), {1, 2, 3, 4}, stream.get());
  EXPECT_EQ(sim::calls("cudaStreamWaitEvent"), waits);
}

TEST_F(import_order, import_rejects_an_invalid_event)
{
  auto const stream = lasting_stream{};
  auto source       = producer{stream.get()};
  synchronize(stream.get());
  auto garbage            = reinterpret_cast<cudaEvent_t>(std::uintptr_t{8});
  source.array.sync_event = &garbage;
  EXPECT_NE(message_of([&] { (void)import(source, stream.get()); }).find("rejects"),
            std::string::npos);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(source.released(), 0);
  source.array.array.release(&source.array.array);
  EXPECT_EQ(source.released(), 1);
}

TEST_F(import_order, event_may_be_of_another_device)
{
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far      = stream_on(1);
    auto const consumer = lasting_stream{};
    // A kernel of one device may write managed memory of another device.
    auto source = producer{consumer.get(), {1}, memory_kind::managed};
    synchronize(consumer.get());
    auto ready = cudaEvent_t{};
    {
      auto const guard = on_device{rmm::cuda_device_id{1}};
      sim::enqueue(far->get(), [data = source.data()] { *static_cast<std::int32_t*>(data) = 9; });
      EXPECT_EQ(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), cudaSuccess);
      EXPECT_EQ(cudaEventRecord(ready, far->get()), cudaSuccess);
    }
    source.array.sync_event = &ready;
    expect_values(import(source, consumer.get()), {9}, consumer.get());
    EXPECT_EQ(cudaEventDestroy(ready), cudaSuccess);
  }
}

TEST_F(import_order, memory_of_another_device_requires_a_copy)
{
  auto const far  = stream_on(1);
  auto source     = producer{far->get(), {1, 2}, memory_kind::device, 1};
  auto const here = lasting_stream{};
  auto const text = message_of([&] { (void)import(source, here.get()); });
  EXPECT_NE(text.find("memory of CUDA device 1"), std::string::npos) << text;
  EXPECT_NE(text.find("current device 0"), std::string::npos) << text;
  EXPECT_EQ(source.released(), 0);
}

TEST_F(import_order, copies_from_another_device_wait_for_the_producer)
{
  auto const values = integers_t{3, 1, 4, 1, 5};
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const far   = stream_on(1);
    auto const here  = lasting_stream{};
    auto source      = producer{far->get(), values, memory_kind::device, 1};
    auto released_on = -1;
    source.when_released([&] { EXPECT_EQ(cudaGetDevice(&released_on), cudaSuccess); });
    auto const before = sim::host_syncs_here();
    auto imported     = import(source, here.get(), {.copy = copy_policy::always});
    EXPECT_EQ(sim::host_syncs_here(), before);
    EXPECT_EQ(locate(imported.view().head<void>()), (memory_location{ARROW_DEVICE_CUDA, 0}));
    expect_values(std::move(imported), values, here.get());
    settle();
    EXPECT_EQ(source.released(), 1);
    EXPECT_EQ(released_on, 1);
  }
}

TEST_F(import_order, copies_from_a_pool_of_another_device_are_between_peers)
{
  for (auto const& type : shapes_of_each_layout()) {
    auto const values = samples(type, 40, 30);
    auto const schema = schema_of(make_column(type, values)->view());
    for (auto const validate : {validation::minimal, validation::full}) {
      for (auto seed = 0U; seed < 10; ++seed) {
        sim::reset(seed);
        auto const far  = stream_on(1);
        auto const here = lasting_stream{};
        auto array      = [&] {
          auto const guard = on_device{rmm::cuda_device_id{1}};
          auto owner =
            std::shared_ptr{upload_column(make_column(type, values), far->get(), far_pool_)};
          auto const view = owner->view();
          return to_arrow_device(
                   view, std::move(owner), {}, cuda::stream_ref{far->get()}, far_pool_)
            .to_arrow();
        }();
        auto imported   = import(array.get(),
                                 *schema.get(),
                                 here.get(),
                                 {.copy = copy_policy::always, .validate = validate});
        auto const seen = read_later(imported.view(), type, here.get());
        imported.storage.reset();
        synchronize(here.get());
        EXPECT_EQ(*seen, values) << type.name;
        settle();
      }
    }
  }
}

TEST_F(import_order, copies_from_another_device_wait_once_for_the_sizes_of_all_strings)
{
  auto const type   = struct_of({flat("string"), list_of(flat("string")), flat("string")});
  auto const values = samples(type, 40, 0);
  auto const schema = schema_of(make_column(type, values)->view());
  auto const far    = stream_on(1);
  auto const here   = lasting_stream{};
  auto array        = [&] {
    auto const guard = on_device{rmm::cuda_device_id{1}};
    auto owner = std::shared_ptr{upload_column(make_column(type, values), far->get(), far_pool_)};
    auto const view = owner->view();
    return to_arrow_device(view, std::move(owner), {}, cuda::stream_ref{far->get()}, far_pool_)
      .to_arrow();
  }();
  auto const before = sim::host_syncs_here();
  auto imported     = import(
    array.get(), *schema.get(), here.get(), {.copy = copy_policy::always, .sanitize = false});
  // One for the sizes, and one for the offsets that every import of lists and strings reads.
  EXPECT_EQ(sim::host_syncs_here(), before + 2);
  auto const seen = read_later(imported.view(), type, here.get(), false);
  imported.storage.reset();
  synchronize(here.get());
  EXPECT_EQ(*seen, values);
}

TEST_F(import_order, copies_keep_the_source_until_they_are_done)
{
  auto const here = lasting_stream{};
  auto source     = producer{here.get()};
  auto slow       = std::optional<sim::slow_stream>{here.get()};
  auto imported   = import(source, here.get(), {.copy = copy_policy::always});
  EXPECT_EQ(source.released(), 0);
  slow.reset();
  settle();
  EXPECT_EQ(source.released(), 1);
  expect_values(std::move(imported), {1, 2, 3, 4}, here.get());
}

TEST_F(import_order, last_offsets_are_read_after_the_event)
{
  auto const type   = struct_of({flat("string")});
  auto const values = samples(type, 20, 0);
  auto const size =
    std::accumulate(values.begin(), values.end(), std::int64_t{0}, [](auto sum, value const& row) {
      return sum + static_cast<std::int64_t>(row.items()[0].text().size());
    });
  for (auto const is_broken : {false, true}) {
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const far    = lasting_stream{};
      auto const here   = lasting_stream{};
      auto const source = std::shared_ptr{column(type, values, far.get())};
      auto const schema = schema_of(source->view());
      auto array        = to_arrow(source, far.get()).to_arrow();
      auto const borrow = [&] {
        return from_arrow_device_table(
          *schema.get(), array.get(), {.borrow = true}, cuda::stream_ref{here.get()}, pool_);
      };
      if (is_broken) {
        synchronize(far.get());
        auto* const offsets = const_cast<void*>(array->array.children[0]->buffers[1]);
        static_cast<std::int32_t*>(offsets)[20] = -1;
        EXPECT_THROW((void)borrow(), std::invalid_argument);
      } else {
        EXPECT_EQ(borrow().columns[0].data_size, size);
      }
    }
  }
}

TEST_F(import_order, borrowed_columns_are_read_after_the_event_and_before_the_release)
{
  for (auto const& type : {flat("int32"), flat("string"), list_of(flat("bool8"))}) {
    auto const values = samples(type, 20, 25);
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const far      = lasting_stream{};
      auto const here     = lasting_stream{};
      auto const source   = std::shared_ptr{column(type, values, far.get())};
      auto const schema   = schema_of(source->view());
      auto const importer = array_importer{*schema.get()};
      auto array          = to_arrow(source, far.get()).to_arrow();
      auto borrowed =
        importer.column(array.get(), {.borrow = true}, cuda::stream_ref{here.get()}, pool_);
      EXPECT_EQ(borrowed.storage == nullptr, type.children.empty());
      EXPECT_EQ(borrowed.size, 20);
      auto const seen = read_later(borrowed.view(), type, here.get());
      borrowed        = {};
      drain_releases();
      EXPECT_EQ(source.use_count(), 1);
      EXPECT_EQ(*seen, values);
    }
  }
}

TEST_F(import_order, error_for_an_unknown_device_names_its_type)
{
  auto const here = lasting_stream{};
  auto source     = producer{here.get()};
  synchronize(here.get());
  source.array.device_type = 8;
  auto const text          = message_of([&] { (void)import(source, here.get()); });
  EXPECT_NE(text.find("unknown device type 8"), std::string::npos) << text;
}

TEST_F(import_order, values_are_equal_after_a_chain_of_three_streams)
{
  auto const type   = list_of(struct_of({flat("string"), flat("bool8")}));
  auto const values = samples(type, 30, 20);
  for (auto seed = 0U; seed < many_seeds; ++seed) {
    sim::reset(seed);
    auto const one    = lasting_stream{};
    auto const two    = lasting_stream{};
    auto const three  = lasting_stream{};
    auto source       = column(type, values, one.get());
    auto const schema = schema_of(source->view());
    auto array        = to_arrow(std::move(source), one.get()).to_arrow();
    auto middle = std::make_shared<imported_column>(import(array.get(), *schema.get(), two.get()));
    auto const view = middle->view();
    auto again      = to_arrow_device(view, std::move(middle), {}, two.get(), pool_).to_arrow();
    auto last       = import(again.get(), *schema.get(), three.get());
    auto const seen = read_later(last.view(), type, three.get());
    last.storage.reset();
    synchronize(three.get());
    EXPECT_EQ(*seen, values);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
