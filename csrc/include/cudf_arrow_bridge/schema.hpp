// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>
#include <cudf_arrow_bridge/owners.hpp>
#include <cudf_arrow_bridge/visibility.hpp>

#include <cudf/column/column_view.hpp>
#include <cudf/table/table_view.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge {

namespace detail {
struct schema_access;
struct schema_tree;
}  // namespace detail

/// @addtogroup schema Schemas
/// @{

/// Key and value pairs of an Arrow schema's metadata, in order.
using key_value_metadata = std::vector<std::pair<std::string, std::string>>;

/**
 * @brief The properties of a column in an Arrow schema that a `cudf::column_view` does not have.
 *
 * `children` follow Arrow's children: the element of a list, the fields of a struct, the values of
 * a dictionary. For missing children defaults are used: the name of an element is "item", that of a
 * field its position.
 */
struct column_metadata {
  std::string name{};             ///< field name
  bool nullable{true};            ///< never derived from the data, because batches must agree
  std::string timezone{};         ///< of timestamps; empty: none
  int precision{0};               ///< of decimals; 0: the maximum of the width
  bool ordered{false};            ///< of dictionaries: whether the order of values matters
  key_value_metadata metadata{};  ///< the field's own metadata, extension types included
  std::vector<column_metadata> children{};  ///< of the fields or elements, in order

  /// Schema that the column was imported with, or null. It is not checked again; see `copy_schema`.
  /// The column is exported with the same Arrow types where its libcudf type still allows it; its
  /// values are not checked for that. Plain values become a dictionary again only with indices of
  /// 32 or 64 bits, which hold any number of values. Read only during the call.
  ArrowSchema const* origin{nullptr};
};

/**
 * @brief A schema that is built once and can be exported any number of times.
 *
 * Cheap to copy: copies share one immutable tree, from which C structs are created.
 */
class CUDF_ARROW_BRIDGE_EXPORT shared_schema {
 public:
  /// An empty handle.
  shared_schema() = default;

  /**
   * @brief Creates an `ArrowSchema` that owns its formats, names and metadata.
   *
   * Its release callback may be called from any thread and never throws. Children that a consumer
   * moved out stay usable until they are released themselves.
   *
   * @throws std::invalid_argument for an empty handle
   */
  [[nodiscard]] unique_schema to_arrow() const;

  /// @return Whether this handle has no schema
  [[nodiscard]] bool is_empty() const noexcept { return tree_ == nullptr; }

  /**
   * @brief Returns whether this is the schema of record batches: a struct that is not nullable.
   *
   * @throws std::invalid_argument for an empty handle
   */
  [[nodiscard]] bool is_table() const;

  /// @return Whether both handles share one tree; equal schemas of separate calls do not
  [[nodiscard]] bool is(shared_schema const& other) const noexcept { return tree_ == other.tree_; }

 private:
  /// @cond
  friend struct detail::schema_access;
  /// @endcond
  explicit shared_schema(std::shared_ptr<detail::schema_tree const> tree) noexcept
    : tree_{std::move(tree)}
  {
  }

  std::shared_ptr<detail::schema_tree const> tree_;
};

/**
 * @brief The Arrow schema of a column.
 *
 * Depends on types, metadata and the requested schema, not on values, nulls or the number of rows.
 * It also depends on two facts about the column: views are chosen only in host memory, and the
 * index type that a dictionary was imported with is kept only if it can represent all keys. Each
 * level of a request is applied if libcudf's type allows it: another offset width, views, binary,
 * maps, dates, times of day, dictionaries or their plain values, decimals of another width or
 * precision. Names, nullability and metadata are always taken from it. A type that cannot be
 * converted is exported as if there were no request.
 *
 * @throws std::invalid_argument if the metadata has more children than the column, or a precision
 *   that the decimal's width cannot hold; if the request contradicts the specification or
 *   exceeds the limits of imports; if the request has another number of fields,
 *   gives a field the name of another one, or has a struct, list or flat type for a column that is
 *   another of these
 * @throws cudf::data_type_error if the column or one below has a type that Arrow lacks
 *
 * @param column Column to describe; no buffer is read
 * @param metadata Names and parameters
 * @param requested Schema that the consumer prefers (`requested_schema` of the Arrow PyCapsule
 *   interface); null: none
 * @return The schema, for `to_arrow` and `to_arrow_device`
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_schema
make_schema(cudf::column_view const& column,
            column_metadata const& metadata,
            ArrowSchema const* requested = nullptr);

/**
 * @brief The Arrow schema of a table: a struct that is not nullable, which marks a record batch.
 *
 * @throws std::invalid_argument as for a column, or if `columns` has more entries than the table,
 *   or if the requested schema is not a struct
 * @throws cudf::data_type_error if a column or one below has a type that Arrow lacks
 *
 * @param table Table to describe; no buffer is read
 * @param columns Names and parameters of the columns, in order
 * @param metadata Metadata of the schema itself
 * @param requested Schema that the consumer prefers; null: none
 * @return The schema, for `to_arrow` and `to_arrow_device`
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_schema
make_schema(cudf::table_view const& table,
            std::vector<column_metadata> const& columns,
            key_value_metadata const& metadata,
            ArrowSchema const* requested = nullptr);

/**
 * @brief Copies a schema of any producer, so that it can be exported any number of times.
 *
 * @throws std::invalid_argument if the schema is malformed, for example released or without a
 *   format string
 *
 * @param schema Schema to copy; only read
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_schema copy_schema(ArrowSchema const& schema);

/**
 * @brief Checks that the schema of a batch matches the schema of its stream.
 *
 * Types, names, flags and extension types must be equal at every level. Other metadata, and the
 * name and flags of the top level, may differ. A column of the batch that is not nullable matches a
 * nullable one of the stream.
 *
 * @throws std::invalid_argument that names the first column that differs or is malformed
 *
 * @param expected Schema of the stream, checked before
 * @param found Schema of the batch
 * @param any_nullability Also let a nullable column of the batch match one of the stream that is
 *   not, for producers that derive nullability from the data of each batch
 */
CUDF_ARROW_BRIDGE_EXPORT void check_same_schema(ArrowSchema const& expected,
                                                ArrowSchema const& found,
                                                bool any_nullability = false);

/// @return The entries of metadata in the encoding of `ArrowSchema`; none for null
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT key_value_metadata parse_metadata(char const* encoded);

/**
 * @brief Returns whether two schemas are equal: types, names, flags and metadata at every level.
 *
 * @param one Checked schema, for example of an import
 * @param other Any schema; it is read only up to the first difference
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT bool equal_schemas(ArrowSchema const& one,
                                                          ArrowSchema const& other);

/// @}

}  // namespace cudf_arrow_bridge
