// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one place where C++ holds Python objects, and knows when the interpreter goes.
#pragma once

#include <Python.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace cudf_arrow_bridge {

/**
 * @brief Keeps the interpreter from going while a thread may ask for the GIL.
 *
 * An interpreter that goes ends every thread that asks for the GIL where it stands, by unwinding
 * its stack. Destructors and callbacks of the C interfaces cannot be unwound, so a thread enters
 * before it runs one that may ask; nobody enters any more once the interpreter is going, and it
 * goes on only when all have left. A thread may enter again while it is inside.
 */
class interpreter_gate {
 public:
  /// @return whether the thread is inside now; then it leaves in the end
  static bool enter() noexcept
  {
    if (depth_ == 0 && (state_.fetch_add(1) & going_) != 0) {
      leave_for_good();
      return false;
    }
    ++depth_;
    return true;
  }

  static void leave() noexcept
  {
    if (--depth_ == 0) { leave_for_good(); }
  }

  /// Lets nobody in any more and waits for the others to leave. To be called without the GIL.
  static void close() noexcept
  {
    closed_here_ = true;
    state_.fetch_or(going_);
    auto const own = std::uint64_t{depth_ > 0};
    for (auto now = state_.load(); (now & ~going_) > own; now = state_.load()) { state_.wait(now); }
  }

  /// Whether this thread called `close`: the thread that shuts the interpreter down.
  static bool closed_here() noexcept { return closed_here_; }

 private:
  static constexpr auto going_ = std::uint64_t{1} << 63;

  static void leave_for_good() noexcept
  {
    // Only the thread that closes waits, and it closes first.
    if ((state_.fetch_sub(1) & going_) != 0) { state_.notify_all(); }
  }

  static inline std::atomic<std::uint64_t> state_{0};  ///< the threads inside, and `going_`
  static inline thread_local std::uint64_t depth_{0};
  static inline thread_local bool closed_here_{false};

  /// Of the threads inside, a child that was forked has the one that forked.
  static inline int const forked_ = pthread_atfork(
    nullptr, nullptr, [] { state_.store((state_.load() & going_) | std::uint64_t{depth_ > 0}); });
};

/**
 * @brief Shares ownership of a Python object with C++.
 *
 * The last share may go on any thread, with or without the GIL. Once the interpreter is going the
 * reference is leaked instead: the process is about to end.
 *
 * @param object Borrowed; the caller holds the GIL
 */
inline std::shared_ptr<void const> share_python_object(PyObject* object)
{
  Py_INCREF(object);  // given back by the deleter, also where the next line throws
  return std::shared_ptr<void const>{object, [](void const* held) {
                                       if (!interpreter_gate::enter()) { return; }
                                       auto const state = PyGILState_Ensure();
                                       Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held)));
                                       PyGILState_Release(state);
                                       interpreter_gate::leave();
                                     }};
}

}  // namespace cudf_arrow_bridge
