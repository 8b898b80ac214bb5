// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzer of imports, exports, streams and tensors. See README.md.
#include "fuzz/allocations.hpp"
#include "fuzz/report.hpp"
#include "fuzz/structs/mutate.hpp"
#include "fuzz/structs/tree.hpp"
#include "fuzz/trials/feed.hpp"
#include "fuzz/trials/request.hpp"
#include "fuzz/trials/tensors.hpp"
#include "fuzz/trials/trial.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/types.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

/// The number of mutations of a kind, of 32 for each seed.
struct share {
  subject kind;
  int mutations;
};
constexpr auto shares = std::to_array<share>(
  {{subject::array, 22}, {subject::request, 6}, {subject::stream, 2}, {subject::tensor, 2}});
constexpr int max_changes    = 3;
constexpr auto max_mutations = std::numeric_limits<std::int64_t>::max();

struct arguments {
  std::uint64_t seed{std::random_device{}()};
  std::int64_t mutations{max_mutations};
  double seconds{0};
};

trial draw_trial(random_source& random)
{
  auto drawn             = trial{};
  drawn.options.sanitize = random.percent(70);
  if (random.percent(30)) { drawn.options.validate = validation::full; }
  drawn.as_table       = random.percent(40);
  drawn.options.borrow = random.percent(50);
  drawn.prepared       = random.percent(30);
  drawn.options.copy   = random.percent(20)   ? copy_policy::always
                         : random.percent(10) ? copy_policy::never
                                              : copy_policy::as_needed;
  if (random.percent(10)) { drawn.news_until_failure = random.below(40); }
  return drawn;
}

bool is_supported(tree& target)
{
  return std::all_of(target.nodes.begin(), target.nodes.end(), [](auto const& n) {
    return import_row(n->schema).on_import != type_support::unsupported;
  });
}

/// Imports a valid tree, which must succeed with equal values unless a type is unsupported.
outcome import_valid(tree& target)
{
  auto setup = trial{.is_valid = true};
  if (target.random.percent(50)) { setup.options.validate = validation::full; }
  auto const result = import_once(target, on_cpu(), setup);
  auto const right  = is_supported(target) ? outcome::equal : outcome::refused_type;
  if (result == outcome::imported) { throw finding{"a valid array that nanoarrow does not read"}; }
  if (result != right) {
    throw finding{"a valid array refused, or not refused: " + last_refusal()};
  }
  return result;
}

template <typename Import>
outcome import_mutated(tree& target, Import const& import)
{
  auto device  = on_cpu();
  auto& random = target.random;
  for (auto changes = 1 + random.below(max_changes); changes > 0; --changes) {
    mutate(target, device);
  }
  auto setup = draw_trial(random);
  if (target.is_corrupted) { setup.options.validate = validation::full; }
  return provide(target) ? import(target, device, setup) : outcome::not_provided;
}

outcome try_mutated(tree& target, subject kind)
{
  switch (kind) {
    case subject::request: return request_once(target, draw_trial(target.random));
    case subject::stream: return import_mutated(target, feed_once);
    case subject::tensor:
      return import_tensor_once(target.random, draw_trial(target.random).news_until_failure);
    default: return import_mutated(target, import_once);
  }
}

/// Runs one seed: its valid tree and at most `limit` mutations.
void run_seed(std::uint64_t seed, std::int64_t limit, statistics& counts)
{
  auto target = tree{seed};
  counts.begin_seed(seed, target);
  auto const is_extreme = target.random.below(500) == 0;
  if (is_extreme) {
    generate_extreme(target);
  } else {
    generate(target);
  }
  target.save();
  try {
    auto const is_valid = !is_extreme && is_supported(target);
    if (!is_extreme) { counts.add_valid(import_valid(target)); }
    for (auto const& [kind, mutations] : shares) {
      if (kind == subject::request && !is_valid) { continue; }
      for (auto i = 0; i < mutations && limit > 0; ++i, --limit) {
        target.restore();
        counts.add_mutation(kind, try_mutated(target, kind));
      }
    }
  } catch (finding const&) {
    counts.print_tree();
    throw;
  }
}

/// Make allocations that last until exit in advance: a trial would count them as leaks.
void allocate_for_good()
{
  (void)has_gpu();
  (void)std::strerror(-1);
  // glibc stores atexit handlers in blocks of 32: registers handlers until a new block is
  // allocated, which has room for all static objects of the trials.
  heap().start(-1);
  for (auto i = 0; i < 32 && heap().num_live == 0; ++i) {
    std::atexit([] {});
  }
  heap().stop();
}

int run(arguments const& given)
{
  auto counts = statistics{given.seed, given.seconds};
  report_crashes(counts);
  allocate_for_good();
  try {
    for (auto i = 0; counts.num_mutations() < given.mutations && !counts.is_over(); ++i) {
      run_seed(given.seed + static_cast<std::uint64_t>(i),
               given.mutations - counts.num_mutations(),
               counts);
    }
  } catch (finding const& found) {
    std::cerr << "FINDING: " << found.what << '\n';
    counts.print_replay();
    return 1;
  }
  counts.print();
  return 0;
}

int usage()
{
  std::cerr << "usage: cudf_arrow_bridge_fuzz [--seed N] [--mutations N] [--seconds N]\n"
               "Runs until either is over, or something is found; a minute if neither is given.\n";
  return 2;
}

int run(std::vector<std::string> const& words)
{
  auto given = arguments{};
  if (words.size() % 2 != 0) { return usage(); }
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i] == "--seed") {
      given.seed = std::stoull(words[i + 1]);
    } else if (words[i] == "--mutations") {
      given.mutations = std::stoll(words[i + 1]);
    } else if (words[i] == "--seconds") {
      given.seconds = std::stod(words[i + 1]);
    } else {
      return usage();
    }
  }
  auto const is_bounded = given.seconds > 0 || given.mutations < max_mutations;
  if (!is_bounded) { given.seconds = 60; }
  return run(given);
}

}  // namespace
}  // namespace cudf_arrow_bridge::fuzz

int main(int argc, char** argv)
{ return cudf_arrow_bridge::fuzz::run(std::vector<std::string>{argv + 1, argv + argc}); }
