// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/async.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::test {

/// Return the items that a reader has ready, in order: the length of each array, then "end" or an
/// error; "wait" if there is neither.
inline std::vector<std::string> read_ready(async_stream_reader& reader)
{
  auto found = std::vector<std::string>{};
  try {
    for (;;) {
      auto const batch = reader.next();
      if (!batch) {
        found.emplace_back("wait");
        return found;
      }
      if (batch->is_end()) {
        found.emplace_back("end");
        return found;
      }
      found.push_back(std::to_string(batch->array->array.length));
    }
  } catch (async_stream_error const& error) {
    found.push_back("error " + std::to_string(error.code()) + " " + error.what());
  }
  return found;
}

/// Return all items that a reader gets, in the form of `read_ready`.
inline std::vector<std::string> read_all(async_stream_reader& reader)
{
  auto found = std::vector<std::string>{};
  do {
    if (!found.empty()) { found.pop_back(); }
    reader.wait();
    auto const ready = read_ready(reader);
    found.insert(found.end(), ready.begin(), ready.end());
  } while (found.back() == "wait");
  return found;
}

}  // namespace cudf_arrow_bridge::test
