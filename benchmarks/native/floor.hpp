// SPDX-License-Identifier: Apache-2.0
/// @file
/// The minimum cost of an export and import: loops that create nanoarrow's structs or libcudf's
/// columns for a flat table of int64 columns without nulls, without checks and ownership.
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/column/column.hpp>
#include <cudf/table/table_view.hpp>

#include <memory>
#include <vector>

/// Creates the `ArrowArray`s of a record batch with nanoarrow.
void export_floor(cudf::table_view const& table, ArrowDeviceArray& result);

/// Creates the columns of a record batch over its memory; the last one releases it.
std::vector<std::unique_ptr<cudf::column>> import_floor(ArrowDeviceArray& array);
