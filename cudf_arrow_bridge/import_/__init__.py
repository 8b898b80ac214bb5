# SPDX-License-Identifier: Apache-2.0
"""Arrays, streams and tensors of others on their way in: to columns, and to what is asked for."""
