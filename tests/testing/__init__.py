# SPDX-License-Identifier: Apache-2.0
"""Shared code of the tests: peers, samples, checks, and strategies."""
