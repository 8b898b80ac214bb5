// SPDX-License-Identifier: Apache-2.0
/// @file
/// Permitted outcomes of a trial, and checks whose failure is a finding.
#pragma once

#include "fuzz/allocations.hpp"
#include "fuzz/tree.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <cudf/utilities/error.hpp>

#include <array>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::fuzz {

enum class outcome : std::int8_t {
  equal,     ///< done, with the values that are expected
  imported,  ///< done; values not compared, as the oracle cannot read the array
  refused_type,
  refused_value,
  refused_size,
  refused_by_producer,  ///< a stream that reports an error
  out_of_memory,
  not_provided  ///< not tried: would need more memory than `provide` allocates
};

constexpr auto outcome_names = std::to_array<char const*>({"equal to the oracle",
                                                           "done",
                                                           "refused: type",
                                                           "refused: value",
                                                           "refused: size",
                                                           "error of a stream",
                                                           "out of memory",
                                                           "not tried"});

/// Thrown if the fuzzer finds an error.
struct finding {
  std::string what;
};

/// Throws a finding if a message is empty or not UTF-8.
void check_message(char const* message);

/// Throws a finding if the peak exceeds a bound computed from the tree's bytes and levels.
void check_peak(tree const& target, std::int64_t peak);

/// Stops the meter; throws a finding if memory was leaked.
void check_nothing_is_left();

/**
 * @brief Runs a trial and maps its exception, if any, to an outcome.
 *
 * @throws finding for exceptions that are not documented
 *
 * @param may_run_out Whether an allocation may fail
 */
template <typename Body>
outcome judge(bool may_run_out, Body const& body)
{
  try {
    return body();
  } catch (cudf::data_type_error const& error) {
    check_message(error.what());
    return outcome::refused_type;
  } catch (std::overflow_error const& error) {
    check_message(error.what());
    return outcome::refused_size;
  } catch (std::invalid_argument const& error) {
    check_message(error.what());
    return outcome::refused_value;
  } catch (stream_error const& error) {
    check_message(error.what());
    return outcome::refused_by_producer;
  } catch (std::bad_alloc const&) {
    if (may_run_out) { return outcome::out_of_memory; }
    throw finding{"out of memory"};
  } catch (std::exception const& error) {
    throw finding{std::string{"an exception that is not documented: "} + error.what()};
  }
}

/// While alive, allocations are neither counted nor made to fail: for work of the fuzzer itself.
class uncounted {
 public:
  uncounted() { heap().is_on = false; }

  uncounted(uncounted const&)            = delete;
  uncounted& operator=(uncounted const&) = delete;

  ~uncounted() { heap().is_on = true; }
};

}  // namespace cudf_arrow_bridge::fuzz
