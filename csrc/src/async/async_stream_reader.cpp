// SPDX-License-Identifier: Apache-2.0
#include "async/async_consumer.hpp"
#include "base/nvtx.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge {

async_stream_reader::async_stream_reader() noexcept = default;

async_stream_reader::async_stream_reader(std::int64_t prefetch, std::function<void()> notify)
  : consumer_{std::make_shared<detail::async_consumer>(prefetch, std::move(notify))}
{
}

async_stream_reader::async_stream_reader(async_stream_reader&& other) noexcept = default;

async_stream_reader& async_stream_reader::operator=(async_stream_reader&& other) noexcept
{
  if (this != &other) {
    cancel();
    consumer_ = std::move(other.consumer_);
  }
  return *this;
}

async_stream_reader::~async_stream_reader() { cancel(); }

ArrowAsyncDeviceStreamHandler* async_stream_reader::take_handler()
{ return consumer_->take_handler(); }

void async_stream_reader::abandon() noexcept { consumer_->abandon(); }

bool async_stream_reader::has_schema() const noexcept { return consumer_->has_schema(); }

ArrowSchema const& async_stream_reader::schema() const { return consumer_->schema(); }

ArrowDeviceType async_stream_reader::device_type() const noexcept
{ return consumer_->device_type(); }

std::string const& async_stream_reader::metadata() const noexcept { return consumer_->metadata(); }

bool async_stream_reader::is_ready() const noexcept { return consumer_->is_ready(); }

void async_stream_reader::wait() const { consumer_->wait(); }

std::optional<async_batch> async_stream_reader::next()
{
  detail::nvtx_range const range{__func__};
  return consumer_->next();
}

void async_stream_reader::cancel() noexcept
{
  if (consumer_ != nullptr) { consumer_->cancel(); }
}

}  // namespace cudf_arrow_bridge
