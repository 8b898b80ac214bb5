// SPDX-License-Identifier: Apache-2.0
// Stands for libcuda.so.1, as far as the CUDA runtime asks for it while it starts: a driver of the
// version STUB_VERSION whose every call ends in STUB_RESULT. Who asks it for more finds two
// devices.
#include <stdlib.h>
#include <string.h>

static int result(void) { return atoi(getenv("STUB_RESULT")); }

int cuInit(unsigned int flags)
{
  (void)flags;
  return result();
}

int cuDriverGetVersion(int* version)
{
  *version = atoi(getenv("STUB_VERSION"));
  return 0;
}

int cuGetProcAddress_v2(
  char const* name, void** function, int version, unsigned long long flags, int* status)
{
  (void)version;
  (void)flags;
  if (status != NULL) { *status = 0; }
  *function = (void*)result;
  if (strcmp(name, "cuInit") == 0) { *function = (void*)cuInit; }
  if (strcmp(name, "cuDriverGetVersion") == 0) { *function = (void*)cuDriverGetVersion; }
  if (strcmp(name, "cuGetProcAddress") == 0) { *function = (void*)cuGetProcAddress_v2; }
  return 0;
}

int cuDeviceGetCount(int* count)
{
  *count = 2;
  return 0;
}

int cuDeviceGet(int* device, int index)
{
  *device = 10 + index;
  return 0;
}

int cuDeviceGetName(char* name, int length, int device)
{
  strncpy(name, device == 10 ? "Stub H9 (SXM)" : "Stub H8", (size_t)length);
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device)
{
  *bytes = (size_t)(device - 9) << 34;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device)
{
  (void)device;
  *value = attribute == 75 ? 9 : 1;  // the major and the minor compute capability
  return 0;
}
