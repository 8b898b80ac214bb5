// SPDX-License-Identifier: Apache-2.0
#include "ipc/host_body.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

namespace cudf_arrow_bridge::test {
namespace {

/// A file descriptor that is closed with the object.
class descriptor {
 public:
  explicit descriptor(int fd = -1) : fd_{fd} {}
  descriptor(descriptor const&)            = delete;
  descriptor& operator=(descriptor const&) = delete;
  ~descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  void reset(int fd) { close(), fd_ = fd; }

  void close()
  {
    if (fd_ >= 0) { ::close(fd_); }
    fd_ = -1;
  }

 private:
  int fd_;
};

/// A pipe or a socket pair that buffers a few KiB.
struct connection {
  enum class kind : std::uint8_t { pipe, socket };

  explicit connection(kind of, bool blocks = true)
  {
    auto ends = std::array<int, 2>{};
    if (of == kind::pipe) {
      EXPECT_EQ(::pipe(ends.data()), 0);
      (void)::fcntl(ends[1], F_SETPIPE_SZ, 4096);
    } else {
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
      auto const size = 1;
      (void)::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    if (!blocks) {
      for (auto const end : ends) { EXPECT_EQ(::fcntl(end, F_SETFL, O_NONBLOCK), 0); }
    }
  }

  descriptor reader;
  descriptor writer;
};

constexpr auto no_signal = [] {};

bytes_t text(std::string_view characters)
{
  auto const* const first = reinterpret_cast<std::byte const*>(characters.data());
  return {first, first + characters.size()};
}

/// @return All bytes up to the end, read in small parts
bytes_t read_to_end(int fd)
{
  auto result = bytes_t{};
  auto part   = bytes_t(777);
  for (;;) {
    auto const count = read_fully(fd, part, no_signal);
    result.insert(result.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
    if (count < part.size()) { return result; }
  }
}

TEST(Descriptors, BodiesPassThroughSmallPipesAndSockets)
{
  auto sizes = std::vector<std::size_t>{0, 5000, 1, 64, 300'000, 63};
  sizes.insert(sizes.end(), 3000, 70);  // more buffers than one system call accepts
  auto const source = host_body{sizes};
  auto const head   = text("head");
  auto expected     = head;
  expected.insert(expected.end(), source.packed.begin(), source.packed.end());
  for (auto const kind : {connection::kind::pipe, connection::kind::socket}) {
    for (auto const blocks : {true, false}) {
      auto ends   = connection{kind, blocks};
      auto seen   = bytes_t{};
      auto reader = std::thread{[&] { seen = read_to_end(ends.reader.get()); }};
      write_body(ends.writer.get(), head, source.body, 1, no_stream(), no_signal);
      ends.writer.close();
      reader.join();
      EXPECT_EQ(seen, expected);
    }
  }
}

TEST(Descriptors, WritesStartAtTheFilePosition)
{
  auto const file = descriptor{::memfd_create("body", 0)};
  auto const all  = host_body{{3}};
  ASSERT_EQ(::write(file.get(), "before", 6), 6);
  write_body(file.get(), text("-"), all.body, 1, no_stream(), no_signal);
  write_body(file.get(), {}, ipc_body{}, 1, no_stream(), no_signal);
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 6 + 1 + 64);
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  auto expected = text("before-");
  expected.insert(expected.end(), all.packed.begin(), all.packed.end());
  EXPECT_EQ(read_to_end(file.get()), expected);
}

TEST(Descriptors, ReadsReturnFewerBytesAtTheEnd)
{
  auto ends = connection{connection::kind::pipe};
  ASSERT_EQ(::write(ends.writer.get(), "abc", 3), 3);
  ends.writer.close();
  auto target = bytes_t(5);
  EXPECT_EQ(read_fully(ends.reader.get(), target, no_signal), 3U);
  EXPECT_EQ(read_fully(ends.reader.get(), target, no_signal), 0U);
  EXPECT_EQ(read_fully(ends.reader.get(), {}, no_signal), 0U);
}

TEST(Descriptors, ErrorsHaveTheSystemErrorCode)
{
  auto const source = host_body{{10}};
  auto const file   = descriptor{::memfd_create("body", MFD_ALLOW_SEALING)};
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW), 0);
  auto const code_of = [](auto call) {
    try {
      call();
    } catch (std::system_error const& error) {
      return error.code().value();
    }
    return 0;
  };
  EXPECT_EQ(code_of([&] { write_body(file.get(), {}, source.body, 1, no_stream(), no_signal); }),
            EPERM);
  auto target = bytes_t(5);
  EXPECT_EQ(code_of([&] { (void)read_fully(-1, target, no_signal); }), EBADF);
}

/// Interrupts the thread that constructs it repeatedly.
class interruptions {
 public:
  interruptions() : thread_{[this, target = ::pthread_self()] { interrupt(target); }}
  {
    // Without SA_RESTART, a signal ends a system call with EINTR.
    struct sigaction action{};
    action.sa_handler = [](int) {};
    EXPECT_EQ(::sigaction(SIGUSR1, &action, &before_), 0);
    is_ready_ = true;
  }

