// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudf_arrow_bridge/arrow_abi.hpp>

#include <type_traits>

namespace cudf_arrow_bridge {

/// @addtogroup owners Owners of C structs
/// @{

/**
 * @brief Sole owner of one C struct of the Arrow C data interface.
 *
 * The struct is released when the owner is destroyed, unless it was moved out before. A moved-from
 * owner holds a released struct.
 *
 * @tparam Struct `ArrowSchema`, `ArrowArray`, `ArrowDeviceArray` or one of the streams
 */
template <typename Struct>
class unique_struct {
 public:
  /// A released struct.
  unique_struct() noexcept = default;

  /// Moves the struct out of `source` and marks `source` released, as the specification requires.
  explicit unique_struct(Struct* source) noexcept : value_{*source}
  { release_callback(*source) = nullptr; }

  /// Moves the struct; `other` is released then.
  unique_struct(unique_struct&& other) noexcept : unique_struct{&other.value_} {}

  /// Releases the struct, then moves that of `other`.
  unique_struct& operator=(unique_struct&& other) noexcept
  {
    if (this != &other) {
      reset();
      other.move_to(&value_);
    }
    return *this;
  }

  unique_struct(unique_struct const&)            = delete;
  unique_struct& operator=(unique_struct const&) = delete;

  /// Releases the struct.
  ~unique_struct() { reset(); }

  /// @return The address of the struct, which this object keeps
  [[nodiscard]] Struct* get() noexcept { return &value_; }

  /// @copydoc get()
  [[nodiscard]] Struct const* get() const noexcept { return &value_; }

  /// Accesses the members of the struct.
  Struct* operator->() noexcept { return &value_; }

  /// Accesses the members of the struct.
  Struct const* operator->() const noexcept { return &value_; }

  /// @return Whether the struct is released
  [[nodiscard]] bool is_released() const noexcept { return release_callback(value_) == nullptr; }

  /// Moves the struct to `destination`, whose previous content is overwritten, not released.
  void move_to(Struct* destination) noexcept
  {
    *destination             = value_;
    release_callback(value_) = nullptr;
  }

  /// Releases the struct now.
  void reset() noexcept
  {
    if (is_released()) { return; }
    if constexpr (requires { value_.array; }) {
      value_.array.release(&value_.array);
    } else {
      value_.release(&value_);
    }
    release_callback(value_) = nullptr;
  }

 private:
  template <typename S>
  static auto& release_callback(S& value) noexcept
  {
    if constexpr (requires { value.array; }) {
      return value.array.release;
    } else {
      return value.release;
    }
  }

  Struct value_{};
};

using unique_schema       = unique_struct<ArrowSchema>;       ///< Owner of one `ArrowSchema`
using unique_array        = unique_struct<ArrowArray>;        ///< Owner of one `ArrowArray`
using unique_device_array = unique_struct<ArrowDeviceArray>;  ///< Owner of one `ArrowDeviceArray`
using unique_array_stream = unique_struct<ArrowArrayStream>;  ///< Owner of one `ArrowArrayStream`
/// Owner of one `ArrowDeviceArrayStream`
using unique_device_array_stream = unique_struct<ArrowDeviceArrayStream>;

// A capsule holds the address of an owner, which consumers read as the address of the struct.
static_assert(std::is_standard_layout_v<unique_struct<ArrowDeviceArrayStream>>);

/// @}

}  // namespace cudf_arrow_bridge
