# SPDX-License-Identifier: Apache-2.0
"""Streams of arrays in time: event loops on one side, asynchronous producers and consumers."""
