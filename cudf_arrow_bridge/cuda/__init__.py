# SPDX-License-Identifier: Apache-2.0
"""Where memory is, and which CUDA stream comes after which."""
