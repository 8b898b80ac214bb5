// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/nvtx.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/stream.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

/// Whether an array can be in a stream of another kind of memory: kernels can read pinned and
/// managed memory, and an array without rows fits any memory of CUDA.
bool fits(device_array const& array, ArrowDeviceType type)
{
  if (type == ARROW_DEVICE_CPU || array.location().device_type == ARROW_DEVICE_CPU) {
    return false;
  }
  return type == ARROW_DEVICE_CUDA || array.length() == 0;
}

/// @return An array that shares the buffers of another one, with this kind of memory
device_array relabeled(device_array const& array, ArrowDeviceType type)
{
  auto const [source, node]  = detail::array_tree::place_of(array);
  auto tree                  = detail::array_tree::derive(source);
  tree->location.device_type = type;
  return detail::array_tree::handle(std::move(tree), node);
}

}  // namespace

device_array_stream::device_array_stream(std::unique_ptr<batch_source> source,
                                         shared_schema default_schema)
  : source_{std::move(source)}, default_schema_{std::move(default_schema)}
{
}

shared_schema const& device_array_stream::schema()
{
  if (schema_.is_empty()) { peek(); }
  if (schema_.is_empty()) { schema_ = default_schema_; }
  if (schema_.is_empty()) {
    throw std::invalid_argument{num_pulled_ == 0
                                  ? "the stream has neither a schema nor a batch"
                                  : "neither the stream nor its first batch has a schema"};
  }
  return schema_;
}

ArrowDeviceType device_array_stream::device_type()
{
  peek();
  if (device_type_ != 0) { return device_type_; }
  return has_gpu() ? ARROW_DEVICE_CUDA : ARROW_DEVICE_CPU;
}

stream_batch device_array_stream::next()
{
  detail::nvtx_range const range{__func__};
  if (!ahead_.is_end()) { return std::exchange(ahead_, {}); }
  return pull();
}

void device_array_stream::reset() noexcept { *this = {}; }

void device_array_stream::peek()
{
  if (num_pulled_ == 0) { ahead_ = pull(); }
}

stream_batch device_array_stream::pull()
{
  if (failure_ != nullptr) { std::rethrow_exception(failure_); }
  if (source_ == nullptr) { return {}; }
  try {
    auto batch = source_->next();
    if (batch.is_end()) {
      source_.reset();
    } else {
      check(batch);
      ++num_pulled_;
    }
    return batch;
  } catch (...) {
    // Continuing after a failure would skip a batch silently.
    failure_ = std::current_exception();
    source_.reset();
    throw;
  }
}

void device_array_stream::check(stream_batch& batch)
{
  auto const location = batch.array.location();
  auto const fail     = [&](std::string const& what) {
    throw std::invalid_argument{"batch " + std::to_string(num_pulled_) + " of the stream: " + what};
  };
  if (device_type_ == 0) {
    device_type_ = location.device_type;
  } else if (location.device_type != device_type_) {
    if (!fits(batch.array, device_type_)) {
      fail("expected " + to_string(memory_location{device_type_, location.device_id}) +
           ", as the batches before, got " + to_string(location));
    }
    batch.array = relabeled(batch.array, device_type_);
  }
  if (schema_.is_empty()) {
    schema_ = batch.schema.is_empty() ? default_schema_ : batch.schema;
    return;
  }
  if (batch.schema.is_empty() || batch.schema.is(schema_)) { return; }
  try {
    check_same_schema(*schema_.to_arrow().get(), *batch.schema.to_arrow().get());
  } catch (std::invalid_argument const& error) {
    fail(error.what());
  }
}

}  // namespace cudf_arrow_bridge
