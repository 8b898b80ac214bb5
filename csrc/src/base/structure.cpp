// SPDX-License-Identifier: Apache-2.0
#include "base/structure.hpp"

#include "base/utf8.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {
namespace {

void check_texts(ArrowSchema const& schema, column_path const& path)
{
  if (schema.format == nullptr) { fail_invalid(path, "a schema without a format string found"); }
  if (!is_utf8(schema.format)) { fail_invalid(path, "a format string that is not UTF-8 found"); }
  if (schema.name != nullptr && !is_utf8(schema.name)) {
    fail_invalid(path, "a name that is not UTF-8 found");
  }
}

void check_metadata(char const* metadata, column_path const& path)
{
  if (metadata == nullptr) { return; }
  // Sizes are in native byte order and not aligned. The total size is not stored, so there is
  // nothing to check it against.
  auto const read_size = [&] {
    auto size = std::int32_t{0};
    std::memcpy(&size, metadata, sizeof(size));
    if (size < 0) {
      fail_invalid(path, "a size of " + std::to_string(size) + " within the metadata found");
    }
    metadata += sizeof(size);
    return size;
  };
  for (auto left = std::int64_t{read_size()} * 2; left > 0; --left) { metadata += read_size(); }
}

class structure_checker {
 public:
  void check(ArrowSchema const* schema, ArrowArray const* array, column_path const& path, int depth)
  {
    if (depth > max_depth) {
      fail_invalid(path, "more than " + std::to_string(max_depth) + " levels found");
    }
    if (--levels_left_ < 0) { fail_too_many(path); }
    check_texts(*schema, path);
    check_metadata(schema->metadata, path);
    if (array != nullptr) { check_counterpart(*schema, *array, path); }
    check_children(*schema, array, path, depth);
    if (schema->dictionary != nullptr) {
      if (schema->dictionary->release == nullptr) { fail_released(path); }
      check(schema->dictionary, array == nullptr ? nullptr : array->dictionary, path, depth + 1);
    }
  }

 private:
  [[noreturn]] static void fail_released(column_path const& path)
  { fail_invalid(path, "a schema below that was released already found"); }

  [[noreturn]] static void fail_too_many(column_path const& path)
  { fail_invalid(path, "more than " + std::to_string(max_levels) + " columns in all found"); }

  void check_children(ArrowSchema const& schema,
                      ArrowArray const* array,
                      column_path const& path,
                      int depth)
  {
    if (schema.n_children < 0) {
      fail_invalid(path,
                   "a schema with " + std::to_string(schema.n_children) +
                     " children found, at least 0 expected");
    }
    if (schema.n_children > 0 && schema.children == nullptr) {
      fail_invalid(path,
                   "a schema with " + std::to_string(schema.n_children) +
                     " children, and no pointers to them, found");
    }
    // Checked before reading the first pointer: `n_children` may exceed what was allocated.
    if (schema.n_children > levels_left_) { fail_too_many(path); }
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      auto const* child_schema = schema.children[i];
      if (child_schema == nullptr) {
        fail_invalid(path, "no schema of child " + std::to_string(i) + " found");
      }
      // The name of a released schema is freed, so the error names the parent.
      if (child_schema->release == nullptr) { fail_released(path); }
      auto const child_path = column_path{path, name_of_child(schema, i)};
      auto const* child     = array == nullptr ? nullptr : array->children[i];
      if (array != nullptr && child == nullptr) { fail_invalid(child_path, "a null child found"); }
      check(child_schema, child, child_path, depth + 1);
    }
  }

  std::int64_t levels_left_{max_levels};
};

}  // namespace

bool is_list_format(std::string_view format)
{
  return format.size() > 1 && format[0] == '+' && format[1] != 's' && format[1] != 'u' &&
         format[1] != 'r';
}

char const* name_of_child(ArrowSchema const& schema, std::int64_t child)
{ return is_list_format(schema.format) ? "[]" : schema.children[child]->name; }

void check_counterpart(ArrowSchema const& schema, ArrowArray const& array, column_path const& path)
{
  if (array.release == nullptr) { fail_invalid(path, "an array that was released already found"); }
  if (array.n_children != schema.n_children) {
    fail_invalid(path,
                 std::to_string(array.n_children) + " children found, " +
                   std::to_string(schema.n_children) + " expected");
  }
  if (array.n_children > 0 && array.children == nullptr) {
    fail_invalid(path, "a null array of children found");
  }
  if ((array.dictionary == nullptr) != (schema.dictionary == nullptr)) {
    fail_invalid(path,
                 array.dictionary == nullptr ? "no dictionary found, one expected"
                                             : "a dictionary found, none expected");
  }
}

void check_structure(ArrowSchema const& schema, ArrowArray const* array, column_path const& path)
{
  if (schema.release == nullptr) { fail_invalid(path, "a schema that was released already found"); }
  structure_checker{}.check(&schema, array, path, 0);
}

}  // namespace cudf_arrow_bridge::detail
