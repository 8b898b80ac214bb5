// SPDX-License-Identifier: Apache-2.0
#include "fuzz/allocations.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/trials.hpp"
#include "testing/invariants.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/utilities/error.hpp>

#include <cuda/stream>

#include <algorithm>
#include <cstring>
#include <span>

namespace cudf_arrow_bridge::fuzz {
namespace {

void release_root(ArrowArray* array)
{
  auto& owner = *static_cast<tree*>(array->private_data);
  ++owner.num_released;
  array->release = nullptr;
  owner.poison();
}

/// Reads the producer's values with the oracle, even if the array has been released.
bool read_expected(tree& target, bool as_table, test::rows& values)
{
  if (!target.is_readable) { return false; }
  auto& root          = target.root();
  auto const released = target.num_released > 0;
  if (released) { target.unpoison(); }
  auto const length = root.array.length;
  auto is_sound     = true;
  if (as_table) {
    for (std::int64_t i = 0; i < root.array.n_children && is_sound; ++i) {
      is_sound = read_arrow(*root.schemas[i], *root.arrays[i], root.array.offset, length, values);
    }
  } else {
    is_sound = read_arrow(root.schema, root.array, 0, length, values);
  }
  if (released) { target.poison(); }
  return is_sound;
}

/// Whether a violation may concern rows whose contents are unspecified: list elements outside a
/// slice, list elements below null lists that were not made empty, or fields of null structs that
/// were not made null.
bool is_unspecified(cudf::column_view const& column,
                    test::violation const& found,
                    import_options const& options)
{
  using enum test::invariant;
  auto const is_below_list = found.path.find("[]") != std::string::npos;
  // Full validation checks the indices of all rows. `read_arrow` has read those of valid rows, but
  // no row may refer to a list element or a key.
  if (found.broken == indices_are_within_keys && options.validate != validation::full) {
    return is_below_list || found.path.find(".keys") != std::string::npos || !options.sanitize;
  }
  if (!is_below_list) { return false; }
  if (column.offset() == 0 && options.sanitize) { return false; }
  switch (found.broken) {
    case null_count_is_right:
    case offsets_ascend:
    case offsets_stay_within:
    case null_rows_are_empty:
    case null_structs_have_null_fields:
    case indices_are_within_keys: return true;
    default: return false;
  }
}

/// Compares imported columns with the producer's values.
template <typename Columns>
outcome compare(tree& target, trial const& setup, Columns const& columns)
{
  auto expected          = test::rows{};
  auto found             = test::rows{};
  auto const is_readable = read_expected(target, setup.as_table, expected);
  // The contents of other arrays may be invalid.
  if (setup.valid == nullptr && !is_readable) { return outcome::imported; }
  for (auto const& column : columns) { read_column(column.view(), found); }
  if (setup.valid != nullptr && found != setup.valid->values) {
    throw finding{"values that are not those of a valid " + setup.valid->type.name};
  }
  if (!is_readable) { return outcome::imported; }
  if (found != expected) { throw finding{"values that are not the producer's"}; }
  for (auto const& column : columns) { check_invariants(column.view(), setup); }
  return outcome::equal;
}

}  // namespace

void check_invariants(cudf::column_view const& column, trial const& setup)
{
  using enum test::invariant;
  auto const is_valid   = setup.valid != nullptr;
  auto const violations = test::find_violations(column, {.sanitized = setup.options.sanitize});
  for (auto const& found : violations) {
    // A stated null count is trusted without full validation. Below the top, even full validation
    // checks it only for arrays that are referred to as a whole.
    auto const is_checked =
      is_valid || (setup.options.validate == validation::full && found.path == "column");
    if (found.broken == null_count_is_right && !is_checked) { continue; }
    // The import compares the stated null count with the number of nulls of the field and its
    // struct together, and keeps the mask of the field if they are equal.
    auto const has_wrong_count = [&](auto const& other) {
      return other.broken == null_count_is_right && other.path == found.path;
    };
    if (found.broken == null_structs_have_null_fields && !is_checked &&
        std::ranges::any_of(violations, has_wrong_count)) {
      continue;
    }
    if (!is_valid && is_unspecified(column, found, setup.options)) { continue; }
    throw finding{describe(found)};
  }
}

outcome import_and_compare(tree& target,
                           ArrowSchema const& schema,
                           ArrowDeviceArray& device,
                           trial const& setup)
{
  auto const stream  = cuda::stream_ref{cudaStream_t{}};
  auto const examine = [&](auto const& columns) {
    heap().news_until_failure = -1;
    check_peak(target, heap().bytes_peak);
    auto const examined = uncounted{};
    return compare(target, setup, columns);
  };
  auto const mr = rmm::device_async_resource_ref{host_memory_resource()};
  // Missing child pointers of a schema cannot be detected.
  if (!has_claimed_children(target)) { return outcome::not_provided; }
  if (setup.prepared) {
    auto const importer = array_importer{schema};
    auto const table    = importer.import_array(&device, setup.as_table, setup.options, stream, mr);
    return examine(table.columns);
  }
  if (setup.as_table) {
    auto const table = from_arrow_device_table(schema, &device, setup.options, stream, mr);
    return examine(table.columns);
  }
  auto const column = from_arrow_device_column(schema, &device, setup.options, stream, mr);
  return examine(std::span{&column, 1});
}

ArrowDeviceArray on_cpu()
{
  auto device        = ArrowDeviceArray{};
  device.device_type = ARROW_DEVICE_CPU;
  device.device_id   = -1;
  return device;
}

ArrowDeviceArray hand_over(tree& target, ArrowDeviceArray device)
{
  device.array = target.root().array;
  if (device.array.release != nullptr) {
    device.array.release      = release_root;
    device.array.private_data = &target;
  }
  return device;
}

void check_releases(tree& target, bool expected)
{
  target.unpoison();
  if (target.num_children_released != 0) { throw finding{"a child released by itself"}; }
  if (target.num_released != (expected ? 1 : 0)) {
    throw finding{"an array released " + std::to_string(target.num_released) + " times"};
  }
}

outcome import_once(tree& target, ArrowDeviceArray device, trial const& setup)
{
  auto const owned = target.root().array.release != nullptr;
  device           = hand_over(target, device);
  auto const given = device;
  heap().start(setup.news_until_failure);
  auto const result = judge(setup.news_until_failure >= 0, [&] {
    return import_and_compare(target, target.root().schema, device, setup);
  });
  check_nothing_is_left();
  auto const kept = device.array.release != nullptr;
  check_releases(target, owned && !kept);
  check_peak(target, heap().bytes_peak);
  auto const imported = result == outcome::equal || result == outcome::imported;
  if (imported && kept) { throw finding{"an array imported, and left to the caller"}; }
  if (kept && std::memcmp(&given, &device, sizeof(device)) != 0) {
    throw finding{"an array that changed though it is still the caller's"};
  }
  return result;
}

}  // namespace cudf_arrow_bridge::fuzz
