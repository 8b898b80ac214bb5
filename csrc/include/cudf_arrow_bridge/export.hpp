#pragma once

/// Marks what the shared library exports; everything else in it is hidden.
#define CUDF_ARROW_BRIDGE_EXPORT __attribute__((visibility("default")))
