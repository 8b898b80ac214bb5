// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "base/utf8.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <cstring>
#include <stdexcept>

namespace cudf_arrow_bridge {
namespace {

template <typename Stream>
Stream* check_usable(Stream* stream)
{
  if (stream == nullptr || stream->release == nullptr) {
    throw std::invalid_argument{"the stream is released"};
  }
  if (stream->get_schema == nullptr || stream->get_next == nullptr ||
      stream->get_last_error == nullptr) {
    throw std::invalid_argument{"the stream lacks a callback"};
  }
  return stream;
}

template <typename Stream>
void check(int code, Stream* stream)
{
  if (code == 0) { return; }
  auto const* message    = stream->get_last_error(stream);
  auto const has_message = message != nullptr && *message != '\0';
  throw stream_error{code, detail::to_utf8(has_message ? message : std::strerror(code))};
}

void pull(ArrowDeviceArrayStream* stream, ArrowDeviceArray* out)
{ check(stream->get_next(stream, out), stream); }

void pull(ArrowArrayStream* stream, ArrowDeviceArray* out)
{
  check(stream->get_next(stream, &out->array), stream);
  out->device_type = ARROW_DEVICE_CPU;
  out->device_id   = -1;
}

}  // namespace

array_stream_reader::array_stream_reader(ArrowDeviceArrayStream* stream)
  : stream_{unique_device_array_stream{check_usable(stream)}}, device_type_{stream->device_type}
{
}

array_stream_reader::array_stream_reader(ArrowArrayStream* stream)
  : stream_{unique_array_stream{check_usable(stream)}}
{
}

/// Calls the producer. After its first error, the stream is released, and each later call rethrows
/// the error.
template <typename Ask>
void array_stream_reader::ask(Ask const& ask)
{
  if (failure_) { throw stream_error{*failure_}; }
  try {
    std::visit(
      [&](auto& stream) {
        if (!stream.is_released()) { ask(stream.get()); }
      },
      stream_);
  } catch (stream_error const& error) {
    failure_ = error;
    reset();
    throw;
  }
}

ArrowSchema const& array_stream_reader::schema()
{
  if (schema_.is_released()) {
    ask([this](auto* stream) {
      auto schema = ArrowSchema{};
      check(stream->get_schema(stream, &schema), stream);
      schema_ = unique_schema{&schema};
    });
  }
  if (schema_.is_released()) {
    auto const is_closed = std::visit([](auto& stream) { return stream.is_released(); }, stream_);
    throw std::invalid_argument{is_closed ? "the stream is released"
                                          : "the schema of the stream is released"};
  }
  return *schema_.get();
}

unique_device_array array_stream_reader::next()
{
  detail::nvtx_range const range{__func__};
  auto array = ArrowDeviceArray{};  // owned only after success: a failed call may leave garbage
  ask([&](auto* stream) { pull(stream, &array); });
  if (array.array.release == nullptr) { reset(); }
  return unique_device_array{&array};
}

// NOLINTNEXTLINE(bugprone-exception-escape): `stream_` is never valueless.
void array_stream_reader::reset() noexcept
{
  std::visit([](auto& stream) { stream.reset(); }, stream_);
}

}  // namespace cudf_arrow_bridge
