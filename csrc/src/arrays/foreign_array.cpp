// SPDX-License-Identifier: Apache-2.0
#include "arrays/foreign_array.hpp"

#include "cuda/location/location.hpp"

#include <cuda/memory_resource>

#include <utility>

namespace cudf_arrow_bridge::detail {

std::shared_ptr<foreign_array> foreign_array::own(ArrowDeviceArray* array,
                                                  bool host,
                                                  cuda::stream_ref stream)
{
  // The struct is moved last, because the caller keeps it if an allocation fails.
  auto result      = std::shared_ptr<foreign_array>{new foreign_array{host, stream},
                                                    [](auto* last) { last->release(); }};
  result->array_   = unique_device_array{array};
  auto const* tree = array_tree::tree_of(result->array_->array);
  if (tree != nullptr && tree->is_freed_in_order) { result->tree_ = tree; }
  return result;
}

foreign_array::foreign_array(bool host, cuda::stream_ref stream)
  : deferred_release{!host}, host_{host}, stream_{stream}
{
}

foreign_array::~foreign_array()
{
  // Imported memory may be on another device, from which it is copied.
  auto const is_cuda = array_->device_type == ARROW_DEVICE_CUDA;
  auto const guard   = guard_device(is_cuda ? memory_location{ARROW_DEVICE_CUDA, array_->device_id}
                                            : memory_location{});
  array_.reset();
}

void foreign_array::keep_for(cuda::stream_ref stream) noexcept
{
  if (host_ || !creator_process_.is_of_this_process()) { return; }
  if (auto const here = creator_thread_.resolve(stream); here != stream_) { release_after(here); }
}

void foreign_array::release() noexcept
{
  if (!host_) {
    if (!creator_process_.is_of_this_process()) { return; }
    // Once for all shares: this is after the work that was enqueued when they were dropped.
    release_after(creator_thread_.resolve(stream_), true);
  }
  if (tree_ != nullptr && tree_->ready.is_usable()) {
    release_in_order(tree_->stream_here(), tree_->ready.device());
  } else {
    release_when_ready();
  }
}

namespace {

/**
 * @brief Memory resource whose first allocation returns the producer's memory.
 *
 * `rmm::device_buffer` can own memory only through the resource that allocated it. All further
 * allocations (of a buffer that grows) come from upstream.
 */
class adopting_resource {
 public:
  adopting_resource(std::shared_ptr<foreign_array> share,
                    void* memory,
                    rmm::device_async_resource_ref upstream)
    : share_{std::move(share)}, memory_{memory}, upstream_{upstream}
  {
  }

  void* allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t alignment)
  {
    if (!std::exchange(is_handed_out_, true)) { return memory_; }
    return upstream_.allocate(stream, bytes, alignment);
  }

  void deallocate(cuda::stream_ref stream,
                  void* memory,
                  std::size_t bytes,
                  std::size_t alignment) noexcept
  {
    if (memory != memory_) {
      upstream_.deallocate(stream, memory, bytes, alignment);
      return;
    }
    // After the producer has freed its memory, upstream may allocate at the same address; that
    // allocation must go back to upstream.
    memory_ = nullptr;
    share_->keep_for(stream);
    share_.reset();
  }

  void* allocate_sync(std::size_t bytes, std::size_t alignment)
  { return allocate(cuda::stream_ref{cudaStream_t{}}, bytes, alignment); }

  void deallocate_sync(void* memory, std::size_t bytes, std::size_t alignment) noexcept
  { deallocate(cuda::stream_ref{cudaStream_t{}}, memory, bytes, alignment); }

  bool operator==(adopting_resource const& other) const noexcept { return this == &other; }

  friend void get_property(adopting_resource const&, cuda::mr::device_accessible) noexcept {}

 private:
  std::shared_ptr<foreign_array> share_;
  void* memory_;
  rmm::device_async_resource_ref upstream_;
  bool is_handed_out_{false};
};

}  // namespace

rmm::device_buffer adopt(std::shared_ptr<foreign_array> share,
                         void const* memory,
                         std::int64_t size,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr)
{
  if (size == 0) { return rmm::device_buffer{0, stream, mr}; }
  return rmm::device_buffer{static_cast<std::size_t>(size),
                            stream,
                            cuda::mr::make_shared_resource<adopting_resource>(
                              std::move(share), const_cast<void*>(memory), mr)};
}

}  // namespace cudf_arrow_bridge::detail
