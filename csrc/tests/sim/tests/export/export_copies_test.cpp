// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exports that copy: the copies are made before the event, and before the source is freed.
#include "sim/tests/bridge_test.hpp"
#include "testing/arrow_schema.hpp"
#include "testing/consumer.hpp"

namespace cudf_arrow_bridge::test {
namespace {

class export_copies : public bridge_test {
 protected:
  unique_device_array copy_of(std::shared_ptr<cudf::column> source,
                              cudaStream_t stream,
                              std::shared_ptr<void const> copy_owner = nullptr)
  {
    auto const view = source->view();
    return to_arrow_device(view,
                           std::move(source),
                           {.copy = copy_policy::always, .copy_owner = std::move(copy_owner)},
                           stream,
                           pool_)
      .to_arrow();
  }

  static rows read_behind(unique_device_array const& array, shape const& type)
  {
    auto const consumer = lasting_stream{};
    auto const event    = *static_cast<cudaEvent_t*>(array->sync_event);
    EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), event), cudaSuccess);
    auto result = rows{};
    sim::enqueue(consumer.get(), [&] { result = read_arrow(array->array, type); });
    synchronize(consumer.get());
    return result;
  }
};

TEST_F(export_copies, read_the_source_before_it_is_freed)
{
  for (auto const* name : {"int32", "bool8", "string"}) {
    auto const type   = flat(name);
    auto const values = samples(type, 40, 30);
    for (auto seed = 0U; seed < many_seeds; ++seed) {
      sim::reset(seed);
      auto const made_on = lasting_stream{};
      auto const stream  = lasting_stream{};
      // The source is freed on its own stream, which does not wait for the copies.
      auto source = column(type, values, made_on.get());
      synchronize(made_on.get());
      auto const array = copy_of(std::move(source), stream.get());
      EXPECT_EQ(read_behind(array, type), values);
    }
  }
}

TEST_F(export_copies, keep_the_copy_owner_and_not_the_source)
{
  auto const stream = lasting_stream{};
  auto source       = std::shared_ptr<cudf::column>{integer_column(stream.get(), {1, 2, 3})};
  auto const gone   = std::weak_ptr<cudf::column>{source};
  auto const kept   = std::make_shared<int>(1);
  auto array        = copy_of(std::move(source), stream.get(), kept);
  settle();
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(kept.use_count(), 2);
  array.reset();
  settle();
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(export_copies, are_labelled_with_the_memory_of_the_resource)
{
  auto const stream = lasting_stream{};
  auto managed      = sim::pool_resource{memory_kind::managed, 0};
  auto source       = std::shared_ptr<cudf::column>{
    upload_column(make_column(flat("int32"), {number(1)}), stream.get(), managed)};
  auto const near = copy_of(source, stream.get());
  EXPECT_EQ(near->device_type, ARROW_DEVICE_CUDA);
  EXPECT_EQ(near->device_id, 0);
  auto const options = export_options{.copy = copy_policy::always};
  auto const same    = to_arrow_device(source->view(), source, options, stream.get(), managed);
  EXPECT_EQ(same.location().device_type, ARROW_DEVICE_CUDA_MANAGED);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
