# SPDX-License-Identifier: Apache-2.0
"""Imports: from arrays, streams and tensors of other libraries to columns and frames."""
