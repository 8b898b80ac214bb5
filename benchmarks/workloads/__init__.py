# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of several libraries in a row."""
