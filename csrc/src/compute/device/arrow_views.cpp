// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"

#include "compute/device/buffers.hpp"

// clang-format off
#include <variant>  // before libcudf's headers, some of which use it without including it
// clang-format on

#include <cudf_arrow_bridge/arrow_abi.hpp>

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

void keep_schema(ArrowSchema* /*self*/) {}
void keep_array(ArrowArray* /*self*/) {}

/// Casts to another integer type, in temporary memory.
std::unique_ptr<cudf::column> cast_to(type_id type,
                                      cudf::column_view const& values,
                                      execution const& exec)
{ return cudf::cast(values, cudf::data_type{type}, exec.stream, exec.scratch().mr); }

}  // namespace

string_buffers strings_from_views(view_rows const& rows,
                                  column_path const& /*path*/,
                                  execution const& exec)
{
  // In libcudf only `from_arrow_device_column` reads views. It truncates `ArrowArray.offset` to 32
  // bits, so pass a pointer to the first row instead. It does not read sizes of data buffers.
  constexpr auto width = std::int64_t{sizeof(ArrowBinaryView)};
  auto const views     = align_bytes(static_cast<std::byte const*>(rows.views) + rows.begin * width,
                                     rows.size * width,
                                     alignof(ArrowBinaryView),
                                     exec);
  auto buffers         = std::vector<void const*>{rows.mask.bits, views.data};
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
  auto const type = rows.width == 4 ? type_id::INT32 : type_id::INT64;
  auto counts = cast_to(type_id::INT32, flat_view(type, rows.size, rows.sizes, rows.mask), exec);
  if (rows.mask.null_count > 0) {
    auto const zero = cudf::numeric_scalar<size_type>{0, true, exec.stream, exec.scratch().mr};
    counts          = cudf::replace_nulls(counts->view(), zero, exec.stream, exec.scratch().mr);
  }
  auto const starts = cast_to(type_id::INT32, flat_view(type, rows.size, rows.offsets), exec);
  auto lists        = cudf::lists::sequences(starts->view(), counts->view(), exec.stream, exec.mr)
                        ->release()
                        .children;
  return {std::move(lists[0]), std::move(lists[1]), 0, rows.num_elements};
}

std::unique_ptr<cudf::column> runs_of_rows(run_rows const& rows,
                                           column_path const& /*path*/,
                                           execution const& exec)
{
  auto const type    = rows.width == 2   ? type_id::INT16
                       : rows.width == 4 ? type_id::INT32
                                         : type_id::INT64;
  auto const aligned = align_bytes(rows.ends, rows.num_runs * rows.width, rows.width, exec);
  auto const ends    = cast_to(type_id::INT64, flat_view(type, rows.num_runs, aligned.data), exec);
  auto const first =
    cudf::numeric_scalar<std::int64_t>{rows.begin, true, exec.stream, exec.scratch().mr};
  auto const positions = cudf::sequence(rows.size, first, exec.stream, exec.scratch().mr);
  // A row belongs to the first run whose end is greater than its position.
  return cudf::upper_bound(cudf::table_view{{ends->view()}},
                           cudf::table_view{{positions->view()}},
                           {cudf::order::ASCENDING},
                           {cudf::null_order::AFTER},
                           exec.stream,
                           exec.mr);
}

}  // namespace cudf_arrow_bridge::detail::device
