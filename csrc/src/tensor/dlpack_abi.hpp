// SPDX-License-Identifier: Apache-2.0
/// @file
/// The C structs of DLPack, whose layouts its ABI fixes. Names are DLPack's own, so that those who
/// call us may include its header; we only declare what we use.
/// Source: DLPack 1.0, "DLPack C API".
#pragma once

#include <cstdint>

extern "C" {

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DLDevice {
  std::int32_t device_type;  ///< the numbers of CPU and CUDA memory are Arrow's
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
  std::int64_t* strides;  ///< in elements; before DLPack 1.2 null stands for row-major
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
constexpr std::uint64_t dlpack_read_only     = 1;
constexpr std::uint64_t dlpack_is_copied     = 2;

}  // namespace cudf_arrow_bridge::detail
