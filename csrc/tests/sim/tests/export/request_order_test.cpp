// SPDX-License-Identifier: Apache-2.0
/// @file
/// The event of an export follows the conversions to a requested schema.
#include "sim/tests/bridge_test.hpp"
#include "testing/arrow_schema.hpp"
#include "testing/consumer.hpp"

#include <ostream>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto seeds = 30U;

struct request {
  char const* held;
  char const* format;
  char const* read_as;
};

void PrintTo(request const& asked, std::ostream* out)
{ *out << asked.held << " as " << asked.read_as; }

class request_order : public bridge_test, public ::testing::WithParamInterface<request> {
 protected:
  /// Exports a column on one stream and reads the array on another that waits for the event.
  rows read_behind(cudf::column_view const& view,
                   std::shared_ptr<cudf::column> const& source,
                   ArrowSchema const* wanted,
                   shape const& read_as,
                   cudaStream_t stream)
  {
    auto const consumer = lasting_stream{};
    auto const schema   = cudf_arrow_bridge::make_schema(view, {}, wanted);
    auto const where    = cuda::stream_ref{stream};
    auto const array = to_arrow_device(view, source, {.schema = schema}, where, pool_).to_arrow();
    auto const event = *static_cast<cudaEvent_t*>(array->sync_event);
    EXPECT_EQ(cudaStreamWaitEvent(consumer.get(), event), cudaSuccess);
    auto result = rows{};
    sim::enqueue(consumer.get(), [&] { result = read_arrow(array->array, read_as); });
    synchronize(consumer.get());
    return result;
  }
};

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
    auto const stream = lasting_stream{};
    auto const source = std::shared_ptr{column(type, values, stream.get())};
    auto const result =
      read_behind(source->view(), source, wanted.get(), flat(GetParam().read_as), stream.get());
    EXPECT_EQ(result, values);
  }
}

INSTANTIATE_TEST_SUITE_P(formats,
                         request_order,
                         ::testing::Values(request{"string", "U", "large_string"},
                                           request{"large_string", "u", "string"}));

TEST_F(request_order, event_follows_conversions_to_binary_and_fixed_size_binary)
{
  auto const bytes  = [](int first) { return value{rows{number(first), number(first + 1)}}; };
  auto const none   = value{rows{}};
  auto const values = rows{{rows{none}}, {rows{bytes(1)}}, value{}, {rows{bytes(3)}}};
  auto const type   = struct_of({bytes_as("binary", "z")});
  auto const fixed  = struct_of({bytes_as("bytes_2", "w:2")});
  auto const wanted = make_schema(fixed);
  for (auto seed = 0U; seed < seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto const source = std::shared_ptr{column(type, values, stream.get())};
    auto const all    = source->view();
    // The row before the slice is exported too, as the mask is shared; its list is too short.
    auto const slice = cudf::column_view{
      all.type(), 3, nullptr, all.null_mask(), 1, 1, {all.child_begin(), all.child_end()}};
    EXPECT_EQ(read_behind(slice, source, wanted.get(), fixed, stream.get()), part(values, 1, 4));
  }
}

TEST_F(request_order, event_follows_conversions_to_fixed_size_lists)
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
        EXPECT_EQ(read_behind(source->view(), source, wanted.get(), type, stream.get()), values);
      }
    }
  }
}

TEST_F(request_order, non_nullable_fields_accept_nulls_below_null_structs)
{
  auto const values = rows{value{}, {rows{value{}}}, {rows{{rows{number(1)}}}}};
  auto const type   = struct_of({struct_of({flat("int32")})});
  auto wanted       = make_schema(type);
  auto* const inner = wanted->children[0];

  inner->children[0]->flags = 0;
  for (auto seed = 0U; seed < seeds; ++seed) {
    sim::reset(seed);
    auto const stream = lasting_stream{};
    auto const source = std::shared_ptr{column(type, values, stream.get())};
    auto const read   = [&] {
      return read_behind(source->view(), source, wanted.get(), type, stream.get());
    };
    inner->flags = ARROW_FLAG_NULLABLE;
    EXPECT_EQ(read(), values);
    inner->flags = 0;
    EXPECT_THROW((void)read(), std::invalid_argument);
  }
}

TEST_F(request_order, requests_ignore_invalid_values_below_null_structs)
{
  struct below_null {
    shape held;
    shape requested;
    value right;
    value wrong;
  };
  auto const lists = list_of(flat("uint8"));
  auto const two   = value{rows{number(1), number(2)}};
  auto const cases =
    std::vector<below_null>{{flat("duration_s"),
                             as(cudf::type_id::DURATION_SECONDS, "time32_s", "tts"),
                             number(1),
                             number(-1)},
                            {lists, bytes_as("bytes_2", "w:2"), two, {rows{number(1)}}},
                            {lists, bytes_as("binary", "z"), two, {rows{value{}}}}};
  for (auto const& [held, requested, right, wrong] : cases) {
    auto const values = rows{{rows{right}}, value{}, {rows{right}}};
    auto const type   = struct_of({requested});
    auto const wanted = make_schema(type);
    for (auto seed = 0U; seed < seeds; ++seed) {
      sim::reset(seed);
      auto const stream = lasting_stream{};
      auto children     = std::vector<std::unique_ptr<cudf::column>>{};
      children.push_back(make_column(held, {right, wrong, right}));
      auto structs = std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::STRUCT},
                                                    3,
                                                    host_buffer(std::vector<char>{}),
                                                    mask_of(values),
                                                    1,
                                                    std::move(children));
      auto const source =
        std::shared_ptr<cudf::column>{upload_column(std::move(structs), stream.get(), pool_)};
      EXPECT_EQ(read_behind(source->view(), source, wanted.get(), type, stream.get()), values)
        << requested.name;
    }
  }
}

TEST_F(request_order, export_of_device_memory_rejects_a_schema_with_string_views)
{
  auto const type   = flat("string");
  auto const values = samples(type, 9, 0);
  auto const stream = lasting_stream{};
  auto wanted       = unique_schema{};
  ArrowSchemaInit(wanted.get());
  check(ArrowSchemaSetFormat(wanted.get(), "vu"));
  wanted->flags       = ARROW_FLAG_NULLABLE;
  auto const host     = make_column(type, values);
  auto const schema   = cudf_arrow_bridge::make_schema(host->view(), {}, wanted.get());
  auto const where    = cuda::stream_ref{stream.get()};
  auto const source   = std::shared_ptr{column(type, values, stream.get())};
  auto const view     = source->view();
  auto const uploaded = [&] {
    return to_arrow_device(view, source, {.schema = schema}, where, pool_);
  };
  EXPECT_THROW((void)uploaded(), std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
