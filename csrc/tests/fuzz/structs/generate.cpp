// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/tree.hpp"

#include <cudf_arrow_bridge/types.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr auto tried_offsets = std::to_array<std::int64_t>({0, 0, 0, 0, 1, 7, 8, 31, 32, 33});
constexpr auto index_formats = std::to_array<char const*>({"c", "C", "s", "S", "i", "I", "l", "L"});
constexpr auto run_end_formats = std::to_array<char const*>({"s", "i", "l"});

constexpr std::int64_t max_levels = std::int64_t{1} << 20;  ///< that an import accepts

/// Requirements of the parent level.
struct demand {
  std::int64_t num_rows{0};  ///< at least
  bool nullable{true};
  int depth{3};  ///< levels that may follow
};

class generator {
 public:
  explicit generator(tree& target) : target_{target}, random_{target.random} {}

  node& make(demand const& wanted)
  {
    auto const& row = draw_row(wanted.depth);
    auto& made      = target_.add_node();
    set_name(made, random_.percent(5) ? "" : "f" + std::to_string(random_.below(100)));
    set_rows(made, wanted);
    if (row.format.empty()) {
      make_dictionary(made, wanted);
    } else {
      make_plain(made, row, wanted);
    }
    if (random_.percent(15)) { set_metadata(made); }
    return made;
  }

 private:
  type_row const& draw_row(int depth)
  {
    auto const rows = type_table();
    for (;;) {
      auto const& row      = random_.pick(rows);
      auto const is_nested = row.format.empty() || row.format.starts_with('+');
      if (is_nested && depth == 0) { continue; }
      if (!is_nested && depth > 0 && random_.percent(40)) { continue; }
      if (row.on_import == type_support::unsupported && !random_.percent(2)) { continue; }
      return row;
    }
  }

  void set_name(node& made, std::string const& name) { made.schema.name = target_.pool.text(name); }

  void set_metadata(node& made)
  {
    auto packed    = std::string{};
    auto const put = [&](std::string const& text) {
      auto const size = static_cast<std::int32_t>(text.size());
      packed.append(reinterpret_cast<char const*>(&size), 4);
      packed += text;
    };
    auto const num_pairs = static_cast<std::int32_t>(random_.below(3));
    packed.append(reinterpret_cast<char const*>(&num_pairs), 4);
    for (auto i = 0; i < num_pairs; ++i) {
      put(random_.percent(50) ? "ARROW:extension:name" : "key" + std::to_string(i));
      put(std::string(static_cast<std::size_t>(random_.below(12)), 'v'));
    }
    auto* memory = target_.pool.allocate(content::text, packed.size());
    std::memcpy(memory, packed.data(), packed.size());
    made.schema.metadata = reinterpret_cast<char const*>(memory);
  }

  void set_rows(node& made, demand const& wanted)
  {
    made.array.length = wanted.num_rows + (random_.percent(30) ? random_.below(4) : 0);
    made.array.offset = random_.percent(80) ? random_.pick(tried_offsets) : random_.below(70);
  }

  void set_children(node& made, std::vector<node*> const& children)
  {
    for (auto* child : children) {
      made.schemas.push_back(&child->schema);
      made.arrays.push_back(&child->array);
    }
  }

  void make_plain(node& made, type_row const& row, demand const& wanted)
  {
    auto const num_fields = random_.below(4);
    auto const text       = format_of(row, num_fields, random_);
    made.schema.format    = target_.pool.text(text);
    auto const format     = parse_format(text.c_str());
    auto const end        = made.array.offset + made.array.length;
    auto const below      = demand{0, true, wanted.depth - 1};
    switch (format.kind) {
      case layout::list:
        if (text == "+m") {
          set_children(made, {&make_entries(random_.below(12), wanted.depth - 1)});
          break;
        }
        [[fallthrough]];
      case layout::list_view:
        set_children(made, {&make({random_.below(12), true, wanted.depth - 1})});
        break;
      case layout::fixed_list:
        set_children(made, {&make({end * format.list_size, true, wanted.depth - 1})});
        break;
      case layout::structure:
      case layout::union_: {
        auto fields = std::vector<node*>{};
        for (auto i = 0; i < num_fields; ++i) { fields.push_back(&make({end, true, below.depth})); }
        set_children(made, fields);
        break;
      }
      case layout::run_end: {
        auto const num_runs = 1 + random_.below(std::clamp<std::int64_t>(end, 1, 8));
        auto& ends          = make_integers(random_.pick(run_end_formats), num_runs);
        set_children(made, {&ends, &make({ends.array.length, true, wanted.depth - 1})});
        break;
      }
      default: break;
    }
    finish(made, format, wanted.nullable);
  }

  void make_dictionary(node& made, demand const& wanted)
  {
    made.schema.format     = target_.pool.text(random_.pick(index_formats));
    auto& values           = make({1 + random_.below(6), true, wanted.depth - 1});
    made.schema.dictionary = &values.schema;
    made.array.dictionary  = &values.array;
    finish(made, parse_format(made.schema.format), wanted.nullable);
    if (random_.percent(20)) { made.schema.flags |= ARROW_FLAG_DICTIONARY_ORDERED; }
  }

