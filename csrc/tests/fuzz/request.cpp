// SPDX-License-Identifier: Apache-2.0
#include "fuzz/allocations.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/trials.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <cuda/stream>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

cuda::stream_ref no_stream() { return cuda::stream_ref{cudaStream_t{}}; }

using formats = std::vector<std::string_view>;

/// Return a format; nothing for released schemas.
std::string_view format_of(ArrowSchema const& schema)
{ return schema.release == nullptr || schema.format == nullptr ? "" : schema.format; }

/// A random decimal format of the same scale.
std::string draw_decimal(std::string_view format, random_source& random)
{
  static constexpr auto widths = std::to_array<char const*>({"", ",32", ",64", ",128"});
  auto const first             = format.find(',');
  auto const second            = std::min(format.find(',', first + 1), format.size());
  auto const scale             = std::string{format.substr(first, second - first)};
  return "d:" + std::to_string(1 + random.below(40)) + scale + random.pick(widths);
}

void change_format(tree& target, ArrowSchema& schema)
{
  /// A column imported as one format of a group can mostly be exported as the others.
  static auto const groups = std::vector<formats>{{"u", "U", "vu"},
                                                  {"z", "Z", "vz", "w:1", "w:2", "w:3", "+l", "+L"},
                                                  {"+l", "+L", "+m", "+vl", "+vL", "+w:2"},
                                                  {"tDs", "tts"},
                                                  {"tDm", "ttm"},
                                                  {"tDu", "ttu"},
                                                  {"tDn", "ttn"},
                                                  {"tdD", "tdm", "tss:", "tsm:", "tsu:", "tsn:"},
                                                  {"e", "f"}};
  auto const found         = format_of(schema);
  if (found.starts_with("d:") && found.find(',') != found.npos) {
    schema.format = target.text(draw_decimal(found, target.random));
    return;
  }
  auto possible = formats{};
  for (auto const& group : groups) {
    if (std::find(group.begin(), group.end(), found) == group.end()) { continue; }
    possible.insert(possible.end(), group.begin(), group.end());
  }
  if (possible.empty()) { return; }
  auto const wanted = target.random.pick(possible);
  schema.format     = target.text(wanted);
  schema.n_children = wanted.starts_with('+') ? schema.n_children : 0;
}

/// Requests a dictionary of the values.
void wrap(tree& target, ArrowSchema& schema)
{
  static constexpr auto indices =
    std::to_array<char const*>({"c", "C", "s", "S", "i", "I", "l", "L"});
  auto& values      = target.spare->schema;
  values            = schema;
  schema.format     = target.text(target.random.pick(indices));
  schema.n_children = 0;
  schema.dictionary = &values;
}

/// Changes a tree's schema to a possible or impossible request. The array must not be used after.
void mutate_request(tree& target)
{
  auto& random = target.random;
  for (auto changes = 1 + random.below(4); changes > 0; --changes) {
    if (random.percent(25)) {
      mutate_schema(target);
      continue;
    }
    auto& schema = target.any_node().schema;
    if (format_of(schema).empty()) { continue; }
    switch (random.below(6)) {
      case 0: wrap(target, schema); break;
      case 1:
        // The dictionary's values without the dictionary.
        if (schema.dictionary != nullptr && schema.dictionary != &schema) {
          schema = ArrowSchema{*schema.dictionary};
        }
        break;
      default: change_format(target, schema);
    }
  }
}

/// Return whether a tree has dates. Their values are not compared: the export may change the unit.
bool has_dates(tree const& target)
{
  return std::any_of(target.nodes.begin(), target.nodes.end(), [&](auto const& n) {
    return format_of(n->schema).starts_with("td");
  });
}

/// Return whether a request has wide fixed-size binary or lists. These are not tried: even null
/// rows would take gigabytes.
bool asks_for_wide_rows(tree const& target)
{
  constexpr auto max_size = std::int64_t{1} << 14;
  return std::any_of(target.nodes.begin(), target.nodes.end(), [&](auto const& n) {
    auto const format = format_of(n->schema);
    auto const colon  = format.find("w:");
    return colon < 2 && std::atoll(format.data() + colon + 2) > max_size;
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
                           test::rows const& expected)
{
  auto const is_table = std::is_same_v<View, cudf::table_view>;
  auto const options  = export_options{.schema = schema, .compact = target.random.percent(50)};
  auto const exported =
    to_arrow_device(view, nullptr, options, no_stream(), host_memory_resource());
  auto const c_schema       = schema.to_arrow();
  auto const c_array        = exported.to_arrow();
  auto const reading        = uncounted{};
  auto actual               = test::rows{};
  heap().news_until_failure = -1;
  check_peak(target, heap().bytes_peak);
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

/// @param expected Receives the values of the imported column
outcome export_as_asked(tree& target, trial const& setup, test::rows& expected)
{
  auto& root         = target.root();
  auto device        = hand_over(target, on_cpu());
  auto const options = import_options{.sanitize = setup.options.sanitize};
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
  auto expected = test::rows{};
  heap().start(-1);
  auto const result =
    judge(setup.news_until_failure >= 0, [&] { return export_as_asked(target, setup, expected); });
  check_nothing_is_left();
  check_releases(target, true);
  return result;
}

}  // namespace cudf_arrow_bridge::fuzz
