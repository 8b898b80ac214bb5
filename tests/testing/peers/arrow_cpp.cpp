// SPDX-License-Identifier: Apache-2.0
// Arrow C++ as the peer of device streams. pyarrow's wheel has them, but not its Python interface.
#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdio>
#include <memory>

namespace {

/// Writes a status's message to `error` and returns 1, or returns 0 if the status is OK.
int report(arrow::Status const& status, char* error, int size)
{
  if (status.ok()) { return 0; }
  std::snprintf(error, size, "%s", status.ToString().c_str());
  return 1;
}

}  // namespace

extern "C" {

/// Imports a device stream with Arrow C++, and exports a stream that pyarrow can read.
int device_to_host(ArrowDeviceArrayStream* in, ArrowArrayStream* out, char* error, int size)
{
  auto reader = arrow::ImportDeviceRecordBatchReader(in);
  if (!reader.ok()) { return report(reader.status(), error, size); }
  return report(arrow::ExportRecordBatchReader(*reader, out), error, size);
}

/// Imports a stream of pyarrow, and exports it with Arrow C++ as a device stream.
int host_to_device(ArrowArrayStream* in, ArrowDeviceArrayStream* out, char* error, int size)
{
  auto reader = arrow::ImportRecordBatchReader(in);
  if (!reader.ok()) { return report(reader.status(), error, size); }
  return report(arrow::ExportDeviceRecordBatchReader(*reader, out), error, size);
}
}
