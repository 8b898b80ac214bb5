// SPDX-License-Identifier: Apache-2.0
#include "async/worker_pool.hpp"
#include "cuda/ordering/captures.hpp"
#include "stream/exception_code.hpp"

#include <cudf_arrow_bridge/async.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <rmm/cuda_device.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

unique_schema schema_of(device_array_stream& source) { return source.schema().to_arrow(); }

unique_schema schema_of(array_stream_reader& source)
{ return copy_schema(source.schema()).to_arrow(); }

unique_device_array next_of(device_array_stream& source)
{
  auto const batch = source.next();
  return batch.is_end() ? unique_device_array{} : batch.array.to_arrow();
}

unique_device_array next_of(array_stream_reader& source) { return source.next(); }

/// The export of a stream to a handler, one array for each step.
template <typename Source>
class driven_stream : public detail::pooled_work {
 public:
  explicit driven_stream(Source source) : source_{std::move(source)}
  {
    if (has_gpu()) { device_ = rmm::get_current_cuda_device(); }
  }

  /// The handler keeps this object alive until it is released.
  void begin(ArrowAsyncDeviceStreamHandler* handler)
  {
    auto const self = std::static_pointer_cast<driven_stream>(this->shared_from_this());
    writer_         = async_stream_writer{handler, [self] { self->schedule(); }};
    this->schedule();
  }

 protected:
  bool take_step() noexcept override
  {
    // Default streams, and allocations of the source, are those of the current device.
    auto guard = std::optional<rmm::cuda_set_device_raii>{};
    // Sources may wait and allocate while other threads are capturing.
    auto relaxed = std::optional<detail::relaxed_captures>{};
    if (device_) {
      guard.emplace(*device_);
      relaxed.emplace();
    }
    try {
      if (!std::exchange(is_open_, true)) {
        if (!writer_.is_over()) { writer_.open(schema_of(source_), source_.device_type(), {}); }
      } else if (writer_.num_wanted() > 0) {
        auto array = next_of(source_);
        if (array.is_released()) {
          writer_.finish();
        } else {
          writer_.write(std::move(array), {});
        }
      }
    } catch (...) {
      detail::report_exception(
        [this](int code, char const* message) { writer_.fail(code, message, {}); });
    }
    if (writer_.is_over()) {
      // After a cancel: releases the handler, which keeps this object alive.
      writer_.finish();
      source_ = Source{};
    }
    return writer_.num_wanted() > 0;
  }

 private:
  Source source_;
  std::optional<rmm::cuda_device_id> device_;  ///< current when the export started
  async_stream_writer writer_;
  bool is_open_{false};
};

template <typename Source>
void drive(Source source, ArrowAsyncDeviceStreamHandler* handler)
{
  detail::worker_pool::instance().start();
  std::make_shared<driven_stream<Source>>(std::move(source))->begin(handler);
}

}  // namespace

void to_arrow_async(device_array_stream source, ArrowAsyncDeviceStreamHandler* handler)
{ drive(std::move(source), handler); }

void to_arrow_async(array_stream_reader source, ArrowAsyncDeviceStreamHandler* handler)
{ drive(std::move(source), handler); }

}  // namespace cudf_arrow_bridge
