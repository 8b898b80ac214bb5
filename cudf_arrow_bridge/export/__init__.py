# SPDX-License-Identifier: Apache-2.0
"""Export of objects with cuDF data as device arrays and device array streams."""
