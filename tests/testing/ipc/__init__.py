# SPDX-License-Identifier: Apache-2.0
"""Shared code of the tests of Arrow IPC."""
