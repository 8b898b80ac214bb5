// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "cuda/ordering/thread_stamp.hpp"
#include "export/check_input.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

/// A slice of a column. Unlike `cudf::slice` it reads no memory: the null count of a part is -1.
cudf::column_view part_of(cudf::column_view const& column,
                          cudf::size_type begin,
                          cudf::size_type size)
{
  auto const nulls = column.null_count();
  auto const known = nulls == 0 || size == column.size();
  return {column.type(),
          size,
          column.head<void>(),
          column.null_mask(),
          known ? nulls : -1,
          column.offset() + begin,
          {column.child_begin(), column.child_end()}};
}

class slice_source : public batch_source {
 public:
  slice_source(export_input const& whole,
               std::shared_ptr<void const> owner,
               cudf::size_type max_rows,
               export_options const& options,
               cuda::stream_ref stream,
               rmm::device_async_resource_ref mr)
    : columns_{whole.columns.begin(), whole.columns.end()},
      num_rows_{whole.num_rows},
      is_table_{whole.is_table},
      owner_{std::move(owner)},
      max_rows_{max_rows},
      options_{options},
      stream_{stream},
      mr_{mr}
  {
    if (max_rows <= 0) {
      throw std::invalid_argument{"batches of " + std::to_string(max_rows) +
                                  " rows found, at least 1 expected"};
    }
  }

  stream_batch next() override
  {
    if (begin_ == num_rows_ && (num_rows_ > 0 || has_batch_)) { return {}; }
    auto const size  = std::min(max_rows_, num_rows_ - begin_);
    auto const parts = parts_of(begin_, size);
    auto const input = is_table_ ? export_input{parts, size} : export_input{parts.front()};
    auto array       = to_arrow_device(input, owner_, options_, made_on_.named_here(stream_), mr_);
    begin_ += size;
    has_batch_ = true;
    return {options_.schema, std::move(array)};
  }

 private:
  [[nodiscard]] std::vector<cudf::column_view> parts_of(cudf::size_type begin,
                                                        cudf::size_type size) const
  {
    auto result = std::vector<cudf::column_view>{};
    result.reserve(columns_.size());
    for (auto const& column : columns_) { result.push_back(part_of(column, begin, size)); }
    return result;
  }

  std::vector<cudf::column_view> columns_;
  cudf::size_type num_rows_;
  bool is_table_;
  std::shared_ptr<void const> owner_;
  cudf::size_type max_rows_;
  export_options options_;
  cuda::stream_ref stream_;
  detail::thread_stamp made_on_;
  rmm::device_async_resource_ref mr_;
  cudf::size_type begin_{0};
  bool has_batch_{false};
};

class single_source : public batch_source {
 public:
  explicit single_source(stream_batch batch) : batch_{std::move(batch)} {}

  stream_batch next() override { return std::exchange(batch_, {}); }

 private:
  stream_batch batch_;
};

class chain_source : public batch_source {
 public:
  explicit chain_source(std::function<std::unique_ptr<batch_source>()> next)
    : next_{std::move(next)}
  {
  }

  stream_batch next() override
  {
    for (;;) {
      if (current_ == nullptr) { current_ = next_(); }
      if (current_ == nullptr) { return {}; }
      auto batch = current_->next();
      if (!batch.is_end()) { return batch; }
      current_.reset();
    }
  }

 private:
  std::function<std::unique_ptr<batch_source>()> next_;
  std::unique_ptr<batch_source> current_;
};

}  // namespace

batch_source::~batch_source() = default;

std::unique_ptr<batch_source> slices(export_input const& input,
                                     std::shared_ptr<void const> owner,
                                     cudf::size_type max_rows,
                                     export_options const& options,
                                     cuda::stream_ref stream,
                                     rmm::device_async_resource_ref mr)
{
  detail::check_input(input);
  return std::make_unique<slice_source>(input, std::move(owner), max_rows, options, stream, mr);
}

std::unique_ptr<batch_source> single(stream_batch batch)
{ return std::make_unique<single_source>(std::move(batch)); }

std::unique_ptr<batch_source> chain(std::function<std::unique_ptr<batch_source>()> next)
{ return std::make_unique<chain_source>(std::move(next)); }

}  // namespace cudf_arrow_bridge
