# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC: messages whose bodies stay where they are, and streams and files of them."""
