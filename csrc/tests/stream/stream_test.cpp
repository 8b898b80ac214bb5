// SPDX-License-Identifier: Apache-2.0
#include "testing/consumer.hpp"
#include "testing/imports.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/stream.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace cudf_arrow_bridge::test {
namespace {

constexpr auto num_rows = 25;

/// A host column, and a batch source of its slices.
struct sliced {
  explicit sliced(shape const& type, cudf::size_type max_rows, std::size_t size = num_rows)
    : values{samples(type, size, 30)},
      column{make_column(type, values)},
      schema{cudf_arrow_bridge::make_schema(column->view(), {})},
      source{slices(
        column->view(), column, max_rows, {.schema = schema}, stream(), host_memory_resource())}
  {
  }

  rows values;
  std::shared_ptr<cudf::column> column;
  shared_schema schema;
  std::unique_ptr<batch_source> source;
};

/// Pulls an array through the callbacks of a C stream.
template <typename Stream>
auto pull(Stream& stream)
{
  if constexpr (requires { stream->device_type; }) {
    auto array = unique_device_array{};
    EXPECT_EQ(stream->get_next(stream.get(), array.get()), 0);
    return array;
  } else {
    auto array = unique_array{};
    EXPECT_EQ(stream->get_next(stream.get(), array.get()), 0);
    return array;
  }
}

class Stream : public ::testing::TestWithParam<shape> {};

std::string case_name(::testing::TestParamInfo<shape> const& info) { return info.param.name; }

TEST_P(Stream, SlicesHoldAllRows)
{
  auto const& type = GetParam();
  for (auto const max_rows : {1, 3, 8, 24, 25, 26}) {
    auto whole    = sliced{type, max_rows};
    auto stream   = device_array_stream{std::move(whole.source)}.to_arrow();
    auto received = rows{};
    for (auto array = pull(stream); !array.is_released(); array = pull(stream)) {
      EXPECT_LE(array->array.length, max_rows);
      auto const part = read_arrow(array->array, type);
      received.insert(received.end(), part.begin(), part.end());
    }
    EXPECT_EQ(received, whole.values);
    EXPECT_TRUE(pull(stream).is_released()) << "the end is returned repeatedly";
    EXPECT_EQ(stream->get_last_error(stream.get()), nullptr);
  }
}

TEST_P(Stream, ReadersReadExportedStreams)
{
  auto const& type = GetParam();
  auto whole       = sliced{type, 10};
  auto stream      = device_array_stream{std::move(whole.source)}.to_arrow_host();
  auto reader      = array_stream_reader{stream.get()};
  EXPECT_TRUE(stream.is_released());
  auto received = rows{};
  for (auto array = reader.next(); !array.is_released(); array = reader.next()) {
    auto const column = checked(from_arrow_device_column(
      reader.schema(), array.get(), {}, test::stream(), host_memory_resource()));
    auto const part   = read_rows(column.view(), type);
    received.insert(received.end(), part.begin(), part.end());
  }
  EXPECT_EQ(received, whole.values);
}

INSTANTIATE_TEST_SUITE_P(Types, Stream, ::testing::ValuesIn(nested_shapes()), case_name);

TEST(Streams, SplitTablesIntoBatches)
{
  auto const type   = flat("int32");
  auto const values = samples(type, num_rows, 30);
  auto const column = std::shared_ptr<cudf::column>{make_column(type, values)};
  auto const table  = cudf::table_view{{column->view(), column->view()}};
  auto const schema = cudf_arrow_bridge::make_schema(table, {}, {});
  auto source     = slices(table, column, 10, {.schema = schema}, stream(), host_memory_resource());
  auto const uses = column.use_count();
  auto first      = source->next();
  auto const lengths =
    std::vector{first.array.length(), source->next().array.length(), source->next().array.length()};
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{10, 10, 5}));
  EXPECT_TRUE(source->next().is_end());
  EXPECT_EQ(column.use_count(), uses + 1);
  source.reset();
  auto const array = first.array.to_arrow();
  EXPECT_EQ(array->array.children[1]->buffers[1], column->view().head());
  EXPECT_TRUE(first.schema.is(schema));
}

