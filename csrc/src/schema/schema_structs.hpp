// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <cudf/types.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace cudf_arrow_bridge::detail {

/// Keys of the metadata that mark an extension type.
inline constexpr std::array extension_keys{"ARROW:extension:name", "ARROW:extension:metadata"};

/**
 * @brief Sets the type of a level of a schema and initializes its children, with nanoarrow.
 *
 * Children of lists and maps have the names and flags that the specification recommends; those of
 * structs have none.
 *
 * @throws std::bad_alloc if memory runs out
 *
 * @param schema Initialized level that has no type yet, or the entries of a map
 * @param format Format string of a type that exports can have
 * @param num_children Number of children
 */
void set_type(ArrowSchema& schema, std::string const& format, std::int64_t num_children);

/// The format string of libcudf's decimals.
///
/// @throws std::invalid_argument for more digits than the type holds
std::string decimal_format(cudf::data_type type, int precision);

/// @throws std::bad_alloc if memory runs out
void set_name(ArrowSchema& schema, std::string const& name);

/// Adds an initialized dictionary to a level.
///
/// @throws std::bad_alloc if memory runs out
void add_dictionary(ArrowSchema& schema);

/**
 * @brief Copies a schema with all its descendants.
 *
 * @throws std::bad_alloc if memory runs out; `target` is then released
 *
 * @param source Schema that can be traversed
 * @param target Released struct
 */
void copy_struct(ArrowSchema const& source, ArrowSchema& target);

}  // namespace cudf_arrow_bridge::detail
