# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that require a GPU."""
