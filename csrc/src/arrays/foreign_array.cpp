// SPDX-License-Identifier: Apache-2.0
#include "arrays/foreign_array.hpp"

#include "cuda/location/location.hpp"

#include <cuda/memory_resource>

#include <memory>
#include <utility>

namespace cudf_arrow_bridge::detail {

foreign_array::foreign_array(ArrowDeviceArray* array, bool host, cuda::stream_ref stream)
  : deferred_release{!host}, array_{array}, host_{host}, stream_{stream}
{
  auto const* tree = array_tree::tree_of(array_->array);
  if (tree != nullptr && tree->is_freed_in_order) { tree_ = tree; }
}

foreign_array::~foreign_array()
{
  // Imported memory may be on another device, from which it is copied.
  auto const is_cuda = array_->device_type == ARROW_DEVICE_CUDA;
  auto const guard   = guard_device(is_cuda ? memory_location{ARROW_DEVICE_CUDA, array_->device_id}
                                            : memory_location{});
  array_.reset();
}

void foreign_array::drop_share(cuda::stream_ref stream) noexcept
{
  if (!host_) {
    if (!creator_process_.is_of_this_process()) { return; }
    if (auto const here = creator_thread_.resolve(stream); here != stream_) {
      release_after(here);
    } else {
      is_freed_on_stream_.store(true, std::memory_order_relaxed);
    }
  }
  if (shares_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  // Once for all shares: this is after the work that was enqueued when they were dropped.
  if (is_freed_on_stream_) { release_after(creator_thread_.resolve(stream_), true); }
  if (tree_ != nullptr && tree_->ready.is_usable()) {
    release_in_order(tree_->stream_here(), tree_->ready.device());
  } else {
    release_when_ready();
  }
}

namespace {

/// State shared by all copies of one `adopting_resource`.
struct adoption {
  foreign_share share;
  void* memory;
  rmm::device_async_resource_ref upstream;
  bool handed_out{false};
};

/**
 * @brief Memory resource whose first allocation returns the producer's memory.
 *
 * `rmm::device_buffer` can own memory only through the resource that allocated it. All further
 * allocations (of a buffer that grows) come from upstream.
 */
class adopting_resource {
 public:
  explicit adopting_resource(adoption&& state)
    : state_{std::make_shared<adoption>(std::move(state))}
  {
  }

  void* allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t alignment)
  {
    if (!std::exchange(state_->handed_out, true)) { return state_->memory; }
    return state_->upstream.allocate(stream, bytes, alignment);
  }

  void deallocate(cuda::stream_ref stream,
                  void* memory,
                  std::size_t bytes,
                  std::size_t alignment) noexcept
  {
    if (memory != state_->memory) {
      state_->upstream.deallocate(stream, memory, bytes, alignment);
      return;
    }
    // After the producer has freed its memory, upstream may allocate at the same address; that
    // allocation must go back to upstream.
    state_->memory = nullptr;
    state_->share.drop(stream);
  }

  void* allocate_sync(std::size_t bytes, std::size_t alignment)
  { return allocate(cuda::stream_ref{cudaStream_t{}}, bytes, alignment); }

  void deallocate_sync(void* memory, std::size_t bytes, std::size_t alignment) noexcept
  { deallocate(cuda::stream_ref{cudaStream_t{}}, memory, bytes, alignment); }

  bool operator==(adopting_resource const& other) const noexcept { return state_ == other.state_; }

  friend void get_property(adopting_resource const&, cuda::mr::device_accessible) noexcept {}

 private:
  std::shared_ptr<adoption> state_;
};

}  // namespace

rmm::device_buffer adopt(foreign_share&& share,
                         void const* memory,
                         std::int64_t size,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr)
{
  if (size == 0) { return rmm::device_buffer{0, stream, mr}; }
  return rmm::device_buffer{static_cast<std::size_t>(size),
                            stream,
                            cuda::mr::any_resource<cuda::mr::device_accessible>{adopting_resource{
                              adoption{std::move(share), const_cast<void*>(memory), mr}}}};
}

}  // namespace cudf_arrow_bridge::detail
