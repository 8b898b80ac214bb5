// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cudf/types.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace cudf_arrow_bridge::detail {

/// Keys of the metadata that mark an extension type.
inline constexpr std::array extension_keys{"ARROW:extension:name", "ARROW:extension:metadata"};

// All functions throw std::bad_alloc if memory runs out.

/**
 * @brief Sets the type of a level of a schema and initializes its children, with nanoarrow.
 *
 * Children of lists and maps have the names and flags that the specification recommends; those of
 * structs have none.
 *
 * @param schema Initialized level that has no type yet, or the entries of a map
 * @param format Format string of a type that exports can have
 * @param num_children Number of children of a struct
 */
void set_type(ArrowSchema& schema, std::string const& format, std::int64_t num_children);

/// The format string of libcudf's decimals.
std::string decimal_format(cudf::data_type type, int precision);

void set_name(ArrowSchema& schema, std::string const& name);

/// Sets the metadata of a level that has none; nothing if it is empty.
void set_metadata(ArrowSchema& schema, key_value_metadata const& metadata);

/// Adds an initialized dictionary to a level.
void add_dictionary(ArrowSchema& schema);

/// Copies a schema that can be traversed, with all its descendants, to a released struct.
void copy_struct(ArrowSchema const& source, ArrowSchema& target);

}  // namespace cudf_arrow_bridge::detail
