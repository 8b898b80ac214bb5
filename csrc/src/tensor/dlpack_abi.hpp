// SPDX-License-Identifier: Apache-2.0
/// @file
/// The C structs of DLPack, whose layouts its ABI fixes. The names are those of DLPack, so that
/// callers may include its header. Only the structs in use are declared. Source: DLPack 1.3,
/// "DLPack C API".
#pragma once

#include <cstdint>

extern "C" {

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DLDevice {
  std::int32_t device_type;  ///< the values for CPU and CUDA memory are those of Arrow
  std::int32_t device_id;    ///< 0 for CPU, pinned and managed memory
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; before DLPack 1.2 null means row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor*);
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

namespace cudf_arrow_bridge::detail {

constexpr std::uint32_t dlpack_major_version = 1;
constexpr std::uint32_t dlpack_minor_version = 3;
constexpr std::uint64_t dlpack_read_only     = 1;
constexpr std::uint64_t dlpack_is_copied     = 2;

}  // namespace cudf_arrow_bridge::detail
