// SPDX-License-Identifier: Apache-2.0
/// @file
/// The event of an export follows the conversions to a requested schema.
#include "sim/tests/bridge_test.hpp"

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto some_seeds = 30U;

class RequestOrder : public bridge_test {
 protected:
  /// Exports a view of `source` with the requested schema of `type`, and reads the array on another
  /// stream, which waits for the event.
  rows read_as(shape const& type,
               ArrowSchema const& requested,
               cudf::column_view const& view,
               std::shared_ptr<cudf::column> const& source,
               cudaStream_t stream)
  {
    auto const schema = cudf_arrow_bridge::make_schema(view, {}, &requested);
    return read_behind_event(to_arrow_device(view, source, {.schema = schema}, stream, pool_),
                             type);
  }

  rows read_as(shape const& type, std::shared_ptr<cudf::column> const& source, cudaStream_t stream)
  { return read_as(type, *make_schema(type).get(), source->view(), source, stream); }
};

TEST_F(RequestOrder, EventFollowsTheConversions)
{
  struct request {
    shape held;
    shape requested;
    int null_percent;
  };
  auto cases = std::vector<request>{{flat("string"), flat("large_string"), 30},
                                    {flat("large_string"), flat("string"), 30}};
  for (auto const& element : {flat("int32"), flat("string")}) {
    auto const lists = fixed_list_of(element, 2);
    for (auto const percent : {0, 30, 100}) { cases.push_back({lists, lists, percent}); }
  }
  for (auto const& [held, requested, percent] : cases) {
    auto const values = samples(held, 40, percent);
    for_seeds(some_seeds, [&](cudaStream_t stream) {
      EXPECT_EQ(read_as(requested, column(held, values, stream), stream), values) << held.name;
    });
  }
}

TEST_F(RequestOrder, EventFollowsConversionsOfASliceToFixedSizeBinary)
{
  auto const bytes  = [](int first) { return value{rows{number(first), number(first + 1)}}; };
  auto const none   = value{rows{}};
  auto const values = rows{{rows{none}}, {rows{bytes(1)}}, value{}, {rows{bytes(3)}}};
  auto const type   = struct_of({bytes_as("binary", "z")});
  auto const fixed  = struct_of({bytes_as("bytes_2", "w:2")});
  auto const wanted = make_schema(fixed);
  for_seeds(some_seeds, [&](cudaStream_t stream) {
    auto const source = column(type, values, stream);
    // The row before the slice is exported too, as the mask is shared; its list is too short.
    auto const slice = slice_later(source->view(), 1, part(values, 1, 4));
    EXPECT_EQ(read_as(fixed, *wanted.get(), slice, source, stream), part(values, 1, 4));
  });
}

TEST_F(RequestOrder, NonNullableFieldsAcceptNullsBelowNullStructs)
{
  auto const values = rows{value{}, {rows{value{}}}, {rows{{rows{number(1)}}}}};
  auto const type   = struct_of({struct_of({flat("int32")})});
  auto wanted       = make_schema(type);
  auto* const inner = wanted->children[0];

  inner->children[0]->flags = 0;
  for_seeds(some_seeds, [&](cudaStream_t stream) {
    auto const source = column(type, values, stream);
    auto const read = [&] { return read_as(type, *wanted.get(), source->view(), source, stream); };
    inner->flags    = ARROW_FLAG_NULLABLE;
    EXPECT_EQ(read(), values);
    inner->flags = 0;
    EXPECT_THROW((void)read(), std::invalid_argument);
  });
}

TEST_F(RequestOrder, RequestsIgnoreInvalidValuesBelowNullStructs)
{
  struct below_null {
    shape held;
    shape requested;
    value right;
    value wrong;
  };
  auto const lists = list_of(flat("uint8"));
  auto const two   = value{rows{number(1), number(2)}};
  for (auto const& [held, requested, right, wrong] :
       std::vector<below_null>{{flat("duration_s"),
                                as(cudf::type_id::DURATION_SECONDS, "time32_s", "tts"),
                                number(1),
                                number(-1)},
                               {lists, bytes_as("bytes_2", "w:2"), two, {rows{number(1)}}},
                               {lists, bytes_as("binary", "z"), two, {rows{value{}}}}}) {
    auto const values = rows{{rows{right}}, value{}, {rows{right}}};
    auto const type   = struct_of({requested});
    for_seeds(some_seeds, [&](cudaStream_t stream) {
      auto children = std::vector<std::unique_ptr<cudf::column>>{};
      children.push_back(make_column(held, {right, wrong, right}));
      auto structs      = std::make_unique<cudf::column>(cudf::data_type{cudf::type_id::STRUCT},
                                                         3,
                                                         host_buffer(std::vector<char>{}),
                                                         mask_of(values),
                                                         1,
                                                         std::move(children));
      auto const source = std::shared_ptr{sim::upload(std::move(structs), {false, stream, pool_})};
      EXPECT_EQ(read_as(type, source, stream), values) << requested.name;
    });
  }
}

TEST_F(RequestOrder, ExportOfDeviceMemoryRejectsASchemaWithStringViews)
{
  auto const type   = flat("string");
  auto const values = samples(type, 9, 0);
  auto const stream = lasting_stream{};
  auto const wanted = make_schema(as(cudf::type_id::STRING, "string_view", "vu"));
  auto const host   = make_column(type, values);
  auto const schema = cudf_arrow_bridge::make_schema(host->view(), {}, wanted.get());
  auto const source = column(type, values, stream.get());
  EXPECT_THROW(
    (void)to_arrow_device(source->view(), source, {.schema = schema}, stream.get(), pool_),
    std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
