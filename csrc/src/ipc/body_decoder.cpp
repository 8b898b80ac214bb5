// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_tree.hpp"
#include "base/errors.hpp"
#include "base/nvtx.hpp"
#include "base/parsed_type.hpp"
#include "cuda/location/location.hpp"
#include "cuda/ordering/captures.hpp"
#include "ipc/batch_reader.hpp"
#include "schema/schema_tree.hpp"
#include "validate/validate.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cudf_arrow_bridge {
namespace {

using detail::parsed_tree;

/// Lists the dictionaries of one level and its descendants, depth first.
void find_dictionaries(parsed_tree const& types,
                       column_path const& path,
                       std::vector<detail::dictionary_types>& found)
{
  if (types.schema->dictionary != nullptr) {
    auto const index   = found.size();
    auto const& values = types.children.front();
    found.push_back({&values, 0, path.to_string()});
    find_dictionaries(values, path, found);
    found[index].end = found.size();
    return;
  }
  for (std::size_t i = 0; i < types.children.size(); ++i) {
    auto const* name = detail::name_of_child(*types.schema, static_cast<std::int64_t>(i));
    find_dictionaries(types.children[i], column_path{path, name}, found);
  }
}

}  // namespace

struct body_decoder::state {
  explicit state(ArrowSchema const& schema) : handle{copy_schema(schema)}
  { find_dictionaries(types, top, dictionaries); }

  shared_schema handle;
  ArrowSchema const& held{detail::schema_access::struct_of(handle)};
  column_path top;
  parsed_tree types{detail::parse_types(held, top)};
  std::vector<detail::dictionary_types> dictionaries;
};

body_decoder::body_decoder(ArrowSchema const& schema)
  : state_{std::make_shared<state const>(schema)}
{
}

shared_schema const& body_decoder::schema() const noexcept { return state_->handle; }

std::size_t body_decoder::num_dictionaries() const noexcept { return state_->dictionaries.size(); }

shared_schema body_decoder::dictionary_schema(std::size_t index) const
{ return copy_schema(*state_->dictionaries.at(index).values->schema); }

std::size_t body_decoder::end_of_dictionary(std::size_t index) const
{ return state_->dictionaries.at(index).end; }

device_array body_decoder::decode(ipc_batch const& batch,
                                  std::span<device_array const> dictionaries,
                                  ipc_memory const& memory,
                                  body_checks checks,
                                  cuda::stream_ref stream,
                                  std::optional<std::size_t> dictionary) const
{
  detail::nvtx_range const range{__func__};
  auto const guard = detail::guard_device(memory.location);
  if (memory.location.device_type != ARROW_DEVICE_CPU) { detail::require_no_capture(stream); }
  auto const* values = dictionary ? &state_->dictionaries.at(*dictionary) : nullptr;
  auto const& types  = values == nullptr ? state_->types : *values->values;
  auto const path =
    values == nullptr ? state_->top : column_path{state_->top, values->path.c_str()};
  auto const next = dictionary ? *dictionary + 1 : 0;
  auto const tree = detail::read_batch(batch,
                                       {state_->dictionaries, dictionaries, next},
                                       memory,
                                       types,
                                       values == nullptr,
                                       checks == body_checks::all,
                                       path,
                                       stream);
  detail::check_contents(tree, types, checks, path, stream);
  if (tree->location.device_type != ARROW_DEVICE_CPU) { tree->record_ready(stream); }
  return detail::array_tree::handle(tree);
}

}  // namespace cudf_arrow_bridge
