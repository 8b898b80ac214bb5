# SPDX-License-Identifier: Apache-2.0
"""Synchronous and asynchronous streams of Arrow arrays."""
