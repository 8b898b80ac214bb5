# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers of arrays, streams and tensors that exchange data with the bridge."""
