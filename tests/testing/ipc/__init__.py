# SPDX-License-Identifier: Apache-2.0
"""What tests of Arrow IPC have in common."""
