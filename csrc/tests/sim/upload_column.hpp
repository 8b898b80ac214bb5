// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/fill_later.hpp"

#include <cudf/column/column.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace sim {

/// Copies a host buffer to the simulated device.
inline rmm::device_buffer upload(rmm::device_buffer&& made, execution const& exec)
{
  auto const size   = made.size();
  auto const source = std::make_shared<rmm::device_buffer>(std::move(made));
  return fill_later(
    size, exec, [source](execution const& /*on_host*/) { return std::move(*source); });
}

/// Copies a host column to the simulated device.
inline std::unique_ptr<cudf::column> upload(std::unique_ptr<cudf::column> made,
                                            execution const& exec)
{
  auto const type       = made->type();
  auto const size       = made->size();
  auto const null_count = made->null_count();
  auto contents         = made->release();
  auto children         = std::vector<std::unique_ptr<cudf::column>>{};
  for (auto& child : contents.children) { children.push_back(upload(std::move(child), exec)); }
  return std::make_unique<cudf::column>(type,
                                        size,
                                        upload(std::move(*contents.data), exec),
                                        upload(std::move(*contents.null_mask), exec),
                                        null_count,
                                        std::move(children));
}

}  // namespace sim