  ~interruptions()
  {
    is_over_ = true;
    thread_.join();
    (void)::sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  void interrupt(pthread_t target)
  {
    while (!is_over_) {
      if (is_ready_) { ::pthread_kill(target, SIGUSR1); }
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
  }

  struct sigaction before_{};
  std::atomic<bool> is_ready_{false};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST(Descriptors, WritingContinuesAfterSignals)
{
  auto const source = host_body{{100'000}};
  for (auto const blocks : {true, false}) {
    auto ends        = connection{connection::kind::pipe, blocks};
    auto seen        = bytes_t{};
    auto reader      = std::thread{[&] {
      auto part = bytes_t(4096);
      while (read_fully(ends.reader.get(), part, no_signal) > 0) {
        seen.insert(seen.end(), part.begin(), part.end());
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
      }
    }};
    auto num_signals = 0;
    {
      auto const signals = interruptions{};
      write_body(ends.writer.get(), {}, source.body, 1, no_stream(), [&] { ++num_signals; });
    }
    ends.writer.close();
    reader.join();
    seen.resize(source.packed.size());
    EXPECT_EQ(seen, source.packed);
    EXPECT_GT(num_signals, 0);
  }
}

/// Throws after the first signal.
class stop_at_signal {
 public:
  stop_at_signal()
  {
    has_signal = false;
    struct sigaction action{};
    action.sa_handler = [](int) { has_signal = true; };
    EXPECT_EQ(::sigaction(SIGUSR1, &action, &before_), 0);
  }

  ~stop_at_signal() { (void)::sigaction(SIGUSR1, &before_, nullptr); }

  void operator()() const
  {
    if (has_signal) { throw std::runtime_error{"stopped"}; }
  }

 private:
  static inline std::atomic<bool> has_signal{false};
  struct sigaction before_{};
};

/// Sends one signal to this thread after 20 ms, and begins to read the connection 2 s later, so
/// that a call that has missed the signal returns.
class one_signal {
 public:
  explicit one_signal(connection& ends)
    : thread_{[this, &ends, target = ::pthread_self()] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        ::pthread_kill(target, SIGUSR1);
        for (auto i = 0; i < 200 && !is_over_; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        if (!is_over_) { drain(ends); }
      }}
  {
  }

  ~one_signal()
  {
    is_over_ = true;
    thread_.join();
  }

 private:
  void drain(connection& ends) const
  {
    auto part = bytes_t(4096);
    EXPECT_EQ(::fcntl(ends.reader.get(), F_SETFL, O_NONBLOCK), 0);
    while (!is_over_) { (void)!::read(ends.reader.get(), part.data(), part.size()); }
  }

  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST(Descriptors, WritingStopsAtTheFirstSignal)
{
  auto const source = host_body{{100'000}};
  for (auto const kind : {connection::kind::pipe, connection::kind::socket}) {
    for (auto const blocks : {true, false}) {
      auto ends         = connection{kind, blocks};
      auto const stop   = stop_at_signal{};
      auto const signal = one_signal{ends};
      EXPECT_THROW(write_body(ends.writer.get(), {}, source.body, 1, no_stream(), [&] { stop(); }),
                   std::runtime_error);
    }
  }
}

TEST(Descriptors, SignalsBeforeAReadStopItBeforeItWaits)
{
  for (auto const blocks : {true, false}) {
    auto ends       = connection{connection::kind::pipe, blocks};
    auto const stop = stop_at_signal{};
    ASSERT_EQ(::raise(SIGUSR1), 0);
    auto target = bytes_t(5);
    EXPECT_THROW((void)read_fully(ends.reader.get(), target, [&] { stop(); }), std::runtime_error);
  }
}

TEST(Descriptors, ReadingStopsAtTheFirstSignal)
{
  for (auto const blocks : {true, false}) {
    auto ends = connection{connection::kind::pipe, blocks};
    ASSERT_EQ(::write(ends.writer.get(), "abc", 3), 3);
    auto const stop   = stop_at_signal{};
    auto const signal = std::jthread{[target = ::pthread_self()] {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      ::pthread_kill(target, SIGUSR1);
    }};
    auto target       = bytes_t(5);
    EXPECT_THROW((void)read_fully(ends.reader.get(), target, [&] { stop(); }), std::runtime_error);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
