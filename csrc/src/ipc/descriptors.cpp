// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "ipc/packed_runs.hpp"

#include <cudf_arrow_bridge/ipc.hpp>

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

namespace cudf_arrow_bridge {
namespace {

/// Waits until a descriptor that does not block can go on. @return Whether a signal came before
bool is_interrupted(int fd, short events, char const* operation)
{
  auto one = pollfd{fd, events, 0};
  if (::poll(&one, 1, -1) >= 0) { return false; }
  if (errno == EINTR) { return true; }
  throw std::system_error{errno, std::generic_category(), operation};
}

/**
 * @brief Calls the system until it has not been interrupted and need not be waited for.
 *
 * @return What the call gave: how many bytes it took
 */
template <typename Call>
std::size_t repeat(
  Call call, int fd, short events, char const* operation, signal_function const& on_signal)
{
  for (;;) {
    auto const result = call();
    if (result >= 0) { return static_cast<std::size_t>(result); }
    auto const is_full = errno == EAGAIN || errno == EWOULDBLOCK;
    if (!is_full && errno != EINTR) {
      throw std::system_error{errno, std::generic_category(), operation};
    }
    if (!is_full || is_interrupted(fd, events, operation)) { on_signal(); }
  }
}

/// Pieces of memory that go to a descriptor with one call.
class gathered_write {
 public:
  gathered_write(int fd, signal_function const& on_signal) : fd_{fd}, on_signal_{on_signal} {}

  void add(std::span<std::byte const> piece)
  {
    if (piece.empty()) { return; }
    pieces_.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
    if (pieces_.size() == IOV_MAX) { flush(); }
  }

  void flush()
  {
    for (auto first = pieces_.begin(); first != pieces_.end();) {
      auto const count = static_cast<int>(pieces_.end() - first);
      auto written =
        repeat([&] { return ::writev(fd_, &*first, count); }, fd_, POLLOUT, "writev", on_signal_);
      for (; first != pieces_.end() && written >= first->iov_len; ++first) {
        written -= first->iov_len;
      }
      if (written > 0) {
        first->iov_base = static_cast<std::byte*>(first->iov_base) + written;
        first->iov_len -= written;
      }
    }
    pieces_.clear();
  }

 private:
  int fd_;
  signal_function const& on_signal_;
  std::vector<iovec> pieces_;
};

}  // namespace

void write_body(int fd,
                std::span<std::byte const> head,
                ipc_body const& body,
                std::size_t chunk_size,
                cuda::stream_ref stream,
                signal_function const& on_signal)
{
  detail::nvtx_range const range{__func__};
  auto download = body_download{body, chunk_size, stream};
  auto gathered = gathered_write{fd, on_signal};
  gathered.add(head);
  for (auto piece = download.next(); !piece.empty(); piece = download.next()) {
    gathered.add(piece);
    if (!detail::is_read_in_place(body.location)) { gathered.flush(); }
  }
  gathered.flush();
}

std::size_t read_fully(int fd, std::span<std::byte> target, signal_function const& on_signal)
{
  detail::nvtx_range const range{__func__};
  auto num_read = std::size_t{0};
  while (num_read < target.size()) {
    auto const rest = target.subspan(num_read);
    auto const count =
      repeat([&] { return ::read(fd, rest.data(), rest.size()); }, fd, POLLIN, "read", on_signal);
    if (count == 0) { break; }
    num_read += count;
  }
  return num_read;
}

}  // namespace cudf_arrow_bridge
