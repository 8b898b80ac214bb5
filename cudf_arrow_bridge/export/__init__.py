# SPDX-License-Identifier: Apache-2.0
"""Exports: from objects that hold cuDF data to device arrays and streams of them."""
