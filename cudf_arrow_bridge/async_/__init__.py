# SPDX-License-Identifier: Apache-2.0
"""Asynchronous streams of arrays, for event loops and C producers and consumers."""
