// SPDX-License-Identifier: Apache-2.0
// Preloaded before libc: makes one system call fail, like on a full or broken disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/uio.h>

static int calls_left = 0;
static int error      = 0;

/// Makes the `count`th call from now on fail with `number`. With a count of 0, no call fails.
void fail_call(int count, int number)
{
  calls_left = count;
  error      = number;
}

static int fails(void)
{
  if (calls_left == 0 || --calls_left > 0) { return 0; }
  errno = error;
  return 1;
}

ssize_t writev(int fd, const struct iovec* pieces, int count)
{
  ssize_t (*next)(int, const struct iovec*, int) = dlsym(RTLD_NEXT, "writev");
  return fails() ? -1 : next(fd, pieces, count);
}

int fsync(int fd)
{
  int (*next)(int) = dlsym(RTLD_NEXT, "fsync");
  return fails() ? -1 : next(fd);
}

int rename(char const* from, char const* to)
{
  int (*next)(char const*, char const*) = dlsym(RTLD_NEXT, "rename");
  return fails() ? -1 : next(from, to);
}
