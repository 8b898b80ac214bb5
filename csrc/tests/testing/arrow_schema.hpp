// SPDX-License-Identifier: Apache-2.0
/// @file
/// Schemas built by nanoarrow from a test's own format strings.
#pragma once

#include "testing/value.hpp"

#include <cudf_arrow_bridge/owners.hpp>

#include <nanoarrow/nanoarrow.hpp>

#include <stdexcept>

namespace cudf_arrow_bridge::test {

inline void check(ArrowErrorCode code, ArrowError const* error = nullptr)
{
  if (code != NANOARROW_OK) {
    throw std::runtime_error{
      "nanoarrow: " + (error == nullptr ? std::to_string(code) : std::string{error->message})};
  }
}

inline void fill_schema(ArrowSchema* schema, shape const& type, std::string const& name)
{
  check(ArrowSchemaSetFormat(schema, type.run_ends.empty() ? type.format.c_str() : "+r"));
  check(ArrowSchemaSetName(schema, name.c_str()));
  if (!type.run_ends.empty()) {
    check(ArrowSchemaAllocateChildren(schema, 2));
    ArrowSchemaInit(schema->children[0]);
    ArrowSchemaInit(schema->children[1]);
    fill_schema(schema->children[0], ends_of_runs(type), "run_ends");
    fill_schema(schema->children[1], values_of_runs(type), "values");
    return;
  }
  if (type.id == cudf::type_id::DICTIONARY32) {
    check(ArrowSchemaAllocateDictionary(schema));
    ArrowSchemaInit(schema->dictionary);
    fill_schema(schema->dictionary, type.children[0], "");
    return;
  }
  if (type.is_binary()) { return; }
  check(ArrowSchemaAllocateChildren(schema, static_cast<std::int64_t>(type.children.size())));
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    ArrowSchemaInit(schema->children[i]);
    fill_schema(schema->children[i], type.children[i], "f" + std::to_string(i));
  }
  if (type.format == "+m") {
    schema->children[0]->flags              = 0;
    schema->children[0]->children[0]->flags = 0;
  }
}

inline unique_schema make_schema(shape const& type, std::string const& name = "")
{
  auto schema = unique_schema{};
  ArrowSchemaInit(schema.get());
  fill_schema(schema.get(), type, name);
  return schema;
}

}  // namespace cudf_arrow_bridge::test
