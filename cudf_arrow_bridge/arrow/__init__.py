# SPDX-License-Identifier: Apache-2.0
"""Arrow's protocols and what they carry: device arrays, streams of them, schemas."""
