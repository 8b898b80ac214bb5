// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/mutate.hpp"

#include "fuzz/structs/strange.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace cudf_arrow_bridge::fuzz {
namespace {

using namespace std::string_view_literals;

/// Sum that wraps around: mutated numbers may overflow.
std::int64_t sum(std::int64_t a, std::int64_t b)
{ return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)); }

class mutator {
 public:
  mutator(tree& target, ArrowDeviceArray& device)
    : target_{target}, random_{target.random}, device_{device}, node_{target.any_node()}
  {
  }

  void run()
  {
    using step                  = void (mutator::*)();
    static constexpr auto steps = std::to_array<step>({&mutator::change_length,
                                                       &mutator::change_length,
                                                       &mutator::change_offset,
                                                       &mutator::change_offset,
                                                       &mutator::slice,
                                                       &mutator::change_null_count,
                                                       &mutator::change_num_buffers,
                                                       &mutator::change_num_children,
                                                       &mutator::change_num_children,
                                                       &mutator::drop_buffer,
                                                       &mutator::drop_buffer,
                                                       &mutator::drop_pointers,
                                                       &mutator::drop_child,
                                                       &mutator::change_dictionary,
                                                       &mutator::release,
                                                       &mutator::share_child,
                                                       &mutator::share_child,
                                                       &mutator::make_cycle,
                                                       &mutator::change_format,
                                                       &mutator::change_format,
                                                       &mutator::change_format,
                                                       &mutator::change_name,
                                                       &mutator::change_metadata,
                                                       &mutator::change_flags,
                                                       &mutator::change_device,
                                                       &mutator::misalign,
                                                       &mutator::corrupt_contents});
    (this->*random_.pick(steps))();
  }

  void run_on_schema()
  {
    using step                  = void (mutator::*)();
    static constexpr auto steps = std::to_array<step>({&mutator::change_num_children,
                                                       &mutator::drop_pointers,
                                                       &mutator::drop_child,
                                                       &mutator::change_dictionary,
                                                       &mutator::release,
                                                       &mutator::share_child,
                                                       &mutator::make_cycle,
                                                       &mutator::change_format,
                                                       &mutator::change_name,
                                                       &mutator::change_metadata,
                                                       &mutator::change_flags});
    (this->*random_.pick(steps))();
  }

 private:
  std::int64_t number_near(std::int64_t value)
  {
    switch (random_.below(4)) {
      case 0: return sum(value, random_.below(7) - 3);
      case 1: return random_.below(70);
      case 2: return std::abs(value / 4) < int64_max / 16 ? value * (2 + random_.below(2)) : value;
      default: return random_.pick(strange_numbers);
    }
  }

  void change_length() { node_.array.length = number_near(node_.array.length); }

  void change_offset() { node_.array.offset = number_near(node_.array.offset); }

  /// Slices the array, which keeps it valid.
  void slice()
  {
    auto& array      = node_.array;
    auto const begin = random_.below(std::clamp<std::int64_t>(array.length, 0, int64_max - 1) + 1);
    array.offset     = sum(array.offset, begin);
    array.length     = random_.below(std::max<std::int64_t>(sum(array.length, -begin), 0) + 1);
    array.null_count = array.null_count == 0 ? 0 : -1;
  }

  void change_null_count() { node_.array.null_count = number_near(node_.array.null_count); }

  void change_num_buffers() { node_.array.n_buffers = number_near(node_.array.n_buffers); }

  void change_num_children()
  {
    auto const which = random_.below(3);
    auto const count = number_near(node_.array.n_children);
    if (which != 0) { node_.array.n_children = count; }
    if (which != 1) { node_.schema.n_children = count; }
  }

  void drop_buffer()
  {
    if (!node_.buffers.empty()) { random_.pick(node_.buffers) = nullptr; }
  }

  void drop_pointers()
  {
    switch (random_.below(3)) {
      case 0: node_.array.buffers = nullptr; break;
      case 1: node_.array.children = nullptr; break;
      default: node_.schema.children = nullptr; break;
    }
  }

  void drop_child()
  {
    if (node_.arrays.empty()) { return; }
    if (random_.percent(50)) {
      random_.pick(node_.arrays) = nullptr;
    } else {
      random_.pick(node_.schemas) = nullptr;
    }
  }

  void change_dictionary()
  {
    auto& other      = random_.percent(10) ? node_ : target_.any_node();
    auto const which = random_.below(3);
    auto const drop  = node_.array.dictionary != nullptr && random_.percent(50);
    if (which != 0) { node_.array.dictionary = drop ? nullptr : &other.array; }
    if (which != 1) { node_.schema.dictionary = drop ? nullptr : &other.schema; }
  }

  void release()
  {
    if (random_.percent(50)) {
      node_.array.release  = nullptr;
      node_.array.buffers  = reinterpret_cast<void const**>(invalid_address);
      node_.array.children = reinterpret_cast<ArrowArray**>(invalid_address);
    } else {
      node_.schema.release  = nullptr;
      node_.schema.name     = reinterpret_cast<char const*>(invalid_address);
      node_.schema.format   = reinterpret_cast<char const*>(invalid_address);
      node_.schema.metadata = reinterpret_cast<char const*>(invalid_address);
      node_.schema.children = reinterpret_cast<ArrowSchema**>(invalid_address);
    }
  }

  /// Replaces a child of the node: of its schema, its array or both.
  void put_child(node& child)
  {
    if (node_.arrays.empty()) { return; }
    auto const index = static_cast<std::size_t>(random_.below(std::ssize(node_.arrays)));
    auto const which = random_.below(4);
    if (which != 0) { node_.arrays[index] = &child.array; }
    if (which != 1) { node_.schemas[index] = &child.schema; }
  }

