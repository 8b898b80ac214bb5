# SPDX-License-Identifier: Apache-2.0
"""The other side of the border: producers and consumers of arrays, streams and tensors."""
