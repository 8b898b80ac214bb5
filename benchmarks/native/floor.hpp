// SPDX-License-Identifier: Apache-2.0
/// @file
/// The least that crossing takes: loops that make what a flat table of int64 columns without nulls
/// needs, nanoarrow's structs or libcudf's columns, check nothing and own nothing.
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/column/column.hpp>
#include <cudf/table/table_view.hpp>

#include <memory>
#include <vector>

/// Makes the `ArrowArray`s of a record batch by nanoarrow.
void export_floor(cudf::table_view const& table, ArrowDeviceArray& result);

/// Makes the columns of a record batch over its memory; the last to go release it.
std::vector<std::unique_ptr<cudf::column>> import_floor(ArrowDeviceArray& array);
