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

/**
 * @brief Waits until a descriptor can be read or written, or a signal arrives.
 *
 * @param timeout Milliseconds, -1 for any number
 * @return Whether it is ready
 */
bool wait_until_ready(int fd, short events, int timeout, char const* operation)
{
  auto one          = pollfd{fd, events, 0};
  auto const result = ::poll(&one, 1, timeout);
  if (result < 0 && errno != EINTR) {
    throw std::system_error{errno, std::generic_category(), operation};
  }
  return result > 0;
}

/**
 * @brief Repeats a system call until it is neither interrupted nor would block.
 *
 * @return The result of the call: the number of bytes
 */
template <typename Call>
std::size_t repeat(
  Call call, int fd, short events, char const* operation, signal_function const& check_signals)
{
  for (;;) {
    // A signal that arrived before the call does not interrupt it.
    if (!wait_until_ready(fd, events, 0, operation)) { check_signals(); }
    auto const result = call();
    if (result >= 0) { return static_cast<std::size_t>(result); }
    if (errno == EINTR) {
      check_signals();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      (void)wait_until_ready(fd, events, -1, operation);
    } else {
      throw std::system_error{errno, std::generic_category(), operation};
    }
  }
}

/// Pieces of memory that one call writes to a descriptor.
class gathered_write {
 public:
  gathered_write(int fd, signal_function const& check_signals)
    : fd_{fd}, check_signals_{check_signals}
  {
  }

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
      auto written     = repeat(
        [&] { return ::writev(fd_, &*first, count); }, fd_, POLLOUT, "writev", check_signals_);
      for (; first != pieces_.end() && written >= first->iov_len; ++first) {
        written -= first->iov_len;
      }
      if (written > 0) {
        first->iov_base = static_cast<std::byte*>(first->iov_base) + written;
        first->iov_len -= written;
      }
      // A signal ends a call that has written some bytes without an error.
      if (first != pieces_.end()) { check_signals_(); }
    }
    pieces_.clear();
  }

 private:
  int fd_;
  signal_function const& check_signals_;
  std::vector<iovec> pieces_;
};

}  // namespace

void write_body(int fd,
                std::span<std::byte const> head,
                ipc_body const& body,
                std::size_t chunk_size,
                cuda::stream_ref stream,
                signal_function const& check_signals)
{
  detail::nvtx_range const range{__func__};
  auto download = body_download{body, chunk_size, stream};
  auto gathered = gathered_write{fd, check_signals};
  gathered.add(head);
  for (auto piece = download.next(); !piece.empty(); piece = download.next()) {
    gathered.add(piece);
    if (!detail::is_read_in_place(body.location)) { gathered.flush(); }
  }
  gathered.flush();
}

std::size_t read_fully(int fd, std::span<std::byte> target, signal_function const& check_signals)
{
  detail::nvtx_range const range{__func__};
  auto num_read = std::size_t{0};
  while (num_read < target.size()) {
    auto const rest  = target.subspan(num_read);
    auto const count = repeat(
      [&] { return ::read(fd, rest.data(), rest.size()); }, fd, POLLIN, "read", check_signals);
    if (count == 0) { break; }
    num_read += count;
  }
  return num_read;
}

std::int64_t ipc_body::packed_size() const noexcept
{
  auto size = std::int64_t{0};
  for (auto const& buffer : buffers) { size += ipc_padded(buffer.size); }
  return size;
}

namespace detail {

packed_run packed_runs::take(std::size_t limit) noexcept
{
  for (; buffer_ < body_.buffers.size(); ++buffer_, taken_ = 0) {
    auto const& buffer = body_.buffers[buffer_];
    auto const size    = static_cast<std::size_t>(buffer.size);
    auto const padded  = static_cast<std::size_t>(ipc_padded(buffer.size));
    if (taken_ == padded) { continue; }
    auto const is_data = taken_ < size;
    auto const run =
      packed_run{is_data ? static_cast<std::byte const*>(buffer.address) + taken_ : nullptr,
                 std::min(limit, (is_data ? size : padded) - taken_)};
    taken_ += run.size;
    return run;
  }
  return {nullptr, 0};
}

}  // namespace detail

}  // namespace cudf_arrow_bridge
