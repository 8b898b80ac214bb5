// SPDX-License-Identifier: Apache-2.0
#include "ipc/host_body.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

TEST(IpcBody, IsPackedToMultiplesOf64)
{
  EXPECT_EQ(ipc_body{}.packed_size(), 0);
  EXPECT_EQ(host_body({0, 1, 64, 65, 0}).body.packed_size(), 64 + 64 + 128);
}

TEST(BodyDownload, RejectsInvalidArguments)
{
  auto const download = [](ipc_body const& body, std::size_t chunk_size) {
    download_body(body, chunk_size, [](auto...) {}, no_stream());
  };
  auto on_device     = ipc_body{};
  on_device.location = {ARROW_DEVICE_CUDA, 0};
  EXPECT_THROW(download(on_device, 0), std::invalid_argument);
  EXPECT_THROW(download(host_body({1}).body, 1), std::invalid_argument);
}

TEST(BodyUpload, NeedsAGpu)
{
  if (has_gpu()) { GTEST_SKIP() << "there is a GPU"; }
  EXPECT_THROW((void)upload_body(std::array{std::byte{1}}, 1, no_stream(), host_memory_resource()),
               std::logic_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
