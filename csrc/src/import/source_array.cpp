// SPDX-License-Identifier: Apache-2.0
#include "import/source_array.hpp"

#include "arrays/tree_copy.hpp"
#include "arrays/tree_view.hpp"
#include "base/errors.hpp"
#include "cuda/location/allocation.hpp"
#include "import/column_importer.hpp"
#include "validate/validate.hpp"
#include "validate/validate_values.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/cuda_device.hpp>

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// @return The array's location. Throws if it is neither CPU nor CUDA memory, or there is no GPU.
memory_location location_of(ArrowDeviceArray const& array)
{
  if (array.device_type == ARROW_DEVICE_CPU) { return {}; }
  auto const location = memory_location{array.device_type, array.device_id};
  auto const is_cuda  = array.device_type == ARROW_DEVICE_CUDA ||
                        array.device_type == ARROW_DEVICE_CUDA_HOST ||
                        array.device_type == ARROW_DEVICE_CUDA_MANAGED;
  if (!is_cuda) {
    throw std::invalid_argument{to_string(location) + " found, CPU or CUDA memory expected"};
  }
  if (!has_gpu()) {
    throw std::invalid_argument{to_string(location) +
                                " found, but this process can use no CUDA device"};
  }
  return location;
}

void wait_for_producer(ArrowDeviceArray const& array, cuda::stream_ref stream)
{
  if (array.sync_event == nullptr) { return; }
  auto const event  = *static_cast<cudaEvent_t const*>(array.sync_event);
  auto const status = cudaStreamWaitEvent(stream.get(), event);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    throw std::invalid_argument{std::string{"CUDA rejects the array's sync event: "} +
                                cudaGetErrorString(status)};
  }
}

/// Validates the contents of device memory on a copy in host memory.
void validate_copy(parsed_tree const& types,
                   ArrowArray const& array,
                   memory_location const& location,
                   column_path const& path,
                   cuda::stream_ref stream,
                   rmm::device_async_resource_ref mr)
{
  auto const tree = copy_tree(*view_tree(types, array, location), 0, {}, stream, mr);
  auto const copy = array_tree::to_arrow(tree, 0);
  validate_offsets(types, copy->array, path);
  validate_values(types, copy->array, path);
}

}  // namespace

source_array open_source(parsed_tree const& types,
                         ArrowDeviceArray* array,
                         import_options const& options,
                         column_path const& path,
                         cuda::stream_ref stream,
                         rmm::device_async_resource_ref mr)
{
  auto const location = location_of(*array);
  auto const on_host  = location.device_type == ARROW_DEVICE_CPU;
  auto const current =
    has_gpu() ? memory_location{ARROW_DEVICE_CUDA, rmm::get_current_cuda_device().value()}
              : memory_location{};
  auto const is_far    = location.device_type != ARROW_DEVICE_CPU &&
                         location.device_type != ARROW_DEVICE_CUDA_HOST &&
                         location.device_id != current.device_id;
  auto const to_upload = on_host && has_gpu();
  auto const copy_all  = options.copy == copy_policy::always;
  if (is_far && !copy_all) {
    throw std::invalid_argument{to_string(location) + " found, memory of the current device " +
                                std::to_string(current.device_id) +
                                " expected: import it with copy=True, or make its device current"};
  }
  if (to_upload && options.copy == copy_policy::never) {
    throw std::invalid_argument{"CPU memory found, " + to_string(current) +
                                " expected with copy=False: copy=None uploads it"};
  }
  if (!on_host) {
    wait_for_producer(*array, stream);
    if (options.validate == validation::full) {
      validate_copy(types, array->array, location, path, stream, mr);
    }
  }
  auto const exec = execution{on_host, stream, on_host ? resource_of_host(mr) : mr};
  auto const root = array->array;  // copied first: the struct is moved from below
  auto share      = foreign_share{new foreign_array{array, on_host}, stream};
  if (!copy_all || to_upload) { return {root, std::move(share), exec, to_upload}; }

  auto const tree = copy_tree(*view_tree(types, root, location), 0, current, stream, mr);
  if (!on_host) { tree->record_ready(stream); }
  tree->is_freed_in_order = true;
  auto copy               = array_tree::to_arrow(tree, 0);
  auto const copied_root  = copy->array;
  return {copied_root, foreign_share{new foreign_array{copy.get(), on_host}, stream}, exec, false};
}

}  // namespace cudf_arrow_bridge::detail
