// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "stream/exception_code.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

void write_next(device_array_stream& batches, ArrowDeviceArray* out)
{
  *out             = ArrowDeviceArray{};
  auto const batch = batches.next();
  if (!batch.is_end()) { batch.array.to_arrow().move_to(out); }
}

void write_next(device_array_stream& batches, ArrowArray* out)
{
  *out             = ArrowArray{};
  auto const batch = batches.next();
  if (batch.is_end()) { return; }
  // `ArrowArray` has no `sync_event`, so the host waits here.
  batch.array.wait();
  auto array = ArrowDeviceArray{};
  batch.array.to_arrow().move_to(&array);
  *out = array.array;
}

/// The private data and the callbacks of a C stream.
template <typename Stream, typename Array>
class exported_stream {
 public:
  static void write(Stream& stream, device_array_stream&& batches, return_function&& give_back)
  {
    auto state        = std::make_unique<exported_stream>(std::move(batches), std::move(give_back));
    stream.get_schema = &get_schema;
    stream.get_next   = &get_next;
    stream.get_last_error = &get_last_error;
    stream.release        = &release;
    stream.private_data   = state.release();
  }

  exported_stream(device_array_stream&& batches, return_function&& give_back)
    : batches_{std::move(batches)}, give_back_{std::move(give_back)}
  {
  }

 private:
  static exported_stream& of(Stream* stream) noexcept
  { return *static_cast<exported_stream*>(stream->private_data); }

  static int get_schema(Stream* stream, ArrowSchema* out) noexcept
  {
    auto& self = of(stream);
    return self.report([&] { self.batches_.schema().to_arrow().move_to(out); });
  }

  static int get_next(Stream* stream, Array* out) noexcept
  {
    auto& self       = of(stream);
    self.has_pulled_ = true;
    return self.report([&] { write_next(self.batches_, out); });
  }

  static char const* get_last_error(Stream* stream) noexcept
  {
    auto const& self = of(stream);
    return self.error_.empty() ? nullptr : self.error_.c_str();
  }

  static void release(Stream* stream) noexcept
  {
    stream->release = nullptr;
    auto const self = std::unique_ptr<exported_stream>{&of(stream)};
    if (self->has_pulled_ || !self->give_back_) { return; }
    // A stream that cannot be returned is destroyed.
    (void)self->report([&] { self->give_back_(std::move(self->batches_)); });
  }

  /// Runs `work`. Turns an exception into an errno code and the text of `get_last_error`.
  template <typename Work>
  int report(Work work) noexcept
  {
    error_.clear();
    try {
      work();
      return 0;
    } catch (...) {
      return detail::report_exception(
        [this](int code, char const* message) { return remember(code, message); });
    }
  }

  int remember(int code, char const* message) noexcept
  {
    try {
      error_ = message;
    } catch (std::bad_alloc const&) {
      error_.clear();
    }
    return code;
  }

  device_array_stream batches_;
  return_function give_back_;
  bool has_pulled_{false};  ///< whether the consumer has requested a batch
  std::string error_;
};

}  // namespace

unique_device_array_stream device_array_stream::to_arrow(return_function give_back) &&
{
  detail::nvtx_range const range{__func__};
  auto stream         = unique_device_array_stream{};
  stream->device_type = device_type();
  exported_stream<ArrowDeviceArrayStream, ArrowDeviceArray>::write(
    *stream.get(), std::move(*this), std::move(give_back));
  reset();
  return stream;
}

unique_array_stream device_array_stream::to_arrow_host(return_function give_back) &&
{
  detail::nvtx_range const range{__func__};
  if (device_type() == ARROW_DEVICE_CUDA) {
    throw std::invalid_argument{
      "expected memory that the CPU can read in a stream of host arrays, got CUDA memory"};
  }
  auto stream = unique_array_stream{};
  exported_stream<ArrowArrayStream, ArrowArray>::write(
    *stream.get(), std::move(*this), std::move(give_back));
  reset();
  return stream;
}

}  // namespace cudf_arrow_bridge
