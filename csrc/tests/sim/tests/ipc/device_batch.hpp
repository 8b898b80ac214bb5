// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ipc/produced_batch.hpp"
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <cstring>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::test {

/// A record batch in device memory. Kernels fill it, and it is overwritten immediately when its
/// owner is destroyed.
class device_batch {
 public:
  device_batch(produced_batch const& source, cudaStream_t stream, int device = 0)
    : parts{source.parts}, dictionaries{source.dictionaries}, decoder_{source.decoder()}
  {
    auto const guard = on_device{rmm::cuda_device_id{device}};
    auto const owner = std::shared_ptr<std::vector<void*>>{
      new std::vector<void*>, [](std::vector<void*>* all) {
        std::for_each(all->begin(), all->end(), &sim::deallocate);
        delete all;
      }};
    memory = {{ARROW_DEVICE_CUDA, device}, owner};
    for (auto& message : dictionaries) { upload(message, *owner, stream, device); }
    upload(parts, *owner, stream, device);
  }

  device_batch(device_batch&&) = delete;

  /// Runs all kernels that fill the batch.
  ~device_batch() { sim::drain(); }

  /// Decodes the values of all dictionaries.
  [[nodiscard]] std::vector<device_array> decode_dictionaries(body_checks checks,
                                                              cudaStream_t stream) const
  {
    auto values = std::vector<device_array>(dictionaries.size());
    for (auto i = dictionaries.size(); i-- > 0;) {
      values[i] = decoder_.decode(dictionaries[i].view(), values, memory, checks, stream, i);
    }
    return values;
  }

  /// Decodes the batch with the values of its dictionaries.
  [[nodiscard]] device_array decode(std::vector<device_array> const& values,
                                    body_checks checks,
                                    cudaStream_t stream) const
  { return decoder_.decode(parts.view(), values, memory, checks, stream); }

  [[nodiscard]] device_array decode(body_checks checks, cudaStream_t stream) const
  { return decode(decode_dictionaries(checks, stream), checks, stream); }

  batch_parts parts;
  std::vector<batch_parts> dictionaries;
  ipc_memory memory;

 private:
  static void upload(batch_parts& message, std::vector<void*>& all, cudaStream_t stream, int device)
  {
    for (auto& buffer : message.buffers) {
      if (buffer.size == 0) { continue; }
      auto const size  = static_cast<std::size_t>(buffer.size);
      auto const first = static_cast<std::byte const*>(buffer.address);
      auto* target     = sim::allocate(memory_kind::device, device, size);
      all.push_back(target);
      sim::enqueue(stream, [target, values = std::vector<std::byte>{first, first + size}] {
        std::memcpy(target, values.data(), values.size());
      });
      buffer.address = target;
    }
  }

  body_decoder decoder_;
};

/// @return The contents of the buffers of a body, one after another
inline std::vector<std::byte> contents_of(ipc_body const& body)
{
  auto result = std::vector<std::byte>{};
  for (auto const& buffer : body.buffers) {
    auto const* first = static_cast<std::byte const*>(buffer.address);
    result.insert(result.end(), first, first + buffer.size);
  }
  return result;
}

/// Enqueues a kernel that reads a body. @return The contents, set when the kernel has run
inline std::shared_ptr<std::vector<std::byte>> read_later(ipc_body const& body, cudaStream_t stream)
{
  auto result = std::make_shared<std::vector<std::byte>>();
  // The kernel does not keep the owner: tests check that the memory is still valid.
  sim::enqueue(stream, [result, buffers = body.buffers] {
    auto seen    = ipc_body{};
    seen.buffers = buffers;
    *result      = contents_of(seen);
  });
  return result;
}

}  // namespace cudf_arrow_bridge::test
