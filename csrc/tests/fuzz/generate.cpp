// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tree.hpp"
#include "testing/producer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr std::int64_t max_levels = std::int64_t{1} << 20;  ///< that an import accepts

test::shape draw_type(random_source& random, int depth)
{
  static auto const all    = test::importable_shapes();
  static auto const ends   = std::to_array<char const*>({"s", "i", "l"});
  static auto const widths = std::to_array<char const*>({"c", "C", "s", "S", "i", "I", "l", "L"});
  auto child               = depth == 0 ? random.pick(all) : draw_type(random, depth - 1);
  if (depth == 0) { return child; }
  switch (random.below(9)) {
    case 0: return test::list_of(child);
    case 1: return test::large_list_of(child);
    case 2: return test::fixed_list_of(child, 1 + static_cast<int>(random.below(3)));
    case 3: return test::list_view_of(child);
    case 4: return test::large_list_view_of(child);
    case 5: return test::map_of(test::flat("string"), child);
    case 6: return child.run_ends.empty() ? test::runs_of(child, random.pick(ends)) : child;
    case 7: {
      auto const has_keys = child.id != cudf::type_id::EMPTY;
      return has_keys ? test::dictionary_of(child, random.pick(widths)) : child;
    }
    default: return test::struct_of({child, random.pick(all)});
  }
}

test::rows draw_values(test::shape const& type, random_source& random)
{
  auto const size  = random.percent(10) ? 0 : 1 + random.below(40);
  auto const nulls = random.percent(40) ? 0 : 30;
  return test::samples(
    type, static_cast<std::size_t>(size), nulls, static_cast<unsigned>(random.bits()));
}

}  // namespace

valid_array::valid_array(random_source& random)
  : type{draw_type(random, static_cast<int>(random.below(3)))}, values{draw_values(type, random)}
{
  static constexpr auto offsets = std::to_array<int>({0, 0, 0, 0, 1, 7, 8, 31, 32, 33});
  auto const slices             = test::slicing{
    .at =
      [&](int) { return test::padding{random.pick(offsets), static_cast<int>(random.below(4))}; },
    .count_nulls = random.percent(70)};
  test::make_schema(type).move_to(schema.get());
  test::produce(type, values, slices).move_to(array.get());
}

void valid_array::copy_to(tree& target) const
{
  (void)target.copy(*schema.get(), *array.get());
  target.num_levels = std::ssize(target.nodes);
  // A spare level, for mutations that insert one.
  target.spare                = &target.add_node();
  target.spare->schema.format = target.text("n");
}

void generate_extreme(tree& target)
{
  auto& random = target.random;
  // Each level has the next one as a child `width` times: few nodes, exponentially many levels.
  auto const kind  = random.below(100);
  auto const width = kind == 0 ? 2 : kind < 50 ? 1 : 1 + random.below(2000);
  // Fewer than 2^12 levels, which can be imported, or 2^20 and more, which are rejected.
  auto const doubled = random.percent(90) ? random.below(12) : 20 + random.below(60);
  auto const depth   = kind == 0 ? doubled : kind < 50 ? 50 + random.below(30) : 1;
  for (std::int64_t i = 0; i <= depth; ++i) {
    auto& added         = target.add_node();
    auto const is_leaf  = i == depth;
    added.schema.format = target.text(is_leaf ? "n" : "+s");
    added.schema.name   = target.text("x");
    added.buffers.resize(is_leaf ? 0 : 1);
    added.schemas.resize(is_leaf ? 0 : static_cast<std::size_t>(width));
    added.arrays.resize(added.schemas.size());
    added.link();
    if (is_leaf) { continue; }
    target.num_levels = std::min((target.num_levels + 1) * width, max_levels);
  }
  for (std::size_t i = 0; i + 1 < target.nodes.size(); ++i) {
    auto& n = *target.nodes[i];
    std::fill(n.schemas.begin(), n.schemas.end(), &target.nodes[i + 1]->schema);
    std::fill(n.arrays.begin(), n.arrays.end(), &target.nodes[i + 1]->array);
  }
}

}  // namespace cudf_arrow_bridge::fuzz
