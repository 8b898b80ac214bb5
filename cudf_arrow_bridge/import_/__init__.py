# SPDX-License-Identifier: Apache-2.0
"""Import of arrays, streams and tensors of other libraries as columns and frames."""
