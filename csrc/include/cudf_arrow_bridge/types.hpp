// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/types.hpp>

#include <span>
#include <string_view>

/// Exchange of libcudf columns and tables through Arrow's C interfaces.
namespace cudf_arrow_bridge {

/// @addtogroup types Types
/// @{

/// How the buffers of a type are exported or imported.
enum class type_support : std::int8_t {
  zero_copy,   ///< every buffer is shared
  converted,   ///< the layouts differ: data or offsets are rewritten, other buffers shared
  unsupported  ///< not supported
};

/**
 * @brief One row of the type table: an Arrow type and the libcudf type that it corresponds to.
 *
 * Rows whose export is unsupported describe Arrow types without a libcudf type; they are imported
 * as the nearest type, if any.
 */
struct type_row {
  std::string_view arrow;   ///< Arrow's name of the type, e.g. "timestamp[us]"
  std::string_view format;  ///< format string of the C data interface, up to its parameters
  cudf::type_id column;     ///< libcudf's type; EMPTY if there is none
  type_support on_export;   ///< libcudf to Arrow
  type_support on_import;   ///< Arrow to libcudf
  std::string_view note;    ///< remark for the documentation; may be empty
  /// The data that an import reads back from device memory; may be empty. All columns share one
  /// synchronization for it, which also covers counting unknown nulls of any type.
  std::string_view waits_for{};
};

/**
 * @brief The type table, the only place that maps libcudf types to Arrow types.
 *
 * Export and import use the first row that matches the type and supports the direction.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::span<type_row const> type_table() noexcept;

/**
 * @brief The row for the import of columns of an Arrow type.
 *
 * Reads only `schema` and not its children.
 *
 * @throws std::invalid_argument if the format string is not in the specification
 *
 * @param schema A schema that is not released
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT type_row const& import_row(ArrowSchema const& schema);

/**
 * @brief The row for the export of columns of a libcudf type.
 *
 * @throws cudf::data_type_error for a type of a newer libcudf that the table lacks
 *
 * @param type Type of the column
 * @param large_offsets Whether a STRING column has 64-bit offsets
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT type_row const& export_row(cudf::type_id type,
                                                                  bool large_offsets = false);

/// @}

}  // namespace cudf_arrow_bridge
