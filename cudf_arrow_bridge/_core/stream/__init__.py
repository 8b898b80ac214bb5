# SPDX-License-Identifier: Apache-2.0
"""Streams of arrays, also those of Arrow's asynchronous interface."""
