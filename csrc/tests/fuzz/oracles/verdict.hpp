// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a trial may end, and what is never an end.
#pragma once

#include "fuzz/allocations.hpp"
#include "fuzz/structs/tree.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <cudf/utilities/error.hpp>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::fuzz {

enum class outcome : std::int8_t {
  equal,     ///< done, with the values that are expected
  imported,  ///< done; no oracle takes the same, or its contents lead astray
  refused_type,
  refused_value,
  refused_size,
  refused_by_producer,  ///< a stream that reports an error
  out_of_memory,
  not_provided  ///< not tried: it would claim more memory than there is
};

constexpr int num_outcomes = 8;

/// Something that must never be; its message says what.
struct finding {
  std::string what;
};

/// @return What the last trial that was refused said
[[nodiscard]] std::string const& last_refusal();

/// Remembers a refusal. Throws a finding if it is empty or not UTF-8.
void check_message(char const* message);

/// Throws a finding if more was asked of the heap than the memory and levels of a tree explain.
void check_peak(tree const& target, std::int64_t peak);

/// Stops looking at the heap; throws a finding if any of what was asked for is left.
void check_nothing_is_left();

/**
 * @brief Does something and tells how it ended, while the heap is looked at.
 *
 * @throws finding for exceptions that are not documented
 *
 * @param may_run_out Whether the heap has been told to refuse
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

/// For what a trial does beside what is tried: neither counted nor refused.
class uncounted {
 public:
  uncounted() { heap().is_on = false; }

  uncounted(uncounted const&)            = delete;
  uncounted& operator=(uncounted const&) = delete;

  ~uncounted() { heap().is_on = true; }
};

}  // namespace cudf_arrow_bridge::fuzz
