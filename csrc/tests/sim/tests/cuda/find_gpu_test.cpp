// SPDX-License-Identifier: Apache-2.0
#include "cuda/location/location.hpp"
#include "sim/tests/bridge_test.hpp"

#include <cudf_arrow_bridge/memory.hpp>

#include <rmm/error.hpp>

#include <cstdlib>

namespace cudf_arrow_bridge::test {
namespace {

/// Sets an environment variable and restores it afterwards.
class variable {
 public:
  variable(char const* name, char const* value) : name_{name}
  {
    if (auto const* before = std::getenv(name)) { before_ = before; }
    setenv(name, value, 1);
  }

  ~variable() { (void)(before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1)); }

  variable(variable const&)            = delete;
  variable& operator=(variable const&) = delete;

 private:
  char const* name_;
  std::string before_{};
};

/// An error of CUDA, and the parts of the message of `find_gpu`.
struct search_case {
  cudaError_t error;
  char const* visible;                 ///< CUDA_VISIBLE_DEVICES
  char const* required;                ///< CUDF_ARROW_BRIDGE_REQUIRE_GPU
  int driver;                          ///< version; 0: none
  std::vector<std::string> message{};  ///< empty: `find_gpu` returns false
};

using Search = sim::world_test;

TEST_F(Search, FindsDevices)
{
  EXPECT_TRUE(detail::find_gpu());
  auto const required = variable{"CUDF_ARROW_BRIDGE_REQUIRE_GPU", "1"};
  EXPECT_TRUE(detail::find_gpu());
  sim::reset(1, 0);
  EXPECT_THROW((void)detail::find_gpu(), std::runtime_error);
}

TEST_F(Search, ReturnsFalseOrFailsWithoutADevice)
{
  for (auto const& [error, visible, required, driver, message] : std::vector<search_case>{
         {cudaErrorInsufficientDriver, "", "", 0},
         {cudaErrorNoDevice, "", "0", 12'000},
         {cudaErrorNoDevice, "-1", "", 12'000},
         {cudaErrorNoDevice, "NoDevFiles", "", 12'000},
         {cudaErrorNoDevice, "none", "", 12'000},
         {cudaErrorNoDevice, "7", "", 12'000, {"cudaErrorNoDevice", "CUDA_VISIBLE_DEVICES=7"}},
         {cudaErrorNoDevice, "GPU-5f2c", "", 12'000, {"CUDA_VISIBLE_DEVICES=GPU-5f2c"}},
         {cudaErrorNoDevice, "MIG-0", "", 12'000, {"CUDA_VISIBLE_DEVICES=MIG-0"}},
         {cudaErrorInsufficientDriver, "", "", 11'040, {"too old", "supports CUDA 11.4,"}},
         {cudaErrorInvalidDevice, "", "", 12'000, {"cudaErrorInvalidDevice"}},
         {cudaErrorNoDevice, "", "1", 12'000, {"REQUIRE_GPU=1", "no CUDA device"}},
         {cudaErrorInsufficientDriver, "", "1", 0, {"no CUDA driver is installed"}}}) {
    auto const list  = variable{"CUDA_VISIBLE_DEVICES", visible};
    auto const force = variable{"CUDF_ARROW_BRIDGE_REQUIRE_GPU", required};
    sim::set_driver_version(driver);
    sim::fail_next("cudaGetDeviceCount", error);
    auto found      = true;
    auto const text = message_of<std::runtime_error>([&] { found = detail::find_gpu(); });
    EXPECT_EQ(found, !message.empty()) << text;
    for (auto const& part : message) { expect_in(part, text); }
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
}

using SearchDeathTest = Search;

TEST_F(SearchDeathTest, HasGpuCachesResultsButNotErrors)
{
  // Run in a separate process, because `has_gpu` keeps its first result.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
    {
      sim::fail_next("cudaGetDeviceCount", cudaErrorInitializationError);
      auto const failed = !message_of<rmm::cuda_error>([] { (void)has_gpu(); }).empty();
      auto const found  = has_gpu();
      auto const calls  = sim::calls("cudaGetDeviceCount");
      std::_Exit(failed && found && has_gpu() && sim::calls("cudaGetDeviceCount") == calls ? 0 : 1);
    },
    testing::ExitedWithCode(0),
    "");
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
