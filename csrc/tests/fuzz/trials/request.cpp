// SPDX-License-Identifier: Apache-2.0
#include "fuzz/trials/request.hpp"

#include "fuzz/allocations.hpp"
#include "fuzz/oracles/values.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cuda/stream>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

cuda::stream_ref no_stream() { return cuda::stream_ref{cudaStream_t{}}; }

/// Return whether a tree has dates. Their values are not compared: the export may change the unit.
bool has_dates(tree const& target)
{
  return std::any_of(target.nodes.begin(), target.nodes.end(), [&](auto const& n) {
    auto const* format = n->schema.format;
    return target.pool.find(format) != nullptr && std::string_view{format}.starts_with("td");
  });
}

/// Return whether a request has wide fixed-size binary or lists. These are not tried: even null
/// rows would take gigabytes.
bool asks_for_wide_rows(tree const& target)
{
  constexpr auto max_size = std::int64_t{1} << 14;
  return std::any_of(target.nodes.begin(), target.nodes.end(), [&](auto const& n) {
    auto const* format = n->schema.format;
    if (target.pool.find(format) == nullptr) { return false; }
    auto const* width = format + (*format == '+' ? 1 : 0);
    return std::string_view{width}.starts_with("w:") && std::atoll(width + 2) > max_size;
  });
}

/// Whether a schema has fixed-size binary of size 0, which nanoarrow rejects and Arrow C++ accepts.
bool has_empty_bytes(ArrowSchema const& schema)
{
  if (std::string_view{schema.format} == "w:0") { return true; }
  auto const children = std::span{schema.children, static_cast<std::size_t>(schema.n_children)};
  return std::any_of(
           children.begin(), children.end(), [](auto* child) { return has_empty_bytes(*child); }) ||
         (schema.dictionary != nullptr && has_empty_bytes(*schema.dictionary));
}

/// Exports a column or table and compares the values read by nanoarrow.
template <typename View>
outcome export_and_compare(tree& target,
                           View const& view,
                           shared_schema const& schema,
                           std::string const& expected)
{
  static auto actual  = std::string{};
  auto const is_table = std::is_same_v<View, cudf::table_view>;
  auto const options  = export_options{.schema = schema, .compact = target.random.percent(50)};
  auto const exported =
    to_arrow_device(view, nullptr, options, no_stream(), host_memory_resource());
  auto const c_schema       = schema.to_arrow();
  auto const c_array        = exported.to_arrow();
  auto const reading        = uncounted{};
  heap().news_until_failure = -1;
  check_peak(target, heap().bytes_peak);
  actual.clear();
  auto const& column_schema = is_table ? *c_schema->children[0] : *c_schema.get();
  auto const& column        = is_table ? *c_array->array.children[0] : c_array->array;
  if (has_empty_bytes(column_schema)) { return outcome::imported; }
  if (!read_arrow(column_schema, column, 0, column.length, actual)) {
    throw finding{"an export that nanoarrow does not read"};
  }
  if (has_dates(target)) { return outcome::imported; }
  if (actual != expected) { throw finding{"values that are not the column's"}; }
  return outcome::equal;
}

/// A schema of a table of one column.
ArrowSchema schema_of_table(ArrowSchema* const* field)
{
  auto table       = ArrowSchema{};
  table.format     = "+s";
  table.n_children = 1;
  table.children   = const_cast<ArrowSchema**>(field);
  table.release    = [](ArrowSchema* released) { released->release = nullptr; };
  return table;
}

outcome export_as_asked(tree& target, trial const& setup)
{
  static auto expected = std::string{};
  auto& root           = target.root();
  auto device          = hand_over(target, on_cpu());
  auto const options   = import_options{.sanitize = setup.options.sanitize};
  auto const imported =
    from_arrow_device_column(root.schema, &device, options, no_stream(), host_memory_resource());
  auto const origin = copy_schema(root.schema).to_arrow();
  auto metadata     = column_metadata{};
  if (target.random.percent(50)) { metadata.origin = origin.get(); }
  {
    auto const preparing = uncounted{};
    target.unpoison();
    mutate_request(target);
    if (!has_claimed_children(target) || asks_for_wide_rows(target)) {
      return outcome::not_provided;
    }
    if (target.num_released > 0) { target.poison(); }
    expected.clear();
    read_column(imported.view(), expected);
  }
  heap().news_until_failure = setup.news_until_failure;
  if (setup.as_table) {
    auto* const field  = &root.schema;
    auto const request = schema_of_table(&field);
    auto const table   = cudf::table_view{{imported.view()}};
    return export_and_compare(
      target, table, make_schema(table, {metadata}, {}, &request), expected);
  }
  auto const schema = make_schema(imported.view(), metadata, &root.schema);
  return export_and_compare(target, imported.view(), schema, expected);
}

}  // namespace

outcome request_once(tree& target, trial const& setup)
{
  heap().start(-1);
  auto const result =
    judge(setup.news_until_failure >= 0, [&] { return export_as_asked(target, setup); });
  check_nothing_is_left();
  check_releases(target, true);
  return result;
}

}  // namespace cudf_arrow_bridge::fuzz
