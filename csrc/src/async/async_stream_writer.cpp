// SPDX-License-Identifier: Apache-2.0
#include "async/async_producer.hpp"
#include "base/nvtx.hpp"

#include <cudf_arrow_bridge/async.hpp>

#include <cerrno>
#include <memory>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

void end_dropped(std::shared_ptr<detail::async_producer> const& producer) noexcept
{
  if (producer != nullptr) { producer->fail(ECANCELED, "the producer gave up", {}); }
}

}  // namespace

async_stream_writer::async_stream_writer() noexcept = default;

async_stream_writer::async_stream_writer(ArrowAsyncDeviceStreamHandler* handler,
                                         std::function<void()> wanted)
  : producer_{std::make_shared<detail::async_producer>(handler, std::move(wanted))}
{
}

async_stream_writer::async_stream_writer(async_stream_writer&& other) noexcept = default;

async_stream_writer& async_stream_writer::operator=(async_stream_writer&& other) noexcept
{
  if (this != &other) {
    end_dropped(producer_);
    producer_ = std::move(other.producer_);
  }
  return *this;
}

async_stream_writer::~async_stream_writer() { end_dropped(producer_); }

bool async_stream_writer::open(unique_schema schema,
                               ArrowDeviceType device_type,
                               std::string metadata)
{ return producer_->open(std::move(schema), device_type, std::move(metadata)); }

std::int64_t async_stream_writer::num_wanted() const noexcept { return producer_->num_wanted(); }

bool async_stream_writer::is_over() const noexcept { return producer_->is_over(); }

bool async_stream_writer::write(unique_device_array array, std::string const& metadata)
{
  detail::nvtx_range const range{__func__};
  return producer_->write(std::move(array), metadata);
}

void async_stream_writer::finish() noexcept { producer_->finish(); }

void async_stream_writer::fail(int code,
                               std::string const& message,
                               std::string const& metadata) noexcept
{ producer_->fail(code, message, metadata); }

}  // namespace cudf_arrow_bridge
