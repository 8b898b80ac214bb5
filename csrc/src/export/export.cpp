// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/nvtx.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "export/array_builder.hpp"
#include "export/column_rows.hpp"
#include "export/export_checks.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <optional>
#include <span>
#include <utility>

namespace cudf_arrow_bridge {
namespace detail {
namespace {

/// The device to make current. Pinned and managed memory does not belong to one, so the current
/// device stays.
memory_location device_of(memory_location const& location)
{ return location.device_type == ARROW_DEVICE_CUDA ? location : memory_location{}; }

/// Whether kernels can write to pageable memory; rmm's `system_memory_resource` then allocates it.
bool shares_pageable_memory()
{
  auto num_devices = 0;
  if (has_gpu()) { RMM_CUDA_TRY(cudaGetDeviceCount(&num_devices)); }
  for (auto device = 0; device < num_devices; ++device) {
    auto shares = 0;
    RMM_CUDA_TRY(cudaDeviceGetAttribute(&shares, cudaDevAttrPageableMemoryAccess, device));
    if (shares != 0) { return true; }
  }
  return false;
}

/// The device type of the array: CUDA if a created buffer is plain device memory, because CUDA
/// kernels can also read pinned and managed sources.
memory_location location_of_all(array_tree const& tree)
{
  for (std::size_t index = 0; index < tree.nodes.size(); ++index) {
    auto const& node = tree.nodes[index];
    for (std::size_t i = 0; i < node.copied.size(); ++i) {
      if (node.copied[i].empty() || node.buffers[i] == nullptr) { continue; }
      auto const made = locate(node.buffers[i]);
      if (made.device_type == ARROW_DEVICE_CUDA) { return made; }
    }
  }
  return tree.location;
}

/// The execution for columns on their device, which is current during its lifetime. Results of
/// pinned and managed columns, which do not belong to a device, come from `mr`.
struct columns_at_place {
  columns_at_place(std::span<cudf::column_view const> columns,
                   cuda::stream_ref stream,
                   rmm::device_async_resource_ref mr)
    : location{locate_columns(columns)},
      exec{location.device_type == ARROW_DEVICE_CPU,
           stream,
           device_of(location) == location ? resource_at(location, mr) : mr},
      guard{guard_device(device_of(location))}
  {
    if (!exec.host) { require_no_capture(stream); }
    // CPU memory has no event that consumers could wait for, and the CPU is about to read it here.
    if (exec.host && shares_pageable_memory()) { RMM_CUDA_TRY(synchronize(stream)); }
  }

  memory_location location;
  execution exec;
  std::optional<rmm::cuda_set_device_raii> guard;
};

}  // namespace

void count_nulls_of(std::span<cudf::column_view const> columns,
                    null_counts& counts,
                    cuda::stream_ref stream,
                    rmm::device_async_resource_ref mr)
{
  auto const place = columns_at_place{columns, stream, mr};
  counts.count(place.exec);
}

device_array export_counted(export_input const& input,
                            std::shared_ptr<void const> owner,
                            export_options const& options,
                            null_counts const& known,
                            cuda::stream_ref stream,
                            rmm::device_async_resource_ref mr)
{
  auto tree               = std::make_shared<array_tree>();
  tree->owner             = std::move(owner);
  tree->copied            = options.copied;
  tree->is_freed_in_order = options.owner_frees_on_stream;
  auto const place        = columns_at_place{input.columns, stream, mr};
  tree->location          = place.location;
  auto const& exec        = place.exec;
  auto const host         = exec.host;
  array_builder{*tree, options, known, exec}.add(input);
  if (!host && tree->location.device_type != ARROW_DEVICE_CUDA) {
    tree->location = location_of_all(*tree);
  }
  if (!host) { tree->record_ready(stream); }
  if (options.copy == copy_policy::always) {
    tree = copy_on_same_device(tree, 0, options.copy_owner, exec);
  }
  if (options.managed_as_cuda && tree->location.device_type == ARROW_DEVICE_CUDA_MANAGED) {
    tree->location.device_type = ARROW_DEVICE_CUDA;
  }
  return array_tree::handle(std::move(tree));
}

}  // namespace detail

device_array to_arrow_device(export_input const& input,
                             std::shared_ptr<void const> owner,
                             export_options const& options,
                             cuda::stream_ref stream,
                             rmm::device_async_resource_ref mr)
{
  detail::nvtx_range const range{__func__};
  detail::check_input(input);
  return detail::export_counted(input, std::move(owner), options, {}, stream, mr);
}

}  // namespace cudf_arrow_bridge
