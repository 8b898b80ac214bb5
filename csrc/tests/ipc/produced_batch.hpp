// SPDX-License-Identifier: Apache-2.0
/// @file
/// Record batches whose parts nanoarrow lists, independently of the code under test.
#pragma once

#include "testing/imports.hpp"
#include "testing/producer.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {

/// Nodes and buffers of a message, and what each buffer is for.
struct batch_parts {
  struct role {
    ArrowBufferType type;
    std::size_t node;  ///< the node that has the buffer
    bool is_text;      ///< whether the buffer has the bytes of strings
  };

  std::int64_t length{0};
  std::vector<ipc_node> nodes;
  std::vector<std::string> paths;  ///< column of each node, as errors name it
  std::vector<ipc_buffer> buffers;
  std::vector<role> roles;  ///< of each buffer
  std::vector<std::int64_t> variadic_counts;

  [[nodiscard]] ipc_batch view() const { return {length, nodes, buffers, variadic_counts}; }
};

/// A record batch in host memory, made by nanoarrow.
class produced_batch {
 public:
  /// A batch with one column, `f0`.
  produced_batch(shape const& column, rows const& values)
    : type{struct_of({column})}, rows_{in_table(values)}
  {
    array_     = produce(type, rows_);
    memory_    = {memory_location{}, std::make_shared<int>(0)};
    auto error = ArrowError{};
    check(ArrowArrayViewInitFromSchema(view_.get(), schema_.get(), &error), &error);
    check(ArrowArrayViewSetArray(view_.get(), array_.get(), &error), &error);
    // Determine the sizes of the buffers that depend on offsets.
    check(ArrowArrayViewValidate(view_.get(), NANOARROW_VALIDATION_LEVEL_DEFAULT, &error), &error);
    parts.length = array_->length;
    list_children(parts, view_.get(), type, "");
  }

  produced_batch(produced_batch&&) = delete;

  [[nodiscard]] body_decoder decoder() const { return body_decoder{*schema_.get()}; }

  [[nodiscard]] ArrowSchema const& schema() const { return *schema_.get(); }

  [[nodiscard]] ipc_memory const& memory() const { return memory_; }

  /// @return The rows of the table, one struct each
  [[nodiscard]] rows const& table_rows() const { return rows_; }

  /// Decodes the values of all dictionaries.
  [[nodiscard]] std::vector<device_array> decode_dictionaries(body_checks checks) const
  {
    auto const reader = decoder();
    auto values       = std::vector<device_array>(dictionaries.size());
    // A dictionary within the values of another has a higher position, so decode in reverse.
    for (auto i = dictionaries.size(); i-- > 0;) {
      values[i] = reader.decode(dictionaries[i].view(), values, memory_, checks, stream(), i);
    }
    return values;
  }

  /// Decodes the batch, after its dictionaries.
  [[nodiscard]] device_array decode(body_checks checks = body_checks::all) const
  { return decoder().decode(parts.view(), decode_dictionaries(checks), memory_, checks, stream()); }

  shape type;                             ///< of the table
  batch_parts parts;                      ///< to be changed by tests
  std::vector<batch_parts> dictionaries;  ///< depth first

 private:
  static rows in_table(rows const& values)
  {
    auto result = rows{};
    for (auto const& v : values) { result.push_back({rows{v}}); }
    return result;
  }

  void list_children(batch_parts& into,
                     ArrowArrayView const* view,
                     shape const& of,
                     std::string const& path)
  {
    if (!of.run_ends.empty()) {
      list(into, view->children[0], ends_of_runs(of), path + ".run_ends");
      return list(into, view->children[1], values_of_runs(of), path + ".values");
    }
    for (std::int64_t i = 0; i < view->n_children; ++i) {
      auto const field  = (path.empty() ? "f" : path + ".f") + std::to_string(i);
      auto const& child = of.children[static_cast<std::size_t>(i)];
      list(into, view->children[i], child, of.id == cudf::type_id::STRUCT ? field : path + "[]");
    }
  }

  void list(batch_parts& into, ArrowArrayView const* view, shape const& of, std::string const& path)
  {
    auto const node = into.nodes.size();
    into.nodes.push_back({view->length, view->null_count});
    into.paths.push_back(path);
    auto const add = [&](void const* address, std::int64_t size, ArrowBufferType use, bool text) {
      into.buffers.push_back(address == nullptr || size == 0 ? ipc_buffer{nullptr, 0}
                                                             : ipc_buffer{address, size});
      into.roles.push_back({use, node, text});
    };
    auto const& uses = view->layout.buffer_type;
    for (auto i = 0; i < NANOARROW_MAX_FIXED_BUFFERS && uses[i] != NANOARROW_BUFFER_TYPE_NONE &&
                     uses[i] != NANOARROW_BUFFER_TYPE_VARIADIC_DATA;
         ++i) {
      auto const& buffer = view->buffer_views[i];
      // nanoarrow does not compute the sizes of the buffers of list views.
      auto const width = view->layout.element_size_bits[i] / 8;
      auto const size  = buffer.size_bytes < 0 ? view->length * width : buffer.size_bytes;
      add(buffer.data.data, size, uses[i], i == 2 && uses[1] == data_offset);
    }
    if (of.run_ends.empty() && of.format.starts_with('v')) {
      for (std::int32_t i = 0; i < view->n_variadic_buffers; ++i) {
        add(view->variadic_buffers[i],
            view->variadic_buffer_sizes[i],
            NANOARROW_BUFFER_TYPE_VARIADIC_DATA,
            false);
      }
      into.variadic_counts.push_back(view->n_variadic_buffers);
    }
    if (view->dictionary == nullptr) { return list_children(into, view, of, path); }
    auto const index = dictionaries.size();
    dictionaries.emplace_back();
    auto values   = batch_parts{};
    values.length = view->dictionary->length;
    list(values, view->dictionary, of.children[0], path);
    dictionaries[index] = std::move(values);
  }

  static constexpr auto data_offset = NANOARROW_BUFFER_TYPE_DATA_OFFSET;

  unique_schema schema_{make_schema(type)};
  rows rows_;
  unique_array array_;
  nanoarrow::UniqueArrayView view_;
  ipc_memory memory_;
};

/// Reads a decoded batch by importing it.
inline rows read_batch(device_array const& batch, produced_batch const& source)
{
  auto array = batch.to_arrow();
  auto const column =
    from_arrow_device_column(source.schema(), array.get(), {}, stream(), host_memory_resource());
  return read_rows(column.view(), source.type);
}

/// Return types with each layout in each kind of nesting, including nested dictionaries.
inline std::vector<shape> message_shapes()
{
  auto result     = importable_shapes();
  auto const text = dictionary_of(flat("string"), "c");
  result.push_back(dictionary_of(struct_of({text, flat("int8")})));
  result.push_back(list_of(dictionary_of(list_of(dictionary_of(struct_of({text, text}))))));
  result.push_back(struct_of({text, dictionary_of(struct_of({text})), flat("bool8"), text}));
  return result;
}

/// Return a unique name of a case: types with different Arrow formats may have the same name.
inline std::string name_of_case(::testing::TestParamInfo<shape> const& tested)
{ return std::to_string(tested.index) + "_" + tested.param.name; }

}  // namespace cudf_arrow_bridge::test
