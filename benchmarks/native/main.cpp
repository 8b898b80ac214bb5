// SPDX-License-Identifier: Apache-2.0
/// @file
/// `bookkeeping measure COLUMNS ROUNDS` measures all jobs in turns and prints a JSON object.
/// `bookkeeping repeat JOB COLUMNS TIMES` repeats one, for profilers that count instructions.
#include "allocations.hpp"
#include "bookkeeping.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nanoseconds = std::chrono::duration<double, std::nano>;

constexpr auto sample = nanoseconds{2e5};  ///< that one sample should last

nanoseconds time(job const& what, int times)
{
  auto const start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) { what(); }
  return (std::chrono::steady_clock::now() - start) / times;
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
      samples[name].push_back(time(what, times[name]));
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

void repeat(std::string const& name, int num_columns, int times)
{
  auto const table = bookkeeping{num_columns};
  time(table.jobs().at(name), times);
}

}  // namespace

int main(int argc, char** argv)
{
  auto const arguments = std::vector<std::string>{argv + 1, argv + argc};
  if (arguments.size() == 3 && arguments[0] == "measure") {
    measure(std::stoi(arguments[1]), std::stoi(arguments[2]));
  } else if (arguments.size() == 4 && arguments[0] == "repeat") {
    repeat(arguments[1], std::stoi(arguments[2]), std::stoi(arguments[3]));
  } else {
    std::cerr << "usage: bookkeeping measure COLUMNS ROUNDS | repeat JOB COLUMNS TIMES\n";
    return 2;
  }
}
