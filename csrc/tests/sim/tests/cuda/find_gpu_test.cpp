// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/location.hpp"
#include "sim/world_test.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/error.hpp>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

namespace cudf_arrow_bridge::test {
namespace {

using detail::find_gpu;

/// @return The message of the error that `find_gpu` throws; empty if it throws none
template <typename Error>
std::string complaint()
{
  try {
    (void)find_gpu();
  } catch (Error const& error) {
    return error.what();
  }
  return {};
}

void expect_in(std::string const& part, std::string const& whole)
{ EXPECT_NE(whole.find(part), std::string::npos) << whole; }

/// Sets an environment variable and restores it afterwards.
class variable {
 public:
  variable(char const* name, char const* value) : name_{name}
  {
    if (auto const* before = std::getenv(name)) { before_ = before; }
    setenv(name, value, 1);
  }

  ~variable()
  {
    if (before_.has_value()) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

  variable(variable const&)            = delete;
  variable& operator=(variable const&) = delete;

 private:
  char const* name_;
  std::optional<std::string> before_{};
};

class search : public sim::world_test {
 protected:
  static void fail(cudaError_t error) { sim::fail_next("cudaGetDeviceCount", error); }

  variable visible_{"CUDA_VISIBLE_DEVICES", ""};
  variable required_{"CUDF_ARROW_BRIDGE_REQUIRE_GPU", ""};
};

TEST_F(search, finds_devices) { EXPECT_TRUE(find_gpu()); }

TEST_F(search, returns_false_without_a_driver)
{
  sim::set_driver_version(0);
  fail(cudaErrorInsufficientDriver);
  EXPECT_FALSE(find_gpu());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(search, returns_false_without_a_device)
{
  fail(cudaErrorNoDevice);
  EXPECT_FALSE(find_gpu());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  sim::reset(1, 0);
  EXPECT_FALSE(find_gpu());
}

TEST_F(search, returns_false_if_cuda_visible_devices_hides_all_devices)
{
  for (auto const* hidden : {"", "-1", "NoDevFiles", "none"}) {
    auto const list = variable{"CUDA_VISIBLE_DEVICES", hidden};
    fail(cudaErrorNoDevice);
    EXPECT_FALSE(find_gpu()) << hidden;
  }
}

TEST_F(search, fails_if_cuda_visible_devices_names_no_existing_device)
{
  for (auto const* wrong : {"7", "GPU-5f2c", "MIG-0"}) {
    auto const list = variable{"CUDA_VISIBLE_DEVICES", wrong};
    fail(cudaErrorNoDevice);
    auto const said = complaint<rmm::cuda_error>();
    expect_in("cudaErrorNoDevice", said);
    expect_in(std::string{"CUDA_VISIBLE_DEVICES="} + wrong, said);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
}

TEST_F(search, fails_if_the_driver_is_too_old)
{
  sim::set_driver_version(11'040);
  fail(cudaErrorInsufficientDriver);
  auto const said = complaint<rmm::cuda_error>();
  expect_in("too old", said);
  expect_in("supports CUDA 11.4,", said);
}

TEST_F(search, reports_other_cuda_errors)
{
  for (auto const error : {cudaErrorInitializationError, cudaErrorInvalidDevice}) {
    fail(error);
    expect_in(cudaGetErrorName(error), complaint<rmm::cuda_error>());
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
}

TEST_F(search, fails_without_a_gpu_if_a_gpu_is_required)
{
  auto const required = variable{"CUDF_ARROW_BRIDGE_REQUIRE_GPU", "1"};
  EXPECT_TRUE(find_gpu());
  fail(cudaErrorNoDevice);
  auto const said = complaint<std::runtime_error>();
  expect_in("CUDF_ARROW_BRIDGE_REQUIRE_GPU=1", said);
  expect_in("no CUDA device", said);
  sim::set_driver_version(0);
  fail(cudaErrorInsufficientDriver);
  expect_in("no CUDA driver is installed", complaint<std::runtime_error>());
  auto const off = variable{"CUDF_ARROW_BRIDGE_REQUIRE_GPU", "0"};
  fail(cudaErrorNoDevice);
  EXPECT_FALSE(find_gpu());
}

using search_death_test = search;

TEST_F(search_death_test, has_gpu_caches_results_but_not_errors)
{
  // Run in a separate process, because `has_gpu` keeps its first result.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
    {
      fail(cudaErrorInitializationError);
      auto failed = false;
      try {
        (void)has_gpu();
      } catch (rmm::cuda_error const&) {
        failed = true;
      }
      auto const found = has_gpu();
      auto const asked = sim::calls("cudaGetDeviceCount");
      std::_Exit(failed && found && has_gpu() && sim::calls("cudaGetDeviceCount") == asked ? 0 : 1);
    },
    testing::ExitedWithCode(0),
    "");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