  void share_child() { put_child(target_.any_node()); }

  void make_cycle() { put_child(random_.percent(50) ? node_ : target_.root()); }

  void change_format()
  {
    if (random_.percent(3)) {
      node_.schema.format = nullptr;
    } else if (random_.percent(30)) {
      node_.schema.format = target_.pool.text(random_.pick(strange_formats));
    } else if (random_.percent(3)) {
      auto const size = static_cast<std::size_t>(random_.below(3000));
      node_.schema.format =
        target_.pool.text((random_.percent(50) ? "tss:" : "") + std::string(size, '\xc3'));
    } else {
      auto const rows     = type_table();
      auto const text     = format_of(random_.pick(rows), std::ssize(node_.schemas), random_);
      node_.schema.format = target_.pool.text(text);
    }
  }

  void change_name()
  {
    if (random_.percent(20)) {
      node_.schema.name = nullptr;
    } else if (random_.percent(20)) {
      node_.schema.name =
        target_.pool.text(std::string(static_cast<std::size_t>(random_.below(5000)), 'n'));
    } else {
      node_.schema.name = target_.pool.text(random_.pick(strange_names));
    }
  }

  /**
   * Metadata with a negative count or size. Too large ones are not tried, as no importer can detect
   * them: metadata has no total size.
   */
  void change_metadata()
  {
    auto packed    = std::string{};
    auto const put = [&](std::int64_t number) {
      auto const narrow = static_cast<std::int32_t>(number);
      packed.append(reinterpret_cast<char const*>(&narrow), 4);
    };
    auto const size = [&](std::string_view text) {
      put(random_.percent(20) ? -1 - random_.below(1 << 30) : std::ssize(text));
      packed += text;
    };
    auto const num_pairs = random_.below(4);
    put(random_.percent(20) ? -1 - random_.below(1 << 30) : num_pairs);
    for (auto i = 0; i < num_pairs; ++i) {
      size(random_.percent(50) ? "ARROW:extension:name"sv : "\xff\xfe"sv);
      size("\x00\xff"sv);
    }
    auto* memory = target_.pool.allocate(content::text, packed.size());
    std::memcpy(memory, packed.data(), packed.size());
    node_.schema.metadata = reinterpret_cast<char const*>(memory);
  }

  void change_flags()
  {
    node_.schema.flags =
      random_.percent(70) ? random_.below(8) : static_cast<std::int64_t>(random_.bits());
  }

  void change_device()
  {
    static constexpr auto types = std::to_array<ArrowDeviceType>(
      {1, 1, 2, 3, 13, 0, 4, 7, 8, 14, -1, std::numeric_limits<ArrowDeviceType>::max()});
    switch (random_.below(4)) {
      case 0: device_.device_type = random_.pick(types); break;
      case 1: device_.device_id = number_near(0); break;
      // CPU memory has no event, so this pointer must not be followed.
      case 2: device_.sync_event = &device_; break;
      default: std::fill(std::begin(device_.reserved), std::end(device_.reserved), number_near(0));
    }
  }

  /// Moves buffers to misaligned addresses, which the specification allows.
  void misalign()
  {
    for (auto& address : node_.buffers) {
      auto const* original = target_.pool.find(address);
      if (original == nullptr || original->memory == nullptr || original->first_row > 0) {
        continue;
      }
      auto const kept = *original;
      auto const by   = 1 + random_.below(7);
      auto* memory    = target_.pool.allocate(kept.kind, kept.size + static_cast<std::size_t>(by));
      std::memcpy(memory + by, kept.memory, kept.size);
      address = target_.pool.add_alias(memory + by, kept);
    }
  }

  /// Overwrites one number, such as an offset or index, in a copy of its buffer.
  void corrupt_contents()
  {
    if (node_.buffers.empty()) { return; }
    auto& address        = random_.pick(node_.buffers);
    auto const* original = target_.pool.find(address);
    if (original == nullptr || original->memory == nullptr || original->size < 4) { return; }
    auto const kept = *original;
    if (kept.kind == content::text || kept.kind == content::values ||
        kept.kind == content::view_sizes) {
      return;
    }
    // One byte of text and masks.
    auto const width = std::clamp<std::int64_t>(kept.row_bits / 8, 1, 8);
    auto* memory =
      target_.pool.rows(kept.kind, kept.row_bits, kept.first_row, kept.end_row, &address);
    std::memcpy(memory, kept.memory, kept.size);
    auto const count = static_cast<std::int64_t>(kept.size) / width;
    auto value       = number_near(random_.below(70));
    if (kept.kind == content::offsets && node_.arrays.empty()) {
      // Not beyond the last offset: no importer can detect that, as the data has no stated size.
      auto last = std::int64_t{0};
      std::memcpy(&last, kept.memory + (count - 1) * width, static_cast<std::size_t>(width));
      value = random_.below(last + 4) - 3;
    }
    std::memcpy(memory + random_.below(count) * width, &value, static_cast<std::size_t>(width));
    target_.is_corrupted = true;
  }

  tree& target_;
  random_source& random_;
  ArrowDeviceArray& device_;
  node& node_;
};

}  // namespace

void mutate(tree& target, ArrowDeviceArray& device) { mutator{target, device}.run(); }

void mutate_schema(tree& target)
{
  auto unused_device = ArrowDeviceArray{};
  mutator{target, unused_device}.run_on_schema();
}

}  // namespace cudf_arrow_bridge::fuzz
