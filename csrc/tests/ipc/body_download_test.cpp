// SPDX-License-Identifier: Apache-2.0
#include "ipc/host_body.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cudf_arrow_bridge::test {
namespace {

TEST(IpcBody, IsPackedToMultiplesOf64)
{
  EXPECT_EQ(ipc_body{}.packed_size(), 0);
  EXPECT_EQ(host_body({0, 1, 64, 65, 0}).body.packed_size(), 64 + 64 + 128);
}

TEST(BodyDownload, ReturnsHostBuffersWithoutACopy)
{
  auto const source = host_body{{0, 100, 64, 1, 0}};
  auto download     = body_download{source.body, 1, no_stream()};
  auto const expect = [&](void const* address, std::size_t size) {
    auto const piece = download.next();
    if (address != nullptr) {
      EXPECT_EQ(piece.data(), address);
    } else {
      EXPECT_TRUE(std::all_of(
        piece.begin(), piece.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    }
    EXPECT_EQ(piece.size(), size);
  };
  expect(source.body.buffers[1].address, 100);
  expect(nullptr, 28);
  expect(source.body.buffers[2].address, 64);
  expect(source.body.buffers[3].address, 1);
  expect(nullptr, 63);
  EXPECT_TRUE(download.next().empty());
  EXPECT_TRUE(download.next().empty());
}

TEST(BodyDownload, KeepsTheMemory)
{
  auto source      = host_body{{10}};
  auto const alive = std::weak_ptr<void const>{source.body.owner};
  {
    auto download = body_download{std::move(source.body), 1, no_stream()};
    (void)download.next();
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(BodyDownload, OfNoBuffersIsEmpty)
{ EXPECT_TRUE(body_download(ipc_body{}, 1, no_stream()).next().empty()); }

TEST(BodyDownload, RejectsPiecesOfZeroBytes)
{ EXPECT_THROW(body_download(ipc_body{}, 0, no_stream()), std::invalid_argument); }

TEST(BodyUpload, NeedsAGpu)
{
  if (has_gpu()) { GTEST_SKIP() << "there is a GPU"; }
  EXPECT_THROW(body_upload(1, 1, no_stream(), host_memory_resource()), std::logic_error);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