TEST(Streams, HaveRowsInEachBatchUnlessThereAreNone)
{
  auto source = sliced{flat("string"), 4, 0}.source;
  EXPECT_EQ(source->next().array.length(), 0);
  EXPECT_TRUE(source->next().is_end());
  EXPECT_THROW((sliced{flat("int32"), 0}), std::invalid_argument);
  EXPECT_THROW((sliced{flat("int32"), -1}), std::invalid_argument);
}

TEST(Streams, SplitOnlyOneColumnOrATable)
{
  auto const split = [](export_input const& input) {
    (void)slices(input, nullptr, 1, {}, stream(), host_memory_resource());
  };
  auto const column = make_column(flat("int32"), {number(1), number(2)});
  auto const view   = column->view();
  EXPECT_NO_THROW(split({{&view, 1}, 2}));
  EXPECT_THROW(split({{&view, 1}, 3}), std::invalid_argument);
  auto no_table     = export_input{};
  no_table.is_table = false;
  EXPECT_THROW(split(no_table), std::invalid_argument);
}

TEST(Streams, ChainSources)
{
  auto left    = 3;
  auto source  = chain([&]() -> std::unique_ptr<batch_source> {
    return left-- > 0 ? sliced{flat("int32"), 20}.source : nullptr;
  });
  auto lengths = std::vector<std::int64_t>{};
  for (auto batch = source->next(); !batch.is_end(); batch = source->next()) {
    lengths.push_back(batch.array.length());
  }
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{20, 5, 20, 5, 20, 5}));
  auto whole = sliced{flat("int32"), num_rows};
  auto one   = single(whole.source->next());
  EXPECT_EQ(one->next().array.length(), num_rows);
  EXPECT_TRUE(one->next().is_end());
}

TEST(Streams, ReadAtMostOneBatchAhead)
{
  auto made    = 0;
  auto source  = chain([&]() -> std::unique_ptr<batch_source> {
    return made++ < 5 ? sliced{flat("int32"), num_rows}.source : nullptr;
  });
  auto batches = device_array_stream{std::move(source)};
  EXPECT_EQ(made, 0);
  EXPECT_FALSE(batches.schema().is_empty());
  EXPECT_EQ(batches.device_type(), ARROW_DEVICE_CPU);
  EXPECT_EQ(made, 1);
  auto stream = std::move(batches).to_arrow();
  EXPECT_EQ(stream->device_type, ARROW_DEVICE_CPU);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(pull(stream)->array.length, num_rows);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(pull(stream)->array.length, num_rows);
  EXPECT_EQ(made, 2);
}

