# SPDX-License-Identifier: Apache-2.0
"""Packing of arrays for other processes into a header and buffers."""
