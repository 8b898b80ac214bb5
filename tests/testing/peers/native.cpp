// SPDX-License-Identifier: Apache-2.0
// A consumer without Python: it calls release callbacks from threads that Python did not create.
// And a producer whose release requires the GIL, like that of pylibcudf.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using release_function = void (*)(void*);

std::vector<std::thread> threads;
release_function last_release;
void* last_struct;

release_function release_of_producer;
std::atomic<int> releases_with_gil;
std::atomic<int> releases_without_gil;

}  // namespace

extern "C" {

void release_on_thread(release_function release, void* object)
{
  threads.emplace_back([=] { release(object); });
}

void join_threads()
{
  for (auto& thread : threads) { thread.join(); }
  threads.clear();
}

/// Releases when the process exits, after the interpreter has ended.
void release_at_exit(release_function release, void* object)
{
  last_release = release;
  last_struct  = object;
  std::atexit([] { last_release(last_struct); });
}

/// Releases on another thread when the process exits, after the interpreter has ended.
void release_on_thread_at_exit(release_function release, void* object)
{
  last_release = release;
  last_struct  = object;
  std::atexit([] { std::thread{last_release, last_struct}.join(); });
}

/// Sets the release that `release_requiring_gil` calls.
void set_release(release_function release) { release_of_producer = release; }

/// A release that counts its calls, and calls the release of the producer.
void release_requiring_gil(void* object)
{
  static auto const has_gil = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  ++(has_gil() != 0 ? releases_with_gil : releases_without_gil);
  release_of_producer(object);
}

int count_with_gil() { return releases_with_gil.exchange(0); }
int count_without_gil() { return releases_without_gil.exchange(0); }
}
