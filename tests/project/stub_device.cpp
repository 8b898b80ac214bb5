// SPDX-License-Identifier: Apache-2.0
// Lets pylibcudf's own interop work on host memory where there is no GPU, as far as it asks CUDA
// for nothing but a context and a current device. Preloaded, its functions come before libcudf's.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

extern "C" {

int cuCtxGetCurrent(void** context)
{
  static int stands_for_one;
  *context = &stands_for_one;
  return 0;
}

int cuGetProcAddress_v2(
  char const* name, void** function, int /*version*/, std::uint64_t /*flags*/, int* status)
{
  auto const found = std::strcmp(name, "cuCtxGetCurrent") == 0;
  *function        = found ? reinterpret_cast<void*>(cuCtxGetCurrent) : nullptr;
  if (status != nullptr) { *status = found ? 0 : 1; }
  return found ? 0 : 500;
}

struct ArrowArray {
  std::int64_t numbers[5];
  void* pointers[3];
  void (*release)(ArrowArray*);
  void* private_data;
};

// What libcudf was about to export.
ArrowArray exported{};

// libcudf calls this last on an array that it exports, before it asks CUDA for an event. It gets an
// error, and the array is kept here.
int cudfArrowArrayFinishBuilding(ArrowArray* array, int level, void* error)
{
  auto* const libcudf = dlopen("libcudf.so", RTLD_LAZY | RTLD_NOLOAD);
  auto* const finish  = reinterpret_cast<decltype(&cudfArrowArrayFinishBuilding)>(
    dlsym(libcudf, "cudfArrowArrayFinishBuilding"));
  if (auto const code = finish(array, level, error); code != 0) { return code; }
  exported       = *array;
  array->release = nullptr;
  return 1;
}

}  // extern "C"

// RMM_NAMESPACE is that of the librmm that is installed.
namespace rmm::RMM_NAMESPACE {

struct cuda_device_id {
  int value;
};

struct cuda_set_device_raii {
  explicit cuda_set_device_raii(cuda_device_id);
  ~cuda_set_device_raii();
};

cuda_set_device_raii::cuda_set_device_raii(cuda_device_id) {}
cuda_set_device_raii::~cuda_set_device_raii() {}

}  // namespace rmm::RMM_NAMESPACE
