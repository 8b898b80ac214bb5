// SPDX-License-Identifier: Apache-2.0
/// @file
/// Batches of plain values, as libcudf columns and as record batches of Arrow C++.
#pragma once

#include "testing/columns.hpp"
#include "testing/sample.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <arrow/api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace cudf_arrow_bridge::test {

/// The rows of a batch with a column of numbers and one of strings, both with nulls.
struct plain_batch {
  rows numbers;
  rows texts;
};

inline plain_batch random_batch(engine& random)
{
  auto const size = std::size_t{random() % 50};
  auto const seed = static_cast<unsigned>(random());
  return {samples(flat("int64"), size, 20, seed), samples(flat("string"), size, 20, seed + 1)};
}

inline std::vector<plain_batch> random_batches(engine& random, std::size_t size)
{
  auto batches = std::vector<plain_batch>(size);
  for (auto& batch : batches) { batch = random_batch(random); }
  return batches;
}

/// The columns of a batch in host memory.
struct host_columns {
  explicit host_columns(plain_batch const& batch)
    : numbers{make_column(flat("int64"), batch.numbers)},
      texts{make_column(flat("string"), batch.texts)}
  {
  }

  [[nodiscard]] cudf::table_view view() const
  { return cudf::table_view{{numbers->view(), texts->view()}}; }

  std::shared_ptr<cudf::column> numbers;
  std::shared_ptr<cudf::column> texts;
};

inline shared_schema bridge_schema()
{
  return make_schema(
    host_columns{{}}.view(), {{.name = "number"}, {.name = "text"}}, key_value_metadata{});
}

inline std::shared_ptr<arrow::Schema> arrow_schema()
{
  return arrow::schema(
    {arrow::field("number", arrow::int64()), arrow::field("text", arrow::utf8())});
}

/// Throw the error of a status of Arrow C++.
inline void ok(arrow::Status const& status)
{
  if (!status.ok()) { throw std::runtime_error{status.ToString()}; }
}

/// Return a batch of Arrow C++. Sanitizers do not see its own memory pool, so use the system's.
inline std::shared_ptr<arrow::RecordBatch> arrow_batch(plain_batch const& batch)
{
  auto numbers = arrow::Int64Builder{arrow::system_memory_pool()};
  auto texts   = arrow::StringBuilder{arrow::system_memory_pool()};
  for (std::size_t i = 0; i < batch.numbers.size(); ++i) {
    auto const& n = batch.numbers[i];
    auto const& t = batch.texts[i];
    ok(n.is_null() ? numbers.AppendNull() : numbers.Append(static_cast<std::int64_t>(n.number())));
    ok(t.is_null() ? texts.AppendNull() : texts.Append(t.text()));
  }
  return arrow::RecordBatch::Make(arrow_schema(),
                                  static_cast<std::int64_t>(batch.numbers.size()),
                                  {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

}  // namespace cudf_arrow_bridge::test
