// SPDX-License-Identifier: Apache-2.0
/// @file
/// References of C++ to Python objects, their release when the interpreter is finalized, and
/// capsules.
#pragma once

#include "finalization.hpp"

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <Python.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

namespace cudf_arrow_bridge {

/**
 * @brief Delays the finalization of the interpreter while a thread may acquire the GIL.
 *
 * During finalization, acquiring the GIL ends the calling thread; see `call_with_gil`. A thread
 * enters the gate before it runs a destructor or a callback of the C interfaces that may acquire
 * the GIL. After `close`, no thread can enter, and finalization continues when all threads have
 * left, or after a second: a source in Python may wait forever. A thread may enter recursively.
 */
class interpreter_gate {
 public:
  /// @return Whether the thread has entered; then it must call `leave`
  static bool enter() noexcept
  {
    if (depth_ == 0 && (state_.fetch_add(1) & closed_) != 0) {
      state_.fetch_sub(1);
      return false;
    }
    ++depth_;
    return true;
  }

  static void leave() noexcept
  {
    if (--depth_ == 0) { state_.fetch_sub(1); }
  }

  /// Rejects further threads and waits until the others have left, at most for a second. Call it
  /// without the GIL.
  static void close() noexcept
  {
    closed_here_ = true;
    state_.fetch_or(closed_);
    auto const own = std::uint64_t{depth_ > 0};
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    while ((state_.load() & ~closed_) > own && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  /// Whether this thread called `close`: the thread that finalizes the interpreter.
  static bool closed_here() noexcept { return closed_here_; }

 private:
  static constexpr auto closed_ = std::uint64_t{1} << 63;

  static inline std::atomic<std::uint64_t> state_{
    0};  ///< the number of threads inside, and `closed_`
  static inline thread_local std::uint64_t depth_{0};
  static inline thread_local bool closed_here_{false};

  /// A forked child has only the forking thread.
  static inline int const forked_ = pthread_atfork(
    nullptr, nullptr, [] { state_.store((state_.load() & closed_) | std::uint64_t{depth_ > 0}); });
};

/// Runs a function with the GIL, or not at all during finalization.
template <typename Function>
void run_with_gil(Function const& function) noexcept
{
  if (!interpreter_gate::enter()) { return; }
  call_with_gil([&] {
    auto const state = PyGILState_Ensure();
    function();
    PyGILState_Release(state);
  });
  interpreter_gate::leave();
}

/**
 * @brief Shares ownership of a Python object with C++.
 *
 * The last share may be dropped on any thread, with or without the GIL. During finalization the
 * reference is leaked, because the process is about to end.
 *
 * @param object A borrowed reference; the caller holds the GIL
 */
inline std::shared_ptr<void const> share_python_object(PyObject* object)
{
  Py_INCREF(object);  // the deleter drops it, also if the next line throws
  return std::shared_ptr<void const>{
    object, [](void const* held) {
      run_with_gil([&] { Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held))); });
    }};
}

/**
 * @brief Makes the release of a producer's array acquire the GIL.
 *
 * The producer's release changes Python reference counts but does not acquire the GIL, and this
 * library releases arrays on any thread. During finalization the array is leaked.
 *
 * @param array An array with a release; its children and buffers stay in place
 */
inline void release_with_gil(ArrowArray& array)
{
  array.private_data = std::make_unique<ArrowArray>(array).release();
  array.release      = [](ArrowArray* self) {
    self->release = nullptr;
    run_with_gil([self] {
      auto const original =
        std::unique_ptr<ArrowArray>{static_cast<ArrowArray*>(self->private_data)};
      original->release(original.get());
    });
  };
}

/// Destructor of the capsules of a C struct.
template <typename Owner>
void destroy_capsule(PyObject* capsule)
{
  delete static_cast<Owner*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  Py_XDECREF(static_cast<PyObject*>(PyCapsule_GetContext(capsule)));
}

/// Moves a C struct to a new capsule. The struct is moved last, so that a failure leaks nothing.
/// @param attached Object that the capsule references; null: none
template <typename Owner>
PyObject* to_capsule(Owner& source, char const* name, PyObject* attached)
{
  auto target         = std::make_unique<Owner>();
  auto* const capsule = PyCapsule_New(target.get(), name, &destroy_capsule<Owner>);
  if (capsule == nullptr) { return nullptr; }
  *target.release() = std::move(source);
  Py_XINCREF(attached);
  PyCapsule_SetContext(capsule, attached);
  return capsule;
}

/// @return The object that `to_capsule` attached to a capsule of an `Owner`; null for any other
template <typename Owner>
PyObject* attached_object(PyObject* capsule)
{
  if (!PyCapsule_CheckExact(capsule)) { return nullptr; }
  if (PyCapsule_GetDestructor(capsule) != &destroy_capsule<Owner>) { return nullptr; }
  return static_cast<PyObject*>(PyCapsule_GetContext(capsule));
}

}  // namespace cudf_arrow_bridge
