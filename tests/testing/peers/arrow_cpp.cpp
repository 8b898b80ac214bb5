// SPDX-License-Identifier: Apache-2.0
// Arrow C++ on the other side of a device stream, which pyarrow has in its wheel but not in Python.
#include <arrow/api.h>
#include <arrow/c/bridge.h>

#include <cstdio>
#include <memory>

namespace {

/// Writes what went wrong to `error`; 0 if nothing did.
int report(arrow::Status const& status, char* error, int size)
{
  if (status.ok()) { return 0; }
  std::snprintf(error, size, "%s", status.ToString().c_str());
  return 1;
}

}  // namespace

extern "C" {

/// A device stream, imported by Arrow C++, as a stream that pyarrow can read.
int device_to_host(ArrowDeviceArrayStream* in, ArrowArrayStream* out, char* error, int size)
{
  auto reader = arrow::ImportDeviceRecordBatchReader(in);
  if (!reader.ok()) { return report(reader.status(), error, size); }
  return report(arrow::ExportRecordBatchReader(*reader, out), error, size);
}

/// A stream that pyarrow gives, exported by Arrow C++ as a device stream.
int host_to_device(ArrowArrayStream* in, ArrowDeviceArrayStream* out, char* error, int size)
{
  auto reader = arrow::ImportRecordBatchReader(in);
  if (!reader.ok()) { return report(reader.status(), error, size); }
  return report(arrow::ExportDeviceRecordBatchReader(*reader, out), error, size);
}
}
