// SPDX-License-Identifier: Apache-2.0
#include "schema/schema_structs.hpp"

#include "base/nanoarrow_errors.hpp"
#include "base/struct_memory.hpp"

#include <nanoarrow/nanoarrow.hpp>

namespace cudf_arrow_bridge::detail {
namespace {

void check(ArrowErrorCode code) { check_nanoarrow(code, "a schema"); }

ArrowType decimal_type(cudf::type_id type)
{
  switch (type) {
    case cudf::type_id::DECIMAL32: return NANOARROW_TYPE_DECIMAL32;
    case cudf::type_id::DECIMAL64: return NANOARROW_TYPE_DECIMAL64;
    default: return NANOARROW_TYPE_DECIMAL128;
  }
}

}  // namespace

void set_type(ArrowSchema& schema, std::string const& format, std::int64_t num_children)
{
  if (format == "+l") {
    check(ArrowSchemaSetType(&schema, NANOARROW_TYPE_LIST));
  } else if (format == "+L") {
    check(ArrowSchemaSetType(&schema, NANOARROW_TYPE_LARGE_LIST));
  } else if (format == "+m") {
    check(ArrowSchemaSetType(&schema, NANOARROW_TYPE_MAP));
  } else if (format.starts_with("+w:")) {
    // A list's child with another format: nanoarrow's own lists of a fixed size are never empty.
    check(ArrowSchemaSetType(&schema, NANOARROW_TYPE_LIST));
    check(ArrowSchemaSetFormat(&schema, format.c_str()));
  } else if (format != "+s") {
    // The type table has the format strings of flat types, a request those with parameters of its
    // own. Nor would nanoarrow take time zones of more than some 120 bytes.
    check(ArrowSchemaSetFormat(&schema, format.c_str()));
  } else if (schema.children == nullptr) {  // a map has made those of its entries
    check(ArrowSchemaSetTypeStruct(&schema, num_children));
  }
}

std::string decimal_format(cudf::data_type type, int precision)
{
  nanoarrow::UniqueSchema schema;
  ArrowSchemaInit(schema.get());
  check(ArrowSchemaSetTypeDecimal(schema.get(), decimal_type(type.id()), precision, -type.scale()));
  return schema->format;
}

void set_name(ArrowSchema& schema, std::string const& name)
{ check(ArrowSchemaSetName(&schema, name.c_str())); }

void add_dictionary(ArrowSchema& schema)
{
  check(ArrowSchemaAllocateDictionary(&schema));
  ArrowSchemaInit(schema.dictionary);
}

void copy_struct(ArrowSchema const& source, ArrowSchema& target)
{
  // Of a field: its struct, the pointer to it, a format and a name.
  constexpr auto bytes_of_field = std::size_t{180};
  auto const num_fields         = static_cast<std::size_t>(source.n_children) + 1;
  auto const together           = joint_struct_memory{num_fields * bytes_of_field};
  check(ArrowSchemaDeepCopy(&source, &target));
}

}  // namespace cudf_arrow_bridge::detail