TEST(Streams, AreDestroyedIfTheirReturnThrows)
{
  auto const owner = std::make_shared<int>(0);
  auto source      = chain([owner] { return sliced{flat("int32"), num_rows}.source; });
  auto stream      = device_array_stream{std::move(source)}.to_arrow(
    [](device_array_stream&& /*stream*/) { throw std::runtime_error{"no room"}; });
  EXPECT_EQ(owner.use_count(), 2);
  stream.reset();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(Streams, RequireASchema)
{
  auto batch   = sliced{flat("int32"), num_rows}.source->next();
  batch.schema = {};
  EXPECT_THROW((void)device_array_stream{single(std::move(batch))}.schema(), std::invalid_argument);
  auto const nothing = [] { return chain([] { return std::unique_ptr<batch_source>{}; }); };
  EXPECT_THROW((void)device_array_stream{nothing()}.schema(), std::invalid_argument);
  auto const schema = sliced{flat("int32"), 1}.schema;
  auto stream       = device_array_stream{nothing(), schema}.to_arrow();
  auto received     = unique_schema{};
  EXPECT_EQ(stream->get_schema(stream.get(), received.get()), 0);
  EXPECT_STREQ(received->format, "i");
  EXPECT_TRUE(pull(stream).is_released());
}

TEST(Streams, UseTheDefaultSchemaOnlyIfThereIsNoOther)
{
  auto const other = sliced{flat("string"), 1}.schema;
  auto batches     = device_array_stream{sliced{flat("int32"), num_rows}.source, other};
  EXPECT_STREQ(batches.schema().to_arrow()->format, "i");
  EXPECT_FALSE(batches.next().is_end());

  auto bare   = sliced{flat("int32"), num_rows}.source->next();
  bare.schema = {};
  auto taken  = device_array_stream{single(std::move(bare))};
  taken.set_default_schema(sliced{flat("int32"), 1}.schema);
  EXPECT_STREQ(taken.schema().to_arrow()->format, "i");

  auto nothing = device_array_stream{chain([] { return std::unique_ptr<batch_source>{}; }), other};
  nothing.set_default_schema(sliced{flat("int32"), 1}.schema);
  EXPECT_STREQ(nothing.schema().to_arrow()->format, "i");
}

/// Check the calls of a stream that throws after one batch.
template <typename Error>
void expect_failure(Error const& error, int code, std::string const& message)
{
  auto source = chain([calls = 0, &error]() mutable {
    if (calls++ == 1) { throw Error{error}; }
    return sliced{flat("int32"), num_rows}.source;
  });
  auto stream = device_array_stream{std::move(source)}.to_arrow();
  EXPECT_EQ(pull(stream)->array.length, num_rows);
  for (auto i = 0; i < 2; ++i) {
    auto array = ArrowDeviceArray{};
    EXPECT_EQ(stream->get_next(stream.get(), &array), code);
    EXPECT_EQ(array.array.release, nullptr);
    EXPECT_STREQ(stream->get_last_error(stream.get()), message.c_str());
  }
  auto schema = unique_schema{};
  EXPECT_EQ(stream->get_schema(stream.get(), schema.get()), 0);
  EXPECT_EQ(stream->get_last_error(stream.get()), nullptr);
}

TEST(Streams, ReportExceptionsAsErrorCodes)
{
  expect_failure(stream_error{ENOENT, "no such file"}, ENOENT, "no such file");
  expect_failure(stream_error{0, "no code"}, EIO, "no code");
  expect_failure(std::bad_alloc{}, ENOMEM, std::bad_alloc{}.what());
  expect_failure(std::invalid_argument{"boom"}, EINVAL, "boom");
  expect_failure(std::runtime_error{"boom"}, EIO, "boom");
  expect_failure(42, EIO, "an unknown exception");
}

TEST(Streams, KeepPulledBatchesReadableAfterTheRelease)
{
  auto whole  = sliced{flat("string"), 10};
  auto stream = device_array_stream{std::move(whole.source)}.to_arrow();
  auto first  = pull(stream);
  stream.reset();
  EXPECT_EQ(read_arrow(first->array, flat("string")),
            rows(whole.values.begin(), whole.values.begin() + 10));
  EXPECT_GT(whole.column.use_count(), 1);
  first.reset();
  EXPECT_EQ(whole.column.use_count(), 1);
}

/// A producer's stream: `batches` arrays, then the end of the stream or the error `code`.
struct foreign_stream {
  int batches{0};
  int code{0};
  int pulls{0};
  int releases{0};

  ArrowArrayStream make()
  {
    auto stream         = ArrowArrayStream{};
    stream.private_data = this;
    stream.get_schema   = [](ArrowArrayStream* /*s*/, ArrowSchema* out) {
      make_schema(flat("int32")).move_to(out);
      return 0;
    };
    stream.get_next       = [](ArrowArrayStream* s, ArrowArray* out) { return of(s).next(out); };
    stream.get_last_error = [](ArrowArrayStream* /*s*/) { return "\xe9t\xe9"; };
    stream.release        = [](ArrowArrayStream* s) {
      ++of(s).releases;
      s->release = nullptr;
    };
    return stream;
  }

 private:
  static foreign_stream& of(ArrowArrayStream* s)
  { return *static_cast<foreign_stream*>(s->private_data); }

  int next(ArrowArray* out)
  {
    ++pulls;
    if (batches-- > 0) {
      produce(flat("int32"), samples(flat("int32"), num_rows, 0)).move_to(out);
      return 0;
    }
    *out = ArrowArray{};
    // A failed call may leave garbage in the struct, which must not be released.
    if (code != 0) {
      out->release = [](ArrowArray*) { FAIL(); };
    }
    return code;
  }
};

TEST(StreamReaders, ReleaseTheStreamAtItsEnd)
{
  auto source = foreign_stream{.batches = 2};
  auto stream = source.make();
  auto reader = array_stream_reader{&stream};
  EXPECT_STREQ(reader.schema().format, "i");
  EXPECT_FALSE(reader.next().is_released());
  auto const array = reader.next();
  EXPECT_EQ(array->device_type, ARROW_DEVICE_CPU);
  EXPECT_EQ(array->device_id, -1);
  EXPECT_EQ(source.releases, 0);
  EXPECT_TRUE(reader.next().is_released());
  EXPECT_EQ(source.releases, 1);
  EXPECT_TRUE(reader.next().is_released());
  EXPECT_EQ(source.pulls, 3);
  EXPECT_STREQ(reader.schema().format, "i");
}

TEST(StreamReaders, ReportTheErrorOfTheProducer)
{
  auto source = foreign_stream{.batches = 1, .code = ENOSPC};
  auto stream = source.make();
  auto reader = array_stream_reader{&stream};
  EXPECT_FALSE(reader.next().is_released());
  EXPECT_EQ(reader.error_code(), 0);
  for (auto i = 0; i < 2; ++i) {
    try {
      (void)reader.next();
      ADD_FAILURE();
    } catch (stream_error const& error) {
      EXPECT_EQ(error.code(), ENOSPC);
      EXPECT_STREQ(error.what(), "\\xe9t\\xe9");
    }
  }
  EXPECT_EQ(reader.error_code(), ENOSPC);
  EXPECT_EQ(source.releases, 1);
  EXPECT_EQ(source.pulls, 2);
}

TEST(StreamReaders, RejectReleasedAndInvalidStreams)
{
  auto released = ArrowDeviceArrayStream{};
  EXPECT_THROW(array_stream_reader{&released}, std::invalid_argument);
  auto source     = foreign_stream{};
  auto stream     = source.make();
  stream.get_next = nullptr;
  EXPECT_THROW(array_stream_reader{&stream}, std::invalid_argument);
  EXPECT_EQ(source.releases, 0);
  auto without       = source.make();
  without.get_schema = [](ArrowArrayStream*, ArrowSchema*) { return 0; };
  auto reader        = array_stream_reader{&without};
  EXPECT_THROW((void)reader.schema(), std::invalid_argument);
}

TEST(StreamReaders, RejectTheSchemaOfAnEndedStream)
{
  auto source = foreign_stream{};
  auto stream = source.make();
  auto reader = array_stream_reader{&stream};
  EXPECT_TRUE(reader.next().is_released());
  EXPECT_THROW((void)reader.schema(), std::invalid_argument);
}

TEST(StreamSchemas, AreCopiedWithNamesAndFlags)
{
  for (auto const& type : nested_shapes()) {
    auto const source = make_schema(type);
    auto const copied = copy_schema(*source.get()).to_arrow();
    check_same_schema(*source.get(), *copied.get());
    EXPECT_STREQ(source->name, copied->name);
    EXPECT_EQ(source->flags, copied->flags);
  }
  auto const released = ArrowSchema{};
  EXPECT_THROW((void)copy_schema(released), std::invalid_argument);
}

TEST(StreamSchemas, DifferInDictionaries)
{
  auto const plain   = make_schema(flat("int32"));
  auto const encoded = make_schema(dictionary_of(flat("int32")));
  ASSERT_STREQ(plain->format, encoded->format);
  EXPECT_THROW(check_same_schema(*plain.get(), *encoded.get()), std::invalid_argument);
  EXPECT_THROW(check_same_schema(*encoded.get(), *plain.get()), std::invalid_argument);
}

TEST(StreamSchemas, KeepAndCompareMetadata)
{
  auto const column = make_column(flat("int32"), {});
  auto const made   = cudf_arrow_bridge::make_schema(
    column->view(), {.name = "a", .metadata = {{"ARROW:extension:name", "x"}, {"k", ""}}});
  auto const source = made.to_arrow();
  auto const copied = copy_schema(*source.get()).to_arrow();
  auto const size   = static_cast<std::size_t>(ArrowMetadataSizeOf(source->metadata));
  EXPECT_EQ(std::string(source->metadata, size), std::string(copied->metadata, size));
  auto const other = cudf_arrow_bridge::make_schema(
    column->view(), {.name = "a", .metadata = {{"ARROW:extension:name", "y"}}});
  EXPECT_THROW(check_same_schema(*source.get(), *other.to_arrow().get()), std::invalid_argument);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
