// SPDX-License-Identifier: Apache-2.0
#include "import/upload_columns.hpp"

#include "compute/buffers.hpp"
#include "cuda/transfer/staging.hpp"

#include <rmm/detail/error.hpp>
#include <rmm/device_buffer.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail {
namespace {

std::size_t num_buffers(cudf::column_view const& column)
{
  auto result = std::size_t{column.head<void>() != nullptr} + std::size_t{column.nullable()};
  for (auto child = column.child_begin(); child != column.child_end(); ++child) {
    result += num_buffers(*child);
  }
  return result;
}

class uploader {
 public:
  uploader(std::size_t capacity, cuda::stream_ref stream, rmm::device_async_resource_ref mr)
    : upload_{capacity, stream}, stream_{stream}, mr_{mr}
  {
  }

  std::unique_ptr<cudf::column> column(std::unique_ptr<cudf::column> source)
  {
    auto const type       = source->type();
    auto const size       = source->size();
    auto const null_count = source->null_count();
    auto contents         = source->release();
    auto const& data      = *sources_.emplace_back(std::move(contents.data));
    auto const& mask      = *sources_.emplace_back(std::move(contents.null_mask));
    auto const mask_size  = mask.is_empty() ? 0 : static_cast<std::size_t>(padded_mask_size(size));
    for (auto& child : contents.children) { child = column(std::move(child)); }
    return std::make_unique<cudf::column>(type,
                                          size,
                                          buffer(data, data.size()),
                                          buffer(mask, mask_size),
                                          null_count,
                                          std::move(contents.children));
  }

 private:
  rmm::device_buffer buffer(rmm::device_buffer const& source, std::size_t size)
  {
    auto result       = rmm::device_buffer{size, stream_, mr_};
    auto const copied = std::min(size, source.size());
    if (copied > 0) { upload_.copy(result.data(), source.data(), copied); }
    if (size > copied) {
      auto* rest = static_cast<std::byte*>(result.data()) + copied;
      RMM_CUDA_TRY(cudaMemsetAsync(rest, 0, size - copied, stream_.get()));
    }
    return result;
  }

  // Declared before `upload_` and so destroyed after it, because its destructor waits while CUDA
  // reads them.
  std::vector<std::unique_ptr<rmm::device_buffer>> sources_;
  host_upload upload_;
  cuda::stream_ref stream_;
  rmm::device_async_resource_ref mr_;
};

}  // namespace

void upload_columns(std::span<std::unique_ptr<cudf::column>*> columns,
                    cuda::stream_ref stream,
                    rmm::device_async_resource_ref mr)
{
  constexpr auto most_padding = host_upload::staged_size(1);
  auto capacity               = std::size_t{0};
  for (auto const* column : columns) {
    capacity += (*column)->alloc_size() + num_buffers((*column)->view()) * most_padding;
  }
  auto all = uploader{capacity, stream, mr};
  for (auto* column : columns) { *column = all.column(std::move(*column)); }
}

}  // namespace cudf_arrow_bridge::detail
