# SPDX-License-Identifier: Apache-2.0
"""The location of memory and the order of CUDA streams."""
