// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz/oracles/verdict.hpp"
#include "fuzz/structs/tree.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace cudf_arrow_bridge::fuzz {

/// What a trial imports or exports.
enum class subject : std::int8_t { valid, array, request, stream, tensor };

constexpr int num_subjects = 5;

/// Progress of a run: counts for the summary, and seed and mutation for replaying a finding.
class statistics {
 public:
  /// @param seconds Time limit of the run; 0: none
  statistics(std::uint64_t first_seed, double seconds);

  void begin_seed(std::uint64_t seed, tree const& target)
  {
    seed_              = seed;
    mutations_of_seed_ = 0;
    tree_              = &target;
  }

  void add_valid(outcome result) { add(subject::valid, result); }

  void add_mutation(subject kind, outcome result)
  {
    ++mutations_of_seed_;
    add(kind, result);
    if (result != outcome::not_provided) { ++num_mutations_; }
  }

  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  /// Mutated structs that were imported or refused.
  [[nodiscard]] std::int64_t num_mutations() const { return num_mutations_; }

  /// Changes with each trial.
  [[nodiscard]] std::uint64_t position() const
  { return seed_ * 1000 + static_cast<std::uint64_t>(mutations_of_seed_); }

  [[nodiscard]] bool is_over() const;

  void print() const;

  /// The structs that are being imported.
  void print_tree() const;

  /// Prints how to replay the current trial. Allocates nothing, for use in signal handlers.
  void print_replay() const noexcept;

 private:
  using clock = std::chrono::steady_clock;

  void add(subject kind, outcome result)
  { ++counts_[static_cast<std::size_t>(result)][static_cast<std::size_t>(kind)]; }

  std::uint64_t first_seed_;
  double seconds_;
  clock::time_point start_{clock::now()};
  std::uint64_t seed_{0};
  tree const* tree_{nullptr};
  std::int64_t mutations_of_seed_{0};
  std::int64_t num_mutations_{0};
  std::array<std::array<std::int64_t, num_subjects>, num_outcomes> counts_{};
};

/// Installs handlers that print how to replay crashes, sanitizer reports and hangs.
void report_crashes(statistics const& counts);

}  // namespace cudf_arrow_bridge::fuzz
