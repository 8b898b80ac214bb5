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

/// A host column's buffers, released from it to compute the total size before the first copy.
struct host_column {
  explicit host_column(std::unique_ptr<cudf::column> column)
    : type{column->type()}, size{column->size()}, null_count{column->null_count()}
  {
    auto contents = column->release();
    data          = std::move(*contents.data);
    mask          = std::move(*contents.null_mask);
    for (auto& child : contents.children) { children.emplace_back(std::move(child)); }
  }

  [[nodiscard]] std::size_t staged_size() const
  {
    auto result = host_upload::staged_size(data.size()) + host_upload::staged_size(mask.size());
    for (auto const& child : children) { result += child.staged_size(); }
    return result;
  }

  cudf::data_type type;
  cudf::size_type size;
  cudf::size_type null_count;
  rmm::device_buffer data;
  rmm::device_buffer mask;
  std::vector<host_column> children;
};

class uploader {
 public:
  uploader(std::size_t capacity, cuda::stream_ref stream, rmm::device_async_resource_ref mr)
    : upload_{capacity, stream}, stream_{stream}, mr_{mr}
  {
  }

  std::unique_ptr<cudf::column> column(host_column const& source)
  {
    auto children = std::vector<std::unique_ptr<cudf::column>>{};
    for (auto const& child : source.children) { children.push_back(column(child)); }
    auto const mask_size =
      source.mask.is_empty() ? 0 : static_cast<std::size_t>(padded_mask_size(source.size));
    return std::make_unique<cudf::column>(source.type,
                                          source.size,
                                          buffer(source.data, source.data.size()),
                                          buffer(source.mask, mask_size),
                                          source.null_count,
                                          std::move(children));
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

  host_upload upload_;
  cuda::stream_ref stream_;
  rmm::device_async_resource_ref mr_;
};

}  // namespace

void upload_columns(std::span<std::unique_ptr<cudf::column>*> columns,
                    cuda::stream_ref stream,
                    rmm::device_async_resource_ref mr)
{
  auto sources  = std::vector<host_column>{};
  auto capacity = std::size_t{0};
  for (auto* column : columns) {
    capacity += sources.emplace_back(std::move(*column)).staged_size();
  }
  // Declared after `sources` and so destroyed first, because its destructor waits while CUDA reads
  // them.
  auto all = uploader{capacity, stream, mr};
  for (std::size_t i = 0; i < columns.size(); ++i) { *columns[i] = all.column(sources[i]); }
}

}  // namespace cudf_arrow_bridge::detail
