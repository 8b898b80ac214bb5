// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/types.hpp>

#include <span>
#include <string_view>

namespace cudf_arrow_bridge {

/// How the buffers of one type cross the border.
enum class crossing : std::int8_t {
  zero_copy,   ///< every buffer is shared
  converted,   ///< the layouts differ: the data or the offsets are rewritten, all else is shared
  unsupported  ///< refused
};

/**
 * @brief One row of the type table: what a libcudf type and an Arrow type are to each other.
 *
 * Rows with an unsupported export describe Arrow types that libcudf has no type for: it takes them
 * as the nearest one, if any.
 */
struct type_row {
  std::string_view arrow;   ///< Arrow's name of the type, e.g. "timestamp[us]"
  std::string_view format;  ///< format string of the C data interface, up to its parameters
  cudf::type_id column;     ///< libcudf's type; EMPTY where there is none
  crossing on_export;       ///< libcudf to Arrow
  crossing on_import;       ///< Arrow to libcudf
  std::string_view note;    ///< what a reader should know; may be empty
  /// What an import of device memory reads on the host, for which it waits once, whatever the
  /// number of columns; may be empty. Whatever the type, nulls that the producer has not counted
  /// are counted in the same wait.
  std::string_view waits_for{};
};

/**
 * @brief The type table: the one place that pairs libcudf's types with Arrow's.
 *
 * Export and import take the first row that fits and whose direction is supported.
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT std::span<type_row const> type_table() noexcept;

/**
 * @brief The row that says how columns of an Arrow type are imported.
 *
 * Looks at `schema` itself, not at its children.
 *
 * @throws std::invalid_argument if the format string is none that the specification knows
 *
 * @param schema A schema that has not been released
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT type_row const& import_row(ArrowSchema const& schema);

/**
 * @brief The row that says how columns of a libcudf type are exported.
 *
 * @throws cudf::data_type_error if libcudf has grown a type that the table does not know
 *
 * @param type Type of the column
 * @param large_offsets Whether a STRING column has 64-bit offsets
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT type_row const& export_row(cudf::type_id type,
                                                                  bool large_offsets = false);

}  // namespace cudf_arrow_bridge
