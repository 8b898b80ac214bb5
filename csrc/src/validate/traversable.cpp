// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "base/parsed_type.hpp"
#include "base/utf8.hpp"
#include "validate/validate.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace cudf_arrow_bridge::detail {
namespace {

/// The maximum depth of nesting: more than real schemas have, and safe for recursion.
constexpr int max_depth = 64;

void check_texts(ArrowSchema const& schema, column_path const& path)
{
  if (schema.format == nullptr) { fail_invalid(path, "the schema has no format string"); }
  if (!is_utf8(schema.format)) { fail_invalid(path, "the format string is not UTF-8"); }
  if (schema.name != nullptr && !is_utf8(schema.name)) {
    fail_invalid(path, "the name is not UTF-8");
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
      fail_invalid(path, "the metadata has a negative size: " + std::to_string(size));
    }
    metadata += sizeof(size);
    return size;
  };
  for (auto left = std::int64_t{read_size()} * 2; left > 0; --left) { metadata += read_size(); }
}

class traversal {
 public:
  void check(ArrowSchema const& schema, column_path const& path, int depth)
  {
    if (depth > max_depth) {
      fail_invalid(path, "the schema has more than " + std::to_string(max_depth) + " levels");
    }
    if (--levels_left_ < 0) { fail_too_many(path); }
    check_texts(schema, path);
    check_metadata(schema.metadata, path);
    check_children(schema, path, depth);
    if (schema.dictionary != nullptr) {
      if (schema.dictionary->release == nullptr) { fail_released(path); }
      check(*schema.dictionary, path, depth + 1);
    }
  }

 private:
  [[noreturn]] static void fail_released(column_path const& path)
  { fail_invalid(path, "the schema of a child is released"); }

  [[noreturn]] static void fail_too_many(column_path const& path)
  {
    fail_invalid(path,
                 "the schema has more than " + std::to_string(max_levels) + " columns in all");
  }

  void check_children(ArrowSchema const& schema, column_path const& path, int depth)
  {
    if (schema.n_children < 0) {
      fail_invalid(path, "n_children is negative: " + std::to_string(schema.n_children));
    }
    if (schema.n_children > 0 && schema.children == nullptr) {
      fail_invalid(path,
                   "the pointer to the " + std::to_string(schema.n_children) +
                     " children of the schema is null");
    }
    // Checked before reading the first pointer: `n_children` may exceed what was allocated.
    if (schema.n_children > levels_left_) { fail_too_many(path); }
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      auto const* child = schema.children[i];
      if (child == nullptr) {
        fail_invalid(path, "the schema of child " + std::to_string(i) + " is null");
      }
      // The name of a released schema is freed, so the error names the parent.
      if (child->release == nullptr) { fail_released(path); }
      check(*child, column_path{path, name_of_child(schema, i)}, depth + 1);
    }
  }

  std::int64_t levels_left_{max_levels};
};

}  // namespace

void check_traversable(ArrowSchema const& schema, column_path const& path)
{
  if (schema.release == nullptr) { fail_invalid(path, "the schema is released"); }
  traversal{}.check(schema, path, 0);
}

}  // namespace cudf_arrow_bridge::detail
