// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzer of imports, exports, streams and tensors. See README.md.
#include "fuzz/allocations.hpp"
#include "fuzz/trials.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace cudf_arrow_bridge::fuzz {
namespace {

/// What is tried, and the number of mutations for each seed.
struct subject {
  char const* name;
  int mutations;
  std::array<std::int64_t, outcome_names.size()> counts{};
};

constexpr int mutations_of_seed = 32;
constexpr int max_changes       = 3;
constexpr unsigned patience     = 30;  ///< seconds that one trial may take on a busy machine
constexpr auto unlimited        = std::numeric_limits<std::int64_t>::max();

auto subjects = std::to_array<subject>(
  {{"valid", 0}, {"arrays", 22}, {"requests", 6}, {"streams", 2}, {"tensors", 2}});

std::uint64_t current_seed   = 0;
std::int64_t mutations_begun = 0;  ///< of the current seed

/// Allocates nothing, for use in signal handlers.
void print_replay()
{
  char text[160];
  auto const size = std::snprintf(text,
                                  sizeof(text),
                                  "replay: cudf_arrow_bridge_fuzz --seed %llu --mutations %d   "
                                  "(fails in mutation %lld)\n",
                                  static_cast<unsigned long long>(current_seed),
                                  mutations_of_seed,
                                  static_cast<long long>(mutations_begun));
  (void)!write(STDERR_FILENO, text, static_cast<std::size_t>(size));
}

void report_crashes()
{
  auto const on_crash = [](int signal) {
    print_replay();
    std::signal(signal, SIG_DFL);
    (void)std::raise(signal);
  };
  // SIGALRM is for trials that do not end.
  for (auto const signal : {SIGABRT, SIGALRM}) { std::signal(signal, on_crash); }
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(print_replay);
#else
  for (auto const signal : {SIGSEGV, SIGBUS, SIGFPE}) { std::signal(signal, on_crash); }
#endif
}

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

/// Imports a valid array, which must succeed with equal values.
outcome import_valid(valid_array const& source, random_source& random)
{
  auto target = tree{random};
  source.copy_to(target);
  auto setup = trial{.valid = &source};
  if (random.percent(50)) { setup.options.validate = validation::full; }
  auto const result = import_once(target, on_cpu(), setup);
  if (result != outcome::equal && result != outcome::imported) {
    throw finding{"a valid array of type " + source.type.name + " rejected"};
  }
  return result;
}

outcome import_mutated(tree& target, outcome import(tree&, ArrowDeviceArray, trial const&))
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

/// @param source Null for an extreme tree
outcome try_mutation(std::string_view kind, valid_array const* source, random_source& random)
{
  if (kind == "tensors") {
    return import_tensor_once(random, draw_trial(random).news_until_failure);
  }
  auto target = tree{random};
  if (source == nullptr) {
    generate_extreme(target);
  } else {
    source->copy_to(target);
  }
  if (kind == "streams") { return import_mutated(target, stream_once); }
  if (kind == "arrays" || source == nullptr) { return import_mutated(target, import_once); }
  return request_once(target, draw_trial(random));
}

/// @return The number of mutations tried
std::int64_t run_seed(std::uint64_t seed, std::int64_t limit)
{
  auto random     = random_source{seed};
  current_seed    = seed;
  mutations_begun = 0;
  auto source     = std::optional<valid_array>{};
  if (random.below(500) != 0) {
    source.emplace(random);
    ++subjects[0].counts[static_cast<std::size_t>(import_valid(*source, random))];
  }
  for (auto& [name, mutations, counts] : subjects) {
    for (auto i = 0; i < mutations && mutations_begun < limit; ++i) {
      ++mutations_begun;
      alarm(patience);
      auto const result = try_mutation(name, source ? &*source : nullptr, random);
      ++counts[static_cast<std::size_t>(result)];
    }
  }
  return mutations_begun;
}

void print_counts()
{
  std::cout << std::setw(20) << "";
  for (auto const& column : subjects) { std::cout << std::setw(10) << column.name; }
  for (std::size_t i = 0; i < outcome_names.size(); ++i) {
    std::cout << '\n' << std::left << std::setw(20) << outcome_names[i] << std::right;
    for (auto const& column : subjects) { std::cout << std::setw(10) << column.counts[i]; }
  }
  std::cout << '\n';
}

/// Make allocations that last until exit in advance: a trial would count them as leaks.
void allocate_for_good()
{
  (void)has_gpu();
  (void)std::strerror(-1);
  check_message("iconv");
  // glibc stores atexit handlers in blocks of 32: registers handlers until a new block is
  // allocated, which has room for all static objects of the trials.
  heap().start(-1);
  for (auto i = 0; i < 32 && heap().num_live == 0; ++i) {
    std::atexit([] {});
  }
  heap().stop();
}

int run(std::uint64_t seed, std::int64_t mutations, double seconds)
{
  using clock      = std::chrono::steady_clock;
  auto const start = clock::now();
  auto elapsed     = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
  auto tried       = std::int64_t{0};
  report_crashes();
  allocate_for_good();
  try {
    for (; tried < mutations && elapsed() < seconds; ++seed) {
      tried += run_seed(seed, mutations - tried);
    }
  } catch (finding const& found) {
    std::cerr << "FINDING: " << found.what << '\n';
    print_replay();
    return 1;
  }
  std::cout << tried << " mutations in " << elapsed() << " s\n";
  print_counts();
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
  auto seed      = std::uint64_t{std::random_device{}()};
  auto mutations = unlimited;
  auto seconds   = std::optional<double>{};
  if (words.size() % 2 != 0) { return usage(); }
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i] == "--seed") {
      seed = std::stoull(words[i + 1]);
    } else if (words[i] == "--mutations") {
      mutations = std::stoll(words[i + 1]);
    } else if (words[i] == "--seconds") {
      seconds = std::stod(words[i + 1]);
    } else {
      return usage();
    }
  }
  return run(seed, mutations, seconds.value_or(mutations == unlimited ? 60 : 1e9));
}

}  // namespace
}  // namespace cudf_arrow_bridge::fuzz

int main(int argc, char** argv)
{ return cudf_arrow_bridge::fuzz::run(std::vector<std::string>{argv + 1, argv + argc}); }