  node& make_integers(char const* format, std::int64_t length)
  {
    auto& made         = target_.add_node();
    made.schema.format = target_.pool.text(format);
    set_name(made, "run_ends");
    made.array.length = length;
    made.array.offset = random_.percent(50) ? 0 : random_.below(4);
    finish(made, parse_format(format), false);
    return made;
  }

  /// A map's child: a struct of keys and values.
  node& make_entries(std::int64_t length, int depth)
  {
    auto& made         = target_.add_node();
    made.schema.format = target_.pool.text("+s");
    set_name(made, "entries");
    made.array.length = length;
    auto& keys        = make_plain_keys(length);
    auto& values      = make({length, true, std::max(depth - 1, 0)});
    set_children(made, {&keys, &values});
    finish(made, parse_format("+s"), false);
    return made;
  }

  node& make_plain_keys(std::int64_t length)
  {
    auto& made         = target_.add_node();
    made.schema.format = target_.pool.text(random_.percent(50) ? "u" : "i");
    set_name(made, "key");
    made.array.length = length;
    made.array.offset = random_.percent(50) ? 0 : random_.below(4);
    finish(made, parse_format(made.schema.format), false);
    return made;
  }

  /// Allocates and fills the buffers and sets the null count.
  void finish(node& made, format_info const& format, bool nullable)
  {
    auto const num_views = format.kind == layout::view ? random_.below(4) : 0;
    made.buffers.resize(static_cast<std::size_t>(num_buffers(format) + num_views), &made);
    auto const has_validity = format.kind != layout::null && format.kind != layout::union_ &&
                              format.kind != layout::run_end;
    auto const has_mask     = has_validity && nullable && random_.percent(60);
    if (has_validity && !has_mask) { made.buffers[0] = nullptr; }
    target_.link(made);
    made.schema.flags = has_mask || (nullable && random_.percent(50)) ? ARROW_FLAG_NULLABLE : 0;
    (void)fill_buffers(target_, format, made.array);
    if (format.kind == layout::run_end) {
      fill_run_ends(target_, made.array, parse_format(made.schemas[0]->format));
    }
    if (format.kind == layout::null) {
      made.array.null_count = random_.percent(50) ? made.array.length : 0;
    }
    if (has_mask) { count_nulls(made.array); }
  }

  void count_nulls(ArrowArray& array)
  {
    auto* bits     = const_cast<std::uint8_t*>(static_cast<std::uint8_t const*>(array.buffers[0]));
    auto const end = array.offset + array.length;
    if (random_.percent(20)) { std::memset(bits, 0xff, static_cast<std::size_t>((end + 7) / 8)); }
    auto nulls = std::int64_t{0};
    for (auto i = array.offset; i < end; ++i) { nulls += ((bits[i / 8] >> (i % 8)) & 1) ^ 1; }
    array.null_count = random_.percent(30) ? -1 : nulls;
  }

  tree& target_;
  random_source& random_;
};

}  // namespace

void generate(tree& target)
{
  auto const length = target.random.percent(10) ? 0 : 1 + target.random.below(40);
  (void)generator{target}.make({length, true, static_cast<int>(target.random.below(4))});
  target.num_levels = std::ssize(target.nodes);
  // A spare level, for mutations that insert one.
  target.spare                = &target.add_node();
  target.spare->schema.format = target.pool.text("n");
}

void generate_extreme(tree& target)
{
  auto& random     = target.random;
  auto const level = [&](char const* format, std::size_t num_children) -> node& {
    auto& made         = target.add_node();
    made.schema.format = target.pool.text(format);
    made.schema.name   = target.pool.text("x");
    made.buffers.assign(static_cast<std::size_t>(num_buffers(parse_format(format))), nullptr);
    made.schemas.resize(num_children);
    made.arrays.resize(num_children);
    target.link(made);
    return made;
  };
  // Each level has the next one as a child `width` times: few nodes, exponentially many levels.
  auto const kind  = random.below(100);
  auto const width = kind == 0 ? 2 : kind < 50 ? 1 : 1 + random.below(2000);
  // Fewer than 2^12 levels, which can be imported, or 2^20 and more, which are rejected.
  auto const doubled = random.percent(90) ? random.below(12) : 20 + random.below(60);
  auto const depth   = kind == 0 ? doubled : kind < 50 ? 50 + random.below(30) : 1;
  for (std::int64_t i = 0; i < depth; ++i) {
    target.num_levels = std::min((target.num_levels + 1) * width, max_levels);
    (void)level("+s", static_cast<std::size_t>(width));
  }
  (void)level("n", 0);
  for (std::size_t i = 0; i + 1 < target.nodes.size(); ++i) {
    auto& n = *target.nodes[i];
    std::fill(n.schemas.begin(), n.schemas.end(), &target.nodes[i + 1]->schema);
    std::fill(n.arrays.begin(), n.arrays.end(), &target.nodes[i + 1]->array);
  }
}

}  // namespace cudf_arrow_bridge::fuzz
