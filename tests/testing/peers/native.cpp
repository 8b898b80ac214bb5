// SPDX-License-Identifier: Apache-2.0
// A consumer without Python: it calls release callbacks from threads that Python did not create.
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using release_function = void (*)(void*);

std::vector<std::thread> threads;
release_function last_release;
void* last_struct;

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
}
