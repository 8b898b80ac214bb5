// SPDX-License-Identifier: Apache-2.0
#include "fuzz/strange.hpp"
#include "fuzz/tree.hpp"
#include "testing/sample.hpp"

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

  /// @param num_steps How many kinds of changes are possible; the first ones concern schemas
  void run(std::size_t num_steps)
  {
    (this->*steps[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(num_steps)))])();
  }

  static std::size_t num_all_steps() { return steps.size(); }

  static constexpr std::size_t num_schema_steps = 11;

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

  void change_length() { array_.length = number_near(array_.length); }

  void change_offset() { array_.offset = number_near(array_.offset); }

  /// Slices the array, which keeps it valid.
  void slice()
  {
    auto const begin = random_.below(std::clamp<std::int64_t>(array_.length, 0, int64_max - 1) + 1);
    array_.offset    = sum(array_.offset, begin);
    array_.length    = random_.below(std::max<std::int64_t>(sum(array_.length, -begin), 0) + 1);
    array_.null_count = array_.null_count == 0 ? 0 : -1;
  }

  void change_null_count() { array_.null_count = number_near(array_.null_count); }

  void change_num_buffers() { array_.n_buffers = number_near(array_.n_buffers); }

  void change_num_children()
  {
    auto const which = random_.below(3);
    auto const count = number_near(array_.n_children);
    if (which != 0) { array_.n_children = count; }
    if (which != 1) { schema_.n_children = count; }
  }

  void drop_buffer()
  {
    if (!node_.buffers.empty()) { random_.pick(node_.buffers) = nullptr; }
  }

  void drop_pointers()
  {
    switch (random_.below(3)) {
      case 0: array_.buffers = nullptr; break;
      case 1: array_.children = nullptr; break;
      default: schema_.children = nullptr; break;
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
    auto const drop  = array_.dictionary != nullptr && random_.percent(50);
    if (which != 0) { array_.dictionary = drop ? nullptr : &other.array; }
    if (which != 1) { schema_.dictionary = drop ? nullptr : &other.schema; }
  }

  void release()
  {
    if (random_.percent(50)) {
      array_.release  = nullptr;
      array_.buffers  = reinterpret_cast<void const**>(invalid_address);
      array_.children = reinterpret_cast<ArrowArray**>(invalid_address);
    } else {
      schema_.release  = nullptr;
      schema_.name     = reinterpret_cast<char const*>(invalid_address);
      schema_.format   = reinterpret_cast<char const*>(invalid_address);
      schema_.metadata = reinterpret_cast<char const*>(invalid_address);
      schema_.children = reinterpret_cast<ArrowSchema**>(invalid_address);
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
    static auto const types = test::importable_shapes();
    auto const chance       = random_.below(100);
    if (chance < 3) {
      schema_.format = nullptr;
    } else if (chance < 30) {
      schema_.format = target_.text(random_.pick(strange_formats));
    } else if (chance < 32) {
      auto const size = static_cast<std::size_t>(random_.below(3000));
      auto const type = std::string{random_.percent(50) ? "tss:" : ""};
      schema_.format  = target_.text(type + std::string(size, '\xc3'));
    } else {
      auto const& type = random_.pick(types);
      schema_.format   = target_.text(type.run_ends.empty() ? type.format : "+r");
    }
  }

  void change_name()
  {
    if (random_.percent(20)) {
      schema_.name = nullptr;
    } else if (random_.percent(20)) {
      schema_.name = target_.text(std::string(static_cast<std::size_t>(random_.below(5000)), 'n'));
    } else {
      schema_.name = target_.text(random_.pick(strange_names));
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
    schema_.metadata = target_.text(packed);
  }

  void change_flags()
  {
    schema_.flags =
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
      auto const* known = target_.find(address);
      if (known == nullptr || known->first_row > 0) { continue; }
      auto moved    = *known;
      auto const by = static_cast<std::size_t>(1 + random_.below(7));
      moved.memory  = target_.allocate(moved.size + by) + by;
      std::memcpy(moved.memory, known->memory, moved.size);
      address = moved.memory;
      target_.add_alias(moved);
    }
  }

  /// Overwrites one number, such as an offset or index, in a copy of its buffer.
  void corrupt_contents()
  {
    if (node_.buffers.empty()) { return; }
    auto& address     = random_.pick(node_.buffers);
    auto const* known = target_.find(address);
    if (known == nullptr || known->size < 4 || known->kind == content::view_sizes) { return; }
    auto const kept = *known;
    // One byte of text and masks.
    auto const width = std::clamp<std::int64_t>(kept.row_bits / 8, 1, 8);
    auto const count = static_cast<std::int64_t>(kept.size) / width;
    auto const copy =
      target_.add_rows(kept.kind, kept.row_bits, kept.first_row, kept.end_row, &address);
    std::memcpy(copy.memory, kept.memory, kept.size);
    auto value = number_near(random_.below(70));
    if (kept.kind == content::text_offsets) {
      // Not beyond the last offset: no importer can detect that, as the data has no stated size.
      auto last = std::int64_t{0};
      std::memcpy(&last, kept.memory + (count - 1) * width, static_cast<std::size_t>(width));
      value = random_.below(last + 4) - 3;
    }
    std::memcpy(
      copy.memory + random_.below(count) * width, &value, static_cast<std::size_t>(width));
    target_.is_corrupted = true;
  }

  tree& target_;
  random_source& random_;
  ArrowDeviceArray& device_;
  node& node_;
  ArrowSchema& schema_{node_.schema};
  ArrowArray& array_{node_.array};

  using step = void (mutator::*)();
  using self = mutator;
  static std::array<step, 27> const steps;  ///< likely ones repeatedly
};

// clang-format off
std::array<mutator::step, 27> const mutator::steps{
  &self::change_num_children, &self::drop_pointers, &self::drop_child, &self::change_dictionary,
  &self::release, &self::share_child, &self::make_cycle, &self::change_format,
  &self::change_name, &self::change_metadata, &self::change_flags, &self::change_length,
  &self::change_length, &self::change_offset, &self::change_offset, &self::slice,
  &self::change_null_count, &self::change_num_buffers, &self::change_num_children, &self::drop_buffer,
  &self::drop_buffer, &self::share_child, &self::change_format, &self::change_format,
  &self::change_device, &self::misalign, &self::corrupt_contents};
// clang-format on

}  // namespace

void mutate(tree& target, ArrowDeviceArray& device)
{ mutator{target, device}.run(mutator::num_all_steps()); }

void mutate_schema(tree& target)
{
  auto unused_device = ArrowDeviceArray{};
  mutator{target, unused_device}.run(mutator::num_schema_steps);
}

}  // namespace cudf_arrow_bridge::fuzz
