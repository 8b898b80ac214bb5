// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"

#include "compute/device/aligned_bytes.hpp"

// clang-format off
#include <variant>  // before libcudf's headers, some of which use it without including it
// clang-format on

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/column/column_factories.hpp>
#include <cudf/filling.hpp>
#include <cudf/interop.hpp>
#include <cudf/lists/filling.hpp>
#include <cudf/replace.hpp>
#include <cudf/scalar/scalar.hpp>
#include <cudf/search.hpp>
#include <cudf/table/table_view.hpp>
#include <cudf/unary.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <nanoarrow/nanoarrow.h>

#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail::device {
namespace {

using cudf::size_type;
using cudf::type_id;

/// Values of a fixed-width type, copied if they are misaligned for kernels.
class aligned_values {
 public:
  aligned_values(
    type_id type, void const* values, std::int64_t begin, size_type size, execution const& exec)
    : type_{type},
      size_{size},
      bytes_{static_cast<std::byte const*>(values) + begin * width(), size * width(), width(), exec}
  {
  }

  [[nodiscard]] cudf::column_view view(row_mask const& mask = {nullptr, 0}) const
  {
    auto const* bits = static_cast<cudf::bitmask_type const*>(mask.bits);
    return {type_, size_, bytes_.data(), bits, mask.null_count};
  }

 private:
  [[nodiscard]] std::int64_t width() const
  { return static_cast<std::int64_t>(cudf::size_of(type_)); }

  cudf::data_type type_;
  size_type size_;
  aligned_bytes bytes_;
};

void keep_schema(ArrowSchema* /*self*/) {}
void keep_array(ArrowArray* /*self*/) {}

/// Casts list offsets or sizes of 32 or 64 bits to INT32, in temporary memory.
std::unique_ptr<cudf::column> narrow(cudf::column_view const& values, execution const& exec)
{ return cudf::cast(values, cudf::data_type{type_id::INT32}, exec.stream, exec.scratch().mr); }

std::unique_ptr<cudf::scalar> scalar_of(type_id type, std::int64_t value, execution const& exec)
{
  auto const make = [&]<typename T>(T number) -> std::unique_ptr<cudf::scalar> {
    return std::make_unique<cudf::numeric_scalar<T>>(number, true, exec.stream, exec.scratch().mr);
  };
  switch (type) {
    case type_id::INT16: return make(static_cast<std::int16_t>(value));
    case type_id::INT32: return make(static_cast<std::int32_t>(value));
    default: return make(value);
  }
}

}  // namespace

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& /*path*/,
                                  execution const& exec)
{
  // In libcudf only `from_arrow_device_column` reads views. It truncates `ArrowArray.offset` to 32
  // bits, so pass a pointer to the first row instead. It does not read sizes of data buffers.
  constexpr auto width = std::int64_t{sizeof(ArrowBinaryView)};
  auto const views = aligned_bytes{static_cast<std::byte const*>(rows.views) + rows.begin * width,
                                   rows.size * width,
                                   alignof(ArrowBinaryView),
                                   exec};
  auto buffers     = std::vector<void const*>{rows.mask.bits, views.data()};
  buffers.insert(buffers.end(), rows.data.begin(), rows.data.end());
  buffers.push_back(rows.data_sizes);
  auto schema            = ArrowSchema{};
  schema.format          = "vu";
  schema.release         = keep_schema;
  auto array             = ArrowDeviceArray{};
  array.array.length     = rows.size;
  array.array.buffers    = buffers.data();
  array.array.n_buffers  = std::ssize(buffers);
  array.array.null_count = rows.mask.null_count;
  array.array.release    = keep_array;
  array.device_type      = ARROW_DEVICE_CUDA;
  auto device            = 0;
  RMM_CUDA_TRY(cudaGetDevice(&device));
  array.device_id = device;

  auto imported = cudf::from_arrow_device_column(&schema, &array, exec.stream, exec.mr);
  auto contents = imported.get_deleter().owned_mem_.front()->release();
  return {std::move(*contents.data), std::move(contents.children.front())};
}

gathered_lists lists_from_views(list_view_rows const& rows,
                                column_path const& path,
                                execution const& exec)
{
  if (rows.num_elements > max_rows) {
    fail_too_many(path, rows.num_elements, max_rows, "list elements");
  }
  auto const type    = rows.width == 4 ? type_id::INT32 : type_id::INT64;
  auto const offsets = aligned_values{type, rows.offsets, rows.begin, rows.size, exec};
  auto const sizes   = aligned_values{type, rows.sizes, rows.begin, rows.size, exec};
  auto counts        = narrow(sizes.view(rows.mask), exec);
  if (rows.mask.null_count > 0) {
    counts = cudf::replace_nulls(
      counts->view(), *scalar_of(type_id::INT32, 0, exec), exec.stream, exec.scratch().mr);
  }
  auto const starts = narrow(offsets.view(), exec);
  auto lists        = cudf::lists::sequences(starts->view(), counts->view(), exec.stream, exec.mr)
                        ->release()
                        .children;
  return {std::move(lists[0]), std::move(lists[1]), 0, rows.num_elements};
}

std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& /*path*/,
                                           execution const& exec)
{
  auto const type      = rows.width == 2   ? type_id::INT16
                         : rows.width == 4 ? type_id::INT32
                                           : type_id::INT64;
  auto const runs      = static_cast<size_type>(rows.num_runs);
  auto const ends      = aligned_values{type, rows.ends, 0, runs, exec};
  auto const first     = scalar_of(type, rows.begin, exec);
  auto const positions = cudf::sequence(rows.size, *first, exec.stream, exec.scratch().mr);
  // A row belongs to the first run whose end is greater than its position.
  return cudf::upper_bound(cudf::table_view{{ends.view()}},
                           cudf::table_view{{positions->view()}},
                           {cudf::order::ASCENDING},
                           {cudf::null_order::AFTER},
                           exec.stream,
                           exec.mr);
}

}  // namespace cudf_arrow_bridge::detail::device
