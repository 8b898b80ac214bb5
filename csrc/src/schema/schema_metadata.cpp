// SPDX-License-Identifier: Apache-2.0
#include "schema/wishes.hpp"

#include <nanoarrow/nanoarrow.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

namespace cudf_arrow_bridge::detail {
namespace {

/// nanoarrow's builder fails only where memory does, or for metadata beyond 2 GiB.
void check(ArrowErrorCode code)
{
  if (code == ENOMEM) { throw std::bad_alloc{}; }
  if (code != NANOARROW_OK) {
    throw std::invalid_argument{"nanoarrow refused a schema's metadata"};
  }
}

std::string packed(key_value_metadata const& metadata)
{
  if (metadata.empty()) { return {}; }
  nanoarrow::UniqueBuffer buffer;
  check(ArrowMetadataBuilderInit(buffer.get(), nullptr));
  for (auto const& [key, value] : metadata) {
    check(ArrowMetadataBuilderAppend(buffer.get(),
                                     {key.data(), static_cast<int64_t>(key.size())},
                                     {value.data(), static_cast<int64_t>(value.size())}));
  }
  return {reinterpret_cast<char const*>(buffer->data),
          static_cast<std::size_t>(buffer->size_bytes)};
}

/// Metadata of a schema that somebody handed over.
key_value_metadata unpacked(char const* metadata)
{
  auto result = key_value_metadata{};
  auto reader = ArrowMetadataReader{};
  check(ArrowMetadataReaderInit(&reader, metadata));
  ArrowStringView key;
  ArrowStringView value;
  while (reader.remaining_keys > 0) {
    check(ArrowMetadataReaderRead(&reader, &key, &value));
    result.emplace_back(std::string{key.data, static_cast<std::size_t>(key.size_bytes)},
                        std::string{value.data, static_cast<std::size_t>(value.size_bytes)});
  }
  return result;
}

bool is_extension(std::pair<std::string, std::string> const& entry)
{ return entry.first == "ARROW:extension:name" || entry.first == "ARROW:extension:metadata"; }

void append_if(key_value_metadata& target, key_value_metadata const& source, bool extension)
{
  std::copy_if(source.begin(), source.end(), std::back_inserter(target), [=](auto const& entry) {
    return is_extension(entry) == extension;
  });
}

}  // namespace

bool has_extension(key_value_metadata const& metadata)
{ return std::any_of(metadata.begin(), metadata.end(), is_extension); }

std::string agreed_metadata(key_value_metadata const& own,
                            ArrowSchema const* wanted,
                            agreement const& agreed)
{
  auto const asked = wanted == nullptr ? key_value_metadata{} : unpacked(wanted->metadata);
  auto const keep  = agreed.kept && !agreed.changed;
  if (wanted == nullptr && keep) { return packed(own); }
  auto result = key_value_metadata{};
  append_if(result, asked.empty() ? own : asked, false);
  if (has_extension(asked) && agreed.met) {
    append_if(result, asked, true);
  } else if (keep) {
    append_if(result, own, true);
  }
  return packed(result);
}

}  // namespace cudf_arrow_bridge::detail
