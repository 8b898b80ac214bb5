// SPDX-License-Identifier: Apache-2.0
// Stands for libcuda.so.1, as far as the CUDA runtime asks for it while it starts: a driver of the
// version STUB_VERSION whose other calls all return STUB_RESULT.
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
