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

/// Key and value pairs of an Arrow schema's metadata, in order.
using key_value_metadata = std::vector<std::pair<std::string, std::string>>;

/**
 * @brief What Arrow's schema says of a column and a `cudf::column_view` does not.
 *
 * `children` follow Arrow's children: one for a list (its element), one a field for a struct, one
 * for a dictionary (its values). Where there are fewer, defaults are used: "item" for elements and
 * the position for fields.
 */
struct column_metadata {
  std::string name{};             ///< field name
  bool nullable{true};            ///< never derived from the data: batches of a stream must agree
  std::string timezone{};         ///< of timestamps; empty: none
  int precision{0};               ///< of decimals; 0: the most that the width holds
  bool ordered{false};            ///< of dictionaries: whether the order of values has a meaning
  key_value_metadata metadata{};  ///< the field's own metadata, extension types included
  std::vector<column_metadata> children{};

  /// What the column was imported from, to leave as again as far as its type still can; its values
  /// are taken on trust. Null: nobody knows. Borrowed for the length of a call.
  ArrowSchema const* origin{nullptr};
};

/**
 * @brief A schema that is built once and handed out any number of times.
 *
 * Cheap to copy: copies share one immutable tree, which each C struct is made from.
 */
class CUDF_ARROW_BRIDGE_EXPORT shared_schema {
 public:
  /// An empty handle.
  shared_schema() = default;

  /**
   * @brief Makes an `ArrowSchema` with formats, names and metadata of its own.
   *
   * Its release callback may be called from any thread, never throws, and leaves children that a
   * consumer moved out usable until they are released themselves.
   *
   * @throws std::invalid_argument for an empty handle
   */
  [[nodiscard]] unique_schema to_arrow() const;

  /// @return Whether there is no schema behind this handle
  [[nodiscard]] bool is_empty() const noexcept { return tree_ == nullptr; }

  /// @return Whether both are handles on one and the same schema; two that are alike are not
  [[nodiscard]] bool is(shared_schema const& other) const noexcept { return tree_ == other.tree_; }

 private:
  friend struct detail::schema_access;
  friend CUDF_ARROW_BRIDGE_EXPORT shared_schema make_schema(cudf::column_view const&,
                                                            column_metadata const&,
                                                            ArrowSchema const*);
  friend CUDF_ARROW_BRIDGE_EXPORT shared_schema make_schema(cudf::table_view const&,
                                                            std::vector<column_metadata> const&,
                                                            key_value_metadata const&,
                                                            ArrowSchema const*);
  friend CUDF_ARROW_BRIDGE_EXPORT shared_schema copy_schema(ArrowSchema const&);
  explicit shared_schema(std::shared_ptr<detail::schema_tree const> tree) noexcept
    : tree_{std::move(tree)}
  {
  }

  std::shared_ptr<detail::schema_tree const> tree_;
};

/**
 * @brief The Arrow schema of a column.
 *
 * Depends on types, metadata and what is requested alone, never on data, nulls or sizes. A request
 * is met level by level as far as there is a way: other offsets, views, binary, maps, dates and
 * times of day of the columns that hold them, dictionaries or their values, decimals of another
 * width or precision; names, nullability and metadata always. What cannot be met comes as it is.
 *
 * @throws std::invalid_argument if the metadata has more children than the column, or a precision
 *   that the decimal's width cannot hold; for a request that contradicts the specification, goes
 *   beyond the bounds of imports, has another number of fields, or gives a field the name of
 *   another one
 * @throws cudf::data_type_error if the column or one below has a type that Arrow lacks
 *
 * @param column Column to describe; no buffer is read
 * @param metadata Names and parameters
 * @param requested Schema that a consumer would rather have, by the Arrow PyCapsule interface's
 *   rules; null: none
 * @return The schema, to be handed out, and to be exported by
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_schema
make_schema(cudf::column_view const& column,
            column_metadata const& metadata,
            ArrowSchema const* requested = nullptr);

/**
 * @brief The Arrow schema of a table: a struct that is not nullable, which marks a record batch.
 *
 * @throws std::invalid_argument as for a column, or if `columns` has more entries than the table,
 * or if what is requested is no struct
 * @throws cudf::data_type_error as for a column
 *
 * @param table Table to describe; no buffer is read
 * @param columns Names and parameters of the columns, in order
 * @param metadata Metadata of the schema itself
 * @param requested As for a column
 * @return The schema, to be handed out, and to be exported by
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_schema
make_schema(cudf::table_view const& table,
            std::vector<column_metadata> const& columns,
            key_value_metadata const& metadata,
            ArrowSchema const* requested = nullptr);

/**
 * @brief A copy of anybody's schema, to be handed out any number of times.
 *
 * @throws std::invalid_argument if the schema cannot be walked: it was released, say, or lacks a
 *   format
 *
 * @param schema Schema to copy; only read
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT shared_schema copy_schema(ArrowSchema const& schema);

/**
 * @brief Checks that a batch with a schema of its own fits into a stream.
 *
 * Types, names, flags and extension types have to be the same at every level. Other metadata, and
 * the name and flags of the top level, may differ; a column that may hold no nulls fits where one
 * that may is expected.
 *
 * @throws std::invalid_argument that names the first column that differs, or cannot be walked
 *
 * @param expected Schema of the stream, known to be sound
 * @param found Schema of the batch
 * @param any_nullability Let it pass, too, that only the batch may hold nulls: for readers of
 *   schemas whose producers derive it from the data
 */
CUDF_ARROW_BRIDGE_EXPORT void check_same_schema(ArrowSchema const& expected,
                                                ArrowSchema const& found,
                                                bool any_nullability = false);

/**
 * @brief Compares all that two schemas say: types, names, flags and metadata at every level.
 *
 * @param one Schema that has been found to be sound, by an import say
 * @param other Another
 */
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT bool equal_schemas(ArrowSchema const& one,
                                                          ArrowSchema const& other);

/// One C struct of the schema that `make_schema` makes, which throws likewise.
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT unique_schema
to_arrow_schema(cudf::column_view const& column, column_metadata const& metadata);

/// @copydoc to_arrow_schema(cudf::column_view const&, column_metadata const&)
[[nodiscard]] CUDF_ARROW_BRIDGE_EXPORT unique_schema
to_arrow_schema(cudf::table_view const& table,
                std::vector<column_metadata> const& columns,
                key_value_metadata const& metadata);

}  // namespace cudf_arrow_bridge
