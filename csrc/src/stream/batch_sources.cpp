// SPDX-License-Identifier: Apache-2.0
#include "cuda/ordering/process.hpp"
#include "export/column_rows.hpp"
#include "export/export_checks.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

/**
 * @brief Returns the number of rows of each batch except the last.
 *
 * If `max_rows` allows, batches start at multiples of the rows that libcudf reads of a mask at
 * once, so that their arrays need no offset.
 */
cudf::size_type rows_of_batch(cudf::size_type num_rows, cudf::size_type max_rows)
{
  if (max_rows >= num_rows) { return max_rows; }
  auto const step = max_rows >= 512 ? 512 : max_rows >= 64 ? 64 : 1;
  return max_rows / step * step;
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
      batch_rows_{rows_of_batch(num_rows_, max_rows)},
      options_{options},
      stream_{stream},
      mr_{mr}
  {
    if (max_rows <= 0) {
      throw std::invalid_argument{"expected batches of at least 1 row, got " +
                                  std::to_string(max_rows)};
    }
  }

  stream_batch next() override
  {
    if (begin_ == num_rows_ && (num_rows_ > 0 || has_batch_)) { return {}; }
    auto const stream = creator_thread_.resolve(stream_);
    if (!has_batch_) { count_nulls(stream); }
    auto parts = std::vector<cudf::column_view>{};
    parts.reserve(columns_.size());
    for (auto const& column : columns_) { parts.push_back(part_of(column, begin_)); }
    auto const size  = size_from(begin_);
    auto const input = is_table_ ? export_input{parts, size} : export_input{parts.front()};
    auto array       = detail::export_counted(input, owner_, options_, nulls_, stream, mr_);
    begin_ += size;
    has_batch_ = true;
    return {options_.schema, std::move(array)};
  }

 private:
  /// Counts the nulls of all batches, to synchronize once and not for each batch.
  void count_nulls(cuda::stream_ref stream)
  {
    if (batch_rows_ >= num_rows_) { return; }
    for (auto const& column : columns_) {
      for (auto begin = cudf::size_type{0}; begin < num_rows_; begin += size_from(begin)) {
        auto const part = part_of(column, begin);
        nulls_.add(part, detail::own_rows(part), options_.compact);
      }
    }
    detail::count_nulls_of(columns_, nulls_, stream, mr_);
  }

  [[nodiscard]] cudf::size_type size_from(cudf::size_type begin) const
  { return std::min(batch_rows_, num_rows_ - begin); }

  /// The rows of a batch. Unlike `cudf::slice` this reads no memory: unknown null counts are -1.
  [[nodiscard]] cudf::column_view part_of(cudf::column_view const& column,
                                          cudf::size_type begin) const
  {
    auto const size  = size_from(begin);
    auto const first = column.offset() + begin;
    auto const nulls = column.null_count() == 0 || size == column.size()
                         ? column.null_count()
                         : nulls_.find({column.null_mask(), first, size});
    return {column.type(),
            size,
            column.head<void>(),
            column.null_mask(),
            static_cast<cudf::size_type>(nulls),
            first,
            {column.child_begin(), column.child_end()}};
  }

  std::vector<cudf::column_view> columns_;
  cudf::size_type num_rows_;
  bool is_table_;
  std::shared_ptr<void const> owner_;
  cudf::size_type batch_rows_;
  export_options options_;
  cuda::stream_ref stream_;
  detail::thread_id creator_thread_;
  rmm::device_async_resource_ref mr_;
  detail::null_counts nulls_;
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
