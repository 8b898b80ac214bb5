// SPDX-License-Identifier: Apache-2.0
/// @file
/// `bookkeeping measure COLUMNS ROUNDS` measures all jobs in alternation and prints a JSON object.
/// `bookkeeping count COLUMNS TIMES` repeats each under callgrind, which dumps its instructions.
/// That has to be started with `--instr-atstart=no`: libcudf alone takes seconds to start under it.
#include "allocations.hpp"
#include "bookkeeping.hpp"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

namespace {

using nanoseconds = std::chrono::duration<double, std::nano>;

constexpr auto sample = nanoseconds{2e5};  ///< the duration of one sample

nanoseconds time(job const& what, int times)
{
  auto const start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) { what(); }
  return (std::chrono::steady_clock::now() - start) / times;
}

/// Times a job in a separate process, so that each job starts with the same heap.
nanoseconds time_alone(job const& what, int times)
{
  auto ends = std::array<int, 2>{};
  if (pipe(ends.data()) != 0) { throw std::runtime_error{"no pipe"}; }
  auto const child = fork();
  if (child == 0) {
    time(what, 10);
    auto const taken = time(what, times).count();
    _exit(write(ends[1], &taken, sizeof(taken)) == sizeof(taken) ? 0 : 1);
  }
  close(ends[1]);
  auto taken         = 0.0;
  auto const is_told = read(ends[0], &taken, sizeof(taken)) == sizeof(taken);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!is_told) { throw std::runtime_error{"a job that did not end"}; }
  return nanoseconds{taken};
}

std::uint64_t allocations_of(job const& what)
{
  auto const before = allocations();
  what();
  return allocations() - before;
}

void measure(int num_columns, int rounds)
{
  auto const table = bookkeeping{num_columns};
  auto times       = std::map<std::string, int>{};
  auto samples     = std::map<std::string, std::vector<nanoseconds>>{};
  for (auto const& [name, what] : table.jobs()) {
    time(what, 10);
    times[name] = std::clamp(static_cast<int>(sample / time(what, 10)), 1, 1000);
  }
  for (int i = 0; i < rounds; ++i) {
    for (auto const& [name, what] : table.jobs()) {
      samples[name].push_back(time_alone(what, times[name]));
    }
  }
  auto separator = "{";
  for (auto& [name, values] : samples) {
    std::sort(values.begin(), values.end());
    auto const quantile = [&](std::size_t quarter) {
      return values[quarter * (values.size() - 1) / 4].count();
    };
    std::cout << separator << '"' << name << R"(": {"median_ns": )" << quantile(2)
              << R"(, "quartiles_ns": [)" << quantile(1) << ", " << quantile(3)
              << R"(], "allocations": )" << allocations_of(table.jobs().at(name)) << '}';
    separator = ", ";
  }
  std::cout << "}\n";
}

void count(int num_columns, int times)
{
#ifdef CALLGRIND_DUMP_STATS_AT
  auto const table = bookkeeping{num_columns};
  for (auto const& [name, what] : table.jobs()) {
    what();  // does the work of the first call
    CALLGRIND_START_INSTRUMENTATION;
    for (int i = 0; i < times; ++i) { what(); }
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS_AT(name.c_str());
  }
#else
  throw std::runtime_error{"built without valgrind/callgrind.h"};
#endif
}

}  // namespace

int main(int argc, char** argv)
{
  // As in a process that has freed a large block, such as Python with pyarrow. Otherwise glibc
  // returns the end of the heap to the system when a job frees its structs, and the next job faults
  // it in.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  auto const arguments = std::vector<std::string>{argv + 1, argv + argc};
  if (arguments.size() == 3 && arguments[0] == "measure") {
    measure(std::stoi(arguments[1]), std::stoi(arguments[2]));
  } else if (arguments.size() == 3 && arguments[0] == "count") {
    count(std::stoi(arguments[1]), std::stoi(arguments[2]));
  } else {
    std::cerr << "usage: bookkeeping measure COLUMNS ROUNDS | count COLUMNS TIMES\n";
    return 2;
  }
}
