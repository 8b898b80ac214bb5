// SPDX-License-Identifier: Apache-2.0
// Stands for libcuda.so.1, as far as dev/gpu/host.py asks it: a driver of the version STUB_VERSION
// with two devices, whose cuInit ends in STUB_RESULT.
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned int flags)
{
  (void)flags;
  return atoi(getenv("STUB_RESULT"));
}

int cuDriverGetVersion(int* version)
{
  *version = atoi(getenv("STUB_VERSION"));
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
  *value = attribute == 75 ? 9 : 1;
  return 0;
}
