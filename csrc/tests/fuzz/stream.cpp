// SPDX-License-Identifier: Apache-2.0
#include "fuzz/strange.hpp"
#include "fuzz/trials.hpp"

#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/stream.hpp>

#include <array>
#include <cerrno>
#include <limits>
#include <string>

namespace cudf_arrow_bridge::fuzz {
namespace {

/// Result of one callback.
enum class answer : std::int8_t {
  right,
  nothing,  ///< success, and a released struct
  error     ///< an error code, and a struct that must not be read or released
};

/// State of a stream of at most one array, with the errors that its callbacks return.
struct producer {
  tree& source;
  ArrowDeviceArray device;
  int code{draw_code()};
  std::string message{source.random.pick(strange_names)};
  answer schema{draw_answer(8)};
  answer array{draw_answer(8)};
  answer end{draw_answer(30)};
  bool is_given{false};
  int num_schemas{0};
  int num_streams{1};  ///< that have not been released

  template <typename Stream>
  static producer& of(Stream* stream)
  { return *static_cast<producer*>(stream->private_data); }

  [[nodiscard]] int draw_code() const
  {
    static constexpr auto codes =
      std::to_array<int>({EINVAL, ENOMEM, EIO, -1, std::numeric_limits<int>::min(), 100'000});
    return source.random.pick(codes);
  }

  [[nodiscard]] answer draw_answer(int error_percent) const
  {
    if (source.random.percent(error_percent)) { return answer::error; }
    return source.random.percent(8) ? answer::nothing : answer::right;
  }

  int give(ArrowSchema* out)
  {
    *out = source.root().schema;
    if (schema == answer::error) {
      out->release = [](ArrowSchema*) { throw finding{"a schema of a call that failed released"}; };
      return code;
    }
    if (schema == answer::nothing) { out->release = nullptr; }
    if (out->release == nullptr) { return 0; }
    ++num_schemas;
    out->private_data = this;
    out->release      = [](ArrowSchema* released) {
      --static_cast<producer*>(released->private_data)->num_schemas;
      released->release = nullptr;
    };
    return 0;
  }

  int give(ArrowArray* out)
  {
    auto const now = is_given ? end : array;
    *out           = {};
    if (now == answer::error) {
      out->buffers = reinterpret_cast<void const**>(invalid_address);
      out->release = [](ArrowArray*) { throw finding{"an array of a call that failed released"}; };
      return code;
    }
    if (now == answer::right && !is_given) { *out = hand_over(source, device).array; }
    is_given = true;
    return 0;
  }

  int give(ArrowDeviceArray* out)
  {
    *out = device;
    return give(&out->array);
  }
};

template <typename Stream, typename Array>
Stream make_stream(producer& from)
{
  auto stream         = Stream{};
  stream.private_data = &from;
  stream.get_schema   = [](Stream* self, ArrowSchema* out) {
    auto const examined = uncounted{};
    return producer::of(self).give(out);
  };
  stream.get_next = [](Stream* self, Array* out) {
    auto const examined = uncounted{};
    return producer::of(self).give(out);
  };
  stream.get_last_error = [](Stream* self) {
    auto const& known = producer::of(self);
    return known.code == EIO ? nullptr : known.message.c_str();
  };
  stream.release = [](Stream* self) {
    --producer::of(self).num_streams;
    self->release = nullptr;
  };
  if constexpr (std::is_same_v<Stream, ArrowDeviceArrayStream>) {
    stream.device_type = from.device.device_type;
  }
  switch (from.source.random.below(40)) {
    case 0: stream.get_schema = nullptr; break;
    case 1: stream.get_next = nullptr; break;
    case 2: stream.get_last_error = nullptr; break;
    case 3:
      stream.release   = nullptr;
      from.num_streams = 0;
      break;
    default: break;
  }
  return stream;
}

outcome pull_all(tree& target, array_stream_reader& reader, trial const& setup)
{
  auto const& schema = reader.schema();
  if (target.random.percent(50) && has_claimed_children(target)) {
    auto const copy = copy_schema(schema).to_arrow();
    check_same_schema(schema, *copy.get());
  }
  auto result = outcome::imported;
  for (;;) {
    auto array = reader.next();
    if (array.is_released()) { return result; }
    result = import_and_compare(target, schema, *array.get(), setup);
  }
}

template <typename Stream, typename Array>
outcome feed(tree& target, ArrowDeviceArray const& device, trial const& setup)
{
  auto from           = producer{.source = target, .device = device};
  auto stream         = make_stream<Stream, Array>(from);
  auto const is_array = target.root().array.release != nullptr;
  heap().start(setup.news_until_failure);
  auto const result = judge(setup.news_until_failure >= 0, [&] {
    auto reader = array_stream_reader{&stream};
    return pull_all(target, reader, setup);
  });
  check_nothing_is_left();
  check_releases(target, from.is_given && is_array && from.array == answer::right);
  check_peak(target, heap().bytes_peak);
  if (from.num_schemas != 0) { throw finding{"a schema that is not released once"}; }
  if (from.num_streams != (stream.release == nullptr ? 0 : 1)) {
    throw finding{"a stream that is not released once"};
  }
  return result;
}

}  // namespace

outcome stream_once(tree& target, ArrowDeviceArray device, trial const& setup)
{
  return target.random.percent(50)
           ? feed<ArrowDeviceArrayStream, ArrowDeviceArray>(target, device, setup)
           : feed<ArrowArrayStream, ArrowArray>(target, device, setup);
}

}  // namespace cudf_arrow_bridge::fuzz
