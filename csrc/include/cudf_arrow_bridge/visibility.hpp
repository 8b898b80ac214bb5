// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the shared library exports; everything else is built hidden.
#define CUDF_ARROW_BRIDGE_EXPORT __attribute__((visibility("default")))
