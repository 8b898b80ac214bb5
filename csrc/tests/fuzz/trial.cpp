// SPDX-License-Identifier: Apache-2.0
#include "trial.hpp"

#include "allocations.hpp"
#include "values.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <cudf/utilities/error.hpp>

#include <cuda/stream>

#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>

namespace cudf_arrow_bridge::fuzz {
namespace {

/// Bytes that an import may take for each level, and for each byte that the array has.
constexpr std::int64_t bytes_per_level = 1024;
constexpr std::int64_t bytes_per_byte  = 64;

void release_root(ArrowArray* array)
{
  auto& owner = *static_cast<tree*>(array->private_data);
  ++owner.num_released;
  array->release = nullptr;
  owner.conceal();
}

bool is_utf8(std::string_view text)
{
  for (std::size_t i = 0; i < text.size();) {
    auto const first = static_cast<unsigned char>(text[i++]);
    auto const more  = first < 0x80   ? 0
                       : first < 0xc2 ? -1
                       : first < 0xe0 ? 1
                       : first < 0xf0 ? 2
                                      : 3;
    if (more < 0 || first > 0xf4) { return false; }
    for (auto j = 0; j < more; ++j) {
      if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
        return false;
      }
      ++i;
    }
  }
  return true;
}

std::string refusal;

void check_message(char const* message)
{
  heap().is_on = false;  // what is kept here is not the import's
  refusal      = message;
  heap().is_on = true;
  if (*message == '\0' || !is_utf8(message)) {
    throw finding{"an error message that is empty or not UTF-8"};
  }
}

/// Reads what the producer said, though it may have been released meanwhile.
bool read_expected(tree& target, bool as_table, std::string& values)
{
  if (!target.is_readable) { return false; }
  auto& root          = target.root();
  auto const released = target.num_released > 0;
  if (released) { target.reveal(); }
  auto const length = root.array.length;
  auto is_sound     = true;
  values.clear();
  if (as_table) {
    for (std::int64_t i = 0; i < root.array.n_children && is_sound; ++i) {
      is_sound = read_arrow(*root.schemas[i], *root.arrays[i], root.array.offset, length, values);
    }
  } else {
    is_sound = read_arrow(root.schema, root.array, 0, length, values);
  }
  if (released) { target.conceal(); }
  return is_sound;
}

/// Looks at columns that arrived.
template <typename Columns>
outcome compare(tree& target, trial const& how, Columns const& columns)
{
  // The same memory each time, for speed.
  static auto expected = std::string{};
  static auto found    = std::string{};
  if (!read_expected(target, how.as_table, expected)) { return outcome::imported; }
  found.clear();
  for (auto const& column : columns) { read_column(column.view(), found); }
  if (found != expected) { throw finding{"values that are not the producer's"}; }
  return outcome::equal;
}

void check_peak(tree const& target, std::int64_t peak)
{
  auto const bytes = static_cast<std::int64_t>(target.pool.num_bytes());
  if (peak >
      (std::int64_t{1} << 20) + bytes * bytes_per_byte + target.num_levels * bytes_per_level) {
    throw finding{std::to_string(peak) + " bytes allocated for an array of " +
                  std::to_string(bytes)};
  }
}

outcome import_and_compare(tree& target, ArrowDeviceArray& device, trial const& how)
{
  auto const stream = cuda::stream_ref{cudaStream_t{}};
  auto const pause  = [&] {
    heap().is_on              = false;
    heap().news_until_failure = -1;
    check_peak(target, heap().bytes_peak);
  };
  auto const examine = [&](auto const& columns) {
    auto const ended = compare(target, how, columns);
    heap().is_on     = true;
    return ended;
  };
  auto const& schema = target.root().schema;
  heap().start(how.news_until_failure);
  try {
    if (how.as_table) {
      auto const table =
        from_arrow_device_table(schema, &device, how.options, stream, host_memory_resource());
      pause();
      return examine(table.columns);
    }
    auto const column =
      from_arrow_device_column(schema, &device, how.options, stream, host_memory_resource());
    pause();
    return examine(std::span{&column, 1});
  } catch (cudf::data_type_error const& error) {
    check_message(error.what());
    return outcome::refused_type;
  } catch (std::overflow_error const& error) {
    check_message(error.what());
    return outcome::refused_size;
  } catch (std::invalid_argument const& error) {
    check_message(error.what());
    return outcome::refused_value;
  } catch (std::bad_alloc const&) {
    if (how.news_until_failure >= 0) { return outcome::out_of_memory; }
    throw finding{"out of memory"};
  } catch (std::exception const& error) {
    throw finding{std::string{"an exception that is not documented: "} + error.what()};
  }
}

}  // namespace

std::string const& last_refusal() { return refusal; }

outcome import_once(tree& target, ArrowDeviceArray device, trial const& how)
{
  auto& root       = target.root().array;
  auto const owned = root.release != nullptr;
  device.array     = root;
  if (owned) {
    device.array.release      = release_root;
    device.array.private_data = &target;
  }
  auto const given = device;
  auto const ended = import_and_compare(target, device, how);
  heap().stop();
  target.reveal();
  check_peak(target, heap().bytes_peak);
  if (heap().num_live != 0) {
    throw finding{std::to_string(heap().num_live) + " blocks of memory lost"};
  }
  if (target.num_children_released != 0) { throw finding{"a child released by itself"}; }
  auto const imported = ended == outcome::equal || ended == outcome::imported;
  auto const kept     = device.array.release != nullptr;
  auto const releases = owned && !kept ? 1 : 0;
  if (target.num_released != releases || (imported && kept)) {
    throw finding{"an array released " + std::to_string(target.num_released) + " times, and " +
                  (kept ? "left" : "not left") + " to the caller"};
  }
  if (kept && std::memcmp(&given, &device, sizeof(device)) != 0) {
    throw finding{"an array that changed though it is still the caller's"};
  }
  return ended;
}

}  // namespace cudf_arrow_bridge::fuzz
