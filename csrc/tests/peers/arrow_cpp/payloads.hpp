// SPDX-License-Identifier: Apache-2.0
/// @file
/// The messages that Arrow C++ makes of a record batch.
#pragma once

#include "peers/arrow_cpp/batches.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <arrow/ipc/api.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/writer.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace cudf_arrow_bridge::test {

/// A table of a flatbuffer. Source: FlatBuffers, "Internals".
class flat_table {
 public:
  static flat_table root_of(arrow::Buffer const& buffer)
  {
    auto const* first = reinterpret_cast<std::byte const*>(buffer.data());
    return flat_table{first + read<std::uint32_t>(first)};
  }

  [[nodiscard]] flat_table table(int field) const { return flat_table{target(field)}; }

  [[nodiscard]] std::int64_t number(int field) const
  {
    auto const* at = address(field);
    return at == nullptr ? 0 : read<std::int64_t>(at);
  }

  /// Return the structs of a vector.
  template <typename T>
  [[nodiscard]] std::vector<T> structs(int field) const
  {
    if (address(field) == nullptr) { return {}; }
    auto const* first = target(field);
    auto result       = std::vector<T>(read<std::uint32_t>(first));
    if (!result.empty()) { std::memcpy(result.data(), first + 4, result.size() * sizeof(T)); }
    return result;
  }

 private:
  explicit flat_table(std::byte const* first) : first_{first} {}

  template <typename T>
  static T read(std::byte const* at)
  {
    auto result = T{};
    std::memcpy(&result, at, sizeof(T));
    return result;
  }

  [[nodiscard]] std::byte const* address(int field) const
  {
    auto const* vtable = first_ - read<std::int32_t>(first_);
    auto const place   = 4 + 2 * field;
    if (place >= read<std::uint16_t>(vtable)) { return nullptr; }
    auto const offset = read<std::uint16_t>(vtable + place);
    return offset == 0 ? nullptr : first_ + offset;
  }

  [[nodiscard]] std::byte const* target(int field) const
  { return address(field) + read<std::uint32_t>(address(field)); }

  std::byte const* first_;
};

/// A message's nodes and buffers.
struct payload {
  explicit payload(arrow::ipc::IpcPayload made)
    : variadic_counts{made.variadic_buffer_counts}, kept{std::move(made)}
  {
    // The fields of Message and DictionaryBatch and RecordBatch, as numbered in Message.fbs.
    auto const header = flat_table::root_of(*kept.metadata).table(2);
    auto const batch =
      kept.type == arrow::ipc::MessageType::DICTIONARY_BATCH ? header.table(1) : header;
    length = batch.number(0);
    nodes  = batch.structs<ipc_node>(1);
    for (auto const& buffer : kept.body_buffers) {
      buffers.push_back(buffer == nullptr || buffer->size() == 0
                          ? ipc_buffer{nullptr, 0}
                          : ipc_buffer{buffer->data(), buffer->size()});
    }
  }

  [[nodiscard]] ipc_batch view() const { return {length, nodes, buffers, variadic_counts}; }

  std::int64_t length{0};
  std::vector<ipc_node> nodes;
  std::vector<ipc_buffer> buffers;
  std::vector<std::int64_t> variadic_counts;
  arrow::ipc::IpcPayload kept;
};

/// The messages of a batch.
struct payloads {
  explicit payloads(arrow::RecordBatch const& source)
    : dictionaries{dictionaries_of(source)}, batch{batch_of(source)}
  {
  }

  /// Decode the messages in the order in which they are sent.
  [[nodiscard]] device_array decode(body_decoder const& decoder, body_checks checks) const
  {
    auto const memory = ipc_memory{memory_location{}, nullptr};
    auto values       = std::vector<device_array>(dictionaries.size());
    for (auto i = dictionaries.size(); i-- > 0;) {
      values[i] =
        decoder.dictionary(i, dictionaries[i].second.view(), values, memory, checks, stream());
    }
    return decoder.batch(batch.view(), values, memory, checks, stream());
  }

  /// The type of the values and the message of each dictionary, in Arrow C++'s order: depth first.
  std::vector<std::pair<std::shared_ptr<arrow::DataType>, payload>> dictionaries;
  payload batch;

 private:
  static arrow::ipc::IpcWriteOptions options()
  {
    auto result        = arrow::ipc::IpcWriteOptions::Defaults();
    result.memory_pool = arrow::system_memory_pool();
    return result;
  }

  static payload batch_of(arrow::RecordBatch const& source)
  {
    auto made = arrow::ipc::IpcPayload{};
    ok(arrow::ipc::GetRecordBatchPayload(source, options(), &made));
    return payload{std::move(made)};
  }

  static std::vector<std::pair<std::shared_ptr<arrow::DataType>, payload>> dictionaries_of(
    arrow::RecordBatch const& source)
  {
    auto const mapper = arrow::ipc::DictionaryFieldMapper{*source.schema()};
    auto sorted       = std::map<std::int64_t, std::shared_ptr<arrow::Array>>{};
    for (auto& [id, values] : arrow::ipc::CollectDictionaries(source, mapper).ValueOrDie()) {
      sorted[id] = values;
    }
    auto result = std::vector<std::pair<std::shared_ptr<arrow::DataType>, payload>>{};
    for (auto const& [id, values] : sorted) {
      auto made = arrow::ipc::IpcPayload{};
      ok(arrow::ipc::GetDictionaryPayload(id, false, values, options(), &made));
      result.emplace_back(values->type(), payload{std::move(made)});
    }
    return result;
  }
};

}  // namespace cudf_arrow_bridge::test
