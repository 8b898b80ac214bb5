# SPDX-License-Identifier: Apache-2.0
"""Conversion between cuDF objects and pylibcudf columns with Arrow metadata."""
