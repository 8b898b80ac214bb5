// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf/column/column.hpp>

#include <functional>
#include <map>
#include <string>

/// A function to measure, including the release of its results.
using job = std::function<void()>;

/// A flat table of int64 columns in host memory, and the jobs that export and import it.
class bookkeeping {
 public:
  explicit bookkeeping(int num_columns);

  /// "export", "import" and the floor of each, by name
  [[nodiscard]] std::map<std::string, job> const& jobs() const { return jobs_; }

 private:
  std::map<std::string, job> jobs_;
};
