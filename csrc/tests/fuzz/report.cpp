// SPDX-License-Identifier: Apache-2.0
#include "fuzz/report.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string_view>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr int patience = 30;  ///< seconds that one trial may take on a busy machine

statistics const* watched            = nullptr;
std::uint64_t volatile last_position = 0;

void write_stderr(std::string_view text) noexcept
{ (void)!write(STDERR_FILENO, text.data(), text.size()); }

void on_crash(int signal)
{
  write_stderr("FINDING: a crash, or an abort\n");
  watched->print_replay();
  watched->print_tree();
  std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
}

void on_alarm(int)
{
  if (watched->position() != last_position) {
    last_position = watched->position();
    return;
  }
  write_stderr("FINDING: an import that does not end\n");
  std::abort();
}

}  // namespace

statistics::statistics(std::uint64_t first_seed, double seconds)
  : first_seed_{first_seed}, seconds_{seconds}
{
}

bool statistics::is_over() const
{ return seconds_ > 0 && std::chrono::duration<double>(clock::now() - start_).count() > seconds_; }

void statistics::print() const
{
  static constexpr auto columns =
    std::to_array<char const*>({"valid", "arrays", "requests", "streams", "tensors"});
  static constexpr auto rows = std::to_array<char const*>({"equal to the oracle",
                                                           "done",
                                                           "refused: type",
                                                           "refused: value",
                                                           "refused: size",
                                                           "error of a stream",
                                                           "out of memory",
                                                           "not tried"});
  static_assert(columns.size() == num_subjects && rows.size() == num_outcomes);
  auto const seconds = std::chrono::duration<double>(clock::now() - start_).count();
  auto total         = std::int64_t{0};
  for (auto const& counts : counts_) { total += counts.front(); }
  std::cout << "seeds " << first_seed_ << " to " << seed_ << ": " << total << " valid arrays, "
            << num_mutations_ << " mutations in " << std::fixed << std::setprecision(1) << seconds
            << " s, " << static_cast<std::int64_t>(static_cast<double>(num_mutations_) / seconds)
            << " a second\n";
  std::cout << std::setw(20) << "";
  for (auto const* name : columns) { std::cout << std::setw(10) << name; }
  std::cout << '\n';
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::cout << std::left << std::setw(20) << rows[i] << std::right;
    for (auto const count : counts_[i]) { std::cout << std::setw(10) << count; }
    std::cout << '\n';
  }
}

void statistics::print_tree() const
{
  tree_->unpoison();
  tree_->print(std::cerr);
}

void statistics::print_replay() const noexcept
{
  // The mutation under way has not been counted yet.
  char text[160];
  auto const size = std::snprintf(text,
                                  sizeof(text),
                                  "replay: cudf_arrow_bridge_fuzz --seed %llu --mutations 32   "
                                  "(fails in mutation %lld)\n",
                                  static_cast<unsigned long long>(seed_),
                                  static_cast<long long>(mutations_of_seed_ + 1));
  write_stderr({text, static_cast<std::size_t>(size)});
}

void report_crashes(statistics const& counts)
{
  watched = &counts;
  std::signal(SIGABRT, on_crash);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback([] {
    watched->print_tree();
    watched->print_replay();
  });
#else
  std::signal(SIGSEGV, on_crash);
  std::signal(SIGBUS, on_crash);
  std::signal(SIGFPE, on_crash);
#endif
  std::signal(SIGALRM, on_alarm);
  auto const period = itimerval{{patience, 0}, {patience, 0}};
  (void)setitimer(ITIMER_REAL, &period, nullptr);
}

}  // namespace cudf_arrow_bridge::fuzz
